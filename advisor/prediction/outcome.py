"""What a prediction is, why there may be none, and what follows from one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from advisor.optimizer import CostModel
from advisor.recommendation import UsedValue
from advisor.rules import AppliedRule
from db.records import Mechanism, Quantity


class NoPredictionError(Exception):
    """Why a mechanism cannot be priced here; `shown` holds figures that are known all the same."""

    def __init__(self, reason: str, shown: Mapping[str, float] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.shown = dict(shown or {})


@dataclass(frozen=True, slots=True)
class Prediction:
    """A mechanism's costs in the scenario. Times in seconds, memory per rank in bytes."""

    mechanism: Mechanism
    model: CostModel
    reference_interval_steps: int | None
    """The interval that was measured; another one is an extrapolation."""
    save_s: float | None
    host_bytes_per_rank: int
    device_bytes_per_rank: int
    rules: tuple[AppliedRule, ...]
    notes: tuple[str, ...]
    used: tuple[UsedValue, ...]


def emergency_save_bound_s(prediction: Prediction) -> float:
    """The save's measured mean plus its dispersion, scaled alike: what a lead has to cover (s)."""
    if prediction.save_s is None:
        return 0.0
    measured = next(u for u in prediction.used if u.quantity == Quantity.SAVE.value)
    if not measured.value or measured.dispersion is None:
        return prediction.save_s
    return prediction.save_s * (1.0 + measured.dispersion / measured.value)


def save_time_s(prediction: Prediction) -> float | None:
    """What one save costs (s): the stall, or an emergency save; None where nothing is saved."""
    if prediction.model.is_periodic:
        return prediction.model.stall_s
    return prediction.save_s


def with_save_time(prediction: Prediction, save_s: float) -> Prediction:
    """The same mechanism if one save cost this (s) and all else stayed.

    An emergency save is part of its restore, which changes with it.
    """
    model = prediction.model
    if model.is_periodic:
        return replace(prediction, model=replace(model, stall_s=save_s))
    if prediction.save_s is None:
        return prediction
    restore_s = model.restore_s - prediction.save_s + save_s
    return replace(prediction, save_s=save_s, model=replace(model, restore_s=restore_s))
