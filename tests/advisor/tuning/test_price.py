"""The price of a combination: Eq. (5) with one tier, brute force with several, and its limits."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.optimizer import Conditions, CostModel, evaluate
from advisor.tuning.price import (
    Load,
    Saves,
    price,
    whole_s,
    with_missed_s,
    with_restarts_s,
    with_waits_s,
)

_SETTINGS = settings(max_examples=80, deadline=None)


def load(saves: list[Saves], **more: Any) -> Load:
    stated: dict[str, Any] = {
        "duration_s": 86400.0,
        "step_time_s": 0.5,
        "base": 1.0,
        "taken": np.array([1.02]),
        **dict.fromkeys(("saved_per_s", "missed_per_s", "missed_s"), np.zeros(1)),
        **dict.fromkeys(("restarts_per_s", "restart_s"), np.zeros(1)),
    }
    return Load(saves=tuple(saves), **(stated | more))


def saves(stall_s: float, rate_per_s: float, **more: Any) -> Saves:
    return Saves(stall_s, np.array([rate_per_s]), **more)


def time_s(loaded: Load, intervals: tuple[int, ...]) -> float:
    """The formula in plain words, for whole steps."""
    training, lost = loaded.base, float(loaded.taken[0])
    for each, steps in zip(loaded.saves, intervals, strict=True):
        length_s = steps * loaded.step_time_s
        training += each.stall_s / length_s
        lost += float(each.rate_per_s[0]) * length_s / 2.0
    return loaded.duration_s * training * lost


@_SETTINGS
@given(
    stall_s=st.one_of(st.just(0.0), st.floats(1e-9, 100.0)),
    mtbf_s=st.floats(300.0, 1e6),
    fixed_s=st.floats(0.0, 200.0),
    limit=st.one_of(st.none(), st.floats(0.0, 1.0)),
    shortest=st.integers(1, 5000),
)
def test_one_tier_is_equation_5(
    stall_s: float, mtbf_s: float, fixed_s: float, limit: float | None, shortest: int
) -> None:
    most = math.inf if limit is None else limit
    model = CostModel(True, 0.0, stall_s, None, shortest)
    asked = Conditions(86400.0, mtbf_s, 0.5, fixed_s, 0.0, 0.0, most)
    wanted = evaluate(model, asked)
    loaded = load(
        [saves(stall_s, 1.0 / mtbf_s, shortest_steps=shortest)],
        taken=np.array([1.0 + fixed_s / mtbf_s]),
    )
    found = price(loaded, most)
    assert found.time_s[0] == pytest.approx(float(wanted.expected_s), rel=1e-12)
    if np.isfinite(found.time_s[0]):
        assert found.overhead[0] == pytest.approx(float(wanted.overhead), rel=1e-9)


@_SETTINGS
@given(
    stalls=st.tuples(st.floats(0.01, 2.0), st.floats(2.0, 60.0)),
    rates=st.tuples(st.floats(1e-5, 1e-3), st.floats(1e-7, 1e-4)),
    base=st.floats(1.0, 1.3),
)
def test_two_tiers_are_within_a_hair_of_brute_force(
    stalls: tuple[float, float], rates: tuple[float, float], base: float
) -> None:
    loaded = load([saves(c, r) for c, r in zip(stalls, rates, strict=True)], base=base)
    found = price(loaded)
    first, second = (int(row[0]) for row in found.interval_steps)
    assert second % first == 0
    assert found.time_s[0] == pytest.approx(time_s(loaded, (first, second)), rel=1e-12)
    tried = {int(n) for n in np.geomspace(1, 172_800, 400)}
    best = min(
        time_s(loaded, (n, n * m)) for n, m in product(tried, range(1, 60)) if n * m <= 172_800
    )
    assert found.time_s[0] <= best * (1.0 + 1e-4)


@_SETTINGS
@given(
    stalls=st.lists(st.floats(0.01, 50.0), min_size=1, max_size=3),
    rates=st.lists(st.floats(1e-6, 1e-3), min_size=3, max_size=3),
)
def test_no_whole_intervals_beat_the_closed_form(stalls: list[float], rates: list[float]) -> None:
    loaded = load([saves(c, r) for c, r in zip(stalls, rates, strict=False)])
    u = sum(math.sqrt(c * r / 2.0) for c, r in zip(stalls, rates, strict=False))
    least_s = loaded.duration_s * (math.sqrt(1.02) + u) ** 2
    assert price(loaded).time_s[0] >= least_s * (1.0 - 1e-12)


def test_in_order_and_far_apart_tiers_reach_the_closed_form() -> None:
    loaded = load([saves(0.2, 1e-3), saves(30.0, 1e-6)], step_time_s=0.01)
    u = math.sqrt(0.2 * 1e-3 / 2.0) + math.sqrt(30.0 * 1e-6 / 2.0)
    least_s = loaded.duration_s * (math.sqrt(1.02) + u) ** 2
    assert price(loaded).time_s[0] == pytest.approx(least_s, rel=1e-4)


def test_the_overhead_of_all_tiers_keeps_the_limit() -> None:
    loaded = load([saves(1.0, 1e-3), saves(20.0, 1e-4)])
    free = price(loaded)
    assert free.overhead[0] > 0.02
    held = price(loaded, 0.02)
    assert 0.018 < held.overhead[0] <= 0.02
    assert held.time_s[0] > free.time_s[0]
    assert np.isinf(price(load([saves(1.0, 1e-3)], base=1.05), 0.02).time_s[0])
    assert np.isinf(price(load([], base=1.05), 0.02).time_s[0])


def test_a_fixed_interval_stays() -> None:
    found = price(load([saves(0.01, 1e-3, fixed_steps=1), saves(20.0, 1e-5)]))
    assert found.interval_steps[0, 0] == 1
    assert found.interval_steps[1, 0] > 1
    assert np.isinf(price(load([saves(1e6, 1e-3, fixed_steps=400_000)])).time_s[0])


def test_intervals_are_at_least_the_shortest_that_each_tier_supports() -> None:
    loaded = load([saves(0.01, 1e-3), saves(0.5, 1e-3, shortest_steps=5_000)])
    first, second = (int(row[0]) for row in price(loaded).interval_steps)
    assert second >= 5_000
    assert second % first == 0
    free = int(price(load([saves(0.01, 1e-3)])).interval_steps[0, 0])
    assert first == pytest.approx(free, rel=0.2)


def test_each_timeout_has_its_own_answer() -> None:
    taken = np.array([1.001, 1.02, 1.4])
    rates = np.array([1e-3, 1e-4, 1e-5])
    together = price(load([Saves(2.0, rates)], taken=taken))
    for i in range(3):
        alone = price(load([saves(2.0, rates[i])], taken=taken[i : i + 1]))
        assert together.time_s[i] == alone.time_s[0]
        assert together.interval_steps[0, i] == alone.interval_steps[0, 0]


def test_a_missed_warning_goes_back_to_the_last_emergency_save() -> None:
    time = np.array([86400.0])
    rates = {"missed_per_s": np.array([1e-5]), "missed_s": np.array([40.0])}
    most = load([], **rates, saved_per_s=np.array([9e-5]))
    assert with_missed_s(time, most)[0] == pytest.approx(86400.0 * (1.0 + 1.0 / 9.0) * 1.0004)
    never = load([], **rates)
    beginning = (1e5 + 40.0) * math.expm1(0.864)
    assert with_missed_s(time, never)[0] == pytest.approx(beginning)
    seldom = load([], **rates, saved_per_s=np.array([1e-6]))
    assert with_missed_s(time, seldom)[0] == pytest.approx(beginning)
    assert with_missed_s(time, load([]))[0] == 86400.0


def test_everything_on_top_is_in_order() -> None:
    time = np.array([1000.0])
    loaded = load([], restarts_per_s=np.array([1e-3]), restart_s=np.array([50.0]))
    assert whole_s(time, loaded, 0.5)[0] == pytest.approx(2.0 * 1050.0 * (math.e - 1.0))


def test_waits_and_restarts() -> None:
    time = np.array([1000.0])
    assert with_waits_s(time, 0.2)[0] == pytest.approx(1250.0)
    assert np.isinf(with_waits_s(time, 1.0)[0])
    never = load([])
    assert with_restarts_s(time, never)[0] == 1000.0
    rare = load([], restarts_per_s=np.array([1e-9]), restart_s=np.array([50.0]))
    assert with_restarts_s(time, rare)[0] == pytest.approx(1000.0, rel=1e-5)
    often = load([], restarts_per_s=np.array([1e-3]), restart_s=np.array([50.0]))
    assert with_restarts_s(time, often)[0] == pytest.approx(1050.0 * (math.e - 1.0))
    hopeless = load([], restarts_per_s=np.array([10.0]), restart_s=np.zeros(1))
    assert np.isinf(with_restarts_s(np.array([1e6]), hopeless)[0])
