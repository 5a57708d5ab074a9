"""Calibrations as tables and as JSON: what each path takes, and how real restores compare."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from advisor.commands.output import echo, echo_table
from advisor.units import format_bytes, format_bytes_per_s, format_duration, format_percent
from db.records import CalibrationFit, FitModel, FittedNumber

if TYPE_CHECKING:
    from advisor.calibration_fits import CheckedSize

_FIT_HEADER = ("path", "processes", "latency (95 %)", "and (95 %)", "spread", "n", "out")
_CHECK_HEADER = ("real restore", "size", "n", "measured", "predicted", "error")
_OUT = "size: of one process; spread: of one sample; out: samples beyond the bend of the fit"


def echo_fits(fits: Iterable[CalibrationFit]) -> None:
    """A table of fits."""
    echo_table(_FIT_HEADER, [_fit_row(fit) for fit in fits], numeric=(1, 4, 5, 6))
    echo(_OUT)


def echo_checks(sizes: Sequence["CheckedSize"]) -> None:
    """A table of real restores against what was predicted of them."""
    rows = [
        (
            each.path.value.removeprefix("restore_"),
            format_bytes(each.size_bytes),
            each.n,
            format_duration(each.measured_s),
            format_duration(each.predicted_s),
            format_percent(round(each.error, 4)),
        )
        for each in sizes
    ]
    echo_table(_CHECK_HEADER, rows, numeric=(1, 2, 3, 4, 5))


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


def _fit_row(fit: CalibrationFit) -> tuple[object, ...]:
    return (
        fit.path.value,
        fit.processes or "",
        _latency(fit.latency_s),
        _share(fit),
        format_percent(round(fit.spread_fraction, 3)),
        fit.n,
        fit.outliers,
    )


def _latency(number: FittedNumber) -> str:
    low, high = format_duration(number.low), format_duration(number.high)
    return f"{format_duration(number.value)} ({low} to {high})"


def _share(fit: CalibrationFit) -> str:
    if fit.model is FitModel.BYTES and fit.s_per_byte is not None:
        rate = fit.s_per_byte
        value, low, high = (_rate(each) for each in (rate.value, rate.high, rate.low))
        return f"size / {value} ({low} to {high})"
    if fit.model is FitModel.RANKS and fit.s_per_rank is not None:
        return f"ranks x {_latency(fit.s_per_rank)}"
    return ""


def _rate(s_per_byte: float) -> str:
    return format_bytes_per_s(1.0 / s_per_byte) if s_per_byte > 0.0 else "any rate"
