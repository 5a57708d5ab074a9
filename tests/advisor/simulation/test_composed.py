"""Tiers as a person asks for them, their intervals, and the limits that they keep together."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.scenario import FailureRegime, FewerRanks, IntervalPolicy, RestoreBasis, Scenario
from advisor.simulation.composed import (
    AskedTier,
    composed,
    in_words,
    name_of,
    over_limits,
    parse_tiers,
)
from advisor.simulation.parts import Emergency, Part
from advisor.simulation.process import SURVIVES_ALL, Tier

_STEP_S = 0.5
_SCENARIO = Scenario(
    cluster="here",
    architecture="a2",
    state_bytes=1_000_000,
    mtbf_s=7200.0,
    step_time_s=_STEP_S,
    duration_s=86_400.0,
    detection_s=30.0,
    regroup_s=5.0,
    init_s=0.0,
    interval=IntervalPolicy.AUTO,
    failure_regime=FailureRegime.SINGLE,
    restore_basis=RestoreBasis.PUBLISHED,
    fewer_ranks=FewerRanks.REFUSE,
)


def part(name: str, steps: int | None, least: int = 1, **more: object) -> Part:
    """A periodic mechanism with stalls of 0.1 s; one without steps always has a state."""
    plain = Part(
        mechanism=name,
        replicas=1,
        survives=1,
        stall_s=0.0 if steps is None else 0.1,
        restore_s=2.0,
        interval_steps=steps,
        least_steps=least,
        can_vary=steps is not None,
        overhead=0.0,
        emergency=None,
        host_bytes_per_rank=1_000_000,
        device_bytes_per_rank=0,
    )
    return replace(plain, **more)  # type: ignore[arg-type]


_KNOWN = {
    each.mechanism: each
    for each in (
        part("peer", 100),
        part("disk", 740, least=50, survives=SURVIVES_ALL, host_bytes_per_rank=0),
        part("slow", 90, least=250, survives=SURVIVES_ALL),
        part("always", 1, can_vary=False),
        part("warned", None, emergency=Emergency(3.0, 4.0, 1.0), overhead=0.01),
        part("announced", None, emergency=Emergency(1.0, 1.0, 1.0)),
        part("elastic", None),
    )
}


def asked(text: str) -> tuple[Part, ...]:
    (stack,) = parse_tiers(text)
    return composed(stack, _KNOWN, 5_000)


def test_names() -> None:
    assert parse_tiers("FT2+ft1") == ((AskedTier("ft2"), AskedTier("ft1")),)
    assert parse_tiers(" ft4 + ft2:100 + ft1:1000 , ft3+ft1") == (
        (AskedTier("ft4"), AskedTier("ft2", 100), AskedTier("ft1", 1000)),
        (AskedTier("ft3"), AskedTier("ft1")),
    )
    parts = asked("warned+peer+disk")
    assert name_of(parts) == "warned+peer+disk"
    assert in_words(parts) == "warned+peer:100+disk:700"
    (again,) = parse_tiers(in_words(parts))
    assert composed(again, _KNOWN, 5_000) == parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ft1", "'ft1' is one mechanism alone: write ft2\\+ft1"),
        ("", "'' does not name tiers"),
        ("ft2+", "'ft2\\+' does not name tiers"),
        ("ft2+ft1,", "'' does not name tiers"),
        ("ft2+ft1:", "does not name tiers"),
        ("ft2+:100", "does not name tiers"),
        ("ft2+ft2", "names a mechanism twice"),
        ("ft2:often+ft1", "'often' is not an interval"),
        ("ft2:0+ft1", "'0' is not an interval"),
        ("ft2:1.5+ft1", "'1.5' is not an interval"),
        ("ft2:" + "1" * 5000 + "+ft1", "is not an interval: write a whole number of steps"),
        ("ft2" * 1000, "is one mechanism alone"),
    ],
)
def test_what_names_no_tiers(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as said:
        parse_tiers(text)
    assert len(str(said.value)) < 250


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        # Its own 740 is nearest to seven times 100.
        ("peer+disk", [100, 700]),
        ("peer:99+disk", [99, 693]),
        # Its own 100 is shorter than the interval before it: as often as that.
        ("disk+peer", [740, 740]),
        # No shorter than what its measurement supports.
        ("peer+slow", [100, 300]),
        ("always+peer+disk", [1, 100, 700]),
        ("always+peer:7+disk:700", [1, 7, 700]),
        ("peer:50+disk:50", [50, 50]),
        ("warned+disk", [None, 740]),
        ("disk+warned", [740, None]),
        # No longer than the job.
        ("peer:3000+disk", [3000, 3000]),
    ],
)
def test_intervals_are_whole_multiples(text: str, intervals: list[int | None]) -> None:
    found = asked(text)
    assert [part.interval_steps for part in found] == intervals
    for each in found:
        assert (
            replace(each, interval_steps=_KNOWN[each.mechanism].interval_steps)
            == (_KNOWN[each.mechanism])
        )


@given(st.lists(st.tuples(st.integers(1, 5_000), st.integers(1, 5_000)), min_size=1, max_size=4))
def test_whatever_their_own_intervals(numbers: list[tuple[int, int]]) -> None:
    """Rising multiples, none below what its mechanism supports."""
    known = {
        f"m{place}": part(f"m{place}", max(own, least), least)
        for place, (own, least) in enumerate(numbers)
    }
    found = composed([AskedTier(name) for name in known], known, 5_000)
    steps = [each.interval_steps or 0 for each in found]
    assert steps[0] == known["m0"].interval_steps
    assert all(coarser % finer == 0 < finer <= coarser for finer, coarser in pairwise(steps))
    assert all(each.least_steps <= interval for each, interval in zip(found, steps, strict=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("peer+elastic", "ELASTIC saves neither at intervals nor on a warning"),
        ("warned:10+disk", "WARNED saves on a warning: it takes no interval"),
        ("warned+announced", "only one of the tiers can save on a warning"),
        ("always:2+disk", "ALWAYS saves every 1 step, not 2"),
        ("peer+always", "an interval of 1 step of ALWAYS is no whole multiple of the 100 before"),
        ("peer:100+disk:250", "250 steps of DISK is no whole multiple of the 100 before it"),
        ("peer:100+disk:50", "name the most frequent tier first"),
        ("disk:49+peer", "an interval of 49 steps of DISK is shorter than 50 steps"),
        ("peer+disk:5100", "5,100 steps of DISK is longer than the whole job of 5,000 steps"),
    ],
)
def test_tiers_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        asked(text)


def test_a_part_as_a_tier() -> None:
    peer, warned, elastic = (_KNOWN[name] for name in ("peer", "warned", "elastic"))
    assert peer.tier(_STEP_S) == Tier(50.0, 0.1, 2.0, survives=1)
    assert warned.tier(_STEP_S) is None
    assert elastic.tier(_STEP_S) == Tier(0.0, 0.0, 2.0, survives=1)
    assert peer.overhead_fraction(_STEP_S) == pytest.approx(0.1 / 50.0)
    assert warned.overhead_fraction(_STEP_S) == 0.01


def test_memory_adds_up() -> None:
    parts = asked("warned+peer+disk")
    for available, is_enough in ((8_000_000, True), (7_999_999, False), (None, True)):
        reason = over_limits(replace(_SCENARIO, host_memory_bytes=available), 4, parts)
        assert (reason is None) == is_enough
    assert reason is None
    reason = over_limits(replace(_SCENARIO, host_memory_bytes=6_000_000), 4, parts)
    assert reason == ("their copies need 8 MB of host memory a node (4 ranks), and there are 6 MB")
    # One by one they would fit.
    for each in parts:
        assert over_limits(replace(_SCENARIO, host_memory_bytes=6_000_000), 4, [each]) is None
    on_device = [replace(each, device_bytes_per_rank=1_000_000) for each in parts]
    assert over_limits(replace(_SCENARIO, device_memory_bytes=4_000_000), 4, on_device) is None
    reason = over_limits(replace(_SCENARIO, device_memory_bytes=3_000_000), 4, on_device)
    assert reason == "the state and their copies need 4 MB of device memory, and there are 3 MB"


def test_overheads_add_up() -> None:
    parts = asked("warned+peer+disk")
    together = 0.01 + 0.1 / 50.0 + 0.1 / 350.0
    assert over_limits(replace(_SCENARIO, max_overhead=together), 4, parts) is None
    reason = over_limits(replace(_SCENARIO, max_overhead=0.012), 4, parts)
    assert reason == "their overhead together, 1.23 %, exceeds the limit of 1.2 %"
