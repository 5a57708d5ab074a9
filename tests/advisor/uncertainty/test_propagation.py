"""How much of each measured number is in each cost: against the rules asked again, far away."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.prediction.predict import predict
from advisor.scenario import RestoreBasis, Scenario, ScenarioInput
from advisor.uncertainty.law import value_at
from advisor.uncertainty.propagation import COSTS, SHARED, TabledCosts, tabled_costs
from db.records import ClusterEvidence, Quantity

_RESTORE, _STALL = COSTS.index("restore_s"), COSTS.index("stall_s")
_ERRORS = np.array([-2.5, -1.0, 0.4, 1.0, 3.0])
"""By how many standard errors a number is moved."""


def asked(evidence: ClusterEvidence, **inputs: object) -> tuple[Scenario, TabledCosts]:
    stated = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    scenario = resolve(ScenarioInput(**(stated | inputs)), evidence)  # type: ignore[arg-type]
    return scenario, tabled_costs(evidence, scenario, consider(evidence, scenario).candidates)


def row_of(costs: TabledCosts, mechanism: str, quantity: Quantity) -> int:
    (row,) = [
        row
        for row, value in enumerate(costs.values)
        if f"/{mechanism}/" in value.key[0] and value.key[1] is quantity
    ]
    return row


def column_of(costs: TabledCosts, mechanism: str, cost: int) -> int:
    return costs.mechanisms.index(mechanism) * len(COSTS) + cost


def moved_by(costs: TabledCosts, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The number, and by how much each column changes with it ([column, error])."""
    off = np.zeros((len(costs.values), _ERRORS.size))
    off[row] = _ERRORS
    return value_at(costs.values[row], _ERRORS), costs.tabled(off) - costs.base[:, None]


def test_a_stall_follows_its_overhead(matilda: ClusterEvidence) -> None:
    scenario, costs = asked(matilda)
    row = row_of(costs, "ft2", Quantity.OVERHEAD)
    column = column_of(costs, "ft2", _STALL)
    number, change = moved_by(costs, row)
    wanted = 100 * scenario.step_time_s * (number - costs.values[row].value)
    assert change[column] == pytest.approx(wanted)
    assert not np.any(np.delete(change, column, axis=0))


def test_an_emergency_save_is_in_the_restore(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda, warning_lead_s=2.0)
    row = row_of(costs, "ft4", Quantity.SAVE)
    number, change = moved_by(costs, row)
    column = column_of(costs, "ft4", _RESTORE)
    assert change[column] == pytest.approx(number - costs.values[row].value)


def test_one_number_is_in_the_costs_of_several_candidates(matilda: ClusterEvidence) -> None:
    """On A1, stalls measured on A2 are carried over by the ratio of FT2's saves on both."""
    _, costs = asked(matilda, architecture="a1-sync")
    a1_save = [
        row
        for row, value in enumerate(costs.values)
        if value.key[0].startswith("matilda-8xv100/a1-sync/ft2/") and value.key[1] is Quantity.SAVE
    ]
    assert len(a1_save) == 1
    _, change = moved_by(costs, a1_save[0])
    assert np.all(change[column_of(costs, "ft6", _STALL)] != 0.0)


def test_what_the_scenario_does_not_state_moves_too(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda)
    step, detection = (SHARED.index(name) - len(SHARED) for name in ("step_time_s", "detection_s"))
    row = row_of(costs, "ft9", Quantity.THROUGHPUT)
    number, change = moved_by(costs, row)
    assert change[step] == pytest.approx(32.0 / number - 32.0 / costs.values[row].value)
    row = row_of(costs, "ft9", Quantity.DETECTION)
    number, change = moved_by(costs, row)
    assert change[detection] == pytest.approx(number - costs.values[row].value)
    _, stated = asked(matilda, step_time_s=0.1, detection_s=30.0)
    assert not np.any(stated.changes[:, :, -len(SHARED) :])


@pytest.mark.parametrize("errors", [-2.0, 1.0, 3.0])
def test_the_tables_meet_the_rules(matilda: ClusterEvidence, errors: float) -> None:
    """Each number moved by several standard errors and predicted anew, by nothing but the rules."""
    scenario, costs = asked(
        matilda, architecture="a1-sync", step_time_s=0.2, detection_s=30.0, warning_lead_s=5.0
    )
    assert len(costs.values) > 3
    for row, value in enumerate(costs.values):
        point_id, quantity = value.key
        off = np.zeros((len(costs.values), 1))
        off[row] = errors
        number = float(value_at(value, off[row])[0])
        moved = replace(
            matilda,
            points=tuple(
                replace(
                    p,
                    values={**p.values, quantity: replace(p.values[quantity], value=number)},
                )
                if p.point_id == point_id
                else p
                for p in matilda.points
            ),
        )
        tabled, predicted = costs.tabled(off), costs.predicted(off)
        for mechanism in costs.mechanisms:
            model = predict(moved, scenario, matilda.mechanisms[mechanism]).model
            for at, name in enumerate(COSTS):
                column = column_of(costs, mechanism, at)
                assert predicted[column, 0] == getattr(model, name)
                assert tabled[column, 0] == pytest.approx(getattr(model, name), rel=1e-3, abs=1e-9)


def test_what_is_held_says_why(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda)
    reasons = {(each.quantity, each.reason) for each in costs.held}
    assert reasons == {("restore_s", "not measured: analytical")}


def test_a_calibrated_restore_has_the_interval_of_its_calibration(
    matilda: ClusterEvidence,
) -> None:
    _, costs = asked(matilda, restore_basis=RestoreBasis.CALIBRATED)
    assert costs.held == ()
    (row,) = [r for r, v in enumerate(costs.values) if "/storage_read/205mb/" in v.key[0]]
    value = costs.values[row]
    assert (value.value, value.n) == (0.3402, 10)
    assert value.spread.standard_error == pytest.approx(0.0052 / 2.262157, rel=1e-5)  # t of 9
    number, change = moved_by(costs, row)
    for name in ("ft1", "ft3"):  # both read from storage
        column = column_of(costs, name, _RESTORE)
        assert change[column] == pytest.approx(number - 0.3402)


def test_without_a_priced_candidate_there_is_nothing_to_say(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda, architecture="a6")
    assert (costs.mechanisms, costs.models) == ((), ())
    assert costs.base.shape == (len(SHARED),)
