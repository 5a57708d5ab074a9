"""Fits and checks of calibrations as table cells, for the command line and for the app."""

from typing import TYPE_CHECKING

from advisor.units import format_bytes, format_bytes_per_s, format_duration, format_percent
from db.records import CalibrationFit, FitModel, FittedNumber

if TYPE_CHECKING:
    from advisor.calibration_fits import CheckedSize

FIT_HEADER = ("path", "processes", "latency (95 %)", "and (95 %)", "spread", "n", "out")
FIT_LEGEND = "size: of one process; spread: of one sample; out: samples beyond the bend of the fit"
CHECK_HEADER = ("real restore", "size", "n", "measured", "predicted", "error")


def fit_row(fit: CalibrationFit) -> tuple[object, ...]:
    """What a path takes, each coefficient with its interval."""
    return (
        fit.path.value,
        fit.processes or "",
        _latency(fit.latency_s),
        _share(fit),
        format_percent(round(fit.spread_fraction, 3)),
        fit.n,
        fit.outliers,
    )


def check_row(each: "CheckedSize") -> tuple[object, ...]:
    """Real restores of one size against what was predicted of them."""
    return (
        each.path.value.removeprefix("restore_"),
        format_bytes(each.size_bytes),
        each.n,
        format_duration(each.measured_s),
        format_duration(each.predicted_s),
        format_percent(round(each.error, 4)),
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
