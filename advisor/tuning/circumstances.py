"""What the joint search is told beside the scenario, and what follows from it for a detection
timeout. Pure."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from advisor.errors import UserError
from advisor.scenario import Scenario
from advisor.tuning.hiccups import Hiccups
from advisor.tuning.losses import ONE_AT_A_TIME, Losses
from advisor.tuning.price import Numbers
from advisor.tuning.spares import Repairs

BEYOND_TIMEOUT_S = 0.16
"""What detection takes beyond the process group's timeout: 2.16, 5.17 and 10.15 s for timeouts of
2, 5 and 10 s (paper, Table VI)."""
LONGEST_TIMEOUT_S = 3600.0
STEPS_OF_SILENCE = 2.0
"""A timeout is at least so many steps: a healthy rank is silent for one."""


class Objective(StrEnum):
    """What the best settings have the least of."""

    TIME = "time"
    NODE_HOURS = "node-hours"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the search is told beside the scenario.

    `hiccups` None: the timeout is not searched, detection takes what the scenario says. Else a
    `silent` share of the failures is found by the timeout, and the others as the scenario says.
    `repairs` None: there are always spares enough.
    """

    losses: Losses = ONE_AT_A_TIME
    hiccups: Hiccups | None = None
    silent: float = 1.0
    repairs: Repairs | None = None
    most_spares: int = 0
    most_tiers: int = 2
    most_replicas: int | None = None
    objective: Objective = Objective.TIME

    def __post_init__(self) -> None:
        if not 0.0 <= self.silent <= 1.0:
            raise UserError("the share of silent failures is from 0% to 100%")
        if self.objective is Objective.NODE_HOURS and self.repairs is None:
            raise UserError(
                "node-hours differ by their spares only: give the repair time and the most spares"
            )


def alarms_per_s(circumstances: Circumstances, timeouts_s: Numbers | None) -> Numbers:
    """The rate of false alarms at each timeout."""
    if circumstances.hiccups is None or timeouts_s is None:
        return np.zeros(1)
    return circumstances.hiccups.rate_above_per_s(timeouts_s)


def detections_s(
    scenario: Scenario, circumstances: Circumstances, timeouts_s: Numbers | None
) -> Numbers:
    """The mean detection of a failure at each timeout."""
    if circumstances.hiccups is None or timeouts_s is None:
        return np.full(1, scenario.detection_s)
    silent = circumstances.silent
    found: Numbers = (
        silent * (timeouts_s + BEYOND_TIMEOUT_S) + (1.0 - silent) * scenario.detection_s
    )
    return found


def timeouts_of(scenario: Scenario) -> Numbers:
    """The timeouts (s) that are searched: two significant digits, from two steps to an hour."""
    low = STEPS_OF_SILENCE * scenario.step_time_s
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(LONGEST_TIMEOUT_S))) + 1)
    found = [round(m * 10.0 ** (d - 1), 9) for d in decades for m in range(10, 100)]
    return np.array([t for t in found if low <= t <= LONGEST_TIMEOUT_S] or [low])
