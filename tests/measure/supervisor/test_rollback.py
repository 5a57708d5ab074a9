"""A training that was corrupted and rolled back is the one that never was, to the last bit.

A monitor of these tests' own suspects; what the supervisor makes of that is real. A part runs with
the tests, all of it with `make resume`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import Schedule
from measure.interfaces.capabilities import Way
from measure.mechanisms.asynchronous_disk import FOLDER as FOLDER_OF_FT3
from measure.mechanisms.periodic_disk import FOLDER
from measure.rank.event_log import read_log
from measure.state import shard_file
from measure.supervisor.incident import folder_of, problems
from tests.fork_server import own_fork_server
from tests.measure.harness import nothing_left, planned, request, run

_PLAN = "FAILBENCH_TEST_SUSPECTING"
"""Of tests/measure/suspecting.py, which only the fork server may import."""

STEPS, WORLD, PLACE = 52, 4, 2
ALL = [0, 1, 2, 3]
ONSET, PROVED, NOTICED = 15, 12, 35
"""Saves after steps 20 and 30 have the corruption in them; that after step 10 has not."""
CORRUPTED = {
    "place": PLACE,
    "corrupt": ONSET,
    "notice": NOTICED,
    "proved": PROVED,
    "named": [PLACE],
    "raisers": ALL,
}

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where ranks look for what is to happen: of a fork server of this module's own."""
    path = tmp_path_factory.mktemp("suspecting") / "plan.json"
    with own_fork_server("tests.measure.suspecting", _PLAN, path) as plan:
        yield plan


@pytest.fixture(autouse=True)
def _clean(plan_file: Path) -> Iterator[None]:
    with nothing_left():
        yield


def ran(
    folder: Path,
    plan_file: Path,
    plan: Sequence[dict[str, Any]],
    architecture: str,
    mechanism: str,
    **changes: Any,
) -> dict[str, Any]:
    """`run-finished` of one run; saves are made after 10, 20, 30 steps and so on."""
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    spares = changes.pop("spares", 0)
    usual = {"mechanism": mechanism, "steps": STEPS, "world_size": WORLD, "group_timeout_s": 8.0}
    made = planned(folder, request(architecture, **{**usual, **changes}))
    (cell,) = made.cells
    job = replace(cell.job, schedule=Schedule("test"), alternates=False, spares=spares)
    (finished,) = run(replace(made, cells=[replace(cell, job=job)]))
    return finished


def folder_of_run(finished: dict[str, Any]) -> Path:
    return Path(finished["record"]).parent


def ended(finished: dict[str, Any], plan_file: Path) -> dict[str, Any]:
    """All that must be equal: what each rank ended with, and each rank's loss of each step, the
    last time that it was made."""
    losses: dict[int, dict[int, float]] = {}
    for line in finished["found"]["lineage"]:
        for member in line["members"]:
            log = folder_of_run(finished) / f"rank-{member['slot']}.jsonl"
            for event in read_log(log):
                if event["event"] == "step" and event["loss"] is not None:
                    losses.setdefault(event["step"], {})[member["rank"]] = event["loss"]
    found: dict[str, Any] = {"losses": losses}
    for rank in range(WORLD):
        path = Path(f"{plan_file}.{rank}")
        found[f"rank {rank}"] = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
    return found


_calm: dict[str, dict[str, Any]] = {}


def calm(plan_file: Path, folder: Path, architecture: str) -> dict[str, Any]:
    """What `ended` says of the training that nothing befalls; run once."""
    if architecture not in _calm:
        finished = ran(folder, plan_file, [], architecture, "ft1")
        assert finished["outcome"] == "completed", finished["reasons"]
        _calm[architecture] = ended(finished, plan_file)
    return _calm[architecture]


def check(
    plan_file: Path, folder: Path, architecture: str, mechanism: str, **changes: Any
) -> dict[str, Any]:
    """Corruption that began two saves ago: all go behind it. Returns the record."""
    expected = calm(plan_file, folder, architecture)
    finished = ran(folder, plan_file, [CORRUPTED], architecture, mechanism, **changes)
    found: dict[str, Any] = finished["found"]
    assert (finished["outcome"], found["validity"]) == ("recovered", "valid"), finished["reasons"]
    first, second = found["lineage"]
    assert first["why"] == ""
    assert second["why"] == f"rolled back behind step {PROVED}: test: ranks ({PLACE},) differ"
    assert (second["step"], second["world_size"], second["equivalent"]) == (10, WORLD, True)
    assert second["lost_steps"] == NOTICED - 10
    (recovery,) = found["recoveries"]
    assert (recovery["faults"], recovery["step"]) == ([], 10)
    (incident,) = found["incidents"]
    assert (incident["scope"], incident["not_after"]) == ("rollback", PROVED)
    assert (incident["restored_step"], incident["suspects"]) == (10, [PLACE])
    assert (incident["not_kept"], incident["quarantined"]) == ("", [])
    assert ended(finished, plan_file) == expected
    return finished


