"""docs/drills.md: its table is the catalogue, its marks and limits are those of the code."""

from advisor.drills.catalogue import DRILLS
from advisor.drills.drill import DEFAULT_WORLD_SIZE, INTERVAL_STEPS
from advisor.drills.marks import MOST_DAYS
from advisor.drills.scorecard import ScoreMark
from advisor.reports.words import UNTESTED_MARK
from tests.docs.documents import code_words, read, table_with

TEXT = read("drills.md")


def test_every_drill_is_in_the_table_with_what_it_proves() -> None:
    rows = table_with(TEXT, "drill")
    assert list(rows) == [drill.name for drill in DRILLS]
    for drill in DRILLS:
        architecture, promises, proves = rows[drill.name]
        assert architecture == drill.architecture
        assert promises == promise_words(drill.promises)
        assert proves == drill.proves


def promise_words(promises: object) -> str:
    """`ft1 ft2: recovered, 10 steps lost at most; ft9: halted`: those of one promise together."""
    assert isinstance(promises, dict)
    together: dict[str, list[str]] = {}
    for mechanism, promise in promises.items():
        together.setdefault(promise.in_words(), []).append(mechanism)
    return "; ".join(f"{' '.join(names)}: {words}" for words, names in together.items())


def test_marks_and_limits() -> None:
    assert {mark.value for mark in ScoreMark} <= code_words(TEXT)
    assert f"more than {MOST_DAYS} days ago" in TEXT
    assert f"`{UNTESTED_MARK}`" in TEXT
    assert f"a save every {INTERVAL_STEPS} steps" in TEXT
    assert DEFAULT_WORLD_SIZE == 4
    assert "Four ranks" in TEXT
