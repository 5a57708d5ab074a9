"""The evidence of an incident: whole or not at all, and never in the way of a recovery."""

import json
from pathlib import Path
from typing import Any

import pytest

from measure.interfaces.monitor import Suspicion
from measure.rank import evidence
from measure.rank.event_log import EventLog
from measure.state import durable
from measure.state.contract import capture
from measure.state.errors import NoSpaceError
from measure.supervisor import incident
from measure.supervisor.incident import Facts, Kept, folder_of, make_folder, problems, write
from measure.supervisor.observed import RankView
from measure.supervisor.suspicion import Decision, Scope, Suspect
from tests.measure.state.states import FACTS, alone

FOUND = Suspicion("test", 4, 2, (1,), "rank 1 differs", "divergence", "stop")
DECISION = Decision(Scope.ROLLBACK, 2, (Suspect(1),), (), "rolled back behind step 2")
RANKS = [RankView(rank, plays=rank, group_rank=rank) for rank in range(2)]


def _facts(number: int = 0) -> Facts:
    return Facts(number, "a/run", 0, [FOUND], DECISION)


def _kept(folder: Path) -> Kept:
    """What a rank adds that stopped after four steps."""
    architecture = alone(rank=1, world_size=2)
    told, state = evidence.kept(architecture, 4, True, FACTS, True)
    assert state is not None
    return Kept(slot=1, **{**told, **evidence.saved(state, folder)})


def _run_folder(folder: Path) -> Path:
    """A run with the logs of two ranks, the second one a long one."""
    for rank in range(2):
        log = EventLog(folder / f"rank-{rank}.jsonl", rank)
        for step in range(1500 * rank):
            log.step(step, 0.0, 1.0, 4)
        log.write("suspect", step=4)
        log.close()
    return folder


def _written(folder: Path) -> Path:
    _run_folder(folder)
    assert make_folder(folder, 0) == ""
    kept = _kept(folder_of(folder, 0))
    assert write(folder, _facts(), RANKS, [], [kept], []) == ""
    return folder_of(folder, 0)


def test_the_manifest_names_every_file(tmp_path: Path) -> None:
    folder = _written(tmp_path)
    assert problems(folder) == []
    manifest = json.loads((folder / incident.MANIFEST).read_text(encoding="utf-8"))
    assert (manifest["schema"], manifest["version"]) == (incident.SCHEMA, incident.VERSION)
    assert (manifest["run_id"], manifest["decision"]["scope"]) == ("a/run", "rollback")
    assert manifest["missing"] == []
    named = {file["name"] for file in manifest["files"]}
    assert named | {incident.MANIFEST} == {path.name for path in folder.iterdir()}
    assert len(named) == 5


def test_the_last_lines_are_whole_ones(tmp_path: Path) -> None:
    folder = _written(tmp_path)
    lines = (folder / "rank-1.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["event"] == "suspect"
    assert json.loads(lines[0])["step"] > 0  # not from the beginning
    whole = (tmp_path / "rank-0.jsonl").read_bytes()
    assert (folder / "rank-0.jsonl").read_bytes() == whole


@pytest.mark.parametrize("name", ["rank-0.jsonl", "topology.json", "states.json"])
def test_what_was_changed_or_is_gone_shows(tmp_path: Path, name: str) -> None:
    folder = _written(tmp_path)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-2] + b"x\n")
    assert problems(folder) == [f"{name}: not what the manifest says"]
    (folder / name).unlink()
    assert problems(folder) == [f"{name}: No such file or directory"]


def test_without_its_manifest_it_is_not_whole(tmp_path: Path) -> None:
    folder = _written(tmp_path)
    (folder / incident.MANIFEST).write_text("{}", encoding="utf-8")
    assert problems(folder) == ["manifest.json: not failbench-incident of version 1"]
    (folder / incident.MANIFEST).unlink()
    assert problems(folder)[0].startswith("manifest.json: ")


def test_a_full_disk_leaves_nothing_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run_folder(tmp_path)
    assert make_folder(tmp_path, 0) == ""

    def full(path: Path, data: bytes) -> None:
        raise NoSpaceError(f"{path.parent}: No space left on device")

    monkeypatch.setattr(durable, "write_file", full)
    said = write(tmp_path, _facts(), RANKS, [], [], ["rank 1's state: it did not answer"])
    assert said.startswith("rank 1's state: it did not answer; rank-0.jsonl: ")
    assert said.count("No space left on device") == 5
    assert not (tmp_path / incident.FOLDER).exists()


def test_what_there_was_no_room_for_is_in_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a rank is large, and the next checkpoint comes before it."""
    _run_folder(tmp_path)
    make_folder(tmp_path, 0)
    folder = folder_of(tmp_path, 0)

    def full(*_: Any) -> None:
        raise NoSpaceError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(evidence, "need_space", full)
        kept = _kept(folder)
    assert (kept.file, kept.why) == ("", "NoSpaceError: No space left on device")
    assert write(folder.parent.parent, _facts(), RANKS, [], [kept], []) != ""
    manifest = json.loads((folder / incident.MANIFEST).read_text(encoding="utf-8"))
    assert manifest["missing"] == ["rank 1's state: NoSpaceError: No space left on device"]
    assert problems(folder) == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / incident.FOLDER).write_text("a file", encoding="utf-8")
    assert make_folder(tmp_path, 0) != ""


def test_a_state_that_cannot_be_taken_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(evidence, "capture", broken)
    told, state = evidence.kept(alone(), 3, True, FACTS, False)
    assert state is None
    assert (told["why"], told["whole"]) == ("RuntimeError: the device is gone", False)


def test_a_rank_shows_what_the_gate_compares() -> None:
    architecture = alone()
    told, state = evidence.kept(architecture, 3, True, FACTS, True)
    assert state is not None
    assert told["proof"].keys() == {"step", "position", "parameters", "optimizer"}
    assert told["digests"]["parameters"] == told["proof"]["parameters"]
    assert capture(architecture, 3, FACTS).step == told["step"] == 3
