"""Runs cells as tasks of SLURM job arrays. Why so: docs/decisions/0019-slurm.md.

settings.py what is asked of SLURM, script.py the batch scripts, states.py what SLURM prints (all
three pure); scheduler.py the commands; place.py the files of a campaign; planning.py its plan;
following.py what becomes of its tasks; launched.py all of it together.
"""
