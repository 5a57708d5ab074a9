"""A job's completion time by simulation, for what has no closed form (docs/completion_time.md).

`process.py` says what is simulated, `times.py` how long things take, `timeline.py` how the job goes
without failures; `events.py` draws what happens, `engine.py` runs a block of jobs side by side,
`sketch.py` keeps their distribution in bounded memory, `run.py` adds blocks until the mean is known
closely enough, and `candidate.py` makes a process of a candidate. Pure: only a seed is random.
"""
