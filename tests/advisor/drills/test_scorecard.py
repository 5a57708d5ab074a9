"""The contract of a mechanism, line by line."""

from typing import Any

from advisor.drills.catalogue import DRILLS
from advisor.drills.scorecard import Card, ScoreMark, ScoreRow, card_of
from advisor.reports.drill_words import card_line, card_reasons, card_rows
from db.records import StruckRun
from tests.advisor.drills.drilled import NOW, OLD, drilled, failed


def struck(run_id: str, trace: str, **changes: Any) -> StruckRun:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "architecture": "a2",
        "mechanism": "ft1",
        "trace": trace,
        "outcome": "recovered",
        "started_at": "2026-12-01T10:00:00Z",
        "detection_s": 0.03,
        "sources": ("storage",),
        "lost_steps": 5,
        "is_drill": False,
    }
    return StruckRun(**(fields | changes))


def rows_of(card: Card) -> dict[str, ScoreRow]:
    return {row.fault: row for row in card.rows}


def test_every_drill_that_applies_is_a_line_tried_or_not() -> None:
    card = card_of("ft1", "Disk", [], [], NOW)
    assert [row.fault for row in card.rows] == [d.name for d in DRILLS if "ft1" in d.promises]
    assert {row.mark for row in card.rows} == {ScoreMark.UNTESTED}
    assert {(row.run_ids, row.newest_at, row.outcomes) for row in card.rows} == {((), None, ())}
    assert card_line(card) == "FT1 Disk: untested: no drill of it was run on this cluster"
    assert rows_of(card)["crash"].promise == "recovered, 10 steps lost at most"


def test_a_line_has_all_its_runs_and_the_mark_of_the_newest() -> None:
    drills = [
        drilled(run_id="c/1", tried_at=OLD),
        failed(run_id="c/2"),
        drilled("hang", run_id="c/3", tried_at=OLD),
        failed(mechanism="ft2"),
    ]
    runs = [
        struck("c/1", "drill-crash@1", is_drill=True, detection_s=0.01, lost_steps=3),
        struck("c/2", "drill-crash@1", is_drill=True, detection_s=None, sources=("", "storage")),
    ]
    rows = rows_of(card_of("ft1", "Disk", drills, runs, NOW))
    crash = rows["crash"]
    assert (crash.mark, crash.run_ids) == (ScoreMark.FAILED, ("c/2", "c/1"))
    assert crash.outcomes == (("halted", 1), ("recovered", 1))
    assert (crash.detection_s, crash.sources, crash.lost_steps) == (0.01, ("storage",), 5)
    assert rows["hang"].mark is ScoreMark.STALE
    assert rows["adjacent"].mark is ScoreMark.UNTESTED


def test_other_runs_are_seen_by_trace_and_architecture() -> None:
    runs = [
        struck("m/1", "F1", detection_s=0.02, lost_steps=2),
        struck("m/2", "F1", started_at="2026-12-02T10:00:00Z", detection_s=0.04),
        struck("m/3", "two racks@1a2b", architecture="a4", outcome="halted"),
        struck("m/4", "F1", mechanism="ft2"),
        struck("c/1", "drill-crash@1", is_drill=True),
    ]
    card = card_of("ft1", "Disk", [], runs, NOW)
    seen = [row for row in card.rows if not row.is_drill]
    assert [(row.fault, row.architecture, row.run_ids) for row in seen] == [
        ("F1", "a2", ("m/2", "m/1")),
        ("two racks", "a4", ("m/3",)),
    ]
    first = seen[0]
    assert (first.mark, first.promise) == (ScoreMark.SEEN, "")
    assert (first.detection_s, first.lost_steps) == (0.03, 5)
    assert first.newest_at == "2026-12-02T10:00:00Z"


def test_a_row_in_words() -> None:
    drills = [drilled(run_id="c/1", tried_at=OLD), failed(run_id="c/2")]
    card = card_of("ft1", "Disk", drills, [struck("c/2", "drill-crash@1", is_drill=True)], NOW)
    row = next(row for row in card_rows(card) if row[0] == "crash")
    assert row == (
        *("crash", "a2", "recovered, 10 steps lost at most", "halted 1, recovered 1", "30 ms"),
        *("storage", "5", "failed", "2026-12-20", "c/2 and 1 more"),
    )
    assert list(card_reasons(card)) == ["crash: its outcome was halted, expected recovered"]
