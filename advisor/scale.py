"""The same job on more or fewer ranks: each input of the scenario by a stated rule, then the
decision as always. Sources and limits of the rules: docs/scale.md.

symbol  name here               unit  meaning
N, N0   world_size              1     ranks asked for, and ranks that the scenario describes
n, n0   nodes                   1     ceil(ranks / ranks_per_node)
h       node_share              1     share of the failures that are of nodes, at n0
c       communication_share     1     share of a step that is the all-reduce, at N0
f       fixed_share             1     share of a step that does not shrink with the batch, at N0
p       regroup_per_rank_s      s     what one more rank adds to forming the group

    1 / M(N)  = (h n / n0 + 1 - h) / M                          failures of nodes ~ nodes
    g(N)      = ((N - 1) / N) / ((N0 - 1) / N0)                 bytes a rank sends in a ring
    t(N)      = t ((1 - c) + c g)                               weak: batch per rank held
    t(N)      = t ((1 - c - f) N0 / N + f + c g)                strong: batch of the job held
    T0(N)     = T0 (N0 / N) t(N) / t       weak;                T0 t(N) / t       strong
    S(N)      = S                          replicated;          S N0 / N          sharded
    B(N)      = B                          replicated;          B N0 / N          sharded
    T_PG(N)   = T_PG + p (N - N0), 0 at least

The rest (detection, initialisation, memory of a node, limits) stays. What a save and a restore
cost comes from measurements at their own number of ranks, and is taken to hold. A mechanism whose
copies are with peers, or after which others go on, needs those others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

from advisor.calibration import newest_fits
from advisor.candidates import Consideration, consider
from advisor.changes import changes_along, halved_whole
from advisor.cost import Price, gpu_hours, money
from advisor.decide import exact_time
from advisor.errors import UserError
from advisor.recommendation import Candidate, ExactTime, Excluded
from advisor.scenario import Scenario, require_in_range
from advisor.units import (
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_number,
    format_percent,
)
from db.records import (
    Cadence,
    CalibrationPath,
    ClusterEvidence,
    FailureScope,
    Mechanism,
    TransferPath,
)

LARGEST_WORLD_SIZE = 1_000_000
SCAN_STEP = 0.02
"""World sizes looked at differ by 2 % at most, or by one node (rank, where some fill none)."""
_REPLICATED_STATE = "replicated_state"
_VARIED = 0
_ROUNDING = 1e-9
_MOVED = (
    *("mtbf_s", "step_time_s", "duration_s", "state_bytes", "regroup_s"),
    *("storage_write_bytes_per_s", "storage_read_bytes_per_s"),
)
"""Fields of a scenario that a number of ranks moves."""
_DOUBLINGS = 6


class Scaling(StrEnum):
    """What is held when ranks are added: each rank's batch, or the job's."""

    WEAK = "weak"
    STRONG = "strong"


class StateLayout(StrEnum):
    """Whether every rank holds the whole state, or its own part of it."""

    REPLICATED = "replicated"
    SHARDED = "sharded"


class ScaleRule(StrEnum):
    """One step from the scenario's ranks to another number of them."""

    MTBF = "mtbf"
    STEP_TIME = "step_time"
    DURATION = "duration"
    STATE = "state"
    STORAGE = "storage"
    REGROUP = "regroup"
    SAVE_COSTS = "save_costs"


