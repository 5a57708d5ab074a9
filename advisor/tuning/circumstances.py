"""What the joint search is told beside the scenario, and what follows from it for a detection
timeout. Pure."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from advisor.errors import UserError
from advisor.scenario import Scenario
from advisor.simulation.process import SURVIVES_ALL, Kind
from advisor.tuning.hiccups import Hiccups
from advisor.tuning.limits import MOST_REPLICAS
from advisor.tuning.price import Numbers

BEYOND_TIMEOUT_S = 0.16
"""What detection takes beyond the process group's timeout: 2.16, 5.17 and 10.15 s for timeouts of
2, 5 and 10 s (paper, Table VI)."""
LONGEST_TIMEOUT_S = 3600.0
STEPS_OF_SILENCE = 2.0
"""A timeout is at least so many steps and all saves of one: a healthy rank is silent so long."""
NO_NODE = (Kind(1.0, 0, 0),)
"""Failures that take no node: a process ends, and another one starts in its place."""


class Objective(StrEnum):
    """What the best settings have the least of."""

    TIME = "time"
    NODE_HOURS = "node-hours"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the search is told beside the scenario.

    `kinds` says how many of the job's `nodes` failures take at once. `hiccups` None: the timeout is
    not searched, detection takes what the scenario says. Else a `silent` share of the failures is
    found by the timeout alone. `repair_s` None: there are always spares enough.
    """

    nodes: int
    kinds: tuple[Kind, ...] = NO_NODE
    hiccups: Hiccups | None = None
    silent: float = 1.0
    repair_s: float | None = None
    most_spares: int = 0
    most_tiers: int = 2
    most_replicas: int | None = None
    objective: Objective = Objective.TIME

    def __post_init__(self) -> None:
        if not 0.0 <= self.silent <= 1.0:
            raise UserError("the share of silent failures is from 0% to 100%")
        if self.objective is Objective.NODE_HOURS and self.repair_s is None:
            raise UserError(
                "node-hours differ by their spares only: give the time to repair a node too"
            )
        if self.repair_s is not None and not any(kind.nodes for kind in self.kinds):
            raise UserError(
                "no failure takes a node, so none is repaired: say how many nodes failures take, "
                "such as 0:80%,1:20%"
            )

    @property
    def losses(self) -> tuple[Kind, ...]:
        """The kinds on these nodes: what takes as many as there are takes all of them."""
        return tuple(self._on_nodes(kind) for kind in self.kinds)

    @property
    def loses_several(self) -> bool:
        """Whether a failure may take more than one node."""
        return any(min(kind.nodes, self.nodes) > 1 for kind in self.kinds)

    @property
    def replicas_called_for(self) -> tuple[int, ...]:
        """The numbers of peers with which one of the kinds is just survived."""
        most = min(self.most_replicas or MOST_REPLICAS, self.nodes - 1)
        return tuple(sorted({kind.nodes for kind in self.kinds if 1 < kind.nodes <= most}))

    @property
    def is_plain(self) -> bool:
        """Whether nothing was told that Eq. (5) does not know."""
        return self.hiccups is None and self.repair_s is None and self.kinds == NO_NODE

    def _on_nodes(self, kind: Kind) -> Kind:
        if kind.nodes < self.nodes:
            return kind
        return Kind(kind.share, SURVIVES_ALL, self.nodes)


def alarms_per_s(told: Circumstances, timeouts_s: Numbers | None) -> Numbers:
    """The rate of false alarms at each timeout."""
    if told.hiccups is None or timeouts_s is None:
        return np.zeros(1)
    return told.hiccups.rate_above_per_s(timeouts_s)


def detections_s(scenario: Scenario, told: Circumstances, timeouts_s: Numbers | None) -> Numbers:
    """The mean detection of a failure at each timeout: who is not silent is found as the scenario
    says, or by the timeout if that is sooner."""
    if told.hiccups is None or timeouts_s is None:
        return np.full(1, scenario.detection_s)
    by_timeout_s = timeouts_s + BEYOND_TIMEOUT_S
    loud_s = np.minimum(by_timeout_s, scenario.detection_s)
    return np.asarray(told.silent * by_timeout_s + (1.0 - told.silent) * loud_s)


def timeouts_of(scenario: Scenario) -> Numbers:
    """The timeouts (s) that are searched: two significant digits, from two steps to an hour."""
    low = STEPS_OF_SILENCE * scenario.step_time_s
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(LONGEST_TIMEOUT_S))) + 1)
    found = [round(m * 10.0 ** (d - 1), 9) for d in decades for m in range(10, 100)]
    return np.array([t for t in found if low <= t <= LONGEST_TIMEOUT_S] or [low])
