"""What validations say of predictions and picks, one by one and in the mean."""

import json
from typing import Any

import pytest

from advisor.reports.validation_words import regret_lines
from advisor.validated import Repeated, repeated, shortcomings, validated
from db.records import ValidatedRun, ValidationRole
from tests.advisor.validated_runs import validated_run as run

HALTED = run("ft9", ValidationRole.REFERENCE, None, None)
RUNNER_UP = ValidationRole.RUNNER_UP


def one(*runs: ValidatedRun) -> Repeated:
    (found,) = repeated(validated(runs))
    return found


def test_regret_is_against_the_soonest_whatever_it_was() -> None:
    (found,) = validated([run("ft1", RUNNER_UP, observed_s=90.0), HALTED, run(observed_s=99.0)])
    assert [r.mechanism for r in found.runs] == ["ft2", "ft1", "ft9"]
    assert [r.error_fraction for r in found.runs] == pytest.approx([1 / 99, 1 / 9, None])
    scenario = one(*found.runs)
    assert scenario.best is not None
    assert scenario.best.mechanism == "ft1"
    assert scenario.regret_fraction == pytest.approx(0.1)
    assert [r.error_fraction for r in scenario.runs] == pytest.approx([1 / 99, 1 / 9, None])


def test_a_pick_that_did_not_finish_has_no_regret_and_is_a_shortcoming() -> None:
    found = one(run(observed_s=None), run("ft1", RUNNER_UP))
    assert found.regret_fraction is None
    assert shortcomings([found]) == ["mine, ft2: expected to finish, and halted"]


def test_a_pick_without_a_prediction_has_to_finish_too() -> None:
    native = one(run("ft9", predicted_s=None, observed_s=None))
    assert shortcomings([native]) == ["mine, ft9: expected to finish, and halted"]


def test_all_is_well() -> None:
    assert shortcomings([one(run(observed_s=97.0), HALTED)]) == []


def test_what_is_worse_than_promised_is_said_in_one_line_each() -> None:
    found = one(
        run(observed_s=88.0),
        run("ft1", RUNNER_UP, observed_s=80.0),
        run("ft3", ValidationRole.CANDIDATE, predicted_s=205.0, observed_s=210.0),
    )
    assert shortcomings([found]) == [
        "mine, ft2: prediction off by 13.6 %; limit 10 %",
        "mine, ft1: prediction off by 25.0 %; limit 10 %",
        "mine, ft3: trained on after the last failure that was drawn",
        "mine: regret 10.0 %; limit 3 %",
        "median error 13.6 %; limit 5 %",
    ]


def twice(
    first: tuple[float | None, float | None], second: tuple[float | None, float | None]
) -> Repeated:
    """Observed times of the pick and the runner-up in two validations."""
    return one(
        *(run(observed_s=first[0]), run("ft1", RUNNER_UP, observed_s=first[1])),
        *(
            run(observed_s=second[0], validation="v2", seed=4, predicted_s=120.0),
            run("ft1", RUNNER_UP, observed_s=second[1], validation="v2", seed=4),
        ),
    )


def test_a_scenario_that_was_tried_twice_is_judged_by_the_means() -> None:
    """Each time the machine was 15 % off, once to each side."""
    found = twice((115.0, 116.0), (104.0, 85.0))
    pick, other = found.runs
    assert (pick.mechanism, pick.n, other.mechanism, other.n) == ("ft2", 2, "ft1", 2)
    assert (pick.predicted_s, pick.observed_s) == pytest.approx((110.0, 109.5))
    assert pick.error_fraction == pytest.approx(110.0 / 109.5 - 1.0)
    assert other.error_fraction == pytest.approx(100.0 / 100.5 - 1.0)
    assert found.regret_fraction == pytest.approx(109.5 / 100.5 - 1.0)
    assert shortcomings([found]) == ["mine: regret 9.0 %; limit 3 %"]


