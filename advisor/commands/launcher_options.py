"""Options of `advisor measure` that say where runs are made: here, under SLURM or by torchrun."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from advisor.commands.options import DURATION, Parsed
from advisor.errors import UserError
from advisor.launchers.slurm.settings import ARRAY_LIMIT, GROUPS, sbatch_option
from advisor.launchers.torchrun.settings import PORT

F = TypeVar("F", bound=Callable[..., Any])

LOCAL, SLURM, TORCHRUN = "local", "slurm", "torchrun"
_COUNT = click.IntRange(1, 1_000_000)
_GROUPED = ", ".join(f"{cells} of {profile}" for profile, cells in GROUPS.items())


def _name(text: str) -> str:
    if not text or not text.isprintable() or any(c.isspace() or c in "\"'\\#" for c in text):
        raise UserError(
            f"{text!r} is no name that sbatch takes: write it without blanks and quotes"
        )
    return text


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?", text):
        raise UserError(
            f"{text!r} is no host: write its name or its address, such as 10.0.0.1, and its port"
            " with --master-port"
        )
    return text


_NAME = Parsed("name", _name)

_OPTIONS = (
    click.option(
        "--launcher",
        type=click.Choice((LOCAL, SLURM, TORCHRUN)),
        help="Run cells on this machine, as tasks of SLURM, or on hosts that torchrun brings"
        " together.  [default: local]",
    ),
    click.option("--partition", type=_NAME, help="SLURM's partition."),
    click.option("--account", type=_NAME, help="SLURM's account."),
    click.option("--qos", type=_NAME, help="SLURM's quality of service."),
    click.option(
        "--gpus-per-node",
        type=_NAME,
        help="GPUs of each node of a task: a number, or a kind such as h200:8.",
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
        "--share-nodes", is_flag=True, help="Let other jobs run on a task's nodes: that is noise."
    ),
    click.option(
        "--sbatch",
        type=Parsed("option", sbatch_option),
        multiple=True,
        help="A further option of sbatch, such as --sbatch=--constraint=h200; several.",
    ),
    click.option(
        "--master-addr",
        type=Parsed("host", _host),
        help="This host, as torchrun on the others finds it: a name or an address.",
    ),
    click.option(
        "--master-port",
        type=click.IntRange(1, 65_535),
        metavar="N",
        help=f"The port of torchrun's store here.  [default: {PORT}]",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Print what would be sent to SLURM, or torchrun's commands on every host, and start"
        " nothing.",
    ),
)
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    SLURM: (
        *("partition", "account", "qos", "gpus_per_node", "time_s", "array_limit", "group"),
        *("share_nodes", "sbatch"),
    ),
    TORCHRUN: ("master_addr", "master_port"),
}
NAMES = frozenset({*_SETTINGS[SLURM], *_SETTINGS[TORCHRUN], "launcher", "dry_run"})
"""The parameters of these options."""


def launcher_options(function: F) -> F:
    """Adds the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_in(options: Mapping[str, Any], launcher: str) -> dict[str, Any]:
    """What was given of a launcher's settings (`SlurmSettings`, `TorchrunSettings`)."""
    return {name: options[name] for name in _SETTINGS.get(launcher, ()) if options.get(name)}


def launcher_of(options: Mapping[str, Any]) -> str:
    """The launcher that is to be used. Raises UserError where an option needs another one."""
    chosen = options["launcher"] or LOCAL
    for launcher in _SETTINGS:
        given = settings_in(options, launcher)
        if given and launcher != chosen:
            _refuse(_option(next(iter(given))), launcher)
    if options["dry_run"] and chosen == LOCAL:
        _refuse("dry-run", f"{SLURM} or {TORCHRUN}")
    return str(chosen)


def _refuse(option: str, launcher: str) -> None:
    raise UserError(f"--{option} belongs to --launcher {launcher}: give both, or neither")


def _option(name: str) -> str:
    return name.removesuffix("_s").replace("_", "-")


def said(options: Mapping[str, Any]) -> list[str]:
    """The options that were given, as words, for the command that is kept with each run."""
    launcher = launcher_of(options)
    words = [f"--launcher={launcher}"] if launcher != LOCAL else []
    for name, value in settings_in(options, launcher).items():
        option = _option(name)
        if name == "sbatch":
            words += [f"--sbatch={each}" for each in value]
        elif value is True:
            words.append(f"--{option}")
        else:
            words.append(f"--{option}={value:g}s" if name == "time_s" else f"--{option}={value}")
    return words
