"""How a job grows: what the user states of it, and what is assumed where nothing is stated."""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from advisor.calibration import newest_fits
from advisor.errors import UserError
from advisor.scale.world_sizes import require_ranks
from advisor.scenario import Scenario
from advisor.units import format_duration, format_percent
from db.records import CalibrationPath, ClusterEvidence, FailureScope

_REPLICATED_STATE = "replicated_state"
_VARIED = 0


class Scaling(StrEnum):
    """What is held when ranks are added: each rank's batch, or the job's."""

    WEAK = "weak"
    STRONG = "strong"


class StateLayout(StrEnum):
    """Whether every rank holds the whole state, or its own part of it."""

    REPLICATED = "replicated"
    SHARDED = "sharded"


@dataclass(frozen=True, slots=True)
class Growth:
    """How the job of a scenario grows (symbols: rules.py). Made by `growth_of`, which checks it."""

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
    require_ranks(world_size, "the scenario's ranks")
    require_ranks(ranks_per_node, "ranks on a node")
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
