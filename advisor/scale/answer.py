"""The answer on each number of ranks: as always, for the scenario that the rules make of it.

A mechanism whose copies are with peers, or after which others go on, needs those others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from advisor.candidates import Consideration, consider
from advisor.changes import changes_along, halved_whole
from advisor.cost import Price, gpu_hours, money
from advisor.decide import exact_time
from advisor.errors import UserError
from advisor.recommendation import Candidate, ExactTime, Excluded
from advisor.scale.growth import Growth
from advisor.scale.rules import AppliedScaleRule, scaled
from advisor.scale.world_sizes import LARGEST_WORLD_SIZE, require_ranks
from advisor.scenario import Scenario, require_in_range
from db.records import Cadence, ClusterEvidence, Mechanism, TransferPath

SCAN_STEP = 0.02
"""World sizes looked at differ by 2 % at most, or by one node (rank, where some fill none)."""
_ROUNDING = 1e-9
_MOVED = (
    *("mtbf_s", "step_time_s", "duration_s", "state_bytes", "regroup_s"),
    *("storage_write_bytes_per_s", "storage_read_bytes_per_s"),
)
"""Fields of a scenario that a number of ranks moves."""
_DOUBLINGS = 6


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """The answer for one world size. Times in seconds, of the whole job.

    `selected` None: nobody is recommended there, and `excluded` says why. Without an expected time
    (nobody, or outside Eq. (5)) there is no goodput and there are no GPU-hours.
    """

    world_size: int
    nodes: int
    scenario: Scenario
    rules: tuple[AppliedScaleRule, ...]
    selected: Candidate | None
    exact: ExactTime | None
    excluded: tuple[Excluded, ...]

    @property
    def mechanism(self) -> str | None:
        return None if self.selected is None else self.selected.mechanism

    @property
    def expected_s(self) -> float | None:
        return None if self.selected is None else self.selected.expected_completion_s

    @property
    def goodput(self) -> float | None:
        """Useful (failure-free) time / total time."""
        return None if self.selected is None else self.selected.goodput

    @property
    def gpu_hours(self) -> float | None:
        return None if self.expected_s is None else gpu_hours(self.world_size, self.expected_s)

    def cost(self, price: Price | None) -> float | None:
        """GPU-hours x price, in its currency; None without either."""
        if self.gpu_hours is None or price is None:
            return None
        return money(self.gpu_hours, price)

    @property
    def exact_s(self) -> float | None:
        """The exact expected time (docs/completion_time.md); None also where the job practically
        never ends."""
        return None if self.exact is None else self.exact.completion_s

    @property
    def is_flagged(self) -> bool:
        """Whether Eq. (5) is more than 1 % off the exact time here."""
        return self.exact is not None and self.exact.is_flagged


@dataclass(frozen=True, slots=True)
class MechanismChange:
    """From `world_size` on, up to the next change, `after` is recommended instead of `before`;
    None: nobody. `last_before` is the largest world size looked at that still has `before`."""

    last_before: int
    world_size: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Scale:
    """The job over a range of world sizes; `points` are those asked for, smallest first.

    Of all that were looked at, `soonest` finishes first by the exact time and `cheapest` takes the
    fewest GPU-hours; None where no world size has such a time.
    """

    growth: Growth
    points: tuple[ScalePoint, ...]
    changes: tuple[MechanismChange, ...]
    soonest: ScalePoint | None
    cheapest: ScalePoint | None

    @property
    def no_gain_beyond(self) -> int | None:
        """The ranks beyond which more do not shorten the job; None: the last that have an expected
        time still do."""
        timed = [p.world_size for p in self.points if p.exact is not None]
        if self.soonest is None or self.soonest.world_size >= max(timed, default=0):
            return None
        return self.soonest.world_size


def scale(
    evidence: ClusterEvidence, scenario: Scenario, growth: Growth, world_sizes: Iterable[int]
) -> Scale:
    """The answers for these world sizes, and what changes between the smallest and the largest.

    Whole nodes where all of them fill their nodes, else ranks; each of the first 50, then steps of
    2 % at most. Changes of the mechanism between two of those are exact. Raises UserError.
    """
    asked = sorted(set(world_sizes))
    for each in asked:
        require_ranks(each, "a world size")
    known: dict[int, ScalePoint] = {}

    def point(world_size: int) -> ScalePoint:
        if world_size not in known:
            known[world_size] = _point(evidence, scenario, growth, world_size)
        return known[world_size]

    fills = all(each % growth.ranks_per_node == 0 for each in asked)
    unit = growth.ranks_per_node if fills else 1
    looked_at = [float(each) for each in _scan([size // unit for size in asked])]
    changes = changes_along(lambda v: point(int(v) * unit).mechanism, looked_at, halved_whole)
    timed = [found for found in known.values() if found.expected_s is not None]
    ending = [found for found in timed if found.exact_s is not None]
    return Scale(
        growth=growth,
        points=tuple(point(each) for each in asked),
        changes=tuple(
            MechanismChange(int(c.low) * unit, int(c.high) * unit, c.before, c.after)
            for c in changes
        ),
        soonest=_least(ending, lambda p: p.exact_s),
        cheapest=_least(timed, lambda p: p.gpu_hours),
    )


def _least(
    points: Sequence[ScalePoint], value: Callable[[ScalePoint], float | None]
) -> ScalePoint | None:
    """The point of the least value; of those that differ by rounding only, that of fewest ranks."""
    values = [found for point in points if (found := value(point)) is not None]
    limit = min(values, default=0.0) * (1.0 + _ROUNDING)
    least = [p for p in points if (found := value(p)) is not None and found <= limit]
    return min(least, key=lambda p: p.world_size, default=None)


def default_world_sizes(growth: Growth) -> tuple[int, ...]:
    """The scenario's own ranks and six doublings of them."""
    return tuple(
        min(growth.world_size * 2**power, LARGEST_WORLD_SIZE) for power in range(_DOUBLINGS + 1)
    )


