"""Options of `advisor measure` that say where runs are made, and what is asked of SLURM."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from advisor.commands.options import DURATION, Parsed
from advisor.errors import UserError
from advisor.launchers.slurm.settings import ARRAY_LIMIT, GROUPS, sbatch_option

F = TypeVar("F", bound=Callable[..., Any])

_COUNT = click.IntRange(1, 1_000_000)
_GROUPED = ", ".join(f"{cells} of {profile}" for profile, cells in GROUPS.items())


def _nodes(text: str) -> int:
    if text != "1":
        raise UserError("a run is made on one node: --nodes 1, or leave it")
    return 1


def _name(text: str) -> str:
    if not text or not text.isprintable() or any(c.isspace() or c in "\"'\\#" for c in text):
        raise UserError(
            f"{text!r} is no name that sbatch takes: write it without blanks and quotes"
        )
    return text


_NAME = Parsed("name", _name)

_OPTIONS = (
    click.option(
        "--launcher",
        type=click.Choice(("local", "slurm")),
        help="Run cells on this machine, or as tasks of SLURM.  [default: local]",
    ),
    click.option("--partition", type=_NAME, help="SLURM's partition."),
    click.option("--account", type=_NAME, help="SLURM's account."),
    click.option("--qos", type=_NAME, help="SLURM's quality of service."),
    click.option("--nodes", type=Parsed("number", _nodes), help="Nodes of a run: 1.  [default: 1]"),
    click.option(
        "--gpus-per-node", type=_NAME, help="GPUs of a task: a number, or a kind such as h200:8."
    ),
    click.option("--time", "time_s", type=DURATION, help="Time limit of a task."),
    click.option(
        "--array-limit",
        type=_COUNT,
        metavar="N",
        help=f"Tasks at once.  [default: {ARRAY_LIMIT}]",
    ),
    click.option(
        "--group",
        type=_COUNT,
        metavar="N",
        help=f"Cells of a task.  [default: {_GROUPED}, 1 of others]",
    ),
    click.option(
        "--share-nodes", is_flag=True, help="Let other jobs run on a task's node: that is noise."
    ),
    click.option(
        "--sbatch",
        type=Parsed("option", sbatch_option),
        multiple=True,
        help="A further option of sbatch, such as --sbatch=--constraint=h200; several.",
    ),
    click.option(
        "--dry-run", is_flag=True, help="Print what would be sent to SLURM, and send nothing."
    ),
)
_SETTINGS = (
    *("partition", "account", "qos", "gpus_per_node", "time_s", "array_limit", "group"),
    *("share_nodes", "sbatch"),
)
NAMES = frozenset({*_SETTINGS, "launcher", "nodes", "dry_run"})
"""The parameters of these options."""


def launcher_options(function: F) -> F:
    """Adds the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of SLURM's settings (`SlurmSettings`)."""
    return {name: options[name] for name in _SETTINGS if options.get(name)}


def wants_slurm(options: Mapping[str, Any]) -> bool:
    """Whether runs are to be tasks of SLURM. Raises UserError where an option needs it."""
    given = {**settings_in(options), **{name: options[name] for name in ("nodes", "dry_run")}}
    stated = [name for name, value in given.items() if value]
    if options["launcher"] == "slurm" or not stated:
        return bool(options["launcher"] == "slurm")
    option = {"time_s": "time"}.get(stated[0], stated[0]).replace("_", "-")
    raise UserError(f"--{option} belongs to --launcher slurm: give both, or neither")


def said(options: Mapping[str, Any]) -> list[str]:
    """The options that were given, as words, for the command that is kept with each run."""
    words = ["--launcher=slurm"]
    for name, value in settings_in(options).items():
        option = name.removesuffix("_s").replace("_", "-")
        if name == "sbatch":
            words += [f"--sbatch={each}" for each in value]
        elif value is True:
            words.append(f"--{option}")
        else:
            words.append(f"--{option}={value:g}s" if name == "time_s" else f"--{option}={value}")
    return words
