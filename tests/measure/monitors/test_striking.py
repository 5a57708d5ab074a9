"""Corruptions of live states on real ranks: none is trained on past the digest's interval where
docs/monitors.md says that it sees it; and what becomes of the same ones without a monitor."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from measure.architectures.registry import entry_named
from measure.faults.kinds import FaultKind
from tests.measure.monitors.striking import Answer, Strike, drawn, struck
from tests.measure.ranks import Request, run_ranks

pytestmark = pytest.mark.integration

EVERY, SEED = 5, 20261201
AT_REST = (
    FaultKind.FLIP_PARAMETER,
    FaultKind.FLIP_BUFFER,
    FaultKind.PARTIAL_RESTORE,
    FaultKind.WRONG_RNG,
)
"""Between two steps, when nothing may change."""
WITHIN = (FaultKind.SKIPPED_UPDATE, FaultKind.FLIP_GRADIENT)
"""Within one: only who holds the same and makes each update itself can tell."""
COPIES = {"a2": 4, "a3": 4, "a7": 8}
"""Ranks, of architectures on which others hold the same and make each update themselves."""
ALONE = {"a1-sync": 4, "a4": 4, "a5": 4, "a6": 4}


def answers(name: str, ranks: int, strikes: Sequence[Strike], monitors: str) -> list[Answer]:
    """What all ranks saw."""
    arguments = (monitors, EVERY, strikes)
    request = Request(name, entry_named(name).default_workload, struck, arguments)
    said: list[Any] = run_ranks(request, ranks, deadline_s=500.0)
    assert all(isinstance(each, list) for each in said), said
    assert all(each == said[0] for each in said), "ranks came to different answers"
    return [each for each in said[0] if not each.is_void]


def overlooked(found: Sequence[Answer]) -> list[Answer]:
    """Those that were trained on past the interval, or not noticed though they did harm."""
    late = [a for a in found if a.after_steps is not None and a.after_steps > EVERY]
    return late + [a for a in found if a.after_steps is None and a.is_harmed]


def wrongly_named(found: Sequence[Answer]) -> list[Answer]:
    """Those of which another rank was accused; nobody may be, where nobody can tell."""
    return [a for a in found if a.suspects not in ((), (a.strike.victim,))]


@pytest.mark.parametrize(
    ("name", "ranks", "kinds"),
    [("a2", 4, AT_REST + WITHIN), ("a4", 4, AT_REST), ("a5", 2, AT_REST)],
)
def test_no_corruption_is_trained_on_past_the_interval_of_the_digest(
    name: str, ranks: int, kinds: Sequence[FaultKind]
) -> None:
    found = answers(name, ranks, drawn(kinds, 12, ranks, EVERY, SEED), f"digest:{EVERY}")
    assert len(found) >= 8
    assert (overlooked(found), wrongly_named(found)) == ([], [])
    assert {a.after_steps is not None for a in found} == {True}


def test_without_a_monitor_the_same_are_trained_on() -> None:
    found = answers("a2", 4, drawn((FaultKind.PARTIAL_RESTORE,), 4, 4, EVERY, SEED), "")
    assert [(a.after_steps, a.is_harmed) for a in found] == [(None, True)] * 4


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("name", "ranks"), sorted((COPIES | ALONE).items()))
def test_a_thousand_corruptions_with_and_without_a_digest(name: str, ranks: int) -> None:
    """72 strikes an architecture, 504 in all, each with the digest and without."""
    strikes = drawn(AT_REST + WITHIN, 72, ranks, EVERY, SEED)
    watched = answers(name, ranks, strikes, f"digest:{EVERY}")
    alone = answers(name, ranks, strikes, "")
    print()
    for kind in AT_REST + WITHIN:
        print(line(name, kind, of(watched, kind), of(alone, kind)))
    sees = AT_REST + WITHIN if name in COPIES else AT_REST
    seen = [a for a in watched if a.strike.kind in sees]
    assert (overlooked(seen), wrongly_named(watched)) == ([], [])


def of(found: Sequence[Answer], kind: FaultKind) -> list[Answer]:
    return [a for a in found if a.strike.kind is kind]


def line(name: str, kind: FaultKind, watched: Sequence[Answer], alone: Sequence[Answer]) -> str:
    """A row of the table in docs/monitors.md."""
    noticed = [a for a in watched if a.after_steps is not None]
    after = sorted(a.after_steps for a in noticed if a.after_steps is not None)
    counts = Counter(
        struck=len(watched),
        noticed=len(noticed),
        named=sum(a.suspects == (a.strike.victim,) for a in noticed),
        overlooked=len(overlooked(watched)),
        without_harmed=sum(a.is_harmed for a in alone),
    )
    steps = f"{after[len(after) // 2]} / {after[-1]}" if after else "-"
    said = ", ".join(f"{what} {count}" for what, count in counts.items())
    return f"{name} {kind}: {said}; steps until noticed, median / most: {steps}"
