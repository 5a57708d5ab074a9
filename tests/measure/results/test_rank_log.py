"""Rank logs on the supervisor's clock: no instant is ever negative, whatever a clock says."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from measure.nodes.messages import ClockShift
from measure.rank.event_log import EventLog, read_log
from measure.results.rank_log import Clock, sorted_out

BEGAN = Clock(monotonic=1000.0, wall=50_000.0, boot="here")


def events(boot: str, monotonic: float, wall: float, *later: float) -> list[dict[str, Any]]:
    return [
        {"t": monotonic, "event": "clock", "wall": wall, "boot": boot},
        *({"t": monotonic + s, "event": "mark"} for s in later),
    ]


def test_one_host_needs_no_shift() -> None:
    log = sorted_out(2, events("here", 1001.0, 1.0, 4.5), BEGAN)
    assert [event["t"] for event in log.events] == [1.0, 5.5]
    assert log.notes == ()


def test_another_host_is_set_against_the_wall_clocks() -> None:
    log = sorted_out(2, events("there", 7.0, 50_001.0, 4.5), BEGAN)
    assert [event["t"] for event in log.events] == [1.0, 5.5]


def test_a_clock_that_is_behind_gives_zero_and_a_note() -> None:
    log = sorted_out(2, events("there", 7.0, 49_990.0, 4.5), BEGAN)
    assert [event["t"] for event in log.events] == [0.0, 0.0]
    assert log.notes == ("the clock of rank 2 is 10.000 s behind the supervisor's",)


def test_what_round_trips_tell_of_a_clock_is_better_than_wall_clocks() -> None:
    there = events("there", 7.0, 49_990.0, 4.5)  # whose wall clock is 11 s behind
    log = sorted_out(2, there, BEGAN, ClockShift(ahead_s=-994.0, error_s=0.002))
    assert [event["t"] for event in log.events] == [1.0, 5.5]
    assert (log.notes, log.clock_error_s) == ((), 0.002)
    early = sorted_out(2, there, BEGAN, ClockShift(ahead_s=-992.9985, error_s=0.002))
    assert (early.events[0]["t"], early.notes) == (0.0, ()), "that is within the error"


@given(
    st.floats(-1e6, 1e6), st.floats(0, 1e6), st.lists(st.floats(0, 1e4), max_size=5), st.booleans()
)
def test_no_time_is_negative(
    wrong_s: float, monotonic: float, later: list[float], same: bool
) -> None:
    boot = "here" if same else "there"
    found = events(boot, monotonic, 50_000.0 + wrong_s, *later)
    found.append({"t": monotonic, "event": "step", "step": 0, "s": 2.0, "loss": None, "samples": 1})
    log = sorted_out(0, found, BEGAN)
    assert all(event["t"] >= 0.0 for event in log.events)
    assert all(step.end_s >= 0.0 and step.begin_s >= 0.0 for step in log.steps)


def test_a_log_is_read_back_and_a_cut_line_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.jsonl"
    log = EventLog(path, 0)
    log.step(0, 0.0, 1.5, 4)
    log.step(1, 0.0, float("nan"), 4)
    log.write("fault", ordinal=0)
    log.close()
    with path.open("a", encoding="utf-8") as file:
        file.write('{"t": 1.0, "event": "st')
    found = read_log(path)
    assert [event["event"] for event in found] == ["clock", "step", "step", "fault"]
    assert [event.get("loss") for event in found[1:3]] == [1.5, None]
    assert json.dumps(found)


def test_a_rank_that_never_was_has_no_events(tmp_path: Path) -> None:
    assert read_log(tmp_path / "rank-7.jsonl") == []
