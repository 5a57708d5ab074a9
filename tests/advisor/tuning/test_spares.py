"""Waits for spares: Poisson and Erlang for one node at a time, an event loop for several."""

import heapq
import math

import numpy as np
import pytest

from advisor.errors import UserError
from advisor.simulation.process import Kind
from advisor.tuning.circumstances import Circumstances
from advisor.tuning.spares import waiting_shares

_ONE = (Kind(1.0, 1, 1),)


def told(nodes: int, repair_s: float, spares: int, kinds: tuple[Kind, ...] = _ONE) -> Circumstances:
    return Circumstances(nodes, kinds, repair_s=repair_s, most_spares=spares)


def test_one_of_many_nodes_at_a_time_is_poisson() -> None:
    shares = waiting_shares(told(64, 7200.0, 6), 3600.0)
    at_most = np.cumsum([math.exp(-2.0) * 2.0**k / math.factorial(k) for k in range(7)])
    assert shares == pytest.approx(1.0 - at_most)


@pytest.mark.parametrize("load", [0.1, 3.0, 40.0])
def test_a_single_node_fails_only_while_it_works(load: float) -> None:
    """Up for M, then in repair for r: r / (M + r) of the time."""
    shares = waiting_shares(told(1, 3600.0 * load, 0), 3600.0)
    assert shares == pytest.approx([load / (1.0 + load)])


def test_failures_that_take_no_node_need_no_spare() -> None:
    half = (Kind(0.5, 0, 0), Kind(0.5, 1, 1))
    shares = waiting_shares(told(16, 3600.0, 3, half), 1800.0)
    assert shares == pytest.approx(waiting_shares(told(16, 3600.0, 3), 3600.0))


def test_without_a_repair_nobody_waits() -> None:
    assert list(waiting_shares(Circumstances(4, _ONE), 60.0)) == [0.0]


def test_more_spares_wait_less_and_longer_repairs_more() -> None:
    kinds = (Kind(0.9, 1, 1), Kind(0.1, 3, 3))
    short = waiting_shares(told(64, 3600.0, 10, kinds), 7200.0)
    long = waiting_shares(told(64, 7200.0, 10, kinds), 7200.0)
    assert all(np.diff(short) < 0.0)
    assert all(long > short)
    assert short[10] < 1e-3


def _watched(kinds: dict[int, float], repair_s: float, mtbf_s: float, spares: int) -> float:
    """The share of time with more nodes in repair than there are spares, event by event."""
    random = np.random.default_rng(11)
    now = waited = 0.0
    back: list[float] = []
    sizes, shares = list(kinds), list(kinds.values())
    for _ in range(200_000):
        then = now + random.exponential(mtbf_s)
        while back and back[0] <= then:
            at = heapq.heappop(back)
            waited += (at - now) if len(back) + 1 > spares else 0.0
            now = at
        waited += (then - now) if len(back) > spares else 0.0
        now = then
        for _ in range(int(random.choice(sizes, p=shares))):
            heapq.heappush(back, now + random.exponential(repair_s))
    return waited / now


@pytest.mark.parametrize("spares", [0, 2, 5])
def test_several_nodes_at_once_are_as_an_event_loop_sees_them(spares: int) -> None:
    kinds = {1: 0.8, 2: 0.15, 6: 0.05}
    asked = told(200, 5000.0, spares, tuple(Kind(s, n, n) for n, s in kinds.items()))
    shares = waiting_shares(asked, 4000.0)
    assert shares[-1] == pytest.approx(_watched(kinds, 5000.0, 4000.0, spares), rel=0.04)


def test_too_many_in_repair_are_refused() -> None:
    with pytest.raises(UserError, match="500 nodes would be in repair"):
        waiting_shares(told(8, 1e6, 4), 1e3)