def test_what_did_not_finish_each_time_has_no_mean_time() -> None:
    found = twice((110.0, 80.0), (110.0, None))
    assert [r.observed_s for r in found.runs] == [110.0, None]
    assert found.best is not None
    assert found.best.mechanism == "ft2"
    assert found.regret_fraction == 0.0
    assert shortcomings([found])[0] == "mine, ft1: expected to finish, and halted"
    assert twice((None, 80.0), (100.0, 80.0)).regret_fraction is None


def test_what_was_not_tried_each_time_is_no_rival() -> None:
    """Other failures may have met it."""
    found = one(
        run(observed_s=100.0),
        *(run(observed_s=100.0, validation="v2"), run("ft1", observed_s=50.0, validation="v2")),
    )
    assert [(r.mechanism, r.n) for r in found.runs] == [("ft2", 2), ("ft1", 1)]
    assert found.best is not None
    assert found.best.mechanism == "ft2"


def test_a_validation_that_was_cut_off_says_nothing_of_the_regret() -> None:
    """What it showed of predictions counts all the same."""
    cut: dict[str, Any] = {"validation": "v2", "seed": 4}
    found = one(
        *(run(observed_s=110.0), run("ft1", RUNNER_UP, observed_s=100.0)),
        *(run(observed_s=90.0, **cut), run("ft1", RUNNER_UP, observed_s=None, outcome="", **cut)),
    )
    assert [(r.mechanism, r.n, r.observed_s) for r in found.runs] == [
        *(("ft2", 2, 100.0), ("ft1", 1, 100.0))
    ]
    assert found.regret_fraction == pytest.approx(0.1)
    assert list(regret_lines([found])) == ["mine: regret 10 % (soonest: FT1)"]
    assert shortcomings([found]) == [
        "mine, seed 4: cut off before ft1 ran; says nothing of the regret",
        "mine: regret 10.0 %; limit 3 %",
    ]


def test_a_validation_without_its_pick_is_a_shortcoming() -> None:
    rivals = (run("ft1", RUNNER_UP), run("ft9", ValidationRole.REFERENCE, None, 90.0))
    found = one(run(observed_s=None, outcome=""), *rivals)
    assert (found.best, found.regret_fraction) == (None, None)
    pick = found.runs[0]
    assert (pick.mechanism, pick.n, pick.predicted_s, pick.error_fraction) == (
        "ft2",
        0,
        100.0,
        None,
    )
    says = "; says nothing of the regret"
    assert shortcomings([found]) == [f"mine, seed 3: cut off before ft2 ran{says}"]
    assert shortcomings([one(*rivals)]) == [
        f"mine, seed 3: cut off before what was selected ran{says}"
    ]


def test_a_rival_that_was_not_reached_is_a_shortcoming_too() -> None:
    found = one(run(), run("ft1", RUNNER_UP, observed_s=None, outcome=""), HALTED)
    assert found.regret_fraction is None
    assert shortcomings([found]) == [
        "mine, seed 3: cut off before ft1 ran; says nothing of the regret"
    ]


def test_picks_that_change_can_do_better_than_any_one_mechanism() -> None:
    found = one(
        *(run(observed_s=90.0), run("ft1", RUNNER_UP, observed_s=100.0)),
        run("ft1", observed_s=90.0, validation="v2"),
        run("ft2", RUNNER_UP, observed_s=100.0, validation="v2"),
    )
    assert found.regret_fraction == pytest.approx(90.0 / 95.0 - 1.0)


def test_validations_of_one_scenario_belong_together_whatever_the_step_took() -> None:
    def stated(step: str, mtbf: str = "20s") -> str:
        return json.dumps({"architecture": "a2", "mtbf": mtbf, "step-time": step})

    runs = [
        run(scenario=stated("50ms")),
        run(scenario=stated("50ms", mtbf="1m"), validation="v2"),
        run(scenario=stated("50ms"), name="other", validation="v3"),
        run(scenario=stated("61ms"), seed=4, validation="v4"),
    ]
    found = repeated(validated(runs))
    assert [[v.first.validation for v in each.validations] for each in found] == [
        *(["v1", "v4"], ["v2"], ["v3"])
    ]
