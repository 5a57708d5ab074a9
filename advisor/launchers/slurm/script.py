"""The text of batch scripts. Pure."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from advisor.errors import UserError

_UNFIT = re.compile(r"[^ -~\u00a0-\U0010ffff]|[\"'\\%]")


@dataclass(frozen=True, slots=True)
class Script:
    """A job array: `tasks` times the same command."""

    name: str
    tasks: int
    at_once: int
    log: Path
    """Where what task N prints goes: a path with `%a` for N in its last part."""
    command: Sequence[str]
    environment: Mapping[str, str]
    """Variables that the command needs beside those of whoever submits it."""
    options: Sequence[str]
    takes_number: bool = True
    """Whether the command is told the number of its task, from 0, as its last word."""

    def text(self) -> str:
        """The script, as sbatch takes it."""
        directives = [
            f"--job-name={self.name}",
            f"--array=0-{self.tasks - 1}%{self.at_once}",
            f'--output="{self.log}"',
            "--open-mode=append",
            *self.options,
        ]
        exported = [f"export {name}={shlex.quote(v)}" for name, v in self.environment.items()]
        number = ' "$SLURM_ARRAY_TASK_ID"' if self.takes_number else ""
        return "\n".join(
            [
                "#!/bin/bash",
                *(f"#SBATCH {directive}" for directive in directives),
                *exported,
                # The command takes the shell's place, so that signals reach it.
                f"exec {shlex.join(self.command)}{number}",
                "",
            ]
        )


def check_path(folder: Path) -> None:
    """Raises UserError where sbatch would read the folder's name otherwise than it is written."""
    if _UNFIT.search(str(folder)):
        raise UserError(
            f"{str(folder)!r} has a character that sbatch reads in its own way: choose a folder"
            " without quotes, backslashes, % and control characters by --folder"
        )
