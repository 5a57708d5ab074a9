"""A training that was struck and recovered is the one that was never struck, to the last bit.

For every mechanism that preserves state, with the kill in five different moments. A part runs with
the tests; `make resume` runs all of it.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, Schedule
from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, planned, request, run
from tests.measure.moments import VARIABLE

STEPS, WORLD, VICTIM = 52, 4, 2
ANNOUNCED_STEPS = 150
"""Even an idle machine still trains when an announced fault strikes."""
BEFORE_A_SAVE, AT_A_SAVE = 25, 29
"""Steps after which the mechanisms that save every ten steps do not save, and do."""
HALTING = ("a1-sync", "a2", "a3", "a4", "a5", "a7")
AGREEMENTS = {"ft1": 2, "ft2": 1, "ft3": 2, "ft5": 1, "ft6": 1, "ft2+ft1": 1}
"""Of each save; at the last one the rank dies."""
MOMENTS = ("compute", "collective", "start of a save", "middle of a save", "commit of a save")
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
    server: Any = forkserver._forkserver
    server._stop()
    os.environ[VARIABLE] = str(path)
    context = get_context("forkserver")
    context.set_forkserver_preload(["measure.rank.preloaded", "tests.measure.moments"])
    server.ensure_running()
    yield path
    server._stop()
    del os.environ[VARIABLE]


@pytest.fixture(autouse=True)
def _clean(plan_file: Path) -> Iterator[None]:
    with nothing_left():
        yield
    plan_file.unlink(missing_ok=True)


def ran(
    folder: Path, architecture: str, mechanism: str, *events: FaultEvent, steps: int = STEPS
) -> dict[str, Any]:
    """`run-finished` of one run with a spare."""
    asked = request(
        architecture, mechanism=mechanism, steps=steps, world_size=WORLD, group_timeout_s=8.0
    )
    plan = planned(folder, asked)
    (cell,) = plan.cells
    job = replace(cell.job, schedule=Schedule("test", events), spares=1, alternates=False)
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


def check(plan_file: Path, folder: Path, architecture: str, mechanism: str, moment: str) -> None:
    """Runs both trainings, and compares."""
    calm = ran(folder, architecture, mechanism)
    assert calm["outcome"] == "completed", calm["reasons"]
    expected = ended(calm, plan_file)
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
    lineage = Path(struck["record"]).parent / "lineage.jsonl"
    second = json.loads(lineage.read_text(encoding="utf-8").splitlines()[1])
    assert second["way"] == "spare"
    assert second["equivalent"] is True
    assert STEPS - second["step"] >= 20
    found = ended(struck, plan_file)
    if saving:  # who was in a save has not yet written down the step that came before it
        written = found["losses"].setdefault(step, {})
        expected["losses"][step] = {r: expected["losses"][step][r] for r in written}
    expected["ids"] = {r: {s: expected["ids"][r][s] for s in found["ids"][r]} for r in range(WORLD)}
    assert found == expected


def check_announced(plan_file: Path, folder: Path, architecture: str) -> None:
    """FT4, which saves nothing but what is announced: the kill comes after its emergency save."""
    steps = ANNOUNCED_STEPS
    calm = ran(folder, architecture, "ft4", steps=steps)
    expected = ended(calm, plan_file, steps)
    event = FaultEvent(VICTIM, step=10, lead_s=0.25)
    struck = ran(folder, architecture, "ft4", event, steps=steps)
    assert struck["outcome"] == "recovered", struck["reasons"]
    (recovery,) = struck["found"]["recoveries"]
    assert steps - recovery["step"] >= 20
    found = ended(struck, plan_file, steps)
    expected["ids"] = {r: {s: expected["ids"][r][s] for s in found["ids"][r]} for r in range(WORLD)}
    assert found == expected


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
