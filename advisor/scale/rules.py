"""The rules by which the inputs of a scenario follow the number of ranks.

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
cost comes from measurements at their own number of ranks, and is taken to hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from advisor.scale.growth import Growth, Scaling, StateLayout
from advisor.scenario import Scenario
from advisor.units import (
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_number,
    format_percent,
)


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
