"""Several clusters side by side: what each measured of every cell, and how they differ. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor.comparison.calibrations import ComparedFit, compared_fits
from advisor.comparison.difference import Difference, Uncertain, difference
from advisor.comparison.matching import Key, Number, Row, rows, unlike
from advisor.errors import UserError
from advisor.uncertainty.spread import MEASURED, spread_of
from db.records import ClusterEvidence, EvidencedValue

CHANCE = 0.05
"""Share of equal numbers whose difference is taken for more than chance all the same."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A cell; of each cluster but the first, how it differs from the first, and which conditions
    they do not share. None, or empty, where one of the two has no number."""

    key: Key
    numbers: tuple[Number | None, ...]
    differences: tuple[Difference | None, ...]
    unlike: tuple[tuple[str, ...], ...]

    @property
    def is_common(self) -> bool:
        """Whether every cluster has a number."""
        return all(map(has_value, self.numbers))


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one cluster beside the first: cells that both have a number of, and that one of them only
    has; of the former, what became of the comparison."""

    cluster: str
    both: int
    only_first: int
    only_this: int
    more_than_chance: int
    maybe_chance: int
    not_measured: int
    """Of `both`: one of the two numbers is analytical, a design value or the like."""
    unlike: int
    """Of `both`: under conditions that differ."""

    @property
    def not_told(self) -> int:
        """Both are measured, and nothing says how far one of the two may be off."""
        return self.both - self.more_than_chance - self.maybe_chance - self.not_measured


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first cluster is what the others are compared with."""

    evidences: tuple[ClusterEvidence, ...]
    rows: tuple[ComparedRow, ...]
    fits: tuple[ComparedFit, ...]
    counts: tuple[Counts, ...]
    """Of each cluster but the first."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters, in order."""
        return tuple(evidence.cluster.cluster for evidence in self.evidences)

    @property
    def uncalibrated(self) -> tuple[str, ...]:
        """The clusters without a calibration of their own."""
        return tuple(e.cluster.cluster for e in self.evidences if not e.fits)


def compare(
    evidences: Sequence[ClusterEvidence],
    architectures: Sequence[str] | None = None,
    mechanisms: Sequence[str] | None = None,
) -> Comparison:
    """Compares the clusters with the first of them; all cells, or those of some architectures and
    mechanisms. Raises UserError for fewer than two, or for one twice."""
    names = [evidence.cluster.cluster for evidence in evidences]
    require_several(names)
    found = [
        _compared(row)
        for row in rows(evidences)
        if (architectures is None or row.key.architecture in architectures)
        and (mechanisms is None or row.key.mechanism in mechanisms)
    ]
    counts = tuple(_counts(names[place], found, place) for place in range(1, len(names)))
    return Comparison(tuple(evidences), tuple(found), compared_fits(evidences), counts)


def require_several(names: Sequence[str]) -> None:
    """Raises UserError unless there are at least two names, each once."""
    if len(names) < 2:
        raise UserError("name at least two clusters to compare; the first is the baseline")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)} is there twice: name each cluster once")


def uncertain(found: EvidencedValue) -> Uncertain | None:
    """How far a number may be off, by its own runs; None where it has no value."""
    if found.value is None:
        return None
    if found.evidence not in MEASURED:
        kind = found.evidence.value.replace("_", " ")
        return Uncertain(found.value, None, why=f"not told: a number is {kind}, not measured")
    spread = spread_of(found, None)
    if spread is None:
        return Uncertain(found.value, None, why="not told: a number has no dispersion")
    return Uncertain(found.value, spread.standard_error, spread.degrees)


def _compared(row: Row) -> ComparedRow:
    first, *others = row.numbers
    return ComparedRow(
        key=row.key,
        numbers=row.numbers,
        differences=tuple(_difference(first, other) for other in others),
        unlike=tuple(
            () if first is None or other is None else unlike(row.key.compared, first, other)
            for other in others
        ),
    )


def _difference(first: Number | None, other: Number | None) -> Difference | None:
    if first is None or other is None:
        return None
    a, b = uncertain(first.found), uncertain(other.found)
    if a is None or b is None:
        return None
    found = difference(a, b)
    # What is not measured may be a bound: so many times a bound says nothing of the clusters.
    return found if _are_measured(first, other) else replace(found, ratio=None)


def _counts(cluster: str, found: Sequence[ComparedRow], place: int) -> Counts:
    both = [(d, row) for row in found if (d := row.differences[place - 1]) is not None]
    has = [(has_value(row.numbers[0]), has_value(row.numbers[place])) for row in found]
    return Counts(
        cluster=cluster,
        both=len(both),
        only_first=sum(first and not this for first, this in has),
        only_this=sum(this and not first for first, this in has),
        more_than_chance=sum(d.is_more_than_chance is True for d, _ in both),
        maybe_chance=sum(d.is_more_than_chance is False for d, _ in both),
        not_measured=sum(not _are_measured(row.numbers[0], row.numbers[place]) for _, row in both),
        unlike=sum(bool(row.unlike[place - 1]) for _, row in both),
    )


def _are_measured(*numbers: Number | None) -> bool:
    return all(n is not None and n.found.evidence in MEASURED for n in numbers)


def has_value(number: Number | None) -> bool:
    """Whether a cluster measured the cell, and got a number."""
    return number is not None and number.found.value is not None
