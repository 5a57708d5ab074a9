"""From a calibration's samples to what each path takes, and how far that is from real restores.

Pure; the lines are those of `advisor.robust_fit`, the sums those of `advisor.calibration`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from advisor.calibration import fits_by_path, restored_by
from advisor.robust_fit import Estimate, Fitted, fit_constant, fit_line
from db.records import (
    CalibrationCheck,
    CalibrationFit,
    CalibrationPath,
    CalibrationSample,
    FitModel,
    FittedNumber,
    SamplePurpose,
)

TARGET_ERROR = 0.15
"""What the median restore is to be predicted within."""
_VARIED = 0
_MODELS = {
    CalibrationPath.GROUP_FORMATION: FitModel.RANKS,
    CalibrationPath.PROCESS_START: FitModel.MEAN,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Which calibration samples are of, and how each path was measured."""

    session: str
    started_at: str
    source_id: str
    conditions: Mapping[CalibrationPath, str]


@dataclass(frozen=True, slots=True)
class CheckedSize:
    """Real restores of one size against what was predicted of them: medians, seconds."""

    path: CalibrationPath
    size_bytes: int
    n: int
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Predicted / measured - 1."""
        return self.predicted_s / self.measured_s - 1.0


def fits_of(samples: Iterable[CalibrationSample], origin: Origin) -> list[CalibrationFit]:
    """A fit of every path that was sampled for one, by how many processes used it at once.

    Raises ValueError where a path has too few samples, or bytes of one size only.
    """
    grouped: dict[tuple[CalibrationPath, int], list[CalibrationSample]] = {}
    for sample in samples:
        if sample.purpose is SamplePurpose.FIT:
            varied = _model(sample.path) is FitModel.RANKS
            key = (sample.path, _VARIED if varied else sample.processes)
            grouped.setdefault(key, []).append(sample)
    return [_fit(*key, found, origin) for key, found in sorted(grouped.items())]


def checks_of(
    samples: Sequence[CalibrationSample], fits: Iterable[CalibrationFit], origin: Origin
) -> list[CalibrationCheck]:
    """What the fits predict of each sample that they have not seen."""
    by_path = fits_by_path(fits)
    checks = []
    for ordinal, sample in enumerate(samples):
        if sample.purpose is SamplePurpose.CHECK and sample.size_bytes is not None:
            transfer = restored_by(by_path, sample.path)
            if transfer is not None:
                predicted_s = transfer.duration_s(sample.size_bytes)
                words = origin.conditions.get(sample.path, "")
                checks.append(CalibrationCheck(ordinal, predicted_s, words))
    return checks


def checked_sizes(
    samples: Sequence[CalibrationSample], checks: Iterable[CalibrationCheck]
) -> list[CheckedSize]:
    """The checks, one a path and size."""
    grouped: dict[tuple[CalibrationPath, int], list[tuple[float, float]]] = {}
    for check in checks:
        sample = samples[check.ordinal]
        key = (sample.path, sample.size_bytes or 0)
        grouped.setdefault(key, []).append((sample.duration_s, check.predicted_s))
    return [
        CheckedSize(*key, len(found), median(m for m, _ in found), median(p for _, p in found))
        for key, found in sorted(grouped.items())
    ]


def median_error(sizes: Iterable[CheckedSize]) -> float | None:
    """The median of the sizes' errors, whichever way they go; None without any."""
    errors = [abs(each.error) for each in sizes]
    return median(errors) if errors else None


def _model(path: CalibrationPath) -> FitModel:
    return _MODELS.get(path, FitModel.BYTES)


def _fit(
    path: CalibrationPath, processes: int, samples: Sequence[CalibrationSample], origin: Origin
) -> CalibrationFit:
    model = _model(path)
    sizes = [sample.size_bytes for sample in samples if sample.size_bytes is not None]
    fitted = _fitted(model, samples, sizes)
    slope = None if fitted.slope is None else _number(fitted.slope)
    return CalibrationFit(
        session=origin.session,
        started_at=origin.started_at,
        path=path,
        processes=processes,
        model=model,
        n=len(samples),
        outliers=int(fitted.outliers),
        spread_fraction=float(fitted.scale),
        latency_s=_number(fitted.constant),
        s_per_byte=slope if model is FitModel.BYTES else None,
        s_per_rank=slope if model is FitModel.RANKS else None,
        smallest_bytes=min(sizes, default=None),
        largest_bytes=max(sizes, default=None),
        conditions=origin.conditions.get(path, ""),
        source_id=origin.source_id,
    )


def _fitted(model: FitModel, samples: Sequence[CalibrationSample], sizes: Sequence[int]) -> Fitted:
    durations = [sample.duration_s for sample in samples]
    if model is FitModel.MEAN:
        return fit_constant(durations)
    if model is FitModel.RANKS:
        return fit_line([sample.processes for sample in samples], durations)
    return fit_line(sizes, durations)


def _number(estimate: Estimate) -> FittedNumber:
    return FittedNumber(float(estimate.value), float(estimate.low), float(estimate.high))
