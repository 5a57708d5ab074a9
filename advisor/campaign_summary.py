"""What the runs of a campaign showed, one line a tuple. Pure: run summaries in, numbers out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from db.pooling import Mean, mean_of
from db.records import RunQuantity, RunSummary, RunValidity

QUANTITIES = (
    RunQuantity.THROUGHPUT,
    RunQuantity.FIRST_DETECTION,
    RunQuantity.DETECTION,
    RunQuantity.POST_FAILURE_THROUGHPUT,
    RunQuantity.AGGREGATE_SLOWDOWN,
)


@dataclass(frozen=True, slots=True)
class TupleSummary:
    """The runs of one tuple: how they ended, and the means of the valid ones."""

    architecture: str
    mechanism: str
    trace: str | None
    runs: int
    valid: int
    censored: int
    outcomes: dict[str, int]
    means: dict[RunQuantity, Mean | None]

    def as_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "mechanism": self.mechanism,
            "trace": self.trace,
            "runs": self.runs,
            "valid": self.valid,
            "censored": self.censored,
            "outcomes": self.outcomes,
            **{str(quantity): _mean_json(mean) for quantity, mean in self.means.items()},
        }


def summarise(runs: Iterable[RunSummary]) -> list[TupleSummary]:
    """One summary for each architecture, mechanism and trace, in their order."""
    tuples: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in runs:
        tuples.setdefault((run.architecture, run.mechanism, run.trace or ""), []).append(run)
    return [_summary(found) for _, found in sorted(tuples.items())]


def _summary(runs: Sequence[RunSummary]) -> TupleSummary:
    valid = [run for run in runs if run.validity is RunValidity.VALID]
    outcomes = sorted(str(run.outcome) for run in runs if run.outcome is not None)
    return TupleSummary(
        architecture=runs[0].architecture,
        mechanism=runs[0].mechanism,
        trace=runs[0].trace,
        runs=len(runs),
        valid=len(valid),
        censored=sum(run.censored_at_s is not None for run in valid),
        outcomes={name: outcomes.count(name) for name in dict.fromkeys(outcomes)},
        means={quantity: _mean(valid, quantity) for quantity in QUANTITIES},
    )


def _mean(runs: Iterable[RunSummary], quantity: RunQuantity) -> Mean | None:
    found = (run.values.get(quantity) for run in runs)
    return mean_of([value for value in found if value is not None])


def _mean_json(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    return {"mean": mean.value, "n": mean.n, "ci95_half_width": mean.half_width}
