"""What the user asks: the job, the failures, the limits. SI units; the edge converts.

`ScenarioInput` is what was typed, None where nothing was; `Scenario` has every value, and says of
each one that was not typed where it came from (`assumed`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from math import isfinite

from advisor.errors import UserError
from advisor.units import format_bytes, format_bytes_per_s, format_duration


class FailureRegime(StrEnum):
    """F1, or F2 and F3 (paper, section V-B)."""

    SINGLE = "single"
    MULTI = "multi"


class RestoreBasis(StrEnum):
    """Which restore times are used: the operating points' own, or the cluster's calibration."""

    PUBLISHED = "published"
    CALIBRATED = "calibrated"


class FewerRanks(StrEnum):
    """Whether a job may go on with fewer ranks after a loss, which is another training."""

    REFUSE = "refuse"
    ACCEPT = "accept"


class IntervalPolicy(StrEnum):
    """How the checkpoint interval is chosen where no number is given."""

    AUTO = "auto"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """What the user stated. Only the architecture and the MTBF are always required; the state size
    where the cluster measured the architecture at several."""

    architecture: str
    state_bytes: int | None
    mtbf_s: float
    cluster: str | None = None
    step_time_s: float | None = None
    duration_s: float | None = None
    mechanisms: tuple[str, ...] | None = None
    interval: int | IntervalPolicy | None = None
    max_overhead: float | None = None
    max_restore_s: float | None = None
    max_pause_s: float | None = None
    warning_lead_s: float | None = None
    warning_coverage: float | None = None
    failure_regime: FailureRegime | None = None
    fewer_ranks: FewerRanks | None = None
    storage_write_bytes_per_s: float | None = None
    storage_read_bytes_per_s: float | None = None
    host_memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    detection_s: float | None = None
    regroup_s: float | None = None
    init_s: float | None = None
    restore_basis: RestoreBasis | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.name in RANGES:
                require_in_range(item.name, getattr(self, item.name))
        if self.warning_coverage is not None and self.warning_lead_s is None:
            raise UserError("a warning coverage needs a warning lead too, such as 2s")
        if isinstance(self.interval, int) and self.interval < 1:
            raise UserError(
                f"an interval of {self.interval} is not possible: write a whole number of steps "
                "from 1, 'auto' or 'measured'"
            )


@dataclass(frozen=True, slots=True)
class Scenario:
    """Every input of the decision, resolved. `assumed` maps a field to where its value is from."""

    cluster: str
    architecture: str
    state_bytes: int
    mtbf_s: float
    step_time_s: float
    duration_s: float
    detection_s: float
    regroup_s: float
    init_s: float
    interval: int | IntervalPolicy
    failure_regime: FailureRegime
    restore_basis: RestoreBasis
    fewer_ranks: FewerRanks
    mechanisms: tuple[str, ...] | None = None
    max_overhead: float | None = None
    max_restore_s: float | None = None
    max_pause_s: float | None = None
    warning_lead_s: float | None = None
    warning_coverage: float | None = None
    storage_write_bytes_per_s: float | None = None
    storage_read_bytes_per_s: float | None = None
    host_memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    assumed: Mapping[str, str] = field(default_factory=dict)


_MICROSECOND, _LONGEST_S = 1e-6, 1e12
_LARGEST_BYTES = 10**18
RANGES: Mapping[str, tuple[float, float]] = {
    "state_bytes": (1, _LARGEST_BYTES),
    "mtbf_s": (1e-3, _LONGEST_S),
    "step_time_s": (_MICROSECOND, 1e6),
    "duration_s": (_MICROSECOND, _LONGEST_S),
    "storage_write_bytes_per_s": (1.0, 1e15),
    "storage_read_bytes_per_s": (1.0, 1e15),
    "max_overhead": (0.0, 1e6),
    "max_restore_s": (0.0, _LONGEST_S),
    "max_pause_s": (0.0, _LONGEST_S),
    "warning_lead_s": (0.0, _LONGEST_S),
    "warning_coverage": (0.0, 1.0),
    "host_memory_bytes": (0, _LARGEST_BYTES),
    "device_memory_bytes": (0, _LARGEST_BYTES),
    "detection_s": (0.0, _LONGEST_S),
    "regroup_s": (0.0, _LONGEST_S),
    "init_s": (0.0, _LONGEST_S),
    "save_s": (_MICROSECOND, _LONGEST_S),
    "recovery_s": (0.0, _LONGEST_S),
}
"""What each number may be, ends included: far wider than anything real, and narrow enough that no
arithmetic overflows."""


def require_in_range(name: str, value: float | None) -> None:
    """Raises UserError that says what would be valid."""
    if value is None:
        return
    low, high = RANGES[name]
    if isfinite(value) and low <= value <= high:
        return
    words = name
    for suffix in ("_bytes_per_s", "_bytes", "_s"):
        words = words.removesuffix(suffix).replace("mtbf", "MTBF")
    raise UserError(
        f"the {words.replace('_', ' ')} is {_in_words(name, value)}: it must be from "
        f"{_in_words(name, low)} to {_in_words(name, high)}"
    )


def _in_words(name: str, value: float) -> str:
    if not isfinite(value):
        return str(value)
    if name.endswith("_bytes_per_s"):
        return format_bytes_per_s(value)
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_s"):
        return f"{value:g} s" if abs(value) > 1e9 or value < 0.0 else format_duration(value)
    return f"{100.0 * value:g} %"
