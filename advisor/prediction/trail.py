"""What is collected on the way to one prediction."""

from dataclasses import dataclass, field

from advisor.optimizer import CostModel
from advisor.prediction.outcome import NoPredictionError, Prediction
from advisor.recommendation import UsedValue
from advisor.rules import AppliedRule, Rule
from advisor.scenario import Scenario
from db.records import EvidencedValue, Mechanism, OperatingPoint, Quantity


@dataclass(slots=True)
class Trail:
    """Collects, on the way to one prediction, the rules applied, what else a reader should know
    of it, and the values used."""

    rules: list[AppliedRule] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: list[UsedValue] = field(default_factory=list)

    def apply(self, rule: Rule, words: str) -> None:
        """Notes that the rule was needed; `words` say how, with the distance."""
        self.rules.append(AppliedRule(rule, words))

    def use(self, point: OperatingPoint, quantity: Quantity) -> float:
        """The point's value, in its quantity's unit. Raises NoPredictionError if it has none."""
        found = point.values[quantity]
        if found.value is None:
            raise NoPredictionError(f"{point.point_id} has no {quantity.value}")
        self.used.append(used_value(point, quantity))
        return found.value

    def prediction(
        self,
        scenario: Scenario,
        mechanism: Mechanism,
        point: OperatingPoint,
        model: CostModel,
        *,
        interval_steps: int | None = None,
        save_s: float | None = None,
    ) -> Prediction:
        """Where the way ends: the costs, the memory that copies take, and all that was collected.

        `interval_steps` is the measured one, `save_s` an emergency save.
        """
        replicas = point.replicas or mechanism.default_replicas
        host, device = mechanism.host_copies_per_replica, mechanism.device_copies_per_replica
        return Prediction(
            mechanism=mechanism,
            model=model,
            reference_interval_steps=interval_steps,
            save_s=save_s,
            host_bytes_per_rank=replicas * host * scenario.state_bytes,
            device_bytes_per_rank=replicas * device * scenario.state_bytes,
            rules=tuple(self.rules),
            notes=tuple(self.notes),
            used=tuple(self.used),
        )


def used_value(point: OperatingPoint, quantity: Quantity) -> UsedValue:
    """The point's value with its evidence; the point has to have the quantity."""
    return used_from(point.point_id, quantity, point.values[quantity], point.superseded_by)


def used_from(
    origin: str, quantity: Quantity, found: EvidencedValue, superseded_by: str | None = None
) -> UsedValue:
    """The same of what is no point: `origin` names where it is from, such as a calibration."""
    return UsedValue(
        point_id=origin,
        quantity=quantity.value,
        value=found.value,
        evidence=found.evidence.value,
        n=found.n,
        dispersion=found.dispersion,
        dispersion_kind=found.dispersion_kind.value if found.dispersion_kind else None,
        source_id=found.source_id,
        table_ref=found.table_ref,
        conditions=found.conditions,
        superseded_by=superseded_by,
    )
