"""How much of each measured number is in each cost: against the rules asked again, far away."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.prediction import predict
from advisor.scenario import RestoreBasis, Scenario, ScenarioInput
from advisor.uncertainty.propagation import COSTS, SHARED, LinearCosts, linear_costs
from db.records import ClusterEvidence, Quantity

_RESTORE, _STALL = COSTS.index("restore_s"), COSTS.index("stall_s")


def asked(evidence: ClusterEvidence, **inputs: object) -> tuple[Scenario, LinearCosts]:
    stated = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    scenario = resolve(ScenarioInput(**(stated | inputs)), evidence)  # type: ignore[arg-type]
    return scenario, linear_costs(evidence, scenario, consider(evidence, scenario).candidates)


def row_of(costs: LinearCosts, mechanism: str, quantity: Quantity) -> int:
    (row,) = [
        row
        for row, value in enumerate(costs.values)
        if f"/{mechanism}/" in value.key[0] and value.key[1] is quantity
    ]
    return row


def test_a_stall_follows_its_overhead(matilda: ClusterEvidence) -> None:
    scenario, costs = asked(matilda)
    row = row_of(costs, "ft2", Quantity.OVERHEAD)
    column = costs.mechanisms.index("ft2")
    assert costs.slopes[row, column, _STALL] == pytest.approx(100 * scenario.step_time_s)
    others = np.delete(costs.slopes[row], column, axis=0)
    assert not np.any(others)


def test_an_emergency_save_is_in_the_restore(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda, warning_lead_s=2.0)
    row = row_of(costs, "ft4", Quantity.SAVE)
    assert costs.slopes[row, costs.mechanisms.index("ft4"), _RESTORE] == pytest.approx(1.0)


def test_one_number_is_in_the_costs_of_several_candidates(matilda: ClusterEvidence) -> None:
    """On A1, stalls measured on A2 are carried over by the ratio of FT2's saves on both."""
    _, costs = asked(matilda, architecture="a1-sync")
    a1_save = [
        row
        for row, value in enumerate(costs.values)
        if value.key[0].startswith("matilda-8xv100/a1-sync/ft2/") and value.key[1] is Quantity.SAVE
    ]
    assert len(a1_save) == 1
    moved = np.flatnonzero(np.any(costs.slopes[a1_save[0]] != 0.0, axis=1))
    assert {"ft6"} <= {costs.mechanisms[column] for column in moved}


def test_what_the_scenario_does_not_state_moves_too(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda)
    step, detection = SHARED.index("step_time_s"), SHARED.index("detection_s")
    row = row_of(costs, "ft9", Quantity.THROUGHPUT)
    value = costs.values[row].value
    assert costs.shared_slopes[row, step] == pytest.approx(-32.0 / value**2, rel=1e-3)
    assert costs.shared_slopes[row_of(costs, "ft9", Quantity.DETECTION), detection] == (
        pytest.approx(1.0)
    )
    _, stated = asked(matilda, step_time_s=0.1, detection_s=30.0)
    assert not np.any(stated.shared_slopes)


def test_the_line_meets_the_rules_one_error_away(matilda: ClusterEvidence) -> None:
    """Each number moved by a whole standard error and predicted anew, by nothing but the rules."""
    scenario, costs = asked(
        matilda, architecture="a1-sync", step_time_s=0.2, detection_s=30.0, warning_lead_s=5.0
    )
    assert len(costs.values) > 3
    for row, value in enumerate(costs.values):
        point_id, quantity = value.key
        change = value.spread.standard_error
        moved = replace(
            matilda,
            points=tuple(
                replace(
                    p,
                    values={
                        **p.values,
                        quantity: replace(p.values[quantity], value=value.value + change),
                    },
                )
                if p.point_id == point_id
                else p
                for p in matilda.points
            ),
        )
        for column, mechanism in enumerate(costs.mechanisms):
            model = predict(moved, scenario, matilda.mechanisms[mechanism]).model
            for at, name in enumerate(COSTS):
                line = getattr(costs.models[column], name) + costs.slopes[row, column, at] * change
                assert line == pytest.approx(getattr(model, name), rel=0.01, abs=1e-9)


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
    for name in ("ft1", "ft3"):  # both read from storage
        assert costs.slopes[row, costs.mechanisms.index(name), _RESTORE] == pytest.approx(1.0)


def test_without_a_priced_candidate_there_is_nothing_to_say(matilda: ClusterEvidence) -> None:
    _, costs = asked(matilda, architecture="a6")
    assert (costs.mechanisms, costs.models) == ((), ())
    assert costs.slopes.shape == (len(costs.values), 0, len(COSTS))
