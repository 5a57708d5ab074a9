"""The other kinds of logs: their layouts, and what each does not say."""

import json

import pytest

from advisor.errors import UserError
from advisor.failure_logs.records import Kind
from db.records import FailureScope
from tests.advisor.failure_logs.samples import log_of, sample


def test_sacct_json() -> None:
    log = sample("sacct.json")
    assert (log.format, log.scope) == ("sacct-json", FailureScope.JOB)
    failed, again, pending, running, bare, wrong = log.entries
    assert failed.interruption is not None
    assert failed.interruption.nodes == ("n1", "n2")
    assert again.at_risk is not None
    assert (again.at_risk.start_s, again.at_risk.nodes) == (1709254900.0, 2)
    assert "never started" in pending.excluded
    assert running.at_risk is not None
    assert running.at_risk.end_s == 1709251200.0 + 1800.0
    assert bare.excluded.startswith("malformed")
    assert wrong.excluded.startswith("malformed")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (["PENDING", "REQUEUED"], "REQUEUED: requeued"),
        (["PENDING", "RESIZING"], "RESIZING: it still ran"),
        (["RUNNING", "COMPLETING"], "RUNNING: it still ran"),
        (["CANCELLED", "COMPLETING"], "CANCELLED: cancelled"),
        (["NODE_FAIL"], "NODE_FAIL: a node failed"),
    ],
)
def test_of_several_states_the_base_counts_unless_there_is_none(
    state: list[str], says: str
) -> None:
    time = {"start": 1709251200, "end": 1709254800}
    job = {"job_id": 1, "state": {"current": state}, "nodes": "n1", "time": time}
    (entry,) = log_of(json.dumps({"jobs": [job]})).entries
    assert entry.says == says
    assert entry.at_risk is not None


@pytest.mark.parametrize("text", ['{"jobs": 5}', '{"jobs": [', '{"jobs"}', '{"x": {"jobs": []}}'])
def test_json_that_is_no_sacct(text: str) -> None:
    with pytest.raises(UserError, match="jobs"):
        log_of(text)


def test_json_with_rows_of_any_kind() -> None:
    rows: list[object] = [None, 5, "x", [], {}, {"job_id": 1, "state": [], "time": {}}, {"time": 3}]
    log = log_of(json.dumps({"jobs": rows}))
    assert len(log.entries) == len(rows)
    assert all(entry.excluded for entry in log.entries)


def test_acme_takes_the_time_from_start_to_end() -> None:
    seren, kalos = sample("acme_seren.csv"), sample("acme_kalos.csv")
    assert {seren.format, kalos.format} == {"acme"}
    completed, failed, aborted, cancelled = seren.entries
    assert completed.at_risk is not None
    assert completed.at_risk.end_s == completed.at_risk.start_s + 36000
    assert failed.interruption is not None
    assert failed.interruption.kind is Kind.INFRA
    assert aborted.interruption is not None
    assert aborted.interruption.kind is Kind.ABORT
    assert "never started" in cancelled.excluded
    (job,) = kalos.entries
    assert job.at_risk is not None
    assert job.at_risk.end_s == job.at_risk.start_s + 7200  # its `duration` says 10800


def test_helios() -> None:
    log = sample("helios.csv")
    assert log.format == "helios"
    completed, failed, timeout, wrong = log.entries
    assert completed.interruption is None
    assert failed.interruption is not None
    assert timeout.interruption is None
    assert wrong.excluded.startswith("malformed")


def test_philly_has_a_row_for_each_attempt() -> None:
    log = sample("philly.json")
    assert (log.format, log.knows_causes) == ("philly", False)
    first, second, no_end, none, failed = log.entries
    assert first.interruption is not None
    assert (first.interruption.kind, first.interruption.nodes) == (Kind.ABORT, ("m1", "m2"))
    assert second.interruption is None
    assert second.at_risk is not None
    assert second.at_risk.nodes == 2
    assert no_end.excluded.startswith("malformed")
    assert "never started" in none.excluded
    assert failed.interruption is not None


@pytest.mark.parametrize("text", ['[{"attempts": 1}]', '[1, "attempts"]', '[{"attempts": [5]}]'])
def test_philly_with_rows_of_any_kind(text: str) -> None:
    log = log_of(text)
    assert log.entries
    assert all(entry.excluded.startswith("malformed") for entry in log.entries)


def test_philly_that_is_no_json() -> None:
    with pytest.raises(UserError, match="JSON"):
        log_of('[{"attempts": ')