def test_a_rollback_goes_behind_the_onset_on_disk(plan_file: Path, tmp_path: Path) -> None:
    finished = check(plan_file, tmp_path, "a2", "ft1")
    marked = sorted((folder_of_run(finished) / FOLDER).glob("step-*/poisoned-*.json"))
    assert [path.parent.name for path in marked][-1:] == ["step-00000030"]
    assert "training went back to step 10" in marked[-1].read_text(encoding="utf-8")
    _check_evidence(folder_of_run(finished))


def _check_evidence(run_folder: Path) -> None:
    folder = folder_of(run_folder, 0)
    assert problems(folder) == []
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["missing"] == []
    assert manifest["decision"]["scope"] == "rollback"
    assert [each["ranks"] for each in manifest["suspicions"]] == [[PLACE]] * WORLD
    names = [file["name"] for file in manifest["files"]]
    (shard,) = (name for name in names if name.endswith(shard_file.SUFFIX))
    state = shard_file.read(folder / shard)
    assert (state.rank, state.step) == (PLACE, NOTICED)
    states = json.loads((folder / "states.json").read_text(encoding="utf-8"))
    assert [(each["slot"], each["step"], each["whole"]) for each in states] == [
        (slot, NOTICED, True) for slot in ALL
    ]
    # The parameters tell who it is: those of the others are equal.
    parameters = [each["digests"]["parameters"] for each in states]
    assert parameters.count(parameters[PLACE]) == 1
    assert len(set(parameters)) == 2
    topology = json.loads((folder / "topology.json").read_text(encoding="utf-8"))
    pids = [process["pid"] for process in topology["processes"]]
    assert len(set(pids)) == WORLD
    last = (folder / f"rank-{PLACE}.jsonl").read_text(encoding="utf-8").splitlines()
    assert any(json.loads(line)["event"] == "suspect" for line in last)


def test_a_rollback_goes_behind_the_onset_in_memory(plan_file: Path, tmp_path: Path) -> None:
    """Three saves are kept, instead of one."""
    check(plan_file, tmp_path, "a2", "ft2", kept=3)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("architecture", "mechanism"),
    [("a5", "ft2"), ("a5", "ft1"), ("a2", "ft3"), ("a4", "ft6"), ("a7", "ft2+ft1")],
)
def test_it_does_elsewhere(
    plan_file: Path, tmp_path: Path, architecture: str, mechanism: str
) -> None:
    check(plan_file, tmp_path, architecture, mechanism, kept=3)


@pytest.mark.soak
def test_all_processes_anew_go_behind_the_onset_too(plan_file: Path, tmp_path: Path) -> None:
    finished = check(plan_file, tmp_path, "a5", "ft1", way=Way.RESTART)
    slots = [member["slot"] for member in finished["found"]["lineage"][1]["members"]]
    assert slots == [4, 5, 6, 7]


@pytest.mark.soak
@pytest.mark.parametrize("architecture", ["a2", "a5"])
def test_what_nobody_notices_ends_in_another_state(
    plan_file: Path, tmp_path: Path, architecture: str
) -> None:
    """The corruption of these tests is one: nothing else makes them equal."""
    expected = calm(plan_file, tmp_path, architecture)
    unnoticed = {key: CORRUPTED[key] for key in ("place", "corrupt")}
    finished = ran(tmp_path, plan_file, [unnoticed], architecture, "ft1")
    assert finished["outcome"] == "completed", finished["reasons"]
    assert ended(finished, plan_file) != expected


@pytest.mark.soak
def test_what_memory_has_forgotten_begins_anew(plan_file: Path, tmp_path: Path) -> None:
    """With two saves in memory, both of them corrupted, nothing is left but the beginning."""
    finished = ran(tmp_path, plan_file, [CORRUPTED], "a5", "ft2")
    assert finished["outcome"] == "restarted-from-zero", finished["reasons"]
    second = finished["found"]["lineage"][1]
    assert (second["step"], second["source"]) == (0, "")
    (note,) = (n for n in finished["found"]["notes"] if n.startswith("began again"))
    assert note.endswith("peer memory: step 30 is suspect, step 20 is suspect")


@pytest.mark.soak
def test_what_is_poisoned_is_not_offered_after_a_later_loss(
    plan_file: Path, tmp_path: Path
) -> None:
    """The first save after the rollback would be that of step 20; the loss comes before it. (It is
    in no schedule, so that the run is no evidence: that is of no matter here.)"""
    expected = calm(plan_file, tmp_path, "a5")
    finished = ran(tmp_path, plan_file, [CORRUPTED, {"dies": [1, 17]}], "a5", "ft1", spares=1)
    found = finished["found"]
    assert found["validity_reasons"] == ["rank 1 ended unplanned: SIGKILL"]
    assert [line["step"] for line in found["lineage"]] == [0, 10, 10]
    assert [line["why"][:11] for line in found["lineage"]] == ["", "rolled back", ""]
    assert ended(finished, plan_file) == expected


