"""Tables of unknown columns, read as they are told."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.columns import MEANINGS
from advisor.failure_logs.counting import CountMode, Question, Window
from advisor.failure_logs.estimate import estimate
from advisor.failure_logs.reading import AUTO, own_columns, parse_log
from advisor.failure_logs.records import Kind, Log
from db.records import FailureScope
from tests.advisor.failure_logs.samples import FOLDER, log_of

_OUTAGES = """Ticket;Failed At;Host;Reason;State
1;2024-03-01T00:00:00;n1;GPU;closed
2;2024-03-02T00:00:00;n2;"link; flapping";open
3;soon;n3;GPU;closed
"""
_JOBS = """Id,Status,Begin,Finish,Took,Size,Hosts
1,completed,2024-03-01T00:00:00,2024-03-01T10:00:00,10h,2,n[1-2]
2,NODE_FAIL,2024-03-01T00:00:00,2024-03-01T05:00:00,5h,2,n[3-4]
2,NODE_FAIL,2024-03-01T00:00:00,2024-03-01T05:00:00,5h,2,n[3-4]
3,Failed,2024-03-01T00:00:00,2024-03-01T01:00:00,1h,1,n5
4,running,2024-03-01T00:00:00,,2h,1,n5
5,exploded,2024-03-01T00:00:00,2024-03-01T01:00:00,1h,1,n6
"""
_EVENT = {"time": "Failed At", "node": "Host", "cause": "Reason"}
_JOB = {"state": "Status", "start": "Begin", "end": "Finish", "job": "Id"}


def told(text: str, columns: dict[str, str], name: str = AUTO) -> Log:
    return parse_log(text.encode(), "the log", name, Clock(), columns)


def test_events_of_other_names_are_those_of_the_usual_ones() -> None:
    log = told(_OUTAGES, _EVENT)
    usual = log_of(
        "time,node,cause\n2024-03-01T00:00:00,n1,GPU\n"
        '2024-03-02T00:00:00,n2,"link; flapping"\nsoon,n3,GPU\n'
    )
    assert log.entries == usual.entries
    assert (log.format, log.scope, log.systems) == (usual.format, usual.scope, usual.systems)
    (note,) = log.notes
    assert note.startswith("it has the column State: if its rows are jobs")


def test_a_column_that_is_told_is_no_sign_of_jobs() -> None:
    assert told(_OUTAGES, _EVENT | {"kind": "state"}).notes == ()


def test_what_is_not_told_is_not_read() -> None:
    text = "when,kind,count,time\n1700000100,rack 7,3,never\n"
    (entry,) = told(text, {"time": "when"}).entries
    assert entry.interruption is not None
    assert (entry.interruption.kind, entry.interruption.count) == (Kind.INFRA, 1)


def test_columns_that_are_not_told_may_have_one_name_or_none() -> None:
    text = "when,,host,,host\n1700000100,a,n1,b,n2\n"
    (entry,) = told(text, {"time": "when"}).entries
    assert entry.interruption is not None
    with pytest.raises(UserError, match="the header names 'host' twice"):
        told(text, {"time": "when", "node": "host"})


def test_a_quote_that_is_not_closed_is_part_of_a_name() -> None:
    """The names that can be chosen are those that are read."""
    text = 'when,"host\n1700000100,n1\n'
    names = own_columns(text.encode(), AUTO)
    assert names == ("when", '"host')
    (entry,) = told(text, {"time": names[0], "node": names[1]}).entries
    assert entry.interruption is not None
    assert entry.interruption.nodes == ("n1",)


def test_counts() -> None:
    log = told("Why\tHow often\nGPU\t148\nlink\t35\n", {"count": "How often", "cause": "Why"})
    assert [e.interruption and e.interruption.count for e in log.entries] == [148, 35]
    found = estimate(log, Question(length_s=86400.0))
    assert found.mtbf.failures == 183


@pytest.mark.parametrize("end", ["end", "duration"])
def test_jobs(end: str) -> None:
    columns = {name: column for name, column in _JOB.items() if name != "end"}
    log = told(_JOBS, columns | {end: {"end": "Finish", "duration": "Took"}[end], "nodes": "Size"})
    assert (log.format, log.scope, log.systems) == ("csv", FailureScope.JOB, None)
    completed, failed, again, aborted, running, unknown = log.entries
    assert completed.at_risk is not None
    assert completed.at_risk.end_s == completed.at_risk.start_s + 36000.0
    assert completed.interruption is None
    assert failed.interruption is not None
    assert failed.interruption.kind is Kind.INFRA
    assert "same run" in again.excluded
    assert aborted.interruption is not None
    assert aborted.interruption.kind is Kind.ABORT
    assert running.at_risk is not None
    assert (running.at_risk.end_s is None) is (end == "end")
    assert "not known: EXPLODED" in unknown.excluded
    assert [e.at_risk and e.at_risk.nodes for e in log.entries] == [2, 2, None, 1, 1, None]


def test_nodes_of_jobs_are_counted_where_nothing_says_how_many() -> None:
    log = told(_JOBS, _JOB | {"node": "Hosts"})
    first = log.entries[0].at_risk
    assert first is not None
    assert (first.nodes, first.names) == (2, ("n1", "n2"))


def test_rows_without_an_id_are_jobs_of_their_own() -> None:
    columns = {name: column for name, column in _JOB.items() if name != "job"}
    assert not told(_JOBS, columns).entries[2].excluded


def test_rows_of_jobs_that_cannot_be_read() -> None:
    text = (
        "s,b,d,n\nCOMPLETED,soon,1h,1\nCOMPLETED,1700000100,90,1\nCOMPLETED,1700000100,1h,many\n"
        "COMPLETED,1700000100\nCOMPLETED,1700000100,,1\n"
    )
    columns = {"state": "s", "start": "b", "duration": "d", "nodes": "n"}
    said = [entry.excluded for entry in told(text, columns).entries]
    assert said == [
        "malformed: a time or a number cannot be read",
        "malformed: a duration without a unit, or none at all",
        "malformed: a time or a number cannot be read",
        "malformed: 2 fields instead of 4",
        "malformed: COMPLETED without an end",
    ]


@pytest.mark.parametrize(
    ("columns", "name", "says"),
    [
        ({"node": "Host"}, AUTO, "the log cannot be read as csv: rows that are events need"),
        ({"time": "Date"}, AUTO, "no column 'Date': its columns are Ticket, Failed At, Host"),
        ({"time": "Failed At", "state": "State"}, "csv", "rows that are jobs have no time"),
        ({"time": "Failed At"}, "sacct", "only columns of a table of your own, of kind csv"),
    ],
)
def test_mistakes(columns: dict[str, str], name: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as raised:
        told(_OUTAGES, columns, name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "name", "columns"),
    [
        (_OUTAGES.encode(), AUTO, ("Ticket", "Failed At", "Host", "Reason", "State")),
        (b"time,node\n", AUTO, ("time", "node")),
        (b"time,,node,,time\n", "csv", ("time", "node")),
        (_OUTAGES.encode(), "sacct", ()),
        ((FOLDER / "sacct.txt").read_bytes(), AUTO, ()),
        ((FOLDER / "helios.csv").read_bytes(), AUTO, ()),
        ((FOLDER / "sacct.json").read_bytes(), "csv", ()),
        (b"\xff\xfe", AUTO, ()),
        (b" \n", AUTO, ()),
        (",".join(map(str, range(90_000))).encode(), AUTO, ()),
    ],
)
def test_which_columns_can_be_told(content: bytes, name: str, columns: tuple[str, ...]) -> None:
    assert own_columns(content, name) == columns


_CELLS = st.sampled_from(
    [
        *(
            "",
            "1700000100",
            "2024-03-01",
            "NODE_FAIL",
            "completed",
            "1h",
            "-3",
            "n[1-3]",
            "n[",
            "7",
        ),
        *("infra", "maintenance", "yes", "node", "9" * 400, "33.3 %", "\u0663", "1e305"),
    ]
)


@given(
    st.lists(st.lists(_CELLS, min_size=3, max_size=5), max_size=8),
    st.dictionaries(
        st.sampled_from([each.name for each in MEANINGS]), st.sampled_from("abcd"), max_size=7
    ),
    st.sampled_from(CountMode),
)
def test_whatever_is_told_no_row_is_lost(
    rows: list[list[str]], columns: dict[str, str], mode: CountMode
) -> None:
    text = "\n".join(["a,b,c,d", *(",".join(row) for row in rows)])
    log = None
    with suppress(UserError):
        log = told(text, columns or {"time": "a"})
    if log is None:
        return
    assert len(log.entries) == sum(bool(",".join(row).strip()) for row in rows)
    with suppress(UserError):
        found = estimate(log, Question(mode, window=Window(1.0e9, 1.8e9)))
        assert found.counted.accounting.rows == len(log.entries)
