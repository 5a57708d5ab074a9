"""A cell of a campaign, and the command that measures it once more."""

from dataclasses import dataclass
from shlex import join

from db.records import Cadence, ClusterEvidence

NO_FAULT = "none"
_SMALLER_PROFILES = ("smoke", "cpu")
"""A workload in one of these sizes has it at the end of its name; without, it is the paper's."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one more run would be of. `trace` is `none` for a run without a fault."""

    architecture: str
    mechanism: str
    workload: str
    trace: str
    interval_steps: int | None
    lead_s: float | None


def command_of(evidence: ClusterEvidence, cell: Cell, first_seed: int = 0) -> str:
    """The command that measures the cell once, on the cluster itself."""
    workload, profile = _workload(cell.workload)
    words = ["advisor", "measure", "--cluster", evidence.cluster.cluster]
    words += ["--architecture", cell.architecture, "--mechanism", cell.mechanism]
    words += ["--trace", cell.trace, "--workload", workload, "--profile", profile]
    if cell.interval_steps is not None and _is_periodic(evidence, cell.mechanism):
        words += ["--interval", str(cell.interval_steps)]
    if cell.lead_s is not None and cell.trace != NO_FAULT:
        words += ["--lead", f"{cell.lead_s:g}s"]
    if first_seed:
        words += ["--first-seed", str(first_seed)]
    return join(words)


def _is_periodic(evidence: ClusterEvidence, mechanism: str) -> bool:
    return evidence.mechanisms[mechanism].cadence is Cadence.PERIODIC


def _workload(name: str) -> tuple[str, str]:
    """The workload and its profile, from the name that an operating point has."""
    for profile in _SMALLER_PROFILES:
        if name.endswith(f"-{profile}"):
            return name.removesuffix(f"-{profile}"), profile
    return name, "paper"
