"""Whatever a file holds, reading and counting it gives an answer or a UserError, nothing else."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, parse_zone
from advisor.failure_logs.counting import CountMode, Question, Window
from advisor.failure_logs.estimate import estimate
from advisor.failure_logs.formats import NAMES
from advisor.failure_logs.reading import AUTO, parse_log
from advisor.reports import failure_log_words as words
from tests.advisor.failure_logs.samples import FOLDER

_GOOD = [p.read_bytes() for p in sorted(FOLDER.iterdir()) if p.name != "README.md"]
_PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        [
            *(b"", b'"', b'\\"', b"\n", b"|", b",", b"-", b"#", b"[", b"]", b"{", b"}", b"null"),
            *(b"-1", b"0", b"1e305", b"NaN", b"Infinity", b"9" * 400, b"9" * 5000, b"true", b"1_0"),
            *(b"[1]" * 2000, b"[1-99999]", b'"\\ud800"', b"0001-01-01T00:00:00", b"9999-12-31"),
            *(b"Unknown", b"NODE_FAIL", b"\xff", b"\xd9\xa3", b"1709251200", b"[" * 100),
        ]
    ),
)
_QUESTIONS = st.builds(
    Question,
    st.sampled_from(CountMode),
    st.sampled_from([0.0, 1e-6, 300.0, 1e6, 1e30]),
    st.sampled_from([None, Window(1.0e9, 1.8e9), Window(1.7e9, 1.7e9 + 1e-6)]),
    st.sampled_from([None, 1.0, 54 * 86400.0, 1e30]),
    st.sampled_from([None, 1, 10**7]),
)


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """A good file with pieces of it replaced, left out or doubled."""
    content = draw(st.sampled_from(_GOOD))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(start + draw(st.integers(0, 20)), len(content))
        content = content[:start] + draw(_PIECES) + content[end:]
    return content


def answered(content: bytes, name: str, question: Question, zone: str = "UTC") -> bool:
    """Whether there is an answer, which can then be shown; else it was a UserError."""
    try:
        found = estimate(parse_log(content, "the log", name, Clock(parse_zone(zone))), question)
    except UserError:
        return False
    shown = [*words.lines(found), *found.warnings, *map(str, words.row_cells(found))]
    if found.by_node is not None:
        shown += [words.node_words(found.by_node), *map(str, words.without_cells(found.by_node))]
    "\n".join(shown).encode("utf-8")
    json.dumps(found.as_json(), allow_nan=False)
    return True


@given(
    _mutated(),
    st.sampled_from((AUTO, *NAMES)),
    _QUESTIONS,
    st.sampled_from(["UTC", "America/New_York", "Pacific/Apia"]),
)
def test_files_that_were_damaged(content: bytes, name: str, question: Question, zone: str) -> None:
    answered(content, name, question, zone)


@given(st.binary(max_size=200), st.sampled_from((AUTO, *NAMES)), _QUESTIONS)
def test_bytes_of_any_kind(content: bytes, name: str, question: Question) -> None:
    answered(content, name, question)


@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-1, 2**70),
            st.floats(),
            st.sampled_from(["NODE_FAIL", "RUNNING", "n[1-2]", "2024-01-01", "Pass", "\ud800"]),
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.sampled_from(
                    [
                        *("jobs", "job_id", "state", "time", "start", "end", "elapsed", "nodes"),
                        *("allocation_nodes", "set", "number", "infinite", "current"),
                        *("attempts", "jobid", "status", "detail", "ip", "start_time", "end_time"),
                    ]
                ),
                inner,
                max_size=6,
            ),
        ),
        max_leaves=40,
    ),
    st.booleans(),
    _QUESTIONS,
)
def test_json_of_any_kind(value: object, in_list: bool, question: Question) -> None:
    document = [value] if in_list else {"jobs": [value]}
    answered(json.dumps(document).encode(), "philly" if in_list else "sacct-json", question)


@pytest.mark.parametrize("name", [AUTO, *NAMES])
def test_one_line_longer_than_any_field(name: str) -> None:
    jobs = [
        {
            "job_id": job,
            "state": {"current": ["NODE_FAIL"]},
            "nodes": "n1",
            "allocation_nodes": 1,
            "time": {"start": 1.7e9 + job * 1e5, "end": 1.7e9 + job * 1e5 + 5000, "elapsed": 5000},
        }
        for job in range(2000)
    ]
    content = json.dumps({"jobs": jobs}).encode()
    csv.field_size_limit(2**17)  # as in a new process
    assert len(content) > 2**17
    assert answered(content, name, Question()) is (name in (AUTO, "sacct-json"))


def test_json_that_is_nested_without_end() -> None:
    for deep in (500, 5000, 50000):
        nested = b"[" * deep + b"]" * deep
        content = b'{"jobs": [{"job_id": %s, "state": "RUNNING", "time": {}}]}' % nested
        assert not answered(content, AUTO, Question())


def test_failures_of_one_second_that_are_kept_apart() -> None:
    content = b"time,node\n2024-03-01T00:00:00,n1\n2024-03-01T00:00:00,n2\n"
    window = Window(1.7e9, 1.71e9)
    assert answered(content, "csv", Question(coalesce_s=0.0, window=window))
    assert not answered(content, "csv", Question(coalesce_s=0.0))


def test_a_header_of_very_many_names_is_read_at_once() -> None:
    content = ",".join(f"column{number}" for number in range(300_000)).encode()
    for name in NAMES:
        assert not answered(content, name, Question())
