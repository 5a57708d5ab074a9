"""A training that was struck and recovered is the one that was never struck, to the last bit.

For every mechanism that preserves state, with the kill in five different moments; where saves are
emergency saves, in those of one. A part runs with the tests; `make resume` runs all of it.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, Schedule
from measure.rank.event_log import read_log
from tests.fork_server import own_fork_server
from tests.measure.harness import nothing_left, planned, request, run
from tests.measure.moments import VARIABLE

STEPS, WORLD, VICTIM = 52, 4, 2
ANNOUNCED_STEPS = 150
"""Even an idle machine still trains when an announced fault strikes."""
EMERGENCY_STEPS, ANNOUNCED_AT, NEVER_S = 72, 22, 600.0
"""Announced soon after the periodic save of step 20, for long after the run's end: it strikes in a
moment, not at a time."""
LEAD_S, LEAD_STEPS = 1.0, 600
"""A recovery is over before the lead is, and training is not, even on an idle machine."""
BEFORE_A_SAVE, AT_A_SAVE = 25, 29
"""Steps after which the mechanisms that save every ten steps do not save, and do."""
HALTING = ("a1-sync", "a2", "a3", "a4", "a5", "a7")
AGREEMENTS = {"ft1": 2, "ft2": 1, "ft3": 2, "ft5": 1, "ft6": 1, "ft2+ft1": 1}
"""Of each save; at the last one the rank dies."""
MOMENTS = ("compute", "collective", "start of a save", "middle of a save", "commit of a save")
SAVE_MOMENTS = MOMENTS[2:]
EMERGENCY_TIER = "peer memory, emergency save"
ANNOUNCED = ("ft4", "ft4+ft2+ft1")
TESTED = (
    ("ft1", "a2", "collective"),
    ("ft1", "a2", "commit of a save"),
    ("ft2", "a4", "middle of a save"),
    ("ft3", "a5", "commit of a save"),
    ("ft3", "a5", "middle of a save"),
    ("ft5", "a3", "compute"),
    ("ft6", "a7", "commit of a save"),
    ("ft2+ft1", "a1-sync", "start of a save"),
)
"""Each mechanism, each architecture and each moment at least once; `make resume` has all."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where ranks look for the moment: of a fork server of this module's own."""
    path = tmp_path_factory.mktemp("moments") / "moment.json"
    with own_fork_server("tests.measure.moments", VARIABLE, path) as plan:
        yield plan


@pytest.fixture(autouse=True)
def _clean(plan_file: Path) -> Iterator[None]:
    with nothing_left():
        yield
    plan_file.unlink(missing_ok=True)


def ran(
    folder: Path,
    architecture: str,
    mechanism: str,
    *events: FaultEvent,
    steps: int = STEPS,
    spares: int = 1,
) -> dict[str, Any]:
    """`run-finished` of one run with spares."""
    asked = request(
        architecture, mechanism=mechanism, steps=steps, world_size=WORLD, group_timeout_s=8.0
    )
    plan = planned(folder, asked)
    (cell,) = plan.cells
    job = replace(cell.job, schedule=Schedule("test", events), spares=spares, alternates=False)
    (finished,) = run(replace(plan, cells=[replace(cell, job=job)]))
    return finished


