"""SLURM's commands with the answers that a test gives them, as SLURM 22.05 says them: programs on
the PATH, for what a real SLURM does at its own time only (tests/slurm)."""

import os
from pathlib import Path

import pytest

_PROGRAM = """#!/bin/sh
case "$*" in *--name=*) kind=find ;; *) kind=asked ;; esac
at="$0.$kind"
calls=$(($(cat "$at.calls" 2>/dev/null || echo 0) + 1))
echo $calls > "$at.calls"
while [ ! -e "$at.$calls" ]; do calls=$((calls - 1)); done
. "$at.$calls"
"""


class Answering:
    """Programs whose answers are lines of shell, one a call; the last one is given from then on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        for name in ("sbatch", "squeue", "sacct", "scontrol", "scancel"):
            program = folder / name
            program.write_text(_PROGRAM)
            program.chmod(0o755)
            self.to(name, "exit 1")
            self.to(name, "exit 0", kind="find")

    def to(self, name: str, *answers: str, kind: str = "asked") -> None:
        """What the program answers; `find` is squeue's answer where a job is looked for by name."""
        for number, answer in enumerate(answers, start=1):
            (self.folder / f"{name}.{kind}.{number}").write_text(f"{answer}\n")

    def calls(self, name: str) -> int:
        """How often the program was called."""
        path = self.folder / f"{name}.asked.calls"
        return int(path.read_text()) if path.exists() else 0


def refused(reason: str) -> str:
    """sbatch refuses."""
    said = f"sbatch: error: Batch job submission failed: {reason}"
    return f"echo '{said}' >&2; exit 1"


def listed(name: str, *states: str, job: int = 12) -> str:
    """squeue lists the tasks 0, 1, ... of a job in these states."""
    lines = [
        f"{job}|{task}|{state}|2998-01-01T00:00:00|{name}|n1|None"
        for task, state in enumerate(states)
    ]
    return "\n".join(f"echo '{line}'" for line in lines) or "exit 0"
