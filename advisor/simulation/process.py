"""What is simulated: a job, its failures, and what keeps its state. Seconds and fractions."""

from dataclasses import dataclass
from itertools import pairwise

from advisor.errors import UserError
from advisor.simulation.times import Times

SURVIVES_ALL = 10**9
"""More severe than any failure."""
_WHOLE = 1e-9
"""Relative difference within which one interval is a whole multiple of another."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A place that keeps states: saved every `interval_s` of work, which waits for `stall_s`.

    An interval of 0 keeps every moment. The tier survives failures up to this severity. What is
    restored from it is held by the more frequent tiers again.
    """

    interval_s: float
    stall_s: float
    restore_s: float
    survives: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure: how likely it is among all, how severe, and how many nodes it takes.

    One that takes no node leaves nothing to replace.
    """

    share: float = 1.0
    severity: int = 0
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Bursts:
    """A share of the failures draws `more` others after it, `spacing` apart."""

    share: float
    more: int
    spacing: Times


@dataclass(frozen=True, slots=True)
class Warnings:
    """A share of the failures is announced; one with time for a save loses nothing.

    The emergency save takes `save_s` and is as late as it can be: its end is the failure. It is
    made where the lead is at least `save_s` and `needs_s`, and is there for later failures too,
    until one is more severe than it survives. A false alarm is followed by such a save too, for
    nothing.
    """

    coverage: float
    lead: Times
    save_s: float
    restore_s: float
    false_alarms: Times | None = None
    needs_s: float = 0.0
    survives: int = SURVIVES_ALL

    @property
    def shortest_lead_s(self) -> float:
        """The shortest lead that is enough."""
        return max(self.save_s, self.needs_s)

    @property
    def in_time_fraction(self) -> float:
        """The share of all failures that is announced early enough."""
        return self.coverage * self.lead.at_least(self.shortest_lead_s)


@dataclass(frozen=True, slots=True)
class Spares:
    """Nodes that wait to replace others; one that failed is a spare again once it is repaired."""

    count: int
    repair: Times


@dataclass(frozen=True, slots=True)
class Process:
    """The whole process. Raises UserError for what cannot be.

    `work_s` is the failure-free time without a mechanism, lengthened by `overhead`. Tiers go from
    the most frequent to the rarest, each interval a whole multiple of the one before. `regroup_s`
    is what follows every restore: T_PG + T_init. Without a tier that survives, the job starts from
    the beginning.
    """

    work_s: float
    arrivals: Times
    tiers: tuple[Tier, ...]
    detection_s: float = 0.0
    regroup_s: float = 0.0
    overhead: float = 0.0
    kinds: tuple[Kind, ...] = (Kind(),)
    bursts: Bursts | None = None
    warnings: Warnings | None = None
    spares: Spares | None = None

    def __post_init__(self) -> None:
        if not self.work_s > 0.0:
            raise UserError("a job without work cannot be simulated")
        if any(tier.interval_s == 0.0 and tier.stall_s > 0.0 for tier in self.tiers):
            raise UserError("a tier that keeps every moment cannot wait for each save")
        for finer, coarser in pairwise(self.tiers):
            if finer.interval_s <= 0.0:
                raise UserError("beside a tier that keeps every moment no other one is needed")
            times = coarser.interval_s / finer.interval_s
            if round(times) < 1 or abs(times - round(times)) > _WHOLE * times:
                raise UserError(
                    "the interval of a tier has to be a whole multiple of the one before it"
                )
        if any(kind.share < 0.0 or kind.nodes < 0 for kind in self.kinds):
            raise UserError("no kind of failure has a share or a number of nodes below 0")
        if abs(sum(kind.share for kind in self.kinds) - 1.0) > _WHOLE:
            raise UserError("the shares of the kinds of failures have to add up to 1")

    def tier_for(self, severity: int) -> int | None:
        """The most frequent tier that survives, by its place; None: none does."""
        surviving = (i for i, tier in enumerate(self.tiers) if tier.survives >= severity)
        return next(surviving, None)