def ended(finished: dict[str, Any], plan_file: Path, steps: int = STEPS) -> dict[str, Any]:
    """All that must be equal: of each rank what it ended with, and of each step, the last time
    that it was made, each rank's losses and samples."""
    folder = Path(finished["record"]).parent
    lines = (folder / "lineage.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {"losses": {}, "ids": {}}
    for line in map(json.loads, lines):
        for member in line["members"]:
            for event in read_log(folder / f"rank-{member['slot']}.jsonl"):
                if event["event"] == "step" and event["loss"] is not None:
                    found["losses"].setdefault(event["step"], {})[member["rank"]] = event["loss"]
    for rank in range(WORLD):
        path = Path(f"{plan_file}.{rank}")
        of_rank = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        restored = max(json.loads(line)["step"] for line in lines)
        ids = of_rank.pop("ids")
        found["ids"][rank] = {step: ids[str(step)] for step in range(restored, steps)}
        found[f"rank {rank}"] = of_rank
    return found


_calm: dict[tuple[str, str, int], dict[str, Any]] = {}


def calm(
    plan_file: Path, folder: Path, architecture: str, mechanism: str, steps: int
) -> dict[str, Any]:
    """What `ended` says of the training that nothing strikes; run once."""
    key = architecture, mechanism, steps
    if key not in _calm:
        finished = ran(folder, architecture, mechanism, steps=steps)
        assert finished["outcome"] == "completed", finished["reasons"]
        _calm[key] = ended(finished, plan_file, steps)
    return copy.deepcopy(_calm[key])


def lineage(finished: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines on the disk, one a generation that trained."""
    path = Path(finished["record"]).parent / "lineage.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_equal(found: dict[str, Any], expected: dict[str, Any], restored: int) -> None:
    """Both as of `ended`. Who was in a save when all went back to it has not written down the
    step that came before it; who took a lost rank's place has read samples since then only."""
    if restored:
        written = found["losses"].setdefault(restored - 1, {})
        expected["losses"][restored - 1] = {
            rank: expected["losses"][restored - 1][rank] for rank in written
        }
    expected["ids"] = {r: {s: expected["ids"][r][s] for s in found["ids"][r]} for r in range(WORLD)}
    assert found == expected


def check(plan_file: Path, folder: Path, architecture: str, mechanism: str, moment: str) -> None:
    """Runs both trainings, and compares."""
    expected = calm(plan_file, folder, architecture, mechanism, STEPS)
    saving = moment.endswith("of a save")
    step = AT_A_SAVE if saving else BEFORE_A_SAVE
    plan = {
        "place": VICTIM,
        "step": step,
        "moment": moment,
        "nth": AGREEMENTS[mechanism],
    }
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    struck = ran(folder, architecture, mechanism)
    assert not plan_file.exists(), "nobody died"
    second = lineage(struck)[1]
    assert second["way"] == "spare"
    assert second["equivalent"] is True
    assert STEPS - second["step"] >= 20
    check_equal(ended(struck, plan_file), expected, second["step"])


def check_announced(plan_file: Path, folder: Path, architecture: str) -> None:
    """FT4, which saves nothing but what is announced: the kill comes after its emergency save."""
    steps = ANNOUNCED_STEPS
    expected = calm(plan_file, folder, architecture, "ft4", steps)
    event = FaultEvent(VICTIM, step=10, lead_s=0.25)
    struck = ran(folder, architecture, "ft4", event, steps=steps)
    assert struck["outcome"] == "recovered", struck["reasons"]
    (recovery,) = struck["found"]["recoveries"]
    assert steps - recovery["step"] >= 20
    check_equal(ended(struck, plan_file, steps), expected, recovery["step"])


def check_emergency(
    plan_file: Path, folder: Path, architecture: str, mechanism: str, moment: str
) -> None:
    """The announced fault strikes in a moment of the emergency save that it is announced for, or
    soon after it. What FT4 alone has not saved is not there: then it says so, and begins again."""
    steps = EMERGENCY_STEPS
    expected = calm(plan_file, folder, architecture, mechanism, steps)
    plan = {"place": VICTIM, "moment": moment, "nth": 1, "emergency": 0}
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    announced = FaultEvent(VICTIM, step=ANNOUNCED_AT, lead_s=NEVER_S)
    struck = ran(folder, architecture, mechanism, announced, steps=steps)
    assert not plan_file.exists(), "nobody died"
    found = struck["found"]
    assert (found["validity"], found["steps_completed"]) == ("valid", steps), struck["reasons"]
    _, second = lineage(struck)
    if moment in SAVE_MOMENTS and mechanism == "ft4":
        assert (struck["outcome"], second["step"]) == ("restarted-from-zero", 0)
        assert (second["source"], second["equivalent"]) == ("", False)
        nothing = f"{EMERGENCY_TIER}: no step of which every rank's state is there"
        assert found["notes"] == [f"began again at step 0: {nothing}"]
    else:
        assert (struck["outcome"], second["equivalent"]) == ("recovered", True)
        assert steps - second["step"] >= 20
        # A periodic save may have followed the emergency save.
        is_saved, newer = moment not in SAVE_MOMENTS, mechanism != "ft4"
        assert second["source"] in [EMERGENCY_TIER] * is_saved + ["peer memory"] * newer
    check_equal(ended(struck, plan_file, steps), expected, second["step"])


def check_one_dies_for_another(
    plan_file: Path, folder: Path, architecture: str, mechanism: str
) -> None:
    """A rank dies in the save that another one's fault is announced for, and that one's follows
    when its lead is over: two losses, and still the same training."""
    expected = calm(plan_file, folder, architecture, mechanism, LEAD_STEPS)
    plan = {"place": VICTIM, "moment": "middle of a save", "nth": 1, "emergency": 1}
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    announced = FaultEvent(VICTIM + 1, step=ANNOUNCED_AT, lead_s=LEAD_S)
    of_the_moment = FaultEvent(VICTIM, time_s=NEVER_S)
    events = announced, of_the_moment
    struck = ran(folder, architecture, mechanism, *events, steps=LEAD_STEPS, spares=2)
    assert not plan_file.exists(), "nobody died"
    assert struck["found"]["validity"] == "valid", struck["reasons"]
    assert [fault["fired"] for fault in struck["found"]["faults"]] == [True, True]
    later = lineage(struck)[1:]
    assert {line["way"] for line in later} == {"spare"}
    if mechanism == "ft4":
        assert (struck["outcome"], later[0]["step"]) == ("restarted-from-zero", 0)
    else:
        assert struck["outcome"] == "recovered"
    restored = later[-1]["step"]
    check_equal(ended(struck, plan_file, LEAD_STEPS), expected, restored)


def test_what_was_announced_and_saved_in_time_equals_it_too(
    plan_file: Path, tmp_path: Path
) -> None:
    check_announced(plan_file, tmp_path, "a3")


@pytest.mark.soak
@pytest.mark.parametrize("architecture", HALTING)
def test_announced_on_every_architecture(
    plan_file: Path, tmp_path: Path, architecture: str
) -> None:
    check_announced(plan_file, tmp_path, architecture)


@pytest.mark.parametrize("moment", SAVE_MOMENTS)
@pytest.mark.parametrize("mechanism", ANNOUNCED)
def test_a_kill_in_an_emergency_save_changes_nothing_of_the_training(
    plan_file: Path, tmp_path: Path, mechanism: str, moment: str
) -> None:
    check_emergency(plan_file, tmp_path, "a2", mechanism, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("mechanism", ANNOUNCED)
@pytest.mark.parametrize("architecture", HALTING)
def test_a_kill_in_or_after_an_emergency_save_on_every_architecture(
    plan_file: Path, tmp_path: Path, architecture: str, mechanism: str, moment: str
) -> None:
    check_emergency(plan_file, tmp_path, architecture, mechanism, moment)


def test_one_dies_in_the_save_that_is_made_for_another(plan_file: Path, tmp_path: Path) -> None:
    check_one_dies_for_another(plan_file, tmp_path, "a2", "ft4")


@pytest.mark.soak
@pytest.mark.parametrize("mechanism", ANNOUNCED)
@pytest.mark.parametrize("architecture", HALTING)
def test_one_dies_for_another_on_every_architecture(
    plan_file: Path, tmp_path: Path, architecture: str, mechanism: str
) -> None:
    check_one_dies_for_another(plan_file, tmp_path, architecture, mechanism)


@pytest.mark.parametrize(("mechanism", "architecture", "moment"), TESTED)
def test_a_resumed_training_equals_one_that_was_never_interrupted(
    plan_file: Path, tmp_path: Path, mechanism: str, architecture: str, moment: str
) -> None:
    check(plan_file, tmp_path, architecture, mechanism, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("mechanism", AGREEMENTS)
@pytest.mark.parametrize("architecture", HALTING)
def test_it_does_on_every_architecture(
    plan_file: Path, tmp_path: Path, architecture: str, mechanism: str, moment: str
) -> None:
    check(plan_file, tmp_path, architecture, mechanism, moment)
