"""How long ahead a fault has to be announced for an emergency save to be in time. Pure.

For each architecture, every lead that was tried, and the break-even between them: the longest
lead that was too short at least once, and the shortest from which on none was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import median
from typing import Any

from db.lead_queries import Answer


@dataclass(frozen=True, slots=True)
class TriedLead:
    """The warnings that came one lead ahead; times in seconds."""

    lead_s: float
    warnings: int
    in_time: int
    median_s: float | None
    """From the warning until all had saved, over those that had; None if none had."""
    slowest_s: float | None


@dataclass(frozen=True, slots=True)
class BreakEven:
    """What one kind of cell needs; `fails_to_s` and `holds_from_s` bound the break-even, None
    where nothing that was tried says so."""

    architecture: str
    mechanism: str
    workload: str
    world_size: int
    tried: tuple[TriedLead, ...]

    @property
    def fails_to_s(self) -> float | None:
        """The longest lead that was too short at least once."""
        return max((t.lead_s for t in self.tried if t.in_time < t.warnings), default=None)

    @property
    def holds_from_s(self) -> float | None:
        """The shortest lead above all of those."""
        failed_s = self.fails_to_s
        longer = (t.lead_s for t in self.tried if failed_s is None or t.lead_s > failed_s)
        return min(longer, default=None)

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "fails_to_s": self.fails_to_s,
            "holds_from_s": self.holds_from_s,
        }


def break_evens(answers: Iterable[Answer]) -> tuple[BreakEven, ...]:
    """One for each kind of cell, in order."""
    ordered = sorted(answers, key=lambda a: (*_kind(a), a.lead_s))
    return tuple(
        BreakEven(*kind, tuple(_tried(list(same)) for _, same in groupby(of_kind, _lead_s)))
        for kind, of_kind in groupby(ordered, _kind)
    )


def _kind(answer: Answer) -> tuple[str, str, str, int]:
    return answer.architecture, answer.mechanism, answer.workload, answer.world_size


def _lead_s(answer: Answer) -> float:
    return answer.lead_s


def _tried(answers: Sequence[Answer]) -> TriedLead:
    took = [answer.took_s for answer in answers if answer.took_s is not None]
    return TriedLead(
        lead_s=answers[0].lead_s,
        warnings=len(answers),
        in_time=sum(answer.within_lead for answer in answers),
        median_s=median(took) if took else None,
        slowest_s=max(took, default=None),
    )
