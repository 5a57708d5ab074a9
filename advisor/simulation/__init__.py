"""A job's completion time by simulation, for what has no closed form (docs/completion_time.md).

`process.py` says what is simulated, `times.py` how long things take, `timeline.py` how the job goes
without failures; `events.py` draws what happens, `engine.py` runs a block of jobs side by side,
`sketch.py` keeps their distribution in bounded memory, and `run.py` adds blocks until the mean is
known closely enough. `fallbacks.py` says what failures go back to, `estimate.py` how many there
are, `waiting.py` how often spares are enough, `limits.py` what is not simulated for that.

`parts.py` says what each mechanism keeps and what that survives, `composed.py` puts several
together as tiers, `setups.py` makes processes of both, with warnings and kinds of failures.
`laws.py` and `kinds.py` read what a person writes. Pure: only a seed is random.
"""
