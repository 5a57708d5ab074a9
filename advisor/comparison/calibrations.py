"""What each path takes, on each cluster that calibrated it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from advisor.calibration import newest_fits
from advisor.comparison.difference import Difference, Uncertain, difference
from db.records import CalibrationFit, CalibrationPath, ClusterEvidence, FittedNumber

COEFFICIENTS = ("latency_s", "s_per_byte", "s_per_rank")
_NORMAL_95 = 1.959964
"""Half width of a 95 % interval, in standard deviations of a normal distribution."""


@dataclass(frozen=True, slots=True)
class ComparedFit:
    """One coefficient of a path by cluster, with the fit that it is of; None where a cluster did
    not calibrate the path, or fits it by another model.

    `differences` are those of the other clusters from the first, None where one has no number.
    """

    path: CalibrationPath
    processes: int
    coefficient: str
    fits: tuple[CalibrationFit | None, ...]
    differences: tuple[Difference | None, ...]

    @property
    def numbers(self) -> tuple[FittedNumber | None, ...]:
        """The coefficient of each cluster."""
        return tuple(None if fit is None else number_of(fit, self.coefficient) for fit in self.fits)


def number_of(fit: CalibrationFit, coefficient: str) -> FittedNumber | None:
    """The coefficient of a fit; None where its model has no such part."""
    found: FittedNumber | None = getattr(fit, coefficient)
    return found


def compared_fits(evidences: Sequence[ClusterEvidence]) -> tuple[ComparedFit, ...]:
    """The coefficients of every path that several of the clusters calibrated, by the newest fit of
    each."""
    newest = [newest_fits(evidence) for evidence in evidences]
    paths = sorted({key for fits in newest for key in fits})
    return tuple(each for path in paths for each in _of_path([fits.get(path) for fits in newest]))


def _of_path(fits: Sequence[CalibrationFit | None]) -> Iterator[ComparedFit]:
    present = [fit for fit in fits if fit is not None]
    for coefficient in COEFFICIENTS:
        held = [None if fit is None else number_of(fit, coefficient) for fit in fits]
        if sum(number is not None for number in held) < 2:
            continue
        yield ComparedFit(
            path=present[0].path,
            processes=present[0].processes,
            coefficient=coefficient,
            fits=tuple(
                fit if number is not None else None for fit, number in zip(fits, held, strict=True)
            ),
            differences=tuple(_difference(held[0], other) for other in held[1:]),
        )


def _difference(baseline: FittedNumber | None, other: FittedNumber | None) -> Difference | None:
    if baseline is None or other is None:
        return None
    return difference(_uncertain(baseline), _uncertain(other))


def _uncertain(number: FittedNumber) -> Uncertain:
    """The interval of a fit is that of a normal number, of which the wider half counts: one may end
    at 0."""
    half_width = max(number.high - number.value, number.value - number.low)
    return Uncertain(number.value, half_width / _NORMAL_95)
