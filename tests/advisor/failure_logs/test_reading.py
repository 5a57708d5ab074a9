"""Files of any kind: recognised, or refused in one line; no row is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.counting import CountMode, Question, Window, count_failures
from advisor.failure_logs.formats import NAMES, format_of
from advisor.failure_logs.reading import AUTO, parse_log, read_log
from tests.advisor.failure_logs.samples import FOLDER, log_of

_SAMPLES = sorted(p.name for p in FOLDER.iterdir() if p.name != "README.md")
_HEADERS = [
    ("sacct", "JobID|State|Start|End|ElapsedRaw|AllocNodes", "|"),
    ("helios", "job_id,user,vc,gpu_num,cpu_num,node_num,state,start_time,end_time", ","),
    ("lanl", "System,nodes,nodenum,Prob Started,Hardware,Same Event", ","),
    ("csv", "time,node,cause,kind,lead,announced", ","),
    ("csv", "cause,kind,count,share", ","),
]


@pytest.mark.parametrize("name", _SAMPLES)
def test_each_is_recognised_as_its_own_kind_only(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    recognising = [kind for kind in NAMES if format_of(kind).recognises(text)]
    assert len(recognising) == 1
    log = read_log(FOLDER / name, AUTO, Clock())
    assert log.format == recognising[0]
    assert [entry.row for entry in log.entries] == list(range(1, len(log.entries) + 1))


def test_every_kind_has_a_sample() -> None:
    assert {read_log(FOLDER / name, AUTO, Clock()).format for name in _SAMPLES} == {*NAMES}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"  "])
def test_an_empty_file(content: bytes) -> None:
    with pytest.raises(UserError, match="empty"):
        parse_log(content, "the log", AUTO, Clock())


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"PK\x03\x04\x00", b"hello", b"a,b\n1,2\n", b"{}", b"[]", b'"x"']
)
def test_files_that_are_none_of_these(content: bytes) -> None:
    with pytest.raises(UserError) as raised:
        parse_log(content, "the log", AUTO, Clock())
    assert str(raised.value).startswith("the log is n")
    assert "\n" not in str(raised.value)


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    log = parse_log("\ufefftime,cause\r\n1700000100,x\r\n".encode(), "the log", AUTO, Clock())
    (entry,) = log.entries
    assert entry.interruption is not None
    assert entry.interruption.cause == "x"


def test_a_quote_that_is_never_closed_swallows_no_rows() -> None:
    log = log_of('time,cause\n1700000100,"a\n1700000200,b\n1700000300,"c, d"\n')
    assert [bool(entry.excluded) for entry in log.entries] == [False, False, False]
    assert [e.interruption and e.interruption.cause for e in log.entries] == ['"a', "b", "c, d"]
    log = log_of('time,cause\n1700000100,"a, b"\n1700000200,b\n')
    assert log.entries[0].interruption is not None
    assert log.entries[0].interruption.cause == "a, b"


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_another_kind_is_one_line(name: str) -> None:
    with pytest.raises(UserError) as raised:
        log_of("nothing of the kind\nat all\n", name)
    assert "\n" not in str(raised.value)
    assert name in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        read_log(tmp_path / "missing", AUTO, Clock())


_CELL = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters='\0|,\n\r"'), max_size=12),
    st.integers(-5, 10**12).map(str),
    st.sampled_from(
        [
            *("NODE_FAIL", "RUNNING", "COMPLETED", "CANCELLED by 7", "FAILED", "Unknown", "None"),
            *("2024-01-01T00:00:00", "2024-01-02T00:00:00", "1/3/2003 4:05", "infra", "planned"),
            *("1.batch", "n[1-3]", "preemption", "5m", "yes", "1", "2", "3", "1e400", "nan"),
        ]
    ),
)


@given(data=st.data(), kind=st.sampled_from(_HEADERS), mode=st.sampled_from(CountMode))
def test_every_row_is_accounted_for(
    data: st.DataObject, kind: tuple[str, str, str], mode: CountMode
) -> None:
    name, header, delimiter = kind
    width = len(header.split(delimiter))
    rows = data.draw(st.lists(st.lists(_CELL, min_size=width - 1, max_size=width + 1), max_size=12))
    lines = [delimiter.join(row) for row in rows]
    text = "\n".join([header, *lines]) + "\n"
    log = log_of(text, name)
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert len(log.entries) == len(kept)
    # 2003 to 2024, or a length where rows are counts.
    window = Window(1e9, 1.8e9)
    counted = count_failures(log, Question(mode, window=window))
    assert counted.accounting.rows == len(kept)
    assert counted.failures >= 0
    assert counted.work_s >= 0.0


def test_quotes_that_close_lines_later_swallow_no_rows() -> None:
    log = log_of(
        'time,node\n2024-03-01,"n1\n2024-03-05,n2\n2024-03-12,n4"\n2024-03-20,"n5, n6"\n', "csv"
    )
    found = [entry.interruption and entry.interruption.nodes for entry in log.entries]
    assert found == [('"n1',), ("n2",), ('n4"',), ("n5, n6",)]
