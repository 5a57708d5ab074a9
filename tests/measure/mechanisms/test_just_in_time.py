"""FT4: one save of all ranks between a warning and its fault."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from measure.faults.schedule import FaultEvent
from measure.interfaces.mechanism import Surroundings
from measure.mechanisms import just_in_time
from measure.mechanisms.just_in_time import JustInTime
from measure.state.errors import StateError
from tests.measure.harness import nothing_left
from tests.measure.mechanisms.test_peer_memory import (
    VICTIM,
    WORLD,
    events_of,
    losses,
    ran,
    restored_from,
)
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import FACTS, alone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

BY_CLOCK = pytest.mark.flaky(reruns=2)
"""For what is a race with the clock, which a busy machine may lose: a save between a warning and
its fault has fewer seconds then than it takes. Lost three times in a row it is a fault."""
TIER = "peer memory, emergency save"
STEPS, LEAD_S = 600, 1.0
"""Training goes on for longer than the lead even on an idle machine, and a save takes a small
part of it."""


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def announced(folder: Path, architecture: str, *events: FaultEvent, **more: Any) -> dict[str, Any]:
    """A run under FT4; by default rank 2 is lost `LEAD_S` after step 25."""
    events = events or (FaultEvent(VICTIM, step=25, lead_s=LEAD_S),)
    return ran(folder, architecture, *events, mechanism="ft4", **{"steps": STEPS, **more})


@BY_CLOCK
@pytest.mark.parametrize(
    "architecture",
    ["a1-sync", "a4", "a5", *(pytest.param(a, marks=pytest.mark.soak) for a in ("a2", "a3", "a7"))],
)
def test_an_announced_loss_costs_the_steps_since_the_emergency_save(
    tmp_path: Path, architecture: str
) -> None:
    struck = announced(tmp_path, architecture)
    assert struck["outcome"] == "recovered", struck["reasons"]
    ((step, tier),) = restored_from(struck)
    saves = events_of(struck, "emergency")
    assert (tier, step in {save["step"] for save in saves}) == (TIER, True)
    first = [save for save in saves if not save["again"]]
    assert len(first) == WORLD
    assert all(26 <= save["step"] <= 28 and save["within"] for save in first)
    assert {save["lead_s"] for save in saves} == {LEAD_S}
    assert all(0.0 < save["save_s"] <= save["s"] and save["bytes"] > 0 for save in saves)
    assert {save["path"] for save in events_of(struck, "saved")} == {"peer memory"}


@BY_CLOCK
def test_a_long_lead_is_used_to_lose_few_steps(tmp_path: Path) -> None:
    """The state is safe at once; it is saved again shortly before the fault."""
    struck = announced(tmp_path, "a5", FaultEvent(VICTIM, step=25, lead_s=3.0))
    assert struck["outcome"] == "recovered", struck["reasons"]
    ((step, tier),) = restored_from(struck)
    saves = {(e["step"], e["again"]) for e in events_of(struck, "emergency")}
    (first,) = (at for at, again in saves if not again)
    (last,) = (at for at, again in saves if again)
    assert tier == TIER
    assert first <= 28 < step
    assert step == last
    (found,) = json.loads(Path(struck["record"]).read_text(encoding="utf-8"))["emergency"]
    assert found["within_lead"]
    assert found["took_s"] < 3.0


def test_a_recovered_run_learns_what_an_uninterrupted_one_learns(tmp_path: Path) -> None:
    calm = ran(tmp_path, "a5", mechanism="ft4", steps=STEPS)
    struck = announced(tmp_path, "a5")
    assert (calm["outcome"], struck["outcome"]) == ("completed", "recovered"), struck["reasons"]
    assert losses(struck) == losses(calm)


def test_nothing_is_saved_while_nothing_is_announced(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, step=25), mechanism="ft4")
    assert struck["outcome"] == "restarted-from-zero"
    assert events_of(struck, "saved") == []


def test_too_short_a_lead_leaves_nothing(tmp_path: Path) -> None:
    struck = announced(tmp_path, "a5", FaultEvent(VICTIM, step=25, lead_s=0.0), steps=60)
    assert struck["outcome"] == "restarted-from-zero", struck["reasons"]


def test_two_announced_at_once_share_a_save_or_have_one_each(tmp_path: Path) -> None:
    both = [FaultEvent(rank, step=25, lead_s=LEAD_S) for rank in (1, 3)]
    struck = announced(tmp_path, "a5", *both)
    assert struck["outcome"] == "recovered", struck["reasons"]
    first = [save for save in events_of(struck, "emergency") if not save["again"]]
    assert len(first) == 2 * WORLD


@BY_CLOCK
def test_one_announced_after_the_other(tmp_path: Path) -> None:
    """The second is announced a second after the first has struck, however fast steps are."""
    first = FaultEvent(2, step=25, lead_s=LEAD_S)
    events = first, FaultEvent(3, after_s=LEAD_S + 1.0, lead_s=LEAD_S)
    struck = announced(tmp_path, "a4", *events, steps=900)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert len(restored_from(struck)) == 2
    assert {tier for _, tier in restored_from(struck)} == {TIER}


@BY_CLOCK
def test_who_takes_a_lost_ranks_place_is_told_what_was_announced(tmp_path: Path) -> None:
    """Both are announced at one step, which the spare never makes."""
    events = FaultEvent(1, step=25, lead_s=0.8), FaultEvent(3, step=25, lead_s=4.0)
    struck = announced(tmp_path, "a5", *events, steps=900)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert len(restored_from(struck)) == 2
    saves = [e for e in events_of(struck, "emergency") if e["rank"] == 3]
    spares = {e["slot"] for e in saves} - set(range(WORLD))
    assert len(spares) == 1
    found = json.loads(Path(struck["record"]).read_text(encoding="utf-8"))
    assert [each["fault"] for each in found["emergency"]] == [0, 1]
    assert all(each["within_lead"] for each in found["emergency"])
    assert found["emergency"][1]["took_s"] < 0.8


@pytest.mark.parametrize("architecture", ["a6", "a1-async"])
def test_ranks_without_a_group_of_all_save_over_pairs(tmp_path: Path, architecture: str) -> None:
    struck = announced(tmp_path, architecture)
    assert struck["outcome"] == "graceful", struck["reasons"]
    saves = events_of(struck, "emergency")
    assert [save["slot"] for save in saves] == [0, 1, 2, 3]
    assert len({save["step"] for save in saves}) == 1


def test_tiers_of_several_mechanisms_stand_beside_each_other(tmp_path: Path) -> None:
    lost = FaultEvent(VICTIM, step=25, lead_s=LEAD_S)
    struck = ran(tmp_path, "a5", lost, mechanism="ft4+ft2+ft1", steps=STEPS)
    assert struck["outcome"] == "recovered", struck["reasons"]
    ((step, tier),) = restored_from(struck)
    (fault,) = events_of(struck, "fault")
    before = [e for e in events_of(struck, "saved") if e["t"] < fault["t"]]
    assert {e["path"] for e in before} == {"peer memory", "storage"}
    whole = {e["step"] for e in before if sum(other["step"] == e["step"] for other in before) >= 4}
    assert step >= max(whole) > 26  # whichever tier had the newest
    assert tier in (TIER, "peer memory")


def _report(left_s: float, step_s: float = 0.1, save_s: float = 0.2) -> dict[str, float]:
    return {"left_s": left_s, "step_s": step_s, "save_s": save_s}


@pytest.mark.parametrize(
    ("reports", "fit"),
    [
        ([_report(1.45)], 11),
        ([_report(1.45), _report(0.85)], 5),
        ([_report(1.45), _report(9.0, step_s=0.5)], 3),
        ([_report(1.45), _report(9.0, save_s=0.6)], 3),
        ([_report(0.45)], 1),
        ([_report(0.39)], 1),
        ([_report(0.21)], 1),
        ([_report(0.19)], 0),
        ([_report(-1.0)], 0),
        ([_report(60.0, step_s=0.0)], 1),
    ],
)
def test_how_many_steps_fit_is_what_the_slowest_rank_allows(
    reports: list[dict[str, float]], fit: int
) -> None:
    assert just_in_time.steps_that_fit(reports) == fit


def test_a_save_is_made_again_where_that_is_shorter_than_its_steps() -> None:
    reports = [_report(9.0), _report(9.0, step_s=0.05, save_s=0.31)]
    assert not just_in_time.is_worthwhile(3, reports)
    assert just_in_time.is_worthwhile(4, reports)


class _Replicas:
    """Stands in for memory: notes what is saved."""

    def __init__(self, *_: str) -> None:
        self.saved: list[int] = []

    def attach(self, *_: Any) -> None:
        pass

    def prepare(self, _: Any) -> None:
        pass

    def save(self, state: Any, _: str) -> int:
        self.saved.append(state.step)
        return 1


def _out_of_step(store: Any, rank: int, size: int, leads: list[int], alone_too: bool) -> Any:
    """Each rank hears after another number of steps, and makes them without the others."""
    setattr(just_in_time, "Replicas", _Replicas)  # noqa: B010
    setattr(just_in_time, "any_links", lambda *_: {})  # noqa: B010
    architecture, found = alone(rank, size), JustInTime()
    log = SimpleNamespace(write=lambda *_, **__: 0.0)
    at = Surroundings(
        Path("/nowhere"),
        "0" * 12,
        store,
        lambda: store,
        0,
        5.0,
        1,
        1,
        False,
        alone_too,
        lambda: False,
        FACTS,
        cast("Any", log),
    )
    found.attach(architecture, at)
    for step in range(leads[rank]):
        found.after_step(step)
    found.on_warning(FaultEvent(0, step=1, lead_s=60.0), time.monotonic() + 60.0)
    store.set(f"heard {rank}", "")
    if alone_too:
        store.wait([f"heard {each}" for each in range(size)])
    try:
        for step in range(leads[rank], leads[rank] + 40):
            found.after_step(step)
    except StateError as error:
        return str(error)
    return cast("Any", found._replicas).saved


def test_a_rank_that_is_ahead_makes_all_take_a_later_step() -> None:
    found = on_ranks(_out_of_step, 3, [2, 20, 5], True)
    assert len(found[0]) == 1
    assert found == [found[0]] * 3
    assert found[0][0] > 20
