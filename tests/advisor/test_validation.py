"""What a validation runs, and what it says of predictions; the runs themselves are elsewhere."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from advisor.arrivals import Failure
from advisor.errors import UserError
from advisor.inputs import BY_FIELD, written
from advisor.scenario import ScenarioInput
from advisor.seen_errors import seen_error, seen_errors
from advisor.validated import validated
from advisor.validation import (
    Trial,
    at_step_time,
    campaign_of,
    covered_s,
    require_honoured,
    schedule_of,
    steps_of,
    trials_of,
)
from db.records import ClusterEvidence, ValidationRole
from measure.campaign_file import read_campaign_file
from measure.faults.schedule import read_schedule
from tests.advisor.conftest import recommend
from tests.advisor.recorded_validations import picked_now, predicted_now
from tests.advisor.validated_runs import validated_run as run

SCHEMAS = Path(__file__).resolve().parents[2] / "data" / "schemas"


def asked(**more: Any) -> ScenarioInput:
    stated: dict[str, Any] = {
        "architecture": "a2",
        "state_bytes": 204_700_000,
        "mtbf_s": 600.0,
        "duration_s": 1123.0,
        "step_time_s": 0.1123,
        "detection_s": 1.0,
    }
    return ScenarioInput(**(stated | more))


def valid(document: Any, name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}-1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)


def test_the_pick_the_runner_up_and_nothing_at_all_are_tried(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked())
    two = trials_of(found, matilda, every=False)
    assert [(t.mechanism, t.role.value) for t in two] == [
        (found.candidates[0].mechanism, "selected"),
        (found.candidates[1].mechanism, "runner_up"),
        ("ft9", "reference"),
    ]
    assert two[0].predicted_s == found.candidates[0].expected_completion_s
    assert two[0].interval_steps == found.candidates[0].interval_steps
    assert two[2].predicted_s is None
    every = trials_of(found, matilda, every=True)
    assert [t.mechanism for t in every] == [*(c.mechanism for c in found.candidates), "ft9"]
    assert [t.role for t in every[2:-1]] == [ValidationRole.CANDIDATE] * (len(every) - 3)


def test_a_pick_without_a_mechanism_is_its_own_reference(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(architecture="a6"))
    trials = trials_of(found, matilda, every=True)
    assert [(t.mechanism, t.role) for t in trials if t.mechanism == "ft9"] == [
        ("ft9", ValidationRole.SELECTED)
    ]


def test_nothing_recommended_is_nothing_to_try(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(max_restore_s=0.0))
    with pytest.raises(UserError, match=r"nothing is recommended in this scenario.*ft1: "):
        trials_of(found, matilda, every=False)


@pytest.mark.parametrize(
    "option", ["state_bytes", "step_time_s", "detection_s", "regroup_s", "init_s"]
)
def test_what_a_live_run_cannot_be_made_with_is_refused(option: str) -> None:
    bare = dict.fromkeys(("state_bytes", "step_time_s", "detection_s"))
    require_honoured(asked(**bare, max_overhead=0.05, interval=20, warning_lead_s=1.0))
    name = BY_FIELD[option].option
    with pytest.raises(UserError, match=f"{name} cannot be chosen for live runs"):
        require_honoured(asked(**(bare | {option: 1})))


@pytest.mark.parametrize("duration_s", [0.01, 1e9])
def test_a_job_of_no_step_or_too_many_is_refused(
    matilda: ClusterEvidence, duration_s: float
) -> None:
    scenario = recommend(matilda, asked()).scenario
    assert steps_of(scenario) == 10_000
    with pytest.raises(UserError, match="cannot be tried live: give a duration"):
        steps_of(replace(scenario, duration_s=duration_s))


def test_the_files_are_those_of_campaigns_and_faults(
    matilda: ClusterEvidence, tmp_path: Path
) -> None:
    found = recommend(matilda, asked(warning_lead_s=2.0))
    trials = trials_of(found, matilda, every=True)
    assert covered_s(found.scenario, trials) > 2 * found.scenario.duration_s
    failures = [Failure(0.5, 3), Failure(31.25, 5)]
    faults = schedule_of(failures, "poisson 600 s seed 3", 2.0)
    valid(faults, "fault-schedule")
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(faults), encoding="utf-8")
    schedule = read_schedule(path, world_size=8)
    # The first one cannot be announced two seconds ahead.
    assert [(e.rank, e.time_s, e.lead_s) for e in schedule.events] == [
        (3, 0.5, 0.5),
        (5, 31.25, 2.0),
    ]
    blocks = campaign_of(found.scenario, trials, 400, str(path), {"profile": "cpu", "device": None})
    valid(blocks, "campaign")
    (tmp_path / "campaign.json").write_text(json.dumps(blocks), encoding="utf-8")
    requests = read_campaign_file(tmp_path / "campaign.json", {})
    assert [request.mechanisms for request in requests] == [[t.mechanism] for t in trials]
    assert [request.interval_steps for request in requests] == [t.interval_steps for t in trials]
    assert {request.steps for request in requests} == {400}


def test_without_a_lead_nothing_is_announced() -> None:
    (event,) = schedule_of([Failure(3.0, 1)], "f", None)["events"]
    assert "lead_s" not in event


def test_errors_are_those_of_the_kind_of_cell(matilda: ClusterEvidence) -> None:
    seen = replace(
        matilda,
        validations=(
            run(observed_s=100.0, predicted_s=98.0),
            run(observed_s=100.0, predicted_s=105.0, validation="v2"),
            run(architecture="a4", observed_s=100.0, predicted_s=80.0, validation="v3"),
            run("ft1", observed_s=None, validation="v4"),
        ),
    )
    own = seen_error(seen, "a2", "ft2")
    assert own is not None
    assert (own.cells, own.n) == ("FT2 on A2", 2)
    assert own.median_fraction == pytest.approx(0.015)
    assert own.largest_fraction == pytest.approx(0.05)
    like = seen_error(seen, "a3", "ft2")
    assert like is not None
    assert (like.cells, like.n) == ("FT2 on other architectures", 3)
    assert seen_error(seen, "a2", "ft1") is None
    assert [each.cells for each in seen_errors(seen)] == ["FT2 on A2", "FT2 on A4"]
    assert seen_errors(matilda) == []
    assert seen_error(matilda, "a2", "ft2") is None


def test_another_step_time_changes_what_is_predicted_and_not_what_is_tried(
    matilda: ClusterEvidence,
) -> None:
    found = recommend(matilda, asked(max_overhead=0.01))
    inputs = asked(max_overhead=0.01)
    trials = trials_of(found, matilda, every=True)
    for trial in trials:
        slower = at_step_time(matilda, inputs, trial, 10_000, 0.13)
        assert at_step_time(matilda, inputs, trial, 10_000, 0.1123) == trial
        assert (slower.mechanism, slower.role) == (trial.mechanism, trial.role)
        assert slower.interval_steps == trial.interval_steps
        if trial.predicted_s is None:
            assert slower == trial
            continue
        assert slower.predicted_s is not None
        assert 1.05 < slower.predicted_s / trial.predicted_s < (0.13 / 0.1123) ** 2
        assert slower.step_time_s == 0.13
        # With steps so short the interval is over the limit on the overhead: tried all the same.
        faster = at_step_time(matilda, inputs, trial, 10_000, 0.03)
        assert faster.predicted_s is not None
        assert faster.predicted_s < trial.predicted_s
    beyond = at_step_time(matilda, inputs, trials[0], 10_000, 1e-5)
    assert beyond == trials[0]


def test_a_trial_has_no_prediction_without_a_mechanism() -> None:
    assert Trial("ft9", ValidationRole.REFERENCE).predicted_s is None


def test_the_same_evidence_predicts_the_same_again(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(max_overhead=0.2))
    stated = json.dumps(written(found.scenario))
    tried = [
        run(
            c.mechanism,
            scenario=stated,
            interval_steps=c.interval_steps,
            steps=10_000,
            planned_step_time_s=0.1123,
            step_time_s=0.1123,
            predicted_s=c.expected_completion_s,
            observed_s=2000.0 + number,
        )
        for number, c in enumerate(found.candidates)
    ]
    assert len(tried) > 2
    assert [predicted_now(matilda, r) for r in tried] == pytest.approx(
        [c.expected_completion_s for c in found.candidates]
    )
    (whole,) = validated(tried)
    picked = picked_now(matilda, whole)
    assert picked is not None
    assert picked.mechanism == found.candidates[0].mechanism
    # Its own run came when the machine was slower: at that step time it would look like the worst.
    (drifted,) = validated([replace(tried[0], step_time_s=0.2246), *tried[1:]])
    own = {r.mechanism: predicted_now(matilda, r) or 0.0 for r in drifted.runs}
    assert max(own, key=lambda mechanism: own[mechanism]) == tried[0].mechanism
    still = picked_now(matilda, drifted)
    assert still is not None
    assert still.mechanism == tried[0].mechanism
    nothing = replace(matilda, points=tuple(p for p in matilda.points if p.mechanism == "ft9"))
    assert predicted_now(nothing, tried[0]) is None
    assert picked_now(nothing, whole) is None
