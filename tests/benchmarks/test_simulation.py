"""The simulation against a plain Python loop, as a ratio, and its memory: `make benchmark`."""

import random
import tracemalloc
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import numpy as np
import pytest

from advisor.simulation.engine import simulate_block
from advisor.simulation.events import RandomSource
from advisor.simulation.process import Process, Tier
from advisor.simulation.run import BLOCK, simulate
from advisor.simulation.times import Exponential
from tests.advisor.simulation.event_loop import Event, Job

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

_RUNS = 10_000
_LOOPED = 4
_MTBF_S = 3600.0
_SEED = 20261130
# About a thousand failures a job, and four saves between two: few, which is in the loop's favour.
_PROCESS = Process(
    815.0 * _MTBF_S,
    Exponential(_MTBF_S),
    (Tier(800.0, 20.0, 30.0),),
    detection_s=200.0,
    regroup_s=5.0,
)


def test_ten_thousand_runs_against_a_plain_loop() -> None:
    failures: list[float] = []

    def vectorised() -> float:
        start = perf_counter()
        left = _RUNS
        source = np.random.default_rng(_SEED)
        while left:
            count = min(left, BLOCK)
            block = simulate_block(_PROCESS, RandomSource(_PROCESS, source, count), count)
            failures.append(float(block.failures.mean()))
            left -= count
        return perf_counter() - start

    def looped() -> float:
        start = perf_counter()
        for seed in range(_LOOPED):
            Job(_PROCESS).run(_failures(seed))
        return (perf_counter() - start) * _RUNS / _LOOPED

    def jumped() -> float:
        start = perf_counter()
        for seed in range(_LOOPED):
            assert _jump(seed) > _PROCESS.work_s
        return (perf_counter() - start) * _RUNS / _LOOPED

    vectorised()
    looped()
    rounds = [(vectorised(), looped(), jumped()) for _ in range(5)]
    ratio = median(slow / fast for fast, slow, _ in rounds)
    print(
        f"\n{_RUNS:,} runs of {median(failures):.0f} failures: "
        f"{median(fast for fast, _, _ in rounds):.2f} s, {ratio:.0f} times a plain loop, "
        f"{median(lean / fast for fast, _, lean in rounds):.0f} times one made for this process"
    )
    assert median(failures) == pytest.approx(1000.0, rel=0.02)
    assert ratio >= 100


def _failures(seed: int) -> Iterator[Event]:
    source = random.Random(seed)
    while True:
        yield Event(source.expovariate(1.0 / _MTBF_S))


def _jump(seed: int) -> float:
    """The completion time of this one process, and nothing else, with as little as can be done."""
    draw, rate = random.Random(seed).expovariate, 1.0 / _MTBF_S
    (tier,) = _PROCESS.tiers
    segment_s, recovery_s = tier.interval_s + tier.stall_s, tier.restore_s + _PROCESS.regroup_s
    whole, rest_s = divmod(_PROCESS.work_s, tier.interval_s)
    position_s, end_s, clock_s = 0.0, whole * segment_s + rest_s, 0.0
    detecting_s = recovering_s = 0.0
    while True:
        gap_s = draw(rate)
        if gap_s < detecting_s:
            detecting_s -= gap_s
        else:
            up_s = gap_s - detecting_s - recovering_s
            if up_s > 0.0:
                if position_s + up_s >= end_s:
                    return clock_s + gap_s - up_s + end_s - position_s
                position_s += up_s // segment_s * segment_s
            detecting_s, recovering_s = _PROCESS.detection_s, recovery_s
        clock_s += gap_s


def test_memory_does_not_grow_with_the_replications() -> None:
    process = Process(20.0 * _MTBF_S, Exponential(_MTBF_S), _PROCESS.tiers, detection_s=200.0)

    def peak_bytes(blocks: int) -> int:
        tracemalloc.start()
        found = simulate(process, _SEED, narrow=1e-9, most=blocks * BLOCK)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.replications == blocks * BLOCK
        return peak

    few, many = peak_bytes(2), peak_bytes(40)
    print(f"\npeak of 2 blocks {few / 1e6:.1f} MB, of 40 blocks {many / 1e6:.1f} MB")
    assert many <= 1.02 * few
