"""What is done about a suspicion: from what was said, what ranks prove, and what was before."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from measure.interfaces.monitor import Suspicion
from measure.supervisor.suspicion import (
    Decision,
    Past,
    Scope,
    Suspect,
    decide,
    joined,
    suspicion_of,
    to_quarantine,
)

MEMBERS = {rank: Suspect(10 + rank) for rank in range(4)}
FOUND = Suspicion("digest:10", 40, 30, (2,), "rank 2 differs", "divergence", "stop")
GOOD = replace(FOUND, proved_step=40)


def decided(
    *said: Suspicion, aligned: bool = False, past: Sequence[Past] = (), recovers: bool = True
) -> Decision:
    return decide(said or (FOUND,), MEMBERS, aligned, past, recovers)


def earlier(step: int = 20, restored: int = 10, *suspects: Suspect, by: str = "digest:10") -> Past:
    return Past(frozenset({by}), step, restored, suspects or (Suspect(12),))


def test_doubt_sends_all_back_behind_what_was_proved() -> None:
    found = decided()
    assert (found.scope, found.not_after) == (Scope.ROLLBACK, 30)
    assert found.suspects == (Suspect(12),)
    assert found.quarantined == ()
    assert found.why == "rolled back behind step 30: digest:10: rank 2 differs"


def test_of_several_the_one_that_proved_least_counts() -> None:
    other = replace(FOUND, monitor="values", proved_step=25, ranks=(), why="a loss is NaN")
    found = decided(FOUND, other, FOUND)
    assert (found.not_after, found.suspects) == (25, (Suspect(12),))
    assert found.why.endswith("rank 2 differs (and 1 more)")


def test_ranks_that_prove_one_good_state_try_again() -> None:
    found = decided(GOOD, aligned=True)
    assert (found.scope, found.not_after) == (Scope.RETRY, None)


@pytest.mark.parametrize(
    ("said", "aligned"), [((GOOD,), False), ((FOUND,), True), ((GOOD, FOUND), True)]
)
def test_they_do_not_where_anything_is_in_doubt(said: tuple[Suspicion], aligned: bool) -> None:
    assert decided(*said, aligned=aligned).scope is Scope.ROLLBACK


def test_what_is_only_reported_stops_nobody() -> None:
    slow = replace(FOUND, monitor="stragglers", kind="straggler", severity="report")
    assert decided(slow).scope is Scope.REPORT
    assert decided(slow, recovers=False).scope is Scope.REPORT
    assert decided(slow, FOUND).scope is Scope.ROLLBACK


def test_without_a_way_back_the_job_halts() -> None:
    found = decided(recovers=False, past=[earlier()])
    assert (found.scope, found.not_after, found.quarantined) == (Scope.HALT, None, ())
    assert found.why == "nothing brings it back: digest:10: rank 2 differs"


def test_who_is_a_suspect_again_is_quarantined() -> None:
    assert decided(past=[earlier()]).quarantined == (Suspect(12),)
    assert decided(past=[earlier(20, 10, Suspect(11))]).quarantined == ()
    assert decided(GOOD, aligned=True, past=[earlier()]).scope is Scope.REBUILD


def test_where_most_are_suspects_nobody_knows_whom_to_replace() -> None:
    most = replace(FOUND, ranks=(0, 1, 2))
    assert decided(most, past=[earlier()]).quarantined == ()
    half = replace(FOUND, ranks=(1, 2))
    assert decided(half, past=[earlier()]).quarantined == (Suspect(12),)


def test_a_node_that_had_a_suspect_is_left_as_well() -> None:
    past = [earlier(20, 10, Suspect(1, node=0))]
    assert to_quarantine([Suspect(2, node=0), Suspect(3, node=1)], past) == (Suspect(2, node=0),)
    assert to_quarantine([Suspect(2), Suspect(3)], [earlier(20, 10, Suspect(1))]) == ()


@pytest.mark.parametrize(
    ("before", "not_after"),
    [
        (earlier(40, 30), 29),  # at the same step: the state that was taken for good was not
        (earlier(50, 20), 19),
        (earlier(30, 20), 30),  # it came further
        (earlier(40, 30, by="values"), 30),  # another monitor
        (earlier(40, 0), 0),
    ],
)
def test_what_led_here_before_is_not_tried_again(before: Past, not_after: int) -> None:
    found = decided(past=[before])
    assert (found.scope, found.not_after) == (Scope.ROLLBACK, not_after)


def test_a_retry_that_did_not_help_becomes_a_rollback() -> None:
    found = decided(GOOD, aligned=True, past=[earlier(40, 30)])
    assert (found.scope, found.not_after) == (Scope.ROLLBACK, 29)


def test_a_decision_that_was_not_carried_out_yet_holds() -> None:
    first, second = decided(), decided(GOOD, aligned=True)
    assert joined(None, second) == second
    both = joined(first, second)
    assert (both.scope, both.not_after) == (Scope.ROLLBACK, 30)
    assert both.why == f"{first.why}; {second.why}"
    assert joined(second, second).scope is Scope.RETRY
    assert joined(first, decided(recovers=False)).scope is Scope.HALT


def test_ranks_that_are_not_there_are_no_suspects() -> None:
    assert decided(replace(FOUND, ranks=(7,))).suspects == ()


def test_a_rank_s_message_is_read_as_it_was_said() -> None:
    assert suspicion_of({"said": "suspect", **FOUND.as_json()}) == FOUND
