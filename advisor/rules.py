"""The rules that stretch a measurement (docs/decisions/0003-extrapolation.md), by name.

`prediction/` applies them, `leave_one_out.py` checks them, the recommendation names them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """One step from a measurement to a scenario."""

    LIKE_ARCHITECTURE = "like_architecture"
    PATH_RATIO = "path_ratio"
    STATE_SIZE = "state_size"
    CALIBRATED_SAVE = "calibrated_save"
    STEP_TIME = "step_time"
    INTERVAL = "interval"
    STORAGE_RATE = "storage_rate"
    RESTORE_SIZE = "restore_size"
    CALIBRATED_RESTORE = "calibrated_restore"
    CALIBRATED_RESTORE_SIZE = "calibrated_restore_size"
    CALIBRATED_DURATIONS = "calibrated_durations"
    NOISE_AS_ZERO = "noise_as_zero"
    OWN_BEHAVIOUR = "own_behaviour"
    OTHER_MECHANISMS = "other_mechanisms"


class Part(StrEnum):
    """What of a mechanism's cost a rule says: what training waits for at a save, or the restore."""

    STALL = "stall"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule where it was applied, with the distance from the measurement, in words."""

    rule: Rule
    words: str


_BOTH = frozenset(Part)
_STALL, _RESTORE = frozenset({Part.STALL}), frozenset({Part.RESTORE})

PARTS: Mapping[Rule, frozenset[Part]] = {
    Rule.LIKE_ARCHITECTURE: _BOTH,
    Rule.PATH_RATIO: _STALL,
    Rule.STATE_SIZE: _STALL,
    Rule.CALIBRATED_SAVE: _STALL,
    Rule.STEP_TIME: _STALL,
    Rule.INTERVAL: _STALL,
    Rule.STORAGE_RATE: _BOTH,
    Rule.RESTORE_SIZE: _RESTORE,
    Rule.CALIBRATED_RESTORE: _RESTORE,
    Rule.CALIBRATED_RESTORE_SIZE: _RESTORE,
    Rule.CALIBRATED_DURATIONS: _RESTORE,
    Rule.NOISE_AS_ZERO: frozenset(),
    Rule.OWN_BEHAVIOUR: frozenset(),
    Rule.OTHER_MECHANISMS: frozenset(),
}
"""What each rule predicts; nothing where it only says how an observation was read."""

TITLES: Mapping[Rule, str] = {
    Rule.LIKE_ARCHITECTURE: "another architecture with the same capabilities",
    Rule.PATH_RATIO: "ratio of the saves over the same path",
    Rule.STATE_SIZE: "save by state size",
    Rule.CALIBRATED_SAVE: "save by calibrated transfer",
    Rule.STEP_TIME: "another step time",
    Rule.INTERVAL: "another interval",
    Rule.STORAGE_RATE: "another storage rate",
    Rule.RESTORE_SIZE: "restore in proportion to the size",
    Rule.CALIBRATED_RESTORE: "restore by calibrated transfer",
    Rule.CALIBRATED_RESTORE_SIZE: "restore scaled by calibrated transfer",
    Rule.CALIBRATED_DURATIONS: "restore between calibrated durations",
    Rule.NOISE_AS_ZERO: "overhead below zero taken as zero",
    Rule.OWN_BEHAVIOUR: "the architecture's own behaviour",
    Rule.OTHER_MECHANISMS: "runs with another mechanism attached",
}

NEEDS: Mapping[Rule, str] = {
    Rule.LIKE_ARCHITECTURE: (
        "no mechanism was measured on two architectures with the same capabilities"
    ),
    Rule.PATH_RATIO: (
        "no two mechanisms were measured over one path on two architectures with the same "
        "capabilities"
    ),
    Rule.STATE_SIZE: "no mechanism was measured at two state sizes that are near enough",
    Rule.CALIBRATED_SAVE: (
        "it needs a calibration of the cluster's own, and a mechanism measured at two state sizes"
    ),
    Rule.STEP_TIME: "no mechanism was measured at two step times",
    Rule.INTERVAL: "no mechanism was measured at two intervals",
    Rule.STORAGE_RATE: "all points of a cluster were measured on its own storage",
    Rule.RESTORE_SIZE: "no restore was measured at two state sizes that are near enough",
    Rule.CALIBRATED_RESTORE: (
        "it needs a calibration of the cluster's own, and a measured restore over a calibrated path"
    ),
    Rule.CALIBRATED_RESTORE_SIZE: (
        "it needs a calibration of the cluster's own, and restores measured at two state sizes"
    ),
    Rule.CALIBRATED_DURATIONS: (
        "it needs published durations of the path, and a restore measured at another size"
    ),
    Rule.NOISE_AS_ZERO: "it reads a measurement, and predicts none",
    Rule.OWN_BEHAVIOUR: "it is what was observed, and predicts nothing",
    Rule.OTHER_MECHANISMS: "it is a range of what was observed, and predicts nothing",
}
"""Why a rule could not be checked on a cluster."""
