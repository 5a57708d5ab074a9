"""Real ranks, one of which spoils its state: who notices, when, and whom they suspect."""

from typing import Any

import pytest

from measure.architectures.registry import entry_named
from measure.interfaces.monitor import Suspicion
from tests.measure.monitors.bodies import Spoilt, Watched, drops_a_peer, watched
from tests.measure.ranks import Request, run_ranks

pytestmark = pytest.mark.integration

EVERY, AT = 5, 7
"""A check every five steps; what is spoilt is so before step 7, after the check of step 5."""
NEXT = 10


def on_ranks(
    name: str, size: int, spoilt: Spoilt | None = None, monitors: str = f"digest:{EVERY}", **of: Any
) -> list[Watched]:
    arguments = (monitors, of.pop("steps", 12), spoilt)
    workload = entry_named(name).default_workload
    answers = run_ranks(Request(name, workload, watched, arguments, **of), size)
    assert all(isinstance(answer, Watched) for answer in answers), answers
    return answers


def suspicions(answers: list[Watched]) -> dict[int, Suspicion]:
    """Of the ranks that stopped for one."""
    return {n: a.suspicion for n, a in enumerate(answers) if a.suspicion is not None}


def told(found: Suspicion) -> tuple[object, ...]:
    return found.kind, found.step, found.proved_step, found.ranks


@pytest.mark.parametrize("part", ["parameter", "optimizer"])
def test_a_flipped_bit_on_one_of_four_is_found_by_all_and_named(part: str) -> None:
    found = suspicions(on_ranks("a2", 4, Spoilt(part, 2, AT)))
    assert sorted(found) == [0, 1, 2, 3]
    assert {told(each) for each in found.values()} == {("divergence", NEXT, EVERY, (2,))}
    assert "rank 2 differs from the 3 others" in found[0].why


def test_an_update_that_one_rank_skips_is_a_divergence() -> None:
    found = suspicions(on_ranks("a3", 4, Spoilt("skipped update", 1, AT)))
    assert {told(each) for each in found.values()} == {("divergence", NEXT, EVERY, (1,))}


def test_copies_that_are_all_nan_are_not_proved_good() -> None:
    """A gradient of it is in every rank's mean: after a step all are equal again."""
    found = suspicions(on_ranks("a2", 4, Spoilt("nan", 2, AT)))
    assert {told(each) for each in found.values()} == {("not-finite", NEXT, EVERY, ())}


def test_of_two_ranks_nobody_can_tell_who_is_right() -> None:
    found = suspicions(on_ranks("a2", 2, Spoilt("parameter", 1, AT)))
    assert {told(each) for each in found.values()} == {("divergence", NEXT, EVERY, ())}
    assert "nobody can tell who is right" in found[0].why


def test_pairs_of_a_hybrid_are_held_against_each_other() -> None:
    found = suspicions(on_ranks("a7", 8, Spoilt("parameter", 5, AT)))
    assert len(found) == 8
    assert {told(each) for each in found.values()} == {("divergence", NEXT, EVERY, ())}
    assert "ranks 1, 5 differ" in found[0].why


@pytest.mark.parametrize(
    ("name", "size", "part", "victim"),
    [
        ("a4", 3, "parameter", 1),
        ("a5", 2, "optimizer", 0),
        ("a6", 3, "parameter", 2),
        ("a1-sync", 3, "parameter", 0),  # the server, whose parameters all would be sent
        ("a2", 3, "buffer", 0),
        ("a2", 3, "generator", 1),
        ("a4", 2, "position", 0),
    ],
)
def test_what_only_one_rank_holds_is_found_before_it_is_trained_on(
    name: str, size: int, part: str, victim: int
) -> None:
    # No check comes after it, in which those who go on by themselves would wait for the victim.
    found = suspicions(on_ranks(name, size, Spoilt(part, victim, AT), steps=9))
    assert {n: told(each) for n, each in found.items()} == {
        victim: ("corruption", AT, EVERY, (victim,))
    }
    kinds = {"parameter": "parameters", "buffer": "buffers", "generator": "generators"}
    assert kinds.get(part, part) in found[victim].why


