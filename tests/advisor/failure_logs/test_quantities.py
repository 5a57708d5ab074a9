"""Numbers that no cluster has make a row malformed, in every kind of log, and overflow nothing."""

import json

import pytest

from advisor.failure_logs.counting import Question
from advisor.failure_logs.estimate import estimate
from advisor.failure_logs.quantities import duration_s, name_of, node_count
from tests.advisor.failure_logs.samples import log_of

ABSURD = ["-4", "1e305", "inf", "9" * 400, "9" * 5000, "2.5", "1000000001", "2K", "1_0"]
_SACCT = "JobID|State|Start|End|ElapsedRaw|AllocNodes\n"
_SPAN = "2024-03-01T00:00:00|2024-03-02T00:00:00"
_GOOD = f"9|NODE_FAIL|{_SPAN}|86400|4\n"
_TRACE = "job_id,type,state,start_time,end_time,node_num,gpu_num\n"
_TRACE_GOOD = "9,x,NODE_FAIL,2024-03-01T00:00:00,2024-03-02T00:00:00,4,8\n"
_LANL = "System,nodes,nodenum,Prob Started\n"
_LANL_GOOD = "9,4,0,1/2/2002 12:00\n9,4,0,1/3/2002 12:00\n"


@pytest.mark.parametrize("number", ABSURD)
@pytest.mark.parametrize(
    ("begin", "row"),
    [
        (_SACCT + _GOOD, f"1|NODE_FAIL|{_SPAN}|86400|NUMBER\n"),
        (_TRACE + _TRACE_GOOD, "1,x,FAILED,2024-03-01T00:00:00,2024-03-02T00:00:00,NUMBER,8\n"),
        (_LANL + _LANL_GOOD, "1,NUMBER,0,1/2/2002 12:00\n"),
    ],
)
def test_absurd_sizes(begin: str, row: str, number: str) -> None:
    good, found = log_of(begin), log_of(begin + row.replace("NUMBER", number))
    assert found.entries[-1].excluded.startswith("malformed: ")
    assert estimate(found, Question()).mtbf == estimate(good, Question()).mtbf


@pytest.mark.parametrize("number", ["-864000", "9" * 400, "9" * 5000, "inf", "1e12", "1_0"])
def test_absurd_durations(number: str) -> None:
    text = f"{_SACCT}{_GOOD}1|RUNNING|2024-03-01T00:00:00|Unknown|{number}|4\n"
    found = log_of(text)
    assert found.entries[1].excluded.startswith("malformed: ")
    assert estimate(found, Question()).counted.work_s == 86400.0


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1e6, 10**400, 1e300])
@pytest.mark.parametrize("key", ["elapsed", "nodes"])
def test_absurd_numbers_in_json(key: str, value: float) -> None:
    times = {"start": 1700000000, "end": 1700009000, "elapsed": 9000}
    good = {"job_id": 2, "state": "NODE_FAIL", "allocation_nodes": 1, "time": times}
    bad = {"job_id": 1, "state": "RUNNING", "time": {**times, "end": 0}, "allocation_nodes": 1}
    if key == "nodes":
        bad["allocation_nodes"] = value
    else:
        bad["time"] = {**times, "end": 0, "elapsed": value}
    found = log_of(json.dumps({"jobs": [bad, good]}))
    assert found.entries[0].excluded.startswith("malformed: ")
    assert estimate(found, Question()).mtbf.at_risk_s == 9000.0


def test_the_reason_is_in_the_account() -> None:
    (entry,) = log_of(f"{_SACCT}1|NODE_FAIL|{_SPAN}|86400|-4\n").entries
    assert entry.excluded == "malformed: a number of nodes that no cluster has"


def test_restarts_of_many_digits() -> None:
    row = f"1|COMPLETED|{_SPAN}|{'9' * 5000}\n"
    assert log_of("JobID|State|Start|End|Restarts\n" + row).notes == ()


def test_good_numbers() -> None:
    assert [node_count(text) for text in ("0", "4", "4.0", 1e9)] == [0, 4, 4, 10**9]
    assert duration_s("86400") == 86400.0


def test_halves_of_characters_become_whole() -> None:
    assert name_of("n\ud8001") == "n?1"
    jobs = [{"job_id": "\udc00", "state": "\ud83d", "nodes": "\ud800", "time": {}}]
    found = log_of(json.dumps({"jobs": jobs})).entries[0]
    assert found.excluded.encode("utf-8").startswith(b"a state that is not known: ?")
