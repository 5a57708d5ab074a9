"""The same job on more or fewer ranks: each input of the scenario by a stated rule, then the
decision as always. Sources and limits of the rules: docs/scale.md. Pure.

growth.py       what is stated of how the job grows -> Growth, with what was not stated filled in
rules.py        Growth, scenario, ranks -> the scenario there, by the formulas at its top
answer.py       who is recommended on each number of ranks, where that changes, what it costs
world_sizes.py  numbers of ranks, and texts that name them
"""
