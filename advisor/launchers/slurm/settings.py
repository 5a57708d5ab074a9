"""What is asked of SLURM for each task of a campaign. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil
from typing import Any

from advisor.errors import UserError

ARRAY_LIMIT = 8
"""So many tasks at once, unless told otherwise: they share the storage that they measure."""
GROUPS = {"smoke": 8, "cpu": 4}
"""Cells of a task, by profile; a cell of any other is long enough for a task of its own."""
_OURS = (
    *("array", "job-name", "output", "error", "open-mode", "nodes", "ntasks", "chdir", "wrap"),
    *("parsable", "test-only", "wait", "partition", "account", "qos", "time", "gpus-per-node"),
)
_SHORT = {"a": "array", "J": "job-name", "o": "output", "e": "error", "N": "nodes", "n": "ntasks"}
_SHORT |= {"D": "chdir", "W": "wait", "p": "partition", "A": "account", "q": "qos", "t": "time"}


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """Options of sbatch, and how many tasks there are to be; None is left to the cluster."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gpus_per_node: str | None = None
    """A number, or a kind and a number such as `h200:8`."""
    time_s: float | None = None
    array_limit: int = ARRAY_LIMIT
    group: int | None = None
    """Cells of a task; None: by their profile."""
    share_nodes: bool = False
    """Whether other jobs may run on the node of a task."""
    ranks: int = 1
    """Of the largest run, on one node: a task that shares its node asks for so many cores."""
    sbatch: tuple[str, ...] = ()
    """Further options, each as sbatch takes it: `--constraint=h200`."""

    def changed(self, given: Mapping[str, Any]) -> "SlurmSettings":
        """The settings with those that were given anew; what is None or empty was not."""
        return replace(self, **{name: value for name, value in given.items() if value})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> "SlurmSettings":
        """The settings that `as_json` gave; what it does not know is left out."""
        known = {each.name for each in fields(SlurmSettings)}
        told = {name: value for name, value in found.items() if name in known}
        return SlurmSettings(**{**told, "sbatch": tuple(told.get("sbatch", ()))})

    def options(self, nodes: int = 1) -> list[str]:
        """As options of sbatch for tasks on so many nodes, one word each; those that a person added
        come last, so that they win."""
        told = {
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "gpus-per-node": self.gpus_per_node,
            "time": None if self.time_s is None else slurm_time(self.time_s),
        }
        # What else runs on a node is noise in what is measured there.
        alone = self._cores() if self.share_nodes else ["--exclusive", "--mem=0"]
        stated = [f"--{name}={value}" for name, value in told.items() if value is not None]
        where = [f"--nodes={nodes}", f"--ntasks={nodes}"]
        where += ["--ntasks-per-node=1"] if nodes > 1 else []
        return [*where, *alone, "--requeue", *stated, *self.sbatch]

    def _cores(self) -> list[str]:
        """A core a rank on a node that is shared; else all ranks would sit on one."""
        stated = {option.partition("=")[0] for option in self.sbatch}
        is_stated = stated & {"--cpus-per-task", "--cpus-per-gpu"} or any(
            option.startswith("-c") for option in stated
        )
        return [] if is_stated else [f"--cpus-per-task={self.ranks}"]

    def group_of(self, profiles: Sequence[str]) -> int:
        """How many cells a task has, of cells of these profiles."""
        return self.group or min((GROUPS.get(name, 1) for name in profiles), default=1)

    def at_once(self, profiles: Sequence[str]) -> int:
        """How many tasks of cells of these profiles can run at the same time."""
        tasks = ceil(len(profiles) / self.group_of(profiles))
        return max(1, min(self.array_limit, tasks))


def slurm_time(seconds: float) -> str:
    """`2-03:04:05`; parts of a second count as one."""
    whole, part = divmod(ceil(seconds), 60)
    hours, minutes = divmod(whole, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{part:02}"


def sbatch_option(text: str) -> str:
    """A further option of sbatch, checked. Raises UserError."""
    name = text.partition("=")[0]
    # One word on a line of a script: what has blanks would have to be quoted for sbatch.
    if not text.isprintable() or any(c.isspace() or c in "\"'\\#" for c in text):
        raise UserError(f"{text!r} is no option of sbatch: write it as one word, --constraint=h200")
    plain = name.lstrip("-")
    known = _SHORT.get(plain[:1], "") if not name.startswith("--") else plain
    if not name.startswith("-") or not plain:
        raise UserError(f"{text!r} is no option of sbatch: write it as --constraint=h200")
    if known in _OURS:
        raise UserError(
            f"{name} cannot be given to sbatch: this command has it from its own options"
        )
    return text
