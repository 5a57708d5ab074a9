"""What a person states for the joint search, and the circumstances that it makes. Pure."""

from dataclasses import dataclass

from advisor.errors import UserError
from advisor.simulation.process import Kind
from advisor.tuning.circumstances import NO_NODE, Circumstances, Objective
from advisor.tuning.hiccups import ExponentialHiccups, Hiccups, ObservedHiccups

USUAL_SPARES = 8
"""Spares that are considered where nobody says how many."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What was stated; None where nothing was. Times in seconds."""

    kinds: tuple[Kind, ...] | None = None
    hiccup_every_s: float | None = None
    hiccup_length_s: float | None = None
    hiccups_s: tuple[float, ...] | None = None
    hiccups_over_s: float | None = None
    silent: float | None = None
    repair_s: float | None = None
    most_spares: int | None = None
    nodes: int | None = None
    most_tiers: int = 2
    most_replicas: int | None = None
    objective: Objective = Objective.TIME


def circumstances_of(stated: Stated, cluster_nodes: int) -> Circumstances:
    """With the cluster's number of nodes where none is stated. Raises UserError for what does not
    belong together."""
    hiccups = _hiccups(stated)
    if stated.silent is not None and hiccups is None:
        raise UserError(
            "a share of silent failures needs the hiccups of a healthy job, which a timeout weighs"
        )
    repair_s = stated.repair_s
    if repair_s is None and stated.most_spares is not None:
        raise UserError("spares need the mean time to repair a node: give it too")
    if repair_s is not None and repair_s <= 0.0:
        raise UserError("the time to repair a node has to be above 0s")
    most_spares = USUAL_SPARES if stated.most_spares is None else stated.most_spares
    return Circumstances(
        nodes=stated.nodes or cluster_nodes,
        kinds=stated.kinds or NO_NODE,
        hiccups=hiccups,
        silent=1.0 if stated.silent is None else stated.silent,
        repair_s=repair_s,
        most_spares=0 if repair_s is None else most_spares,
        most_tiers=stated.most_tiers,
        most_replicas=stated.most_replicas,
        objective=stated.objective,
    )


def _hiccups(stated: Stated) -> Hiccups | None:
    every_s, length_s = stated.hiccup_every_s, stated.hiccup_length_s
    observed_s, over_s = stated.hiccups_s, stated.hiccups_over_s
    if (every_s is None) != (length_s is None):
        raise UserError("how often hiccups come and how long they are belong together: give both")
    if (observed_s is None) != (over_s is None):
        raise UserError(
            "observed hiccups and the time of training in which they were seen belong "
            "together: give both"
        )
    if every_s is not None and observed_s is not None:
        raise UserError("hiccups are stated twice: as observed, and as a mean time and length")
    if every_s is not None and length_s is not None:
        return ExponentialHiccups(every_s, length_s)
    if observed_s is not None and over_s is not None:
        return ObservedHiccups(observed_s, over_s)
    return None