def _point(
    evidence: ClusterEvidence, scenario: Scenario, growth: Growth, world_size: int
) -> ScalePoint:
    moved, rules = scaled(scenario, growth, world_size)
    considered = _considered(evidence, moved)
    too_few = {
        candidate.mechanism: reason
        for candidate in considered.candidates
        if (reason := _too_few_ranks(evidence.mechanisms[candidate.mechanism], world_size))
    }
    selected = next((c for c in considered.candidates if c.mechanism not in too_few), None)
    return ScalePoint(
        world_size=world_size,
        nodes=growth.nodes(world_size),
        scenario=moved,
        rules=rules,
        selected=selected,
        exact=None if selected is None else exact_time(moved, selected),
        excluded=(*considered.excluded, *(Excluded(*each) for each in too_few.items())),
    )


def _considered(evidence: ClusterEvidence, moved: Scenario) -> Consideration:
    """As for a scenario that somebody stated: none is answered outside the ranges of its inputs."""
    try:
        for name in _MOVED:
            require_in_range(name, getattr(moved, name))
    except UserError as error:
        return Consideration((), tuple(Excluded(m, str(error)) for m in evidence.mechanisms))
    return consider(evidence, moved)


def _too_few_ranks(mechanism: Mechanism, world_size: int) -> str | None:
    """What a mechanism needs other ranks for, where there are too few of them."""
    if TransferPath.PEER in (mechanism.save_path, mechanism.persist_path):
        needed, why = mechanism.default_replicas + 1, "peers hold its copies"
    elif mechanism.cadence in (Cadence.AFTER_FAILURE, Cadence.NEVER):
        needed, why = 2, "others have to survive a loss"
    else:
        return None
    if world_size >= needed:
        return None
    return f"{why}, so it needs {needed} ranks at least"


def _scan(asked: Sequence[int]) -> list[int]:
    """Whole numbers from the first to the last, in steps of 2 % or 1, and those asked for."""
    values, value = set(asked), asked[0]
    while value < asked[-1]:
        values.add(value)
        value += max(int(SCAN_STEP * value), 1)
    return sorted(values)