@dataclass(frozen=True, slots=True)
class AppliedScaleRule:
    """A rule where it was applied, in words; `distance` is how many times N is from the ranks
    that the rule starts from."""

    rule: ScaleRule
    words: str
    distance: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How the job of a scenario grows (symbols above). Made by `growth_of`, which checks it."""

    world_size: int
    ranks_per_node: int
    measured_world_size: int | None
    scope: FailureScope
    node_share: float
    scaling: Scaling
    communication_share: float
    fixed_share: float
    layout: StateLayout
    regroup_per_rank_s: float
    regroup_words: str
    assumed: tuple[str, ...]
    """What was not stated, each with the value that was taken and where it is from."""

    def nodes(self, world_size: int) -> int:
        """Nodes that so many ranks take."""
        return ceil(world_size / self.ranks_per_node)


@dataclass(frozen=True, slots=True)
class StatedGrowth:
    """What the user stated of it; None where nothing."""

    world_size: int | None = None
    ranks_per_node: int | None = None
    scope: FailureScope | None = None
    node_share: float | None = None
    scaling: Scaling | None = None
    communication_share: float | None = None
    fixed_share: float | None = None
    layout: StateLayout | None = None
    regroup_per_rank_s: float | None = None


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


def growth_of(evidence: ClusterEvidence, scenario: Scenario, stated: StatedGrowth) -> Growth:
    """The growth with what was not stated filled in. Raises UserError for what makes no sense."""
    assumed: list[str] = []
    measured = _measured_world_size(evidence, scenario.architecture)
    world_size = stated.world_size
    if world_size is None:
        if measured is None:
            raise UserError(
                f"no world size is known of {scenario.architecture} on {scenario.cluster}: say how "
                "many ranks the scenario describes"
            )
        world_size = measured
        assumed.append(f"the scenario describes {measured} ranks, with which it was measured")
    ranks_per_node = stated.ranks_per_node
    if ranks_per_node is None:
        ranks_per_node = evidence.cluster.ranks_per_node
        assumed.append(f"{ranks_per_node} ranks on a node, as on {scenario.cluster}")
    _require_ranks(world_size, "the scenario's ranks")
    _require_ranks(ranks_per_node, "ranks on a node")
    scope, node_share = _scope(stated, assumed)
    communication = _share(stated.communication_share, "communication", assumed)
    fixed = _share(stated.fixed_share, "fixed part", assumed, needed=_is_strong(stated))
    if communication + fixed > 1.0:
        raise UserError(
            f"communication and the fixed part are {format_percent(communication + fixed)} of a "
            "step: together they can be 100 %"
        )
    if communication > 0.0 and world_size == 1:
        raise UserError("one rank has nobody to communicate with: its communication is 0 %")
    if stated.scaling is None:
        assumed.append("weak scaling: each rank keeps its batch, so the job takes fewer steps")
    layout = stated.layout or _layout(evidence, scenario.architecture, assumed)
    per_rank_s, words = _regroup_growth(evidence, stated)
    return Growth(
        world_size=world_size,
        ranks_per_node=ranks_per_node,
        measured_world_size=measured,
        scope=scope,
        node_share=node_share,
        scaling=stated.scaling or Scaling.WEAK,
        communication_share=communication,
        fixed_share=fixed,
        layout=layout,
        regroup_per_rank_s=per_rank_s,
        regroup_words=words,
        assumed=tuple(assumed),
    )


def scaled(
    scenario: Scenario, growth: Growth, world_size: int
) -> tuple[Scenario, tuple[AppliedScaleRule, ...]]:
    """The scenario of the same job on so many ranks, and the rules that were needed.

    On the ranks that it describes it is the scenario itself.
    """
    costs = tuple(_save_costs(growth, world_size))
    if world_size == growth.world_size:
        return scenario, costs
    ratio = world_size / growth.world_size
    step = _step_factor(growth, world_size)
    steps = 1.0 / ratio if growth.scaling is Scaling.WEAK else 1.0
    # Without a rate there is nothing to say that shared storage takes as long for the same total,
    # so what a rank saves is held instead.
    shrink = 1.0 / ratio if _shrinks(scenario, growth) else 1.0
    regroup_s = max(
        scenario.regroup_s + growth.regroup_per_rank_s * (world_size - growth.world_size), 0.0
    )
    moved = replace(
        scenario,
        mtbf_s=scenario.mtbf_s / _failures_factor(growth, world_size),
        step_time_s=scenario.step_time_s * step,
        duration_s=scenario.duration_s * step * steps,
        state_bytes=max(round(scenario.state_bytes * shrink), 1),
        storage_write_bytes_per_s=_times(scenario.storage_write_bytes_per_s, shrink),
        storage_read_bytes_per_s=_times(scenario.storage_read_bytes_per_s, shrink),
        regroup_s=regroup_s,
    )
    return moved, (*_rules(scenario, moved, growth, world_size), *costs)


def scale(
    evidence: ClusterEvidence, scenario: Scenario, growth: Growth, world_sizes: Iterable[int]
) -> Scale:
    """The answers for these world sizes, and what changes between the smallest and the largest.

    Whole nodes where all of them fill their nodes, else ranks; each of the first 50, then steps of
    2 % at most. Changes of the mechanism between two of those are exact. Raises UserError.
    """
    asked = sorted(set(world_sizes))
    for each in asked:
        _require_ranks(each, "a world size")
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


def parse_world_size(text: str) -> int:
    """A number of ranks. Raises UserError."""
    return _whole(text, text)


def parse_world_sizes(text: str) -> tuple[int, ...]:
    """`8,16,64`, or `8..1024`, which doubles from 8 and ends with 1024. Raises UserError."""
    sizes: set[int] = set()
    for part in text.split(","):
        first, dots, last = part.partition("..")
        low, high = _whole(first, text), _whole(last if dots else first, text)
        if low > high:
            raise UserError(f"{part.strip()} goes downwards: write {high}..{low}")
        size = low
        while size < high:
            sizes.add(size)
            size *= 2
        sizes.add(high)
    return tuple(sorted(sizes))


def _whole(text: str, whole: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        raise UserError(
            f"{whole[:40]!r} are no world sizes: write numbers of ranks, such as 8,16,64 or 8..1024"
        )
    return _require_ranks(int(digits[:10]), "a world size")


def _require_ranks(count: int, what: str) -> int:
    if not 1 <= count <= LARGEST_WORLD_SIZE:
        raise UserError(f"{what}: {count}; it must be from 1 to {LARGEST_WORLD_SIZE:,}")
    return count


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


def _measured_world_size(evidence: ClusterEvidence, architecture: str) -> int | None:
    """The largest number of ranks with which the architecture was measured."""
    return max(
        (p.world_size for p in evidence.points if p.architecture == architecture and p.world_size),
        default=None,
    )


def _scope(stated: StatedGrowth, assumed: list[str]) -> tuple[FailureScope, float]:
    """The scope of the MTBF, and the share of those failures that nodes bring."""
    scope = stated.scope
    if scope is None:
        scope = FailureScope.NODE
        if stated.node_share is None:
            assumed.append("the MTBF counts failures of nodes, which come with the nodes")
    if stated.node_share is None:
        if scope is not FailureScope.NODE:
            raise UserError(
                f"an MTBF of scope {scope.value} counts what does not come with nodes as well: say "
                "which share of these failures are of nodes"
            )
        return scope, 1.0
    if not 0.0 <= stated.node_share <= 1.0:
        raise UserError("the share of failures of nodes must be from 0 % to 100 %")
    if stated.scope is FailureScope.NODE and stated.node_share != 1.0:
        raise UserError("all failures of scope node are of nodes: their share is 100 %")
    if stated.scope is None and stated.node_share != 1.0:
        scope = FailureScope.JOB
    return scope, stated.node_share


def _share(stated: float | None, what: str, assumed: list[str], *, needed: bool = True) -> float:
    if stated is None:
        if needed:
            assumed.append(f"{what} takes 0 % of a step: the best case")
        return 0.0
    if not 0.0 <= stated <= 1.0:
        raise UserError(f"the share of {what} must be from 0 % to 100 % of a step")
    return stated


def _is_strong(stated: StatedGrowth) -> bool:
    if stated.scaling is not Scaling.STRONG and stated.fixed_share:
        raise UserError("a fixed part matters where the job's batch is held: say strong scaling")
    return stated.scaling is Scaling.STRONG


def _layout(evidence: ClusterEvidence, architecture: str, assumed: list[str]) -> StateLayout:
    capabilities = evidence.architectures[architecture].capabilities
    if _REPLICATED_STATE in capabilities:
        assumed.append(f"the whole state on every rank, as {architecture.upper()} has it")
        return StateLayout.REPLICATED
    assumed.append(f"each rank holds its own part of the state, as {architecture.upper()} has it")
    return StateLayout.SHARDED


def _regroup_growth(evidence: ClusterEvidence, stated: StatedGrowth) -> tuple[float, str]:
    """What one more rank adds to forming the group (s): stated, calibrated, or nothing."""
    if stated.regroup_per_rank_s is not None:
        return stated.regroup_per_rank_s, "stated"
    fit = newest_fits(evidence).get((CalibrationPath.GROUP_FORMATION, _VARIED))
    if fit is None or fit.s_per_rank is None:
        return 0.0, f"taken to stay: {evidence.cluster.cluster} has no calibrated group formation"
    rank = fit.s_per_rank
    low, high = (format_duration(max(each, 0.0)) for each in (rank.low, rank.high))
    return max(rank.value, 0.0), (
        f"calibrated group formation, {low} to {high} a rank (95 %), fitted to {fit.n} samples "
        f"(calibration {fit.session})"
    )


def _failures_factor(growth: Growth, world_size: int) -> float:
    """How many times as often the job fails."""
    grown = growth.nodes(world_size) / growth.nodes(growth.world_size)
    return growth.node_share * grown + (1.0 - growth.node_share)


def _step_factor(growth: Growth, world_size: int) -> float:
    """How many times as long a step takes."""
    c, f = growth.communication_share, growth.fixed_share
    communication = c * _ring(world_size) / _ring(growth.world_size) if c else 0.0
    if growth.scaling is Scaling.WEAK:
        return (1.0 - c) + communication
    return (1.0 - c - f) * growth.world_size / world_size + f + communication


def _ring(world_size: int) -> float:
    """Share of the gradients that a rank sends in each half of a ring all-reduce."""
    return (world_size - 1) / world_size


def _shrinks(scenario: Scenario, growth: Growth) -> bool:
    """Whether each rank's part of the state is counted as smaller on more ranks."""
    rates = scenario.storage_write_bytes_per_s, scenario.storage_read_bytes_per_s
    return growth.layout is StateLayout.SHARDED and None not in rates


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _rules(
    before: Scenario, after: Scenario, growth: Growth, world_size: int
) -> Iterable[AppliedScaleRule]:
    distance = max(world_size / growth.world_size, growth.world_size / world_size)

    def rule(kind: ScaleRule, words: str) -> AppliedScaleRule:
        return AppliedScaleRule(kind, words, distance)

    nodes, nodes0 = growth.nodes(world_size), growth.nodes(growth.world_size)
    share = "" if growth.node_share == 1.0 else f"{format_percent(growth.node_share)} of "
    yield rule(
        ScaleRule.MTBF,
        f"MTBF: {share}the failures (scope {growth.scope.value}) come with the nodes, "
        f"{nodes:,} instead of {nodes0:,}: {format_duration(after.mtbf_s)} instead of "
        f"{format_duration(before.mtbf_s)}",
    )
    held = "each rank's batch" if growth.scaling is Scaling.WEAK else "the job's batch"
    yield rule(
        ScaleRule.STEP_TIME,
        f"step time: {growth.scaling.value} scaling holds {held}; all-reduce "
        f"{format_percent(growth.communication_share)} of a step, as a ring; fixed "
        f"{format_percent(growth.fixed_share)}: {format_duration(after.step_time_s)} instead of "
        f"{format_duration(before.step_time_s)}",
    )
    yield rule(
        ScaleRule.DURATION,
        f"failure-free time: the same samples, {format_duration(after.duration_s)} instead of "
        f"{format_duration(before.duration_s)}",
    )
    if growth.layout is StateLayout.SHARDED and not _shrinks(before, growth):
        yield rule(
            ScaleRule.STATE,
            "state: its total stays, and storage that all ranks share takes as long for it; since "
            "no storage rate is known, saves and restores are held",
        )
    elif growth.layout is StateLayout.SHARDED:
        yield rule(
            ScaleRule.STATE,
            f"state: its total stays, {format_bytes(after.state_bytes)} a rank instead of "
            f"{format_bytes(before.state_bytes)}",
        )
        rates = [
            f"{format_bytes_per_s(rate)} {what}"
            for what, rate in (
                ("written", after.storage_write_bytes_per_s),
                ("read", after.storage_read_bytes_per_s),
            )
            if rate is not None
        ]
        if rates:
            yield rule(
                ScaleRule.STORAGE,
                f"storage: more ranks share its rate, {' and '.join(rates)} for what "
                f"{growth.world_size:,} ranks shared before",
            )
    else:
        yield rule(ScaleRule.STATE, "state: every rank holds all of it, whatever their number")
    yield rule(
        ScaleRule.REGROUP,
        f"regrouping: {format_duration(after.regroup_s)} instead of "
        f"{format_duration(before.regroup_s)}; {growth.regroup_words}",
    )


def _save_costs(growth: Growth, world_size: int) -> Iterable[AppliedScaleRule]:
    """What a save and a restore cost was measured with another number of ranks."""
    measured = growth.measured_world_size
    if measured is None or measured == world_size:
        return
    distance = max(world_size / measured, measured / world_size)
    yield AppliedScaleRule(
        ScaleRule.SAVE_COSTS,
        f"saves and restores: as measured with {measured:,} ranks, {format_number(distance)} times "
        "from here; taken to hold",
        distance,
    )
