"""The files of a campaign under SLURM: written here, read by the harness, and after a kill."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import AdvisorError
from advisor.launchers.slurm.place import (
    KIND,
    VERSION,
    Campaign,
    HandedCell,
    Place,
    heard_in,
    task_file,
)
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.stopping import StopAsked, StoppedError
from measure import task_file as harness
from measure.errors import UsageError

CAMPAIGN = Campaign("c", "advisor measure", "mybox", "/runs", 3, "2026-11-30T20:00:00Z")


def made(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.make(SlurmSettings(partition="gpu"))
    return place


def test_the_harness_reads_the_tasks_that_are_written_here(tmp_path: Path) -> None:
    cells = [HandedCell(number, 5, {"run_id": f"c/{number}", "job": {}}) for number in range(1, 6)]
    place = made(tmp_path)
    place.write("job-1.sh", "")
    path = place.write("job-1.json", task_file(CAMPAIGN, [cells[:2], cells[2:]]))
    assert (KIND, VERSION) == (harness.KIND, harness.VERSION)
    task = harness.read_task(path, 1)
    assert [each["run"] for each in task.handed] == [3, 4, 5]
    assert task.handed[0] == {"run": 3, "of": 5, "cell": {"run_id": "c/3", "job": {}}}
    plan = task.plan
    assert (plan.campaign, plan.cluster, plan.folder) == ("c", "mybox", Path("/runs"))
    assert (plan.seed, plan.created_at, plan.command) == (3, CAMPAIGN.created_at, "advisor measure")
    assert place.tasks(1) == [[1, 2], [3, 4, 5]]
    assert harness.events_path(path, 1) == place.folder / "job-1-1.jsonl"
    with pytest.raises(UsageError, match="there is no task 2: there are 0 to 1"):
        harness.read_task(path, 2)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"file": "x", "version": 1}'])
def test_what_is_no_task_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    place = made(tmp_path)
    path = place.write("job-1.json", text)
    with pytest.raises(UsageError, match=r"job-1\.json: "):
        harness.read_task(path, 0)
    with pytest.raises(AdvisorError, match=r"job-1\.json: cannot read the tasks"):
        place.tasks(1)


def test_what_the_harness_says_is_heard_here(tmp_path: Path) -> None:
    place = made(tmp_path)
    emit = harness.emit_to(place.folder / "job-2-7.jsonl")
    assert (place.heard(2, 7).running, place.heard(2, 7).started) == (None, False)
    emit("task-started", {"host": "n1"})
    emit("run-started", {"run": 4, "of": 9})
    assert (place.heard(2, 7).running, place.heard(2, 7).started) == (4, True)
    emit("run-finished", {"run": 4, "record": "x"})
    emit("run-started", {"run": 5, "of": 9})
    emit("run-failed", {"run": 5, "reason": "a bug"})
    heard = place.heard(2, 7)
    assert (heard.running, set(heard.finished), dict(heard.failed)) == (None, {4}, {5: "a bug"})


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def test_a_requeued_task_forgets_what_stopped_it() -> None:
    first: list[dict[str, Any]] = [{"event": "task-started"}, {"event": "run-started", "run": 1}]
    told: list[dict[str, Any]] = [
        {"event": "run-finished", "run": 1},
        {"event": "end", "signal": "SIGTERM"},
    ]
    stopped = heard_in(lines(*first, *told))
    assert stopped.stopped == "it was told to stop by SIGTERM"
    assert (stopped.running, set(stopped.finished)) == (None, {1})
    again = heard_in(lines(*first, *told, *first))
    assert (again.running, len(again.finished), again.stopped) == (1, 0, "")


def test_a_task_that_was_killed_was_in_its_last_cell_until_it_starts_again() -> None:
    killed = lines({"event": "task-started"}, {"event": "run-started", "run": 3})
    assert heard_in(killed).running == 3
    assert heard_in([*killed, '{"event": "run-fin']).running == 3  # half a line
    assert heard_in([*killed, *lines({"event": "task-started"})]).running is None


def test_the_settings_are_those_that_were_written_last(tmp_path: Path) -> None:
    assert not Place(tmp_path).exists()
    place = made(tmp_path)
    place.make(SlurmSettings(partition="cpu"))
    assert Place(tmp_path).exists()
    assert place.settings() == SlurmSettings(partition="cpu")
    (place.folder / "settings.json").write_text("{")
    with pytest.raises(AdvisorError, match="cannot read the settings"):
        place.settings()


def test_a_job_is_what_sbatch_answered_or_what_was_found(tmp_path: Path) -> None:
    place = made(tmp_path)
    place.write("job-3.sh", "")
    place.write("job-3.json", task_file(CAMPAIGN, []))
    assert place.numbers() == [3]
    assert place.job("c", 3).job == ""
    (place.folder / "job-3.id").write_text("12;east\n")
    job = place.job("c", 3)
    assert (job.job, job.cluster, job.name) == ("12", "east", "failbench-c-3")
    place.note_job(3, "13")
    assert place.job("c", 3).job == "13"


def test_a_log_says_what_was_wrong(tmp_path: Path) -> None:
    place = made(tmp_path)
    assert place.last_words("job-1-0.log") == ""
    (place.folder / "job-1-0.log").write_text("hello\nerror: no space\nTraceback\n\n")
    assert place.last_words("job-1-0.log") == "no space"
    (place.folder / "job-1-0.log").write_text("hello\nbye\n\n")
    assert place.last_words("job-1-0.log") == "bye"


def test_whoever_goes_on_waits_for_the_sbatch_of_a_killed_controller(tmp_path: Path) -> None:
    """The lock goes with the descriptor: a child that got it holds it, whoever its parent was."""
    place = made(tmp_path)
    with place.submitting() as held:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            pass_fds=(held,),
        )
    probe = os.open(place.folder / ".lock", os.O_RDWR)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.communicate()
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(probe)


def test_who_waits_for_the_lock_says_so_once_and_heeds_a_stop_and_a_limit(tmp_path: Path) -> None:
    place, said, stop = made(tmp_path), list[str](), StopAsked()
    with place.submitting():
        stop.count = 1
        with pytest.raises(StoppedError), place.submitting(stop, said.append):
            raise AssertionError("two at once")
        assert said == [
            f"waiting for the sbatch of another command, which holds {place.folder}/.lock"
        ]
        gives_up = pytest.raises(AdvisorError, match="another command's sbatch has held it for 0 s")
        with gives_up, place.submitting(StopAsked(), said.append, patience_s=0.0):
            raise AssertionError("two at once")
    with place.submitting(stop, said.append):
        assert len(said) == 2


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    place = made(tmp_path)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(AdvisorError, match="files cannot be locked there") as raised:
        place.submitting().__enter__()
    assert str(raised.value).startswith(f"{place.folder}: ")
    assert os.strerror(number) in str(raised.value)
