"""docs/flips.md: ranges, widths and names are those of the code."""

from advisor.exact_time import SHOWN_DIFFERENCE
from advisor.flips import COVERAGE_WIDTH, TOLERANCE, WIDTH, DecidedBy, MovedInput
from advisor.scenario import RANGES
from tests.docs.documents import DOCS, code_words, read, table_with, tables

TEXT = read("flips.md")
_ROWS = {
    MovedInput.MTBF: ("MTBF", "mtbf_s", "1 ms to 1e12 s"),
    MovedInput.WARNING_LEAD: ("warning lead", "warning_lead_s", "0 to 1e12 s"),
    MovedInput.WARNING_COVERAGE: ("warning coverage", "warning_coverage", "0 to 100 %"),
    MovedInput.STORAGE_WRITE: (
        "storage write rate, storage read rate", "storage_write_bytes_per_s", "1 B/s to 1e15 B/s",
    ),
    MovedInput.STORAGE_READ: (
        "storage write rate, storage read rate", "storage_read_bytes_per_s", "1 B/s to 1e15 B/s",
    ),
    MovedInput.SAVE_TIME: ("cost of a save of a mechanism", "save_s", "1 us to 1e12 s"),
}  # fmt: skip
_RANGES = {
    "1 ms to 1e12 s": (1e-3, 1e12),
    "0 to 1e12 s": (0.0, 1e12),
    "0 to 100 %": (0.0, 1.0),
    "1 B/s to 1e15 B/s": (1.0, 1e15),
    "1 us to 1e12 s": (1e-6, 1e12),
}


def test_every_input_is_there_with_its_range() -> None:
    rows = table_with(TEXT, "input")
    assert set(_ROWS) == {*MovedInput}
    assert set(rows) == {title for title, _, _ in _ROWS.values()}
    for title, field, words in _ROWS.values():
        assert rows[title][0] == words
        assert RANGES[field] == _RANGES[words]


def test_widths_and_tolerances() -> None:
    rows = table_with(TEXT, "input")
    assert rows["MTBF"][1] == f"more than {WIDTH:.0%} of its value".replace("%", " %")
    assert f"more than {100 * COVERAGE_WIDTH:.0f} percentage point" in rows["warning coverage"][1]
    assert TOLERANCE == 1e-9
    assert "one part in 1e9" in TEXT
    assert f"more than {100 * SHOWN_DIFFERENCE:.0f} % off" in TEXT


def test_names() -> None:
    assert {each.value for each in DecidedBy} <= code_words(TEXT)
    assert all((DOCS.parent / name).is_file() for name in code_words(TEXT) if name.endswith(".py"))
    assert [rows[0][0] for rows in tables(TEXT)] == ["input"]
