"""Schedules: what is read back, and what is refused, in one line that says what is valid."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.errors import UsageError
from measure.faults.kinds import Warned
from measure.faults.schedule import (
    FaultEvent,
    FaultKind,
    RecoveryPhase,
    Schedule,
    StartPhase,
    parse,
    read_schedule,
    victims_of,
)
from measure.faults.traces import TRACES, trace_named
from measure.profiles import PROFILES


def written(folder: Path, events: object, **other: Any) -> Path:
    path = folder / "schedule.json"
    document = {"schema": "failbench-faults", "version": 1, "events": events, **other}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_schedule_comes_back_as_it_was_written() -> None:
    schedule = Schedule(
        "mine",
        (
            FaultEvent(1, step=4, lead_s=0.5),
            FaultEvent(2, after_s=3.0),
            FaultEvent(3, FaultKind.HANG, time_s=9.0),
            FaultEvent(4, FaultKind.EXCEPTION, phase=StartPhase.FORMING_GROUPS),
            FaultEvent(5, FaultKind.CRASH, phase=RecoveryPhase.RESTORING),
            FaultEvent(6, FaultKind.STRAGGLER, step=2, params={"factor": 1.5, "steps": 9}),
            FaultEvent(7, step=3, lead_s=0.5, params={"warning": "late"}),
        ),
        spacing_s=3.0,
    )
    assert parse(json.loads(json.dumps(schedule.to_json()))) == schedule


def test_a_file_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, [{"rank": 3, "step": 5}])
    found = read_schedule(path, 8)
    assert found.events == (FaultEvent(3, step=5),)
    assert re.fullmatch(r"schedule@[0-9a-f]{8}", found.name or "")


def test_other_faults_have_another_name(tmp_path: Path) -> None:
    names = {
        read_schedule(written(tmp_path, [{"rank": rank, "step": 5}], name="F1"), 8).name
        for rank in (1, 2)
    }
    assert len(names) == 2
    assert "F1" not in names


@pytest.mark.parametrize("name", ["", "../../up", "two/racks", "a\u0000b", "a\nb", "x" * 81, 7])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: object) -> None:
    with pytest.raises(UsageError, match='"name" must be letters'):
        read_schedule(written(tmp_path, [{"rank": 3, "step": 5}], name=name), 8)


FALSE = {"params": {"warning": "false"}}


def straggler(**params: object) -> list[dict[str, object]]:
    return [{"rank": 1, "kind": "straggler", "step": 1, "params": params}]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"rank": 9, "step": 1}], "no rank 9 of 8: valid are 0 to 7"),
        ([{"rank": -1, "step": 1}], "rank must be a whole number"),
        ([{"rank": True, "step": 1}], "rank must be a whole number"),
        ([{"step": 1}], "rank must be a whole number"),
        ([{"rank": 1}], "exactly one of time_s, step, after_s, phase"),
        ([{"rank": 1, "step": 1, "time_s": 1}], "exactly one of"),
        ([{"rank": 1, "time_s": float("nan")}], "from 0 to 1e9"),
        ([{"rank": 1, "time_s": -1}], "from 0 to 1e9"),
        ([{"rank": 1, "time_s": "1s"}], "must be a number of seconds"),
        ([{"rank": 1, "kind": "explode", "step": 1}], "known are crash, hang, exception, node-"),
        ([{"rank": 1, "kind": "node-crash", "step": 1}], "needs ranks on several nodes: give --no"),
        ([{"rank": 1, "kind": "partition", "phase": "starting"}], "while training, not at a phase"),
        ([{"rank": 1, "phase": "later"}], "known are starting, forming-groups"),
        ([{"rank": 1, "step": 1, "when": 2}], "unknown key 'when'"),
        ([{"rank": 1, "step": 1, "params": {"a": 1}}], "unknown params 'a': a crash takes w"),
        ([{"rank": 1, "time_s": 1, "lead_s": 2}], "must be at most 1 s"),
        ([{"rank": 1, "phase": "starting", "lead_s": 0.1}], "cannot be announced"),
        ([{"rank": 1, "after_s": 1}], "after_s counts from event 0"),
        ([{"rank": 1, "kind": "hang", "step": 1}, {"rank": 2, "after_s": 1}], "after_s needs"),
        ([{"rank": 1, "step": 1}, {"rank": 1, "step": 2}], "rank 1 fails twice"),
        ([{"rank": r, "step": 1} for r in range(8)], "all 8 ranks fail"),
        ([{"rank": 1, "phase": "restoring"}], "a phase of the recovery from event 0"),
        ([{"rank": 1, "kind": "straggler", "step": 1}], "a straggler needs params factor"),
        (straggler(factor=1.0), "params factor must be a number from 1.01 to 1000"),
        (straggler(factor=True), "params factor must be a number"),
        (straggler(factor=2, what="soul"), "params what must be one of compute, network"),
        (straggler(factor=2, steps=1.5), "params steps must be a whole number from 1"),
        (straggler(factor=2, bit=1), "unknown params 'bit': a straggler takes factor, what, s"),
        ([{"rank": 1, "kind": "slow-storage", "step": 1}], "needs params factor or pause_s"),
        (
            [{"rank": 1, "kind": "slow-storage", "step": 1, "params": {"factor": 2, "pause_s": 1}}],
            "needs params factor or pause_s",
        ),
        ([{"rank": 1, "kind": "flip-gradient", "step": 1, "params": {"bit": 32}}], "from 0 to 31"),
        ([{"rank": 1, "kind": "wrong-rng", "step": 1, "params": {"x": 1}}], "params must be empty"),
        ([{"rank": 1, "kind": "store-loss", "phase": "starting"}], "while training, not at a ph"),
        ([{"rank": 1, "kind": "full-storage", "step": 1, "lead_s": 1}], "cannot be announced"),
        ([{"rank": 1, "kind": "partial-restore", "step": 0}], "needs a step, 1 or more"),
        ([{"rank": 1, "kind": "partial-restore", "time_s": 1}], "needs a step, 1 or more"),
        ([{"rank": 1, "step": 1, "params": {"warning": "lost"}}], "a lost warning is of an annou"),
        ([{"rank": 1, "step": 1, "lead_s": 1, "params": {"warning": "no"}}], "one of lost, late"),
        ([{"rank": 1, "step": 1, "params": []}], "params must be an object"),
        ([{"rank": 1, "step": n, "lead_s": 1, **FALSE} for n in (1, 2)], "announced twice"),
        ([7], "must be an object"),
        ({"rank": 1}, "must be a list"),
    ],
)
def test_a_wrong_event_is_refused(tmp_path: Path, events: object, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        read_schedule(written(tmp_path, events), 8)
    assert str(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a fault schedule"),
        ('{"schema": "failbench-faults", "version": 2, "events": []}', "this version reads 1"),
        ('{"schema": "failbench-faults", "version": 1, "events": [], "x": 1}', "unknown key 'x'"),
        ('{"schema": "failbench-faults", "version": 1, "events": [], "name": ""}', '"name"'),
        ("[" * 100_000, "not JSON"),
        (" " * 1_000_001, "at most 1000000 bytes"),
    ],
)
def test_a_file_that_is_no_schedule_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_schedule(path, 8)


def test_a_missing_file_is_said() -> None:
    with pytest.raises(UsageError, match="cannot read the schedule"):
        read_schedule(Path("no/such.json"), 8)


def victims(trace: str, world_size: int) -> list[int]:
    return [event.rank for event in trace_named(trace, PROFILES["cpu"], world_size, None).events]


def test_the_victims_are_the_papers() -> None:
    assert victims("f1", 8) == [3]
    assert victims("F2", 8) == [3, 5]
    assert victims("f2-adjacent", 8) == [3, 4]
    assert victims("f3", 8) == [3, 5, 7]


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("world_size", range(5, 20))
def test_a_trace_strikes_distinct_workers_in_any_world(trace: str, world_size: int) -> None:
    ranks = victims(trace, world_size)
    assert len(set(ranks)) == len(ranks)
    assert set(ranks) <= set(range(1, world_size))


def test_cascading_faults_keep_the_profiles_spacing() -> None:
    schedule = trace_named("f3", PROFILES["paper"], 8, None)
    assert [event.after_s for event in schedule.events] == [None, 30.0, 60.0]
    assert schedule.spacing_s == 30.0


def test_an_unknown_trace_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="none, f1, f2, f2-adjacent, f3, or the path"):
        trace_named("f9", PROFILES["cpu"], 8, None)


def test_a_lead_is_no_longer_than_the_spacing() -> None:
    with pytest.raises(UsageError, match=r"event 1: the lead of 40 s must be at most 30 s"):
        trace_named("f3", PROFILES["paper"], 8, 40.0)


def test_a_trace_needs_enough_ranks() -> None:
    with pytest.raises(UsageError, match="F3 needs at least 5 ranks, not 4"):
        trace_named("f3", PROFILES["cpu"], 4, None)


SCHEMA = json.loads(
    (Path(__file__).parents[3] / "data/schemas/fault-schedule-1.schema.json").read_text("utf-8")
)
_SECONDS = st.floats(0, 1e9) | st.none()
_EVENTS = st.fixed_dictionaries(
    {"rank": st.integers(-1, 9)},
    optional={
        "kind": st.sampled_from([*FaultKind, None, "explode"]),
        "time_s": _SECONDS | st.just("1s"),
        "step": st.integers(-1, 100) | st.none() | st.booleans(),
        "after_s": _SECONDS,
        "phase": st.sampled_from([*StartPhase, *RecoveryPhase, None, ""]),
        "lead_s": _SECONDS,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "factor": st.floats(0.5, 2000.0),
                "what": st.sampled_from(["compute", "network", "soul"]),
                "steps": st.integers(0, 20),
                "pause_s": st.floats(0.0, 100.0),
                "bit": st.integers(-1, 32),
                "seed": st.integers(-1, 2**31),
                "warning": st.sampled_from([*Warned, "no"]),
            },
        ),
        "when": st.just(1),
    },
)


@given(st.lists(_EVENTS, max_size=3))
def test_what_is_read_is_valid_by_the_schema(events: list[dict[str, object]]) -> None:
    document = {"schema": "failbench-faults", "version": 1, "events": events}
    try:
        parse(document)
    except UsageError:
        return
    jsonschema.validate(document, SCHEMA)


@pytest.mark.parametrize("trace", TRACES)
def test_the_traces_are_valid_by_the_schema(trace: str) -> None:
    written_down = trace_named(trace, PROFILES["cpu"], 8, 0.5).to_json()
    jsonschema.validate(json.loads(json.dumps(written_down)), SCHEMA)
    assert parse(json.loads(json.dumps(written_down))).name == trace


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"rank": 2, "kind": "node-crash", "step": 1}, {"rank": 3, "step": 2}], "rank 3 fails tw"),
        ([{"rank": r, "kind": "partition", "step": 1} for r in (0, 2)], "all 4 ranks fail"),
        ([{"rank": r, "kind": "node-crash", "step": 1} for r in (2, 3)], "rank 2 fails twice"),
    ],
)
def test_a_node_takes_its_ranks_with_it(tmp_path: Path, events: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_schedule(written(tmp_path, events), 4, nodes=2)


def test_a_lost_node_is_named_by_any_of_its_ranks(tmp_path: Path) -> None:
    events = [{"rank": 3, "kind": "node-crash", "step": 5}, {"rank": 0, "after_s": 1.0}]
    found = read_schedule(written(tmp_path, events), 6, nodes=3)
    assert victims_of(found.events[0], 6, 3) == [2, 3]
    assert victims_of(found.events[1], 6, 3) == [0]
    assert parse(json.loads(json.dumps(found.to_json()))).events == found.events


def test_who_survives_is_no_victim_and_may_be_struck_again(tmp_path: Path) -> None:
    events = [
        {"rank": 1, "kind": "flip-parameter", "step": 1},
        {"rank": 1, "kind": "wrong-rng", "step": 2},
        {"rank": 1, "kind": "crash", "step": 3, "lead_s": 1, **FALSE},
        {"rank": 1, "kind": "crash", "step": 9},
    ]
    found = read_schedule(written(tmp_path, events), 2)
    assert [victims_of(event, 2, 1) for event in found.events] == [[], [], [], [1]]


def test_a_false_alarm_of_every_rank_leaves_all(tmp_path: Path) -> None:
    events = [{"rank": rank, "step": 1, "lead_s": 1, **FALSE} for rank in range(4)]
    assert len(read_schedule(written(tmp_path, events), 4).events) == 4


@pytest.mark.parametrize(
    ("warning", "warned_s", "ends"),
    [(None, 2.0, True), ("lost", None, True), ("late", 0.2, True), ("false", 2.0, False)],
)
def test_what_is_heard_of_an_announced_fault(
    warning: str | None, warned_s: float | None, ends: bool
) -> None:
    params = {} if warning is None else {"warning": warning}
    event = FaultEvent(1, step=3, lead_s=2.0, params=params)
    assert event.warned_s == (None if warned_s is None else pytest.approx(warned_s))
    assert event.ends_its_rank is ends
