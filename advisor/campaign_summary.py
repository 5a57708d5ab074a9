"""What the runs of a campaign showed, one line a tuple. Pure: run summaries in, numbers out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from db.pooling import Mean, mean_of
from db.records import RunQuantity, RunSummary, RunValidity

QUANTITIES = (
    RunQuantity.THROUGHPUT,
    RunQuantity.FIRST_DETECTION,
    RunQuantity.DETECTION,
    RunQuantity.POST_FAILURE_THROUGHPUT,
    RunQuantity.AGGREGATE_SLOWDOWN,
    RunQuantity.OVERHEAD,
    RunQuantity.LOST_STEPS,
)

_VARIED = (
    *("profile", "workload", "world_size", "interval_steps", "replicas"),
    *("detector", "group_timeout_s", "way"),
)
"""What runs of one tuple can differ in; a campaign file can vary any of it."""


@dataclass(frozen=True, slots=True)
class TupleSummary:
    """The runs of one tuple: how they ended, and the means of the valid ones."""

    architecture: str
    mechanism: str
    trace: str | None
    parameters: Mapping[str, Any]
    """What tells it from another one of the same tuple in the campaign; empty if there is none."""
    way: str | None
    runs: int
    valid: int
    censored: int
    outcomes: dict[str, int]
    infeasible_reason: str | None
    """Why it cannot run, as the first run that said so did."""
    means: dict[RunQuantity, Mean | None]
    recovery_s: float | None
    """The median over the runs that were brought back, from the fault to the next step."""
    recovered: int
    """How many they are."""

    def as_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "mechanism": self.mechanism,
            "trace": self.trace,
            "parameters": dict(self.parameters),
            "way": self.way,
            "runs": self.runs,
            "valid": self.valid,
            "censored": self.censored,
            "outcomes": self.outcomes,
            "infeasible_reason": self.infeasible_reason,
            "recovery_total_s": (
                None
                if self.recovery_s is None
                else {"median": self.recovery_s, "n": self.recovered}
            ),
            **{str(quantity): _mean_json(mean) for quantity, mean in self.means.items()},
        }


def summarise(runs: Iterable[RunSummary]) -> list[TupleSummary]:
    """One summary for each architecture, mechanism and trace, in their order; several where runs of
    a tuple differ in what a campaign can vary, such as the interval."""
    tuples: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in runs:
        tuples.setdefault((run.architecture, run.mechanism, run.trace or ""), []).append(run)
    return [each for _, found in sorted(tuples.items()) for each in _by_parameters(found)]


def _by_parameters(runs: Sequence[RunSummary]) -> list[TupleSummary]:
    """The summaries of one tuple, each with the parameters in which its runs differ from others."""
    varied = [name for name in _VARIED if len({getattr(run, name) for run in runs}) > 1]
    groups: dict[tuple[Any, ...], list[RunSummary]] = {}
    for run in runs:
        groups.setdefault(tuple(getattr(run, name) for name in varied), []).append(run)
    # What is None, such as the interval of a mechanism that has none, has no order of its own.
    ordered = sorted(groups.items(), key=lambda item: [(v is not None, v) for v in item[0]])
    return [_summary(found, dict(zip(varied, key, strict=True))) for key, found in ordered]


def _summary(runs: Sequence[RunSummary], parameters: Mapping[str, Any]) -> TupleSummary:
    valid = [run for run in runs if run.validity is RunValidity.VALID]
    outcomes = sorted(str(run.outcome) for run in runs if run.outcome is not None)
    recoveries = _present(valid, RunQuantity.RECOVERY_TOTAL)
    return TupleSummary(
        architecture=runs[0].architecture,
        mechanism=runs[0].mechanism,
        trace=runs[0].trace,
        parameters=parameters,
        way=runs[0].way,
        runs=len(runs),
        valid=len(valid),
        censored=sum(run.censored_at_s is not None for run in valid),
        outcomes={name: outcomes.count(name) for name in dict.fromkeys(outcomes)},
        infeasible_reason=next((r.infeasible_reason for r in runs if r.infeasible_reason), None),
        recovery_s=median(recoveries) if recoveries else None,
        recovered=len(recoveries),
        means={quantity: _mean(valid, quantity) for quantity in QUANTITIES},
    )


def _mean(runs: Iterable[RunSummary], quantity: RunQuantity) -> Mean | None:
    return mean_of(_present(runs, quantity))


def _present(runs: Iterable[RunSummary], quantity: RunQuantity) -> list[float]:
    found = (run.values.get(quantity) for run in runs)
    return [value for value in found if value is not None]


def _mean_json(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    return {"mean": mean.value, "n": mean.n, "ci95_half_width": mean.half_width}
