"""The compatibility matrix, computed from capabilities (paper, Table II).

`python -m measure.matrix` prints it as CSV; `data/compatibility.csv` is that output.
"""

import csv
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from measure.architectures.catalogue import ARCHITECTURES
from measure.interfaces.capabilities import (
    ArchitectureEntry,
    MechanismEntry,
    MissingMeans,
    Requirement,
)
from measure.mechanisms.catalogue import MECHANISMS

VIABLE = "viable"


@dataclass(frozen=True, slots=True)
class Pair:
    """One cell: `status` is viable, degenerate or infeasible; `reason` is empty when viable."""

    architecture: str
    mechanism: str
    status: str
    reason: str


def classify(architecture: ArchitectureEntry, mechanism: MechanismEntry) -> Pair:
    """The worst that any missing requirement makes of the pair; viable if none is missing."""
    missing = [r for r in mechanism.requires if r.capability not in architecture.capabilities]
    if not missing:
        return Pair(architecture.architecture, mechanism.mechanism, VIABLE, "")
    worst = max(missing, key=lambda r: r.missing_means is MissingMeans.INFEASIBLE)
    return Pair(
        architecture.architecture,
        mechanism.mechanism,
        worst.missing_means.value,
        _reason(architecture, mechanism, worst),
    )


def compute(
    architectures: Iterable[ArchitectureEntry] = ARCHITECTURES,
    mechanisms: Iterable[MechanismEntry] = MECHANISMS,
) -> list[Pair]:
    """Every pair, architectures first, in catalogue order."""
    listed = tuple(mechanisms)
    return [classify(a, m) for a in architectures for m in listed]


def _reason(
    architecture: ArchitectureEntry, mechanism: MechanismEntry, requirement: Requirement
) -> str:
    return (
        f"{mechanism.mechanism.upper()} needs {requirement.because}; "
        f"{architecture.architecture.upper()} has no {requirement.capability.value}"
    )


def main() -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("architecture", "mechanism", "status", "reason"))
    for pair in compute():
        writer.writerow((pair.architecture, pair.mechanism, pair.status, pair.reason))


if __name__ == "__main__":
    main()
