"""How a job names its monitors, and what is said of a mistake."""

import json
from pathlib import Path

import pytest

from measure.errors import UsageError
from measure.job_spec import JobSpec
from measure.monitors.catalogue import MONITORS, settings_of
from measure.monitors.registry import load
from measure.plan import plan_of
from tests.measure.harness import request
from tests.measure.results.made import job


def named(*names: str) -> list[str]:
    return [str(setting) for setting in settings_of(names)]


def test_names_are_in_the_order_of_the_catalogue_with_their_intervals() -> None:
    assert named("values, digest:20") == ["digest:20", "values:10"]
    assert named("Values", "DIGEST:20") == ["digest:20", "values:10"]
    assert named("all") == [f"{entry.name}:{entry.interval_steps}" for entry in MONITORS]
    assert named() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("digests", "unknown monitor 'digests': known are digest, values, stragglers, each alone"),
        ("", "unknown monitor ''"),
        ("digest:0", "the interval of the monitor digest must be from 1 to 1000000 steps, not '0'"),
        ("digest:", "must be from 1 to 1000000 steps, not ''"),
        ("values:-5", "must be from 1 to 1000000 steps, not '-5'"),
        ("values:1.5", "must be from 1 to 1000000 steps, not '1.5'"),
        ("values:²", "must be from 1 to 1000000 steps, not '²'"),
        ("digest,digest:20", "the monitor digest is named twice"),
        ("digest,all", "the monitor digest is named twice"),
    ],
)
def test_a_mistake_is_one_line_with_what_is_valid(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        settings_of([text])
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_monitor_of_the_catalogue_is_there_under_its_name() -> None:
    assert [monitor.name for monitor in load(["all"])] == [entry.name for entry in MONITORS]


def test_a_plan_has_them_in_its_jobs_and_a_job_without_any_is_as_it_was(tmp_path: Path) -> None:
    asked = request("a2", monitors=("values:5,digest",))
    (cell,) = plan_of(asked, "c", "test", tmp_path, "test").cells
    assert cell.job.monitors == ("digest:10", "values:5")
    assert JobSpec.from_json(cell.job.to_json()) == cell.job
    plain = job()
    assert "monitors" not in json.loads(plain.to_json())
    assert JobSpec.from_json(plain.to_json()).monitors == ()
