"""How often a cluster fails, from its own logs: failures over the time at risk.

formats/   one module a kind of log: text -> Log (records.py), every row kept
clock.py   local times -> seconds, also where clocks change
quantities.py  numbers of nodes and durations that a cluster can have
counting.py  Log -> failures, time at risk, and what became of each row
rates.py, gaps.py, nodes.py   the statistics, pure
estimate.py  all of it for one log
"""
