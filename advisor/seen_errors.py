"""How far predictions were off where they were tried live, for each kind of cell. Pure."""

from collections.abc import Iterable
from statistics import median

from advisor.recommendation import SeenError
from db.records import ClusterEvidence, ValidatedRun


def seen_errors(evidence: ClusterEvidence) -> list[SeenError]:
    """The error seen for each pair that was tried, in the order of their names."""
    pairs = sorted({(r.architecture, r.mechanism) for r in evidence.validations})
    found = (seen_error(evidence, *pair) for pair in pairs if _own(evidence, *pair))
    return [error for error in found if error is not None]


def seen_error(evidence: ClusterEvidence, architecture: str, mechanism: str) -> SeenError | None:
    """The error seen for this kind of cell on the cluster; of the mechanism on other architectures
    where this pair was not tried; None where neither was."""
    pair = f"{mechanism.upper()} on {architecture.upper()}"
    same = [r for r in evidence.validations if r.mechanism == mechanism]
    return error_of(pair, _own(evidence, architecture, mechanism)) or error_of(
        f"{mechanism.upper()} on other architectures", same
    )


def _own(evidence: ClusterEvidence, architecture: str, mechanism: str) -> list[ValidatedRun]:
    return [
        r
        for r in evidence.validations
        if (r.architecture, r.mechanism) == (architecture, mechanism)
        and r.error_fraction is not None
    ]


def error_of(cells: str, runs: Iterable[ValidatedRun]) -> SeenError | None:
    """The error over the runs that have one; None without any."""
    errors = [error for r in runs if (error := r.error_fraction) is not None]
    if not errors:
        return None
    return SeenError(cells, len(errors), median(errors), max(map(abs, errors)))
