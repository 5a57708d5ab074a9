"""What the user asks: the job, the failures, the limits. SI units; the edge converts.

`ScenarioInput` is what was typed, None where nothing was; `Scenario` has every value, and says of
each one that was not typed where it came from (`assumed`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from advisor.errors import UserError


class FailureRegime(StrEnum):
    """F1, or F2 and F3 (paper, section V-B)."""

    SINGLE = "single"
    MULTI = "multi"


class RestoreBasis(StrEnum):
    """Which restore times are used: the operating points' own, or the cluster's calibration."""

    PUBLISHED = "published"
    CALIBRATED = "calibrated"


class IntervalPolicy(StrEnum):
    """How the checkpoint interval is chosen where no number is given."""

    AUTO = "auto"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """What the user stated. Only the architecture, the state size and the MTBF are required."""

    architecture: str
    state_bytes: int
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
    storage_write_bytes_per_s: float | None = None
    storage_read_bytes_per_s: float | None = None
    host_memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    detection_s: float | None = None
    regroup_s: float | None = None
    init_s: float | None = None
    restore_basis: RestoreBasis | None = None

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            _require(name, getattr(self, name), lower=0.0, strict=True)
        for name in _NOT_NEGATIVE:
            _require(name, getattr(self, name), lower=0.0, strict=False)
        _require("warning_coverage", self.warning_coverage, lower=0.0, strict=False)
        if self.warning_coverage is not None and self.warning_coverage > 1.0:
            raise UserError(
                f"a warning coverage of {self.warning_coverage:.0%} is not possible: "
                "write 0% to 100%"
            )
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


_POSITIVE = (
    "state_bytes",
    "mtbf_s",
    "step_time_s",
    "duration_s",
    "storage_write_bytes_per_s",
    "storage_read_bytes_per_s",
)
_NOT_NEGATIVE = (
    "max_overhead",
    "max_restore_s",
    "max_pause_s",
    "warning_lead_s",
    "host_memory_bytes",
    "device_memory_bytes",
    "detection_s",
    "regroup_s",
    "init_s",
)


def _require(name: str, value: float | None, *, lower: float, strict: bool) -> None:
    if value is None:
        return
    words = name.removesuffix("_s").removesuffix("_bytes").replace("_", " ")
    if not isfinite(value) or value < lower or (strict and value == lower):
        bound = "more than 0" if strict else "0 or more"
        raise UserError(f"the {words} is {value:g}: it must be finite and {bound}")