def test_lanl() -> None:
    log = sample("lanl.csv")
    assert (log.format, log.scope) == ("lanl", FailureScope.NODE)
    assert log.systems == {"90": 10, "91": 4}
    kinds = [entry.interruption and entry.interruption.kind for entry in log.entries]
    assert kinds == [
        *(Kind.INFRA, Kind.INFRA, Kind.INFRA, None, Kind.PLANNED, Kind.INFRA, Kind.ABORT),
        *(Kind.INFRA, Kind.INFRA, None, None),
    ]
    assert "same event" in log.entries[3].excluded
    first = log.entries[0].interruption
    assert first is not None
    assert (first.nodes, first.system) == (("90/0",), "90")


def test_lanl_without_its_columns() -> None:
    with pytest.raises(UserError, match="nodes"):
        log_of("System,Prob Started\n1,1/1/2003 0:00\n")


def test_events() -> None:
    log = sample("events.csv")
    assert (log.format, log.scope, log.systems) == ("csv", FailureScope.JOB, {"": None})
    found = [entry.interruption for entry in log.entries]
    assert [f and (f.kind, f.announced, f.lead_s) for f in found] == [
        (Kind.INFRA, False, None),
        (Kind.PLANNED, True, 120.0),
        (Kind.PLANNED, True, 30.0),
        (Kind.INFRA, True, 600.0),
        (Kind.PLANNED, False, None),
        (Kind.INFRA, False, None),
        (Kind.ABORT, False, None),
        None,
        None,
    ]


def test_counts() -> None:
    log = sample("llama3_counts.csv")
    assert sum(e.interruption.count for e in log.entries if e.interruption) == 419
    (note,) = log.notes
    assert "Faulty GPU 30.1 %, but 148 of 419 is 35.3 %" in note


def test_shares_that_match_say_nothing() -> None:
    assert log_of("cause,count,share\na,1,33.3\nb,2,66.7%\nc,0,None\n").notes == ()


def test_scopes_are_not_mixed() -> None:
    assert log_of("time,scope\n1700000100,node\n1700000200,node\n").scope is FailureScope.NODE
    with pytest.raises(UserError, match="job and node"):
        log_of("time,scope\n1700000100,node\n1700000200,job\n")
    with pytest.raises(UserError, match="planet"):
        log_of("time,scope\n1700000100,planet\n")


def test_rows_are_events_or_counts() -> None:
    with pytest.raises(UserError, match="time and count"):
        log_of("time,count\n1700000100,2\n")
    with pytest.raises(UserError, match="column time"):
        log_of("cause\nx\n", "csv")


@pytest.mark.parametrize(
    "row",
    [
        "soon,,,",
        "1700000100,broken,,",
        "1700000100,,2,",
        "1700000100,,,maybe",
        "1700000100,,-5m,",
        "1700000100",
    ],
)
def test_malformed_events(row: str) -> None:
    (entry,) = log_of(f"time,kind,lead,announced\n{row}\n").entries
    assert entry.excluded.startswith("malformed: ")


@pytest.mark.parametrize("count", ["-1", "1.5", "many", "", "99999999999999"])
def test_malformed_counts(count: str) -> None:
    (entry,) = log_of(f"cause,count\nx,{count}\n").entries
    assert entry.excluded.startswith("malformed: ")


def test_nodes_of_a_system() -> None:
    log = log_of(
        "time,system,nodes,node\n20240101,a,4,n1\n20240102,b,8,n1\n20240103,a,5,n2\n20240104,b,x,n1\n"
    )
    assert log.systems == {"a": 5, "b": 8}
    assert log.entries[0].interruption is not None
    assert log.entries[0].interruption.nodes == ("a/n1",)
    assert log.entries[3].excluded.startswith("malformed")


@pytest.mark.parametrize(
    "header",
    [
        "JobID,State,Submit,Start,End,ElapsedRaw,AllocNodes,NodeList,Restarts",
        "JobIDRaw,State,Start",
        "time,node,status",
        "Timestamp,end",
        "time,jobid",
    ],
)
def test_a_table_of_jobs_is_no_list_of_failures(header: str) -> None:
    row = ",".join("2024-03-01T00:00:00" for _ in header.split(","))
    with pytest.raises(UserError, match=r"rows are jobs.*--parsable2"):
        log_of(f"{header}\n{row}\n")


def test_a_start_is_no_time_of_a_failure() -> None:
    with pytest.raises(UserError, match="column time"):
        log_of("start,node\n2024-03-01,n1\n", "csv")


def test_columns_that_differ_by_their_case_only() -> None:
    with pytest.raises(UserError, match="'time' twice"):
        log_of("Time,time\n2024-03-01,2024-05-01\n")
