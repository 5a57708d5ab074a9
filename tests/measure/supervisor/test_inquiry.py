"""An incident from the first suspicion to the decision: who is asked for what, and who answered."""

from pathlib import Path
from typing import Any, cast

import pytest

from measure.interfaces.monitor import Suspicion
from measure.rank import evidence
from measure.supervisor.incident import folder_of, problems
from measure.supervisor.inquiry import Inquiries
from measure.supervisor.observed import Observed, RankView

WORLD = 3


class FakeCrew:
    """Notes who is told what."""

    def __init__(self) -> None:
        self.told: dict[int, str] = {}

    def tell(self, view: RankView, message: str, folder: str) -> None:
        assert message == "keep"
        self.told[view.rank] = folder


class Case:
    """A run in `folder`, whose ranks train in their first generation."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen, self.crew = folder, Observed(0.0, WORLD), FakeCrew()
        self.inquiries = Inquiries(folder, "a/run", self.seen)

    def suspects(self, *ranks: int, proved: int = 3, **changes: Any) -> bool:
        usual: dict[str, Any] = {"kind": "divergence", "severity": "stop"}
        found = Suspicion("test", 5, proved, ranks, "they differ", **{**usual, **changes})
        members = dict(enumerate(self.seen.ranks))
        return self.inquiries.suspect(found, 0, members, 1.0)

    def ask(self) -> dict[int, str]:
        self.inquiries.ask(cast("Any", self.crew), self.seen.ranks)
        return self.crew.told

    def answers(self, slot: int, parameters: str = "x", whole: bool = True) -> None:
        proof = {"step": "5", "position": "p", "parameters": parameters}
        told = {"step": 5, "whole": whole, "digests": {}, "proof": proof}
        message = {**evidence.NOTHING, **told, "said": "kept"}
        self.inquiries.answered(self.seen.ranks[slot], message)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_only_the_first_suspicion_stops_everybody(case: Case) -> None:
    assert case.suspects(1)
    assert not case.suspects(1)
    assert case.inquiries.open is not None
    assert len(case.inquiries.open.said) == 2


def test_suspects_add_their_state_and_the_others_what_they_prove(case: Case) -> None:
    case.suspects(1)
    assert case.ask() == {0: "", 1: "incidents/0", 2: ""}
    assert case.inquiries.is_asking()


def test_all_add_their_state_where_nobody_is_named(case: Case) -> None:
    case.suspects()
    assert set(case.ask().values()) == {"incidents/0"}


def test_it_is_decided_once_all_have_answered(case: Case) -> None:
    case.suspects(1)
    case.ask()
    for slot in range(WORLD):
        assert case.inquiries.is_waiting(60.0)
        case.answers(slot, parameters="y" if slot == 1 else "x")
    assert not case.inquiries.is_waiting(60.0)
    assert case.inquiries.conclude(recovers=True) == []
    assert (case.inquiries.not_after, case.inquiries.goes_back) == (3, True)
    (incident,) = case.seen.incidents
    assert (incident.scope, incident.suspects, incident.not_kept) == ("rollback", (1,), "")
    assert problems(case.folder / incident.folder) == []
    case.inquiries.resumed(2)
    assert (incident.restored_step, case.inquiries.decision) == (2, None)
    assert case.inquiries.why == ""


@pytest.mark.parametrize("alike", [True, False])
def test_ranks_that_stand_at_one_good_state_try_again(case: Case, alike: bool) -> None:
    case.suspects(1, proved=5)
    case.ask()
    for slot in range(WORLD):
        case.answers(slot, parameters="x" if alike or slot else "y")
    case.inquiries.conclude(recovers=True)
    assert case.seen.incidents[0].scope == ("retry" if alike else "rollback")


@pytest.mark.parametrize("how", ["within a step", "lost"])
def test_who_cannot_prove_its_state_leaves_a_doubt(case: Case, how: str) -> None:
    case.suspects(1, proved=5)
    case.ask()
    case.seen.ranks[2].died_at = 1.0 if how == "lost" else None
    case.answers(0)
    case.answers(1)
    if how == "within a step":
        case.answers(2, whole=False)
    assert not case.inquiries.is_waiting(60.0)
    case.inquiries.conclude(recovers=True)
    assert case.seen.incidents[0].scope == "rollback"


def test_who_does_not_answer_in_time_is_named(case: Case) -> None:
    case.suspects(1)
    case.ask()
    case.answers(0)
    case.answers(2)
    assert not case.inquiries.is_waiting(-1.0)
    assert [view.rank for view in case.inquiries.conclude(recovers=True)] == [1]
    (incident,) = case.seen.incidents
    assert incident.not_kept == "rank 1's state: it did not answer"
    assert problems(folder_of(case.folder, 0)) == []


def test_the_second_time_a_suspect_is_quarantined(case: Case) -> None:
    for restored in (2, 3):
        case.suspects(1)
        case.ask()
        case.inquiries.conclude(recovers=True)
        found = case.inquiries.quarantined
        case.inquiries.resumed(restored)
    assert found == [1]
    assert [each.quarantined for each in case.seen.incidents] == [(), (1,)]
    assert case.seen.incidents[1].not_after == 1, "an older state than the one that led here"


def test_where_nothing_brings_it_back_it_says_so(case: Case) -> None:
    case.suspects(1)
    case.inquiries.conclude(recovers=False)  # the run ends before anybody is asked
    assert not case.inquiries.goes_back
    assert case.inquiries.why_halted == "nothing brings it back: test: they differ"
    assert problems(folder_of(case.folder, 0)) == []


def test_reports_of_the_same_are_counted(case: Case) -> None:
    slow: dict[str, Any] = {"kind": "straggler", "severity": "report"}
    assert not any([case.suspects(1, **slow), case.suspects(1, **slow), case.suspects(2, **slow)])
    assert [(each.suspects, each.count) for each in case.seen.incidents] == [((1,), 2), ((2,), 1)]
    assert case.inquiries.open is None
    assert {each.scope for each in case.seen.incidents} == {"report"}