def test_one_that_notices_alone_stops_all(plan_file: Path, tmp_path: Path) -> None:
    """The others are in a collective, and are set free; nobody is named, so that all add their
    state to the evidence."""
    expected = calm(plan_file, tmp_path, "a2")
    plan = [{**CORRUPTED, "raisers": [PLACE], "named": []}]
    finished = ran(tmp_path, plan_file, plan, "a2", "ft1")
    assert finished["outcome"] == "recovered", finished["reasons"]
    (incident,) = finished["found"]["incidents"]
    assert (incident["scope"], incident["suspects"]) == ("rollback", [])
    folder = folder_of(folder_of_run(finished), 0)
    assert problems(folder) == []
    assert len(list(folder.glob(f"*{shard_file.SUFFIX}"))) == WORLD
    assert ended(finished, plan_file) == expected


def test_who_is_a_suspect_again_is_replaced(plan_file: Path, tmp_path: Path) -> None:
    """By a process that is started for it: there are no spares."""
    expected = calm(plan_file, tmp_path, "a2")
    again = {**CORRUPTED, "corrupt": 42, "notice": 45, "proved": 41}
    finished = ran(tmp_path, plan_file, [CORRUPTED, again], "a2", "ft1")
    found = finished["found"]
    assert (finished["outcome"], found["validity"]) == ("recovered", "valid"), finished["reasons"]
    first, second = found["incidents"]
    assert (first["quarantined"], second["quarantined"]) == ([], [PLACE])
    assert (second["not_after"], second["restored_step"]) == (41, 40)
    last = found["lineage"][-1]
    assert last["quarantined"] == [PLACE]
    slots = {member["place"]: member["slot"] for member in last["members"]}
    assert slots == {0: 0, 1: 1, PLACE: WORLD, 3: 3}
    (gone,) = (rank for rank in found["ranks"] if rank["rank"] == PLACE)
    assert gone["end"] == "killed"
    assert ended(finished, plan_file) == expected


@pytest.mark.soak
def test_ranks_that_prove_one_state_try_again(plan_file: Path, tmp_path: Path) -> None:
    """A monitor suspects what is well: nothing is poisoned, and the newest save is used."""
    expected = calm(plan_file, tmp_path, "a2")
    plan = [{"notice": NOTICED, "proved": NOTICED, "named": [PLACE], "raisers": ALL}]
    finished = ran(tmp_path, plan_file, plan, "a2", "ft1")
    (incident,) = finished["found"]["incidents"]
    assert (incident["scope"], incident["not_after"]) == ("retry", None), incident
    assert (finished["outcome"], incident["restored_step"]) == ("recovered", 30)
    assert ended(finished, plan_file) == expected


@pytest.mark.soak
def test_a_rank_that_is_done_goes_back_with_the_others(plan_file: Path, tmp_path: Path) -> None:
    """One suspects after the last step, when others may have finished."""
    expected = calm(plan_file, tmp_path, "a2")
    plan = [{**CORRUPTED, "corrupt": 48, "notice": STEPS, "proved": 45, "raisers": [PLACE]}]
    finished = ran(tmp_path, plan_file, plan, "a2", "ft1")
    assert finished["outcome"] == "recovered", finished["reasons"]
    assert finished["found"]["lineage"][-1]["step"] == 40
    assert ended(finished, plan_file) == expected


@pytest.mark.soak
def test_where_nothing_brings_it_back_the_job_has_halted(plan_file: Path, tmp_path: Path) -> None:
    finished = ran(tmp_path, plan_file, [CORRUPTED], "a2", "ft9")
    found = finished["found"]
    assert (finished["outcome"], found["validity"]) == ("halted", "valid"), finished["reasons"]
    (incident,) = found["incidents"]
    assert (incident["scope"], incident["restored_step"]) == ("halt", None)
    assert f"halted: {incident['why']}" in found["notes"]
    assert problems(folder_of(folder_of_run(finished), 0)) == []


@pytest.mark.soak
def test_a_failure_that_comes_back_each_time_ends_the_run(plan_file: Path, tmp_path: Path) -> None:
    """Always at the same step: older and older states are tried, then it is given up."""
    plan = [{**CORRUPTED, "corrupt": 5}] * 8
    finished = ran(tmp_path, plan_file, plan, "a2", "ft1")
    found = finished["found"]
    assert (finished["outcome"], found["validity"]) == ("halted", "valid"), finished["reasons"]
    assert "stopped: failure after failure without a new step" in found["notes"]
    restored = [incident["restored_step"] for incident in found["incidents"]]
    assert restored[:2] == [10, 0]
    assert len(restored) <= 7


@pytest.mark.soak
def test_an_asynchronous_save_in_flight_is_not_offered(plan_file: Path, tmp_path: Path) -> None:
    """It is noticed at once after a save has begun."""
    expected = calm(plan_file, tmp_path, "a5")
    plan = [{**CORRUPTED, "notice": 30}]
    finished = ran(tmp_path, plan_file, plan, "a5", "ft3")
    assert finished["outcome"] == "recovered", finished["reasons"]
    assert finished["found"]["lineage"][-1]["step"] == 10
    assert ended(finished, plan_file) == expected
    assert (folder_of_run(finished) / FOLDER_OF_FT3).is_dir()
