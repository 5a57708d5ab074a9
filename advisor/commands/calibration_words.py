"""Calibrations as tables and as JSON: what each path takes, and how real restores compare."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from advisor.commands.output import echo, echo_table
from db.records import CalibrationFit, FittedNumber

if TYPE_CHECKING:
    from advisor.calibration_fits import CheckedSize


def echo_fits(fits: Iterable[CalibrationFit]) -> None:
    """A table of fits."""
    from advisor.reports.calibration_words import FIT_HEADER, FIT_LEGEND, fit_row

    echo_table(FIT_HEADER, [fit_row(fit) for fit in fits], numeric=(1, 4, 5, 6))
    echo(FIT_LEGEND)


def echo_checks(sizes: Sequence["CheckedSize"]) -> None:
    """A table of real restores against what was predicted of them."""
    from advisor.reports.calibration_words import CHECK_HEADER, check_row

    echo_table(CHECK_HEADER, [check_row(each) for each in sizes], numeric=(1, 2, 3, 4, 5))


def fit_json(fit: CalibrationFit) -> dict[str, Any]:
    """A fit with units in its names; None where it has no such part."""
    return {
        "session": fit.session,
        "started_at": fit.started_at,
        "path": fit.path.value,
        "processes": fit.processes,
        "model": fit.model.value,
        "n": fit.n,
        "outliers": fit.outliers,
        "spread_fraction": fit.spread_fraction,
        "latency_s": _number_json(fit.latency_s),
        "s_per_byte": _number_json(fit.s_per_byte),
        "s_per_rank": _number_json(fit.s_per_rank),
        "smallest_bytes": fit.smallest_bytes,
        "largest_bytes": fit.largest_bytes,
        "conditions": fit.conditions,
    }


def check_json(each: "CheckedSize") -> dict[str, Any]:
    """A checked size with units in its names."""
    return {
        "path": each.path.value,
        "size_bytes": each.size_bytes,
        "n": each.n,
        "measured_s": each.measured_s,
        "predicted_s": each.predicted_s,
        "error_fraction": each.error,
    }


def _number_json(number: FittedNumber | None) -> dict[str, float] | None:
    if number is None:
        return None
    return {"value": number.value, "low": number.low, "high": number.high}
