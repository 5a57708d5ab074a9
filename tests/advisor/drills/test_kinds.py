"""Every kind of fault is tried on every mechanism, or it is said why not."""

from pathlib import Path

import pytest

from advisor.drill_run import known_to_the_harness
from advisor.drills.catalogue import DRILLS
from advisor.drills.drill import Drill, Promise
from advisor.drills.kinds import IN_A_RECOVERY, kinds_of, rows, tried
from db.records import RunOutcome
from measure.mechanisms.catalogue import MECHANISMS
from tests.advisor.conftest import Advisor

KINDS = known_to_the_harness().kinds
DOCS = Path(__file__).resolve().parents[3] / "docs" / "drills.md"


def test_no_pair_is_left_out_in_silence() -> None:
    pairs = tried(DRILLS, KINDS)
    assert [(p.kind, p.mechanism) for p in pairs if not p.drills and not p.reason] == []
    assert {p.mechanism for p in pairs} == {each.mechanism for each in MECHANISMS}
    assert {p.kind for p in pairs} >= KINDS
    assert len({p.kind for p in pairs if p.drills}) >= 21


def test_a_pair_without_a_drill_is_seen() -> None:
    others = [drill for drill in DRILLS if drill.name != "straggler"]
    gaps = [(p.kind, p.mechanism) for p in tried(others, KINDS) if not p.drills and not p.reason]
    assert gaps == [("straggler", each.mechanism) for each in MECHANISMS]


def test_the_kinds_of_a_drill() -> None:
    promises = {"ft1": Promise(frozenset({RunOutcome.HALTED}))}
    events = (
        {"rank": 1, "kind": "crash", "phase": "starting"},
        {"rank": 1, "kind": "crash", "phase": "restoring"},
        {"rank": 1, "kind": "hang", "step": 1, "params": {"warning": "late"}},
    )
    found = kinds_of(Drill("several", "all of it", events, promises))
    assert found == {"crash", IN_A_RECOVERY, "late-warning"}


def test_the_command_prints_what_the_documentation_has(advisor: Advisor) -> None:
    code, out, err = advisor("drill", "--kinds")
    assert (code, err) == (0, "")
    header, lines, notes = rows(tried(DRILLS, KINDS))
    assert [line.split() for line in out.splitlines()[1:]] == [
        *lines,
        *(note.split() for note in notes),
    ]
    text = DOCS.read_text(encoding="utf-8")
    for row in (header, *lines):
        assert f"| {' | '.join(row)} |" in text
    assert all(f"`{note[0]}`: {note[2:]}" in text for note in notes)


@pytest.mark.parametrize("more", [["crash"], ["--mechanism", "ft1"], ["--format", "json"]])
def test_the_table_is_of_all(advisor: Advisor, more: list[str]) -> None:
    code, out, err = advisor("drill", "--kinds", *more)
    assert (code, out) == (2, "")
    assert "--kinds prints one table of all" in err