def test_what_happens_within_a_step_to_an_only_copy_is_not_seen() -> None:
    answers = on_ranks("a4", 3, Spoilt("skipped update", 1, AT))
    assert suspicions(answers) == {}
    assert {a.steps for a in answers} == {12}


@pytest.mark.parametrize("name", ["a1-sync", "a2"])
def test_healthy_ranks_are_suspected_of_nothing(name: str) -> None:
    for answer in on_ranks(name, 4, monitors="digest:5,values:4,stragglers:3"):
        assert (answer.error, answer.suspicion, answer.reports) == ("", None, [])
        steps = {m: [c["step"] for c in answer.checks if c["monitor"] == m] for m in _names(answer)}
        assert steps == {"digest": [5, 10], "values": [4, 8, 12], "stragglers": [3, 6, 9, 12]}
        assert all(0.0 <= check["waited_s"] <= check["s"] for check in answer.checks)
        assert all(check["bytes"] > 0 for check in answer.checks if check["monitor"] == "digest")


def _names(answer: Watched) -> set[str]:
    return {check["monitor"] for check in answer.checks}


def test_a_nan_is_found_in_the_step_in_which_it_is() -> None:
    found = suspicions(on_ranks("a2", 2, Spoilt("nan", 1, AT), "values:5"))
    assert ("not-finite", AT + 1, EVERY, ()) in {told(each) for each in found.values()}


def test_a_huge_parameter_is_out_of_the_range_that_was_learned() -> None:
    found = suspicions(on_ranks("a6", 3, Spoilt("huge", 1, NEXT - 1), "values:5"))
    assert told(found[1]) == ("corruption", NEXT, EVERY, ())
    assert "of rank 1 reaches " in found[1].why


def test_a_slow_rank_is_named_and_training_goes_on() -> None:
    spoilt = Spoilt("", 2, 30, factor=4.0)
    answers = on_ranks("a2", 4, spoilt, "stragglers:5", steps=60)
    assert {(a.steps, a.error) for a in answers} == {(60, "")}
    first, *others = (a.reports for a in answers)
    assert others == [[], [], []]  # one tells of it
    assert first[0].ranks == (2,)
    assert (first[0].kind, first[0].severity) == ("straggler", "report")
    assert first[0].step >= 40  # two windows after it began


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["a2", "a4", "a1-sync"])
@pytest.mark.parametrize("factor", [1.2, 1.5, 3.0])
def test_how_soon_slow_ranks_are_named(name: str, factor: float) -> None:
    """Five runs each, in the second half of which a rank is slow."""
    after, wrong = [], 0
    for run in range(5):
        spoilt = Spoilt("", 1 + run % 3, 60, factor=factor)
        first, *_ = on_ranks(name, 4, spoilt, "stragglers:10", steps=120, seed=run)
        mine = [each.step - 60 for each in first.reports if each.ranks == (spoilt.rank,)]
        after += [mine[0]] if mine else []
        wrong += any(each.ranks != (spoilt.rank,) for each in first.reports)
    print(
        f"\n{name}, {factor} times: {len(after)} of 5 named, after {sorted(after)}, {wrong} wrong"
    )
    assert wrong <= 1
    assert len(after) >= (4 if factor > 1.2 else 0)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["a1-sync", "a2", "a4", "a6"])
def test_healthy_runs_have_no_false_alarms(name: str) -> None:
    alarms = []
    for run in range(25):
        answers = on_ranks(name, 4, monitors="digest,values,stragglers", steps=150, seed=run)
        alarms += [a for a in answers if a.error or a.reports]
    print(f"\n{name}: {len(alarms)} false alarms in 25 runs of 150 steps")
    assert alarms == []


def test_a_monitor_ends_where_training_goes_on_without_a_peer() -> None:
    request = Request("a6", "resnet50", drops_a_peer, ("digest:5", 12, 1), round_limit_s=2.0)
    answers: list[Any] = run_ranks(request, 3)
    for survivor in (answers[0], answers[2]):
        assert survivor.steps == 12
        (ended,) = survivor.checks
        assert ended["monitor"] == "digest"
        assert "rank 1: did not report in time" in ended["why"]
