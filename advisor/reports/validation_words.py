"""Words and table rows of validations, for the command line and the app alike."""

from collections.abc import Iterator, Sequence

from advisor.units import format_duration, format_number, format_percent
from advisor.validated import MeanRun, Repeated, Validated
from db.records import ValidatedRun

HEADER = (
    *("scenario", "mechanism", "role", "interval", "failures", "outcome", "predicted", "observed"),
    "error",
)
NUMERIC = (3, 4, 6, 7, 8)
LEGEND = "error: predicted / observed - 1; failures: that struck, of those expected"
MEANS_HEADER = ("scenario", "mechanism", "runs", "failures", "predicted", "observed", "error")
MEANS_NUMERIC = (2, 3, 4, 5, 6)
MEANS_LEGEND = (
    "means over the runs of a scenario; failures: that struck, of those expected; no observed time:"
    " it did not finish each time"
)


def rows(found: Sequence[Validated]) -> Iterator[tuple[str, ...]]:
    """A row for each run, under HEADER; the scenario's name stands in its first one."""
    for each in found:
        for run in each.runs:
            yield _row(run, run.name if run is each.runs[0] else "")


def mean_rows(found: Sequence[Repeated]) -> Iterator[tuple[str, ...]]:
    """A row for each mechanism of each scenario, under MEANS_HEADER."""
    for each in found:
        runs = each.runs
        for run in runs:
            yield _mean_row(run, each.name if run is runs[0] else "")


def regret_lines(found: Sequence[Repeated]) -> Iterator[str]:
    """The regret of each pick that finished its training."""
    for each in found:
        if each.regret_fraction is not None and each.best is not None:
            times = len(each.whole)
            over = "" if times == 1 else f" in the mean of {times}"
            yield (
                f"{each.name}: regret {format_percent(round(each.regret_fraction, 4))}{over} "
                f"(soonest: {each.best.mechanism.upper()})"
            )


def _row(run: ValidatedRun, name: str) -> tuple[str, ...]:
    return (
        name,
        run.mechanism.upper(),
        run.role.value.replace("_", "-"),
        "" if run.interval_steps is None else str(run.interval_steps),
        _failures(run.failures, run.failures_expected),
        run.outcome or "not run yet",
        *_times(run),
    )


def _mean_row(run: MeanRun, name: str) -> tuple[str, ...]:
    struck = _failures(run.failures, run.failures_expected)
    return (name, run.mechanism.upper(), str(run.n), struck, *_times(run))


def _failures(struck: float | None, expected: float | None) -> str:
    words = "" if struck is None else format_number(struck)
    return words if expected is None else f"{words} of {format_number(expected)}".lstrip()


def _times(run: ValidatedRun | MeanRun) -> tuple[str, str, str]:
    """Predicted, observed, error."""
    error = run.error_fraction
    return (
        "" if run.predicted_s is None else format_duration(run.predicted_s),
        "" if run.observed_s is None else format_duration(run.observed_s),
        "" if error is None else f"{error:+.1%}".replace("%", " %"),
    )
