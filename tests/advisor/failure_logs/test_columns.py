"""Columns that somebody tells: what they make of rows, and what is not enough."""

import pytest

from advisor.errors import UserError
from advisor.failure_logs.columns import (
    BY_NAME,
    MEANINGS,
    RowKind,
    as_told,
    kind_told,
    meanings_of,
    parse_column,
    require,
    together,
)
from advisor.failure_logs.tabular import delimiter_of, header_of, read_table


def test_every_meaning_has_a_name_of_its_own_and_is_of_some_rows() -> None:
    assert len(BY_NAME) == len(MEANINGS)
    assert len({each.label for each in MEANINGS}) == len(MEANINGS)
    assert all(each.rows and each.holds.endswith(".") for each in MEANINGS)
    assert [each.name for each in meanings_of(RowKind.JOB)] == [
        *("state", "start", "end", "duration", "job", "node", "nodes")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("time=Failed At", ("time", "Failed At")),
        (" Start = begin,UTC ", ("start", "begin,UTC")),
        ("cause=a=b", ("cause", "a=b")),
    ],
)
def test_a_column_is_told_by_its_name(text: str, found: tuple[str, str]) -> None:
    assert parse_column(text) == found


@pytest.mark.parametrize("text", ["", "time", "time=", "=x", "when=Date", "time:Date"])
def test_what_tells_nothing(text: str) -> None:
    with pytest.raises(
        UserError, match=r"write it as time=Date, with one of time, count"
    ) as raised:
        parse_column(text)
    assert "\n" not in str(raised.value)


def test_one_thing_is_told_of_one_column() -> None:
    assert together([("time", "a"), ("node", "a")]) == {"time": "a", "node": "a"}
    with pytest.raises(UserError, match="time is told of two columns: 'a' and 'b'"):
        together([("time", "a"), ("time", "b")])


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["time"], RowKind.EVENT),
        (["node", "cause"], RowKind.EVENT),
        (["cause", "count"], RowKind.COUNT),
        (["nodes", "state"], RowKind.JOB),
        (["time", "start"], RowKind.JOB),
    ],
)
def test_what_rows_are(names: list[str], kind: RowKind) -> None:
    assert kind_told(dict.fromkeys(names, "x")) is kind


@pytest.mark.parametrize(
    ("kind", "names", "missing"),
    [
        (RowKind.EVENT, ["node"], "need a column for time$"),
        (RowKind.COUNT, ["cause"], "need a column for count$"),
        (RowKind.JOB, [], r"need a column for state and start and end \(or duration\)$"),
        (RowKind.JOB, ["state", "end"], "need a column for start$"),
        (RowKind.JOB, ["state", "start"], r"need a column for end \(or duration\)$"),
        (RowKind.JOB, ["state", "start", "end", "cause"], "rows that are jobs have no cause"),
        (RowKind.COUNT, ["count", "time"], "rows that are counts have no time"),
    ],
)
def test_what_is_not_enough(kind: RowKind, names: list[str], missing: str) -> None:
    with pytest.raises(UserError, match=missing):
        require(kind, dict.fromkeys(names, "x"))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (RowKind.EVENT, ["time"]),
        (RowKind.COUNT, ["count"]),
        (RowKind.JOB, ["state", "start", "duration"]),
        *((kind, [each.name for each in meanings_of(kind)]) for kind in RowKind),
    ],
)
def test_what_is_enough(kind: RowKind, names: list[str]) -> None:
    columns = dict.fromkeys(names, "x")
    require(kind, columns)
    assert kind_told(columns) is kind


def test_the_table_has_what_was_told_and_no_more() -> None:
    table = read_table("Failed At,Host,time\n1,a,9\n2,b\n3,c,9\n", ",")
    told = as_told(table, {"time": "Failed At", "node": "host"})
    assert told.header == ("time", "node")
    assert [row.fields for row in told.rows] == [
        {"time": "1", "node": "a"},
        None,
        {"time": "3", "node": "c"},
    ]
    assert told.rows[1].wrong == "2 fields instead of 3"


def test_a_column_that_is_not_there() -> None:
    table = read_table("Host,host,When\na,b,1\n", ",")
    assert as_told(table, {"node": "host"}).rows[0].fields == {"node": "b"}
    with pytest.raises(UserError, match=r"no column 'HOST': its columns are Host, host, When$"):
        as_told(table, {"node": "HOST"})
    many = read_table(",".join(f"c{number}" for number in range(500)) + "\n", ",")
    with pytest.raises(UserError, match=r"c19 and 480 more$"):
        as_told(many, {"node": "x"})


def test_only_a_column_that_is_told_has_to_be_there_once() -> None:
    table = read_table("When,,Host,,Host,Note,note\n1,x,a,y,b,c,d\n", ",", doubles=True)
    assert as_told(table, {"time": "when", "cause": "Note"}).rows[0].fields == {
        "time": "1",
        "cause": "c",
    }
    for column in ("Host", "host"):
        with pytest.raises(UserError, match="the header names 'Host' twice"):
            as_told(table, {"time": "When", "node": column})


@pytest.mark.parametrize(
    "text", ['time,"node\n', '"time" ,node\n', '"a, b";c\n', 'a"b,"c, d"\n', '"a","b"\n', "\n"]
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_is_that_of_the_table(text: str, delimiter: str) -> None:
    assert header_of(text, delimiter) == read_table(text, delimiter).header


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b;c,d\n", ","),
        ("a;b;c,d\n", ";"),
        ("a\tb\n", "\t"),
        ("a|b\n", "|"),
        ("# a;b;c\n\na,b\n", ","),
        ("a\n", ","),
        ('"a;b;c",d\n', ","),
        ('"a,b";c\n', ";"),
        ('"a;b\n', ","),
        ('when,"host\n', ","),
    ],
)
def test_what_parts_the_columns(text: str, delimiter: str) -> None:
    assert delimiter_of(text) == delimiter
