"""The step before which a group stops to grow."""

import pytest

from measure.rank.heartbeat import Beat
from measure.supervisor.grow import Pause, next_pause


def beats(*made: tuple[int, float]) -> list[Beat]:
    """(Steps, when the last of them ended) of each rank."""
    return [Beat(at, steps, at) for steps, at in made]


@pytest.mark.parametrize(
    ("step_s", "ahead"), [(0.001, 200), (0.05, 4), (0.0667, 3), (0.2, 3), (10.0, 3)]
)
def test_it_is_some_steps_ahead_and_long_enough_to_tell_everybody(
    step_s: float, ahead: int
) -> None:
    found = next_pause(beats((30, 100.0 + 10 * step_s), (29, 100.0 + 9 * step_s)), 20, 100.0, 1000)
    assert found is not None
    assert found.step == 30 + ahead
    assert found.step_s == pytest.approx(step_s)


def test_every_rank_has_made_a_step_first() -> None:
    assert next_pause(beats((30, 101.0), (20, 99.0)), 20, 100.0, 1000) is None
    assert next_pause(beats((30, 101.0), (21, 100.1)), 20, 100.0, 1000) is not None


def test_nobody_is_interrupted_shortly_before_the_end() -> None:
    assert next_pause(beats((30, 102.0)), 20, 100.0, 39) == Pause(33, 0.2)
    assert next_pause(beats((30, 102.0)), 20, 100.0, 38) is None
