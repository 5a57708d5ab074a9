"""Loss spikes: how often a healthy series is suspected, and how often a spike is missed."""

import math
import random
from collections.abc import Callable

import pytest

from measure.monitors.losses import IN_A_ROW, LEAST, WINDOW, Spikes, robust_score
from tests.measure.monitors.many import HUNDRED_OR_THOUSAND

STEPS, BEGIN = 120, 90

Noise = Callable[[random.Random], float]
NOISES: dict[str, Noise] = {
    "normal": lambda drawn: drawn.gauss(0.0, 1.0),
    "skewed": lambda drawn: drawn.lognormvariate(0.0, 0.5) - 1.0,
    # Student's t with three degrees of freedom: wild batches are common.
    "heavy tails": lambda drawn: (
        drawn.gauss(0.0, 1.0) / math.sqrt(sum(drawn.gauss(0.0, 1.0) ** 2 for _ in range(3)) / 3.0)
    ),
}


def falling(step: int) -> float:
    """A loss as a training has it, without noise."""
    return 0.5 + 2.0 * math.exp(-step / 40.0)


def suspected(losses: list[float]) -> int | None:
    """The step at which a series is suspected first."""
    spikes = Spikes()
    return next((n for n, loss in enumerate(losses) if spikes.take(loss) is not None), None)


def series(noise: Noise, seed: int, lifted: float = 0.0) -> list[float]:
    """Losses with a noise of 0.05; from step BEGIN on by `lifted` too high."""
    drawn = random.Random(seed)
    return [
        falling(n) + 0.05 * noise(drawn) + (lifted if n >= BEGIN else 0.0) for n in range(STEPS)
    ]


@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
@pytest.mark.parametrize(("name", "most"), [("normal", 0), ("skewed", 2), ("heavy tails", 2)])
def test_false_alarms_of_healthy_series(name: str, most: int, count: int) -> None:
    alarms = [s for s in range(count) if suspected(series(NOISES[name], s)) is not None]
    print(f"\n{name}: {len(alarms)} false alarms in {count} series of {STEPS} losses")
    assert len(alarms) <= most, alarms


def test_a_training_that_starts_like_a_cliff_is_healthy() -> None:
    for seed in range(100):
        drawn = random.Random(seed)
        losses = [2.4 * 0.9**n + 0.2 + 0.02 * drawn.gauss(0.0, 1.0) for n in range(STEPS)]
        assert suspected(losses) is None


@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
@pytest.mark.parametrize("name", NOISES)
def test_series_that_rise_by_their_height_are_found(name: str, count: int) -> None:
    """By 0.75, fifteen times their noise; a tail of that is nearly as wild now and then."""
    found = [suspected(series(NOISES[name], seed, lifted=0.75)) for seed in range(count)]
    at_once = sum(step == BEGIN + IN_A_ROW - 1 for step in found)
    in_ten = sum(step is not None and BEGIN < step < BEGIN + 10 for step in found)
    print(f"\n{name}: of {count} rises {at_once} were found at once, {in_ten} in ten steps")
    assert at_once >= 0.8 * count
    assert in_ten >= (0.9 if name == "heavy tails" else 1.0) * count


def test_one_odd_batch_is_no_suspicion_and_two_are() -> None:
    losses = series(NOISES["normal"], 1)
    once, twice = list(losses), list(losses)
    once[100] = twice[100] = twice[101] = 9.0
    assert (suspected(once), suspected(twice)) == (None, 101)


def test_what_is_a_spike_is_not_learned_from() -> None:
    spikes = Spikes()
    for loss in series(NOISES["normal"], 2)[:BEGIN]:
        assert spikes.take(loss) is None
    found = [spikes.take(50.0) for _ in range(2 * WINDOW)]
    assert all(score is not None for score in found[IN_A_ROW - 1 :])


def test_with_few_losses_nobody_is_suspected() -> None:
    spikes = Spikes()
    wild = [1.0, 100.0] * LEAST
    assert all(spikes.take(loss) is None for loss in wild[: LEAST - 1])


@pytest.mark.parametrize(
    ("loss", "window", "score"),
    [
        (1.0, [1.0, 1.0, 1.0], 0.0),
        (1.2, [1.0, 1.0, 1.0], 10.0),  # the floor: 2 % of the median
        (0.0, [0.0, 0.0], 0.0),
        (1.0, [0.0, 0.0], math.inf),
        (-1.0, [0.0, 0.0], -math.inf),
        (7.0, [1.0, 2.0, 3.0, 4.0, 5.0], 4.0 * math.sqrt(2.0) / 1.4826),
    ],
)
def test_the_score(loss: float, window: list[float], score: float) -> None:
    assert robust_score(loss, window) == pytest.approx(score)
