"""Waits for spares: Poisson for one node at a time, an event loop for several."""

import heapq
import math

import numpy as np
import pytest

from advisor.errors import UserError
from advisor.tuning.losses import ONE_AT_A_TIME, Losses
from advisor.tuning.spares import Repairs, waiting_shares


def test_one_node_at_a_time_is_poisson() -> None:
    shares = waiting_shares(Repairs(64, 7200.0), ONE_AT_A_TIME, 3600.0, 6)
    at_most = np.cumsum([math.exp(-2.0) * 2.0**k / math.factorial(k) for k in range(7)])
    assert shares == pytest.approx(1.0 - at_most)


def test_more_spares_wait_less_and_longer_repairs_more() -> None:
    losses = Losses({1.0: 0.9, 3.0: 0.1})
    short = waiting_shares(Repairs(64, 3600.0), losses, 7200.0, 10)
    long = waiting_shares(Repairs(64, 7200.0), losses, 7200.0, 10)
    assert all(np.diff(short) < 0.0)
    assert all(long > short)
    assert short[10] < 1e-3


def _watched(losses: dict[int, float], repair_s: float, mtbf_s: float, spares: int) -> float:
    """The share of time with more nodes in repair than there are spares, event by event."""
    random = np.random.default_rng(11)
    now = waited = 0.0
    back: list[float] = []
    sizes, shares = list(losses), list(losses.values())
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
    losses = {1: 0.8, 2: 0.15, 6: 0.05}
    shares = waiting_shares(
        Repairs(6, 5000.0), Losses({1.0: 0.8, 2.0: 0.15, math.inf: 0.05}), 4000.0, spares
    )
    assert shares[-1] == pytest.approx(_watched(losses, 5000.0, 4000.0, spares), rel=0.04)


def test_too_many_in_repair_are_refused() -> None:
    with pytest.raises(UserError, match="500 nodes would be in repair"):
        waiting_shares(Repairs(8, 1e6), ONE_AT_A_TIME, 1e3, 4)
