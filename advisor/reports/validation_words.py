"""Words and table rows of validations, for the command line and the app alike."""

from collections.abc import Iterator, Sequence

from advisor.units import format_duration, format_number, format_percent
from advisor.validation import Validated
from db.records import ValidatedRun

HEADER = (
    *("scenario", "mechanism", "role", "interval", "failures", "outcome", "predicted", "observed"),
    "error",
)
NUMERIC = (3, 4, 6, 7, 8)
LEGEND = "error: predicted / observed - 1; failures: that struck, of those expected"


def rows(found: Sequence[Validated]) -> Iterator[tuple[str, ...]]:
    """A row for each run, under HEADER; the scenario's name stands in its first one."""
    for each in found:
        for run in each.runs:
            yield _row(run, run.name if run is each.runs[0] else "")


def regret_lines(found: Sequence[Validated]) -> Iterator[str]:
    """The regret of each pick that finished its training."""
    for each in found:
        if each.regret_fraction is not None and each.best is not None:
            yield (
                f"{each.first.name}: regret {format_percent(round(each.regret_fraction, 4))} "
                f"(soonest: {each.best.mechanism.upper()})"
            )


def _row(run: ValidatedRun, name: str) -> tuple[str, ...]:
    error, expected = run.error_fraction, run.failures_expected
    struck = "" if run.failures is None else str(run.failures)
    return (
        name,
        run.mechanism.upper(),
        run.role.value.replace("_", "-"),
        "" if run.interval_steps is None else str(run.interval_steps),
        struck if expected is None else f"{struck} of {format_number(expected)}".lstrip(),
        run.outcome or "not run yet",
        "" if run.predicted_s is None else format_duration(run.predicted_s),
        "" if run.observed_s is None else format_duration(run.observed_s),
        "" if error is None else f"{error:+.1%}".replace("%", " %"),
    )
