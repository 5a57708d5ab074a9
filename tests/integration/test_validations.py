"""`advisor validate` with real runs: predicted first, the same failures for all, no evidence."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.campaigns import arguments, ask, finished
from tests.measure.harness import wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

_SCENARIO = """
cluster = "tiny"
architecture = "a4"
mtbf = "3s"
duration = "8s"
mechanism = "ft1"
"""

_SEED = "2"
"""With a failure at 2.3 s: after the first save, and inside the job even where the machine then
steps three times as fast as when the job's length was measured."""


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name, 60.0) == []


@pytest.fixture
def measured(mark: str, tmp_path: Path) -> Path:
    """A folder whose database knows FT1 and FT9 on A4."""
    matrix = (
        *("--architecture", "a4", "--mechanism", "ft1,ft9", "--trace", "none,f1"),
        *("--profile", "smoke", "--world-size", "4", "--device", "cpu", "--cluster", "tiny"),
    )
    code, _, err = finished(mark, arguments(tmp_path, *matrix))
    assert code == 0, err
    (tmp_path / "job.toml").write_text(_SCENARIO, encoding="utf-8")
    return tmp_path


def validate(folder: Path, *options: str) -> list[str]:
    place = ["--db", str(folder / "advisor.db"), "--folder", str(folder / "runs")]
    scenario = ["--scenario", str(folder / "job.toml")]
    return ["validate", *scenario, *place, "--profile", "smoke", "--device", "cpu", *options]


def failures(folder: Path, run_id: str) -> list[tuple[int, float]]:
    """Rank and time of each failure that struck the run."""
    ((text,),) = ask(folder, f"SELECT record FROM run_records WHERE run_id = '{run_id}'")
    faults = json.loads(str(text))["faults"]
    return [(fault["rank"], fault["planned"]["time_s"]) for fault in faults if fault["fired"]]


def test_a_prediction_is_tried_live(mark: str, measured: Path) -> None:
    points = ask(measured, "SELECT point_id FROM operating_points WHERE cluster = 'tiny'")
    twice = ("--seed", _SEED, "--repeats", "2", "--format", "json")
    code, out, err = finished(mark, validate(measured, *twice))
    assert code == 0, err
    (found,) = json.loads(out)["scenarios"]
    validation, again = found["validations"]
    assert (validation["seed"], again["seed"]) == (int(_SEED), int(_SEED) + 1)
    mean, both = found["means"][0], [each["runs"][0] for each in found["validations"]]
    assert mean["observed_s"] == pytest.approx(sum(run["observed_s"] for run in both) / 2.0)
    tried, bare = validation["runs"]
    assert (tried["mechanism"], tried["role"]) == ("ft1", "selected")
    assert (bare["mechanism"], bare["role"]) == ("ft9", "reference")
    # On a busy machine the first failure, which comes by the clock, may be before the first save.
    assert tried["outcome"] in ("recovered", "restarted-from-zero")
    assert tried["failures"] >= 1
    assert tried["observed_s"] > 0
    assert tried["error_fraction"] == pytest.approx(
        tried["predicted_s"] / tried["observed_s"] - 1.0
    )
    # The same failures struck the job without a mechanism, which halted at the first.
    assert (bare["outcome"], bare["observed_s"], bare["predicted_s"]) == ("halted", None, None)
    assert found["soonest"] == "ft1"
    struck = {run["mechanism"]: failures(measured, run["run_id"]) for run in validation["runs"]}
    assert struck["ft9"] == struck["ft1"][:1]
    # Predicted with the step time that was measured just before, stored before the runs began.
    (created_at, step_s, steps), _ = ask(
        measured,
        "SELECT created_at, step_time_s, steps FROM validations WHERE cluster = 'tiny'"
        " ORDER BY seed",
    )
    began = ask(measured, "SELECT MIN(started_at) FROM runs WHERE trace LIKE 'poisson%'")
    assert str(created_at) <= str(began[0][0])
    assert float(str(step_s)) * int(str(steps)) == pytest.approx(8.0, rel=0.05)
    assert tried["step_time_s"] > 0
    assert bare["step_time_s"] is None
    assert validation["step_time_s"] == float(str(step_s))
    # What checks a prediction is no evidence for the next one.
    assert ask(measured, "SELECT point_id FROM operating_points WHERE cluster = 'tiny'") == points
    assert ask(measured, "SELECT DISTINCT point_id FROM runs WHERE trace LIKE 'poisson%'") == [
        (None,)
    ]


def test_an_interrupted_trial_is_finished_by_its_campaign(mark: str, measured: Path) -> None:
    strike = "strike(run, 'ingest_record', True, 2)"  # the step time, then a trial
    code, _, err = finished(mark, validate(measured, "--seed", _SEED), strike)
    assert code != 0, err
    campaign = ask(measured, "SELECT campaign FROM campaigns WHERE status <> 'complete'")
    code, _, err = finished(
        mark,
        ["measure", "--resume", str(campaign[0][0]), "--db", str(measured / "advisor.db")],
    )
    assert code == 0, err
    rows = ask(
        measured,
        "SELECT mechanism, outcome FROM validation_view WHERE cluster = 'tiny' ORDER BY mechanism",
    )
    # What came after it was not tried, as each trial is a campaign of its own: that shows.
    assert rows in (
        [("ft1", "recovered"), ("ft9", "")],
        [("ft1", ""), ("ft9", "halted")],
    )
    left = next(str(mechanism) for mechanism, outcome in rows if not outcome)
    place = ["--cluster", "tiny", "--db", str(measured / "advisor.db"), "--format", "json"]
    code, out, err = finished(mark, ["validate", *place, "--check"])
    assert code == 1, err
    assert any(f"cut off before {left} ran" in line for line in json.loads(out)["shortcomings"])


_BAD = {
    "mtbf": _SCENARIO.replace("3s", "soon"),
    "cannot be tried live": _SCENARIO.replace('"8s"', '"1us"'),
    "nothing is recommended in this scenario": _SCENARIO.replace('"ft1"', '"ft2"'),
    "no cluster 'nowhere'": _SCENARIO.replace('"tiny"', '"nowhere"'),
}


def test_bad_scenarios_run_nothing(mark: str, measured: Path) -> None:
    before = ask(measured, "SELECT COUNT(*) FROM campaigns")
    for says, text in _BAD.items():
        (measured / "job.toml").write_text(text, encoding="utf-8")
        code, out, err = finished(mark, validate(measured))
        assert (code, out) == (2, ""), says
        assert len(err.splitlines()) == 1
        assert says in err
    assert ask(measured, "SELECT COUNT(*) FROM campaigns") == before
