"""Positions and what is kept there, also where rounding puts them beside the end of a save."""

import numpy as np
import pytest

from advisor.simulation.process import Process, Tier
from advisor.simulation.timeline import Timeline
from advisor.simulation.times import Exponential

_THREE = (
    Tier(113.7, 1.0, 0.0),
    Tier(2 * 113.7, 7.5, 0.0, survives=1),
    Tier(6 * 113.7, 0.0, 0.0, survives=2),
)


@pytest.mark.parametrize(
    ("tiers", "tier"),
    [(_THREE[:count], tier) for count in (1, 2, 3) for tier in range(count)],
)
def test_a_state_is_kept_from_the_end_of_its_save_on(tiers: tuple[Tier, ...], tier: int) -> None:
    """Also if the position is the last float before it: a job that has just been put back there."""
    timeline = Timeline(Process(5_000.0, Exponential(100.0), tiers))
    period_s = timeline.periods_s[tier]
    ends_s = period_s * np.arange(1.0, 7.0)
    for beside_s in (np.nextafter(ends_s, 0.0), ends_s, np.nextafter(ends_s, np.inf)):
        kept_s = timeline.kept(beside_s, tier)
        assert kept_s[0] == pytest.approx(ends_s[0], rel=1e-9)
        assert np.all(kept_s <= beside_s * (1.0 + 1e-9))
        assert np.all(kept_s > beside_s - 1e-6 - period_s)
    rarest_s = timeline.periods_s[-1] * np.arange(1.0, 4.0)
    kept_s = timeline.kept(np.nextafter(rarest_s, 0.0), tier)
    assert kept_s == pytest.approx(rarest_s, rel=1e-9)


def test_what_a_position_holds() -> None:
    timeline = Timeline(Process(5_000.0, Exponential(100.0), _THREE))
    fine_s, mid_s, rare_s = timeline.periods_s
    assert (fine_s, mid_s) == pytest.approx((114.7, 2 * 114.7 + 7.5))
    assert rare_s == pytest.approx(3 * mid_s)
    position_s = np.array([mid_s + fine_s + 50.0])
    assert timeline.kept(position_s, 0) == pytest.approx([mid_s + fine_s])
    assert timeline.kept(position_s, 1) == pytest.approx([mid_s])
    assert timeline.kept(position_s, 2) == pytest.approx([0.0])
    assert timeline.kept(position_s, None) == pytest.approx([0.0])
