"""The drift of a machine, from made-up baselines; and how long is left."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from advisor.drift import drift_of
from advisor.time_left import kind_of, time_left_s
from db.campaign_queries import BaselineStep


def steps(per_hour: float, noise: float, n: int = 40, seed: int = 1) -> list[BaselineStep]:
    """Two kinds of baselines of different speeds; the slower one runs late."""
    random_ = random.Random(seed)
    began = datetime(2026, 1, 31, tzinfo=UTC)
    found = []
    for number in range(n):
        hours = 10.0 * number / n
        kind, step_s = ("a2", 0.1) if number < n / 2 else ("a4", 0.4)
        value = step_s * (1 + per_hour * hours + random_.gauss(0.0, noise))
        at = (began + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
        found.append(BaselineStep((kind,), at, value))
    return found


@pytest.mark.parametrize("per_hour", [0.0, 0.02, -0.01])
def test_an_exact_drift_is_found_exactly(per_hour: float) -> None:
    one_kind = [step for step in steps(per_hour, 0.0) if step.group == ("a2",)]
    found = drift_of(one_kind)
    assert found is not None
    # Against the mean of the campaign, not against its beginning.
    mean = 1 + per_hour * 4.75 / 2
    assert found.fraction_per_hour == pytest.approx(per_hour / mean, rel=1e-6, abs=1e-12)
    assert found.half_width == pytest.approx(0.0, abs=1e-9)
    assert (found.n, found.hours) == (20, 4.75)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for seed in range(200):
        found = drift_of(steps(0.0, 0.02, seed=seed))
        assert found is not None
        held += not found.is_seen
    assert held >= 180


def test_a_kind_that_ran_late_is_no_drift() -> None:
    found = drift_of(steps(0.0, 0.001))
    assert found is not None
    assert abs(found.fraction_per_hour) < 0.001


def test_too_few_say_nothing() -> None:
    assert drift_of([]) is None
    assert drift_of(steps(0.0, 0.1, n=2)) is None
    assert drift_of(steps(0.0, 0.1)[:2]) is None
    same = steps(0.0, 0.1)[0]
    assert drift_of([same, same, same]) is None


def test_time_left_goes_by_kind() -> None:
    slow, fast = kind_of("a5", "ft1", "F3"), kind_of("a2", "ft9", None)
    done = {slow: [30.0, 50.0], fast: [2.0]}
    assert time_left_s(done, [slow, fast, fast]) == 44.0
    assert time_left_s(done, ["another"]) == pytest.approx(82 / 3)
    assert time_left_s({}, [slow]) is None
    assert time_left_s(done, []) == 0.0
