"""What travels between clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.nodes.messages import BEAT_S, LEASE_S, SILENT_S, ages, beat_of, shift_of, shifted
from measure.rank.heartbeat import Beat

_INSTANTS = st.floats(1.0, 1e6)


@given(
    st.integers(0, 1000),
    st.integers(0, 10**9),
    st.lists(_INSTANTS, min_size=4, max_size=4),
    _INSTANTS,
)
def test_a_beat_is_as_old_on_the_other_clock(
    slot: int, steps: int, instants: list[float], theirs: float
) -> None:
    beat_at, step_at, storage_at, now = instants
    told = ages(slot, Beat(beat_at, steps, step_at, storage_at), now)
    found_slot, found = beat_of(told, theirs)
    assert (found_slot, found.steps) == (slot, steps)
    for ours, there in (
        (beat_at, found.beat_at),
        (step_at, found.step_at),
        (storage_at, found.storage_at),
    ):
        assert theirs - there == pytest.approx(now - ours, abs=1e-6)


def test_what_never_was_has_no_age() -> None:
    told = ages(3, Beat(0.0, 0, 0.0), 50.0)
    assert told == [3, 0, None, None, None]
    assert beat_of(told, 7.0) == (3, Beat(0.0, 0, 0.0, 0.0))


@given(st.floats(-1e6, 1e6), _INSTANTS, st.floats(0.0, 10.0), st.floats(0.0, 10.0))
def test_a_round_trip_tells_how_far_ahead_a_clock_is_within_its_error(
    ahead_s: float, sent_at: float, there_s: float, back_s: float
) -> None:
    """Whichever way took longer."""
    theirs = sent_at + there_s - ahead_s
    found = shift_of(sent_at, theirs, sent_at + there_s + back_s)
    assert abs(found.ahead_s - ahead_s) <= found.error_s + 1e-6
    assert found.error_s == pytest.approx((there_s + back_s) / 2.0, abs=1e-6)


def test_instants_of_a_supervisor_are_moved_and_nothing_else_is() -> None:
    form = {"said": "form", "step": 5, "training_at": 10.0, "armed": {"1": 12.0}, "rank": 3}
    assert shifted(form, 100.0) == {**form, "training_at": 110.0, "armed": {"1": 112.0}}
    first: dict[str, object] = {"said": "form", "training_at": None, "armed": {}}
    assert shifted(first, 100.0) == first
    assert shifted({"said": "train", "at": 1.5}, -1.0) == {"said": "train", "at": 0.5}


def test_who_is_cut_off_has_ended_before_the_others_give_up_on_it() -> None:
    assert BEAT_S < LEASE_S < SILENT_S
