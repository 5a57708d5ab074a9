"""A file of observed gaps: what is read, and what is refused in one line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import UserError
from advisor.gaps_file import LARGEST_FILE_BYTES, parse_gaps, read_gaps
from advisor.units import DURATION_EXAMPLE


def test_one_duration_a_line(tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_bytes(
        "\ufeff# from last year's log\n90s\r\n\n  1h30m  \n#2h\n1-02:03:04\n250ms".encode()
    )
    assert read_gaps(path) == (90.0, 5400.0, 93_784.0, 0.25)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it has 0 of the 2 gaps or more"),
        (b"# nothing\n\n", "it has 0 of the 2 gaps or more"),
        (b"4h\n", f"it has 1 of the 2 gaps or more that make a law: .* such as {DURATION_EXAMPLE}"),
        (b"4h\n\n90\n", "line 3: 90 has no unit: write 90s, 90m or 90h"),
        (b"4h\n5h, 6h\n", "line 2: '5h, 6h' is not a duration"),
        (b"gap\n4h\n", "line 1: 'gap' is not a duration"),
        (b"4h\n0s\n", "line 2: a gap of 0s is not possible: write one from 0.001s to 1e\\+12s"),
        (b"4h\n-3h\n", "line 2: '-3h' is negative"),
        (b"4h\n99999999999y\n", "line 2: a gap of 99999999999y is not possible"),
        (b"4h\n" + b"9" * 5000, "line 2: '99999999999999999999'... is no duration"),
        (b"4h\n\xff\xfe\n", "it is no text in UTF-8"),
        (b"4h\0\n5h", "line 1: "),
        (b"4h\n" * (LARGEST_FILE_BYTES // 3 + 1), "it is larger than 5,000,000 bytes"),
    ],
)
def test_mistakes_name_the_file_and_the_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words) as said:
        read_gaps(path)
    assert str(said.value).startswith(f"{path}: ")
    assert len(str(said.value).removeprefix(str(path))) < 250


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path, Path("a\0b")):
        with pytest.raises(UserError, match="cannot be read: "):
            read_gaps(path)


@given(st.binary(max_size=200))
def test_whatever_it_holds_only_a_user_error_comes_out(content: bytes) -> None:
    try:
        found = parse_gaps(content)
    except UserError:
        return
    assert len(found) >= 2
    assert all(0.0 < gap_s < float("inf") for gap_s in found)
