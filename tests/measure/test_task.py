"""`python -m measure plan` and `task`, as a scheduler's jobs run them."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.campaign import has_result, put_aside
from tests.measure.harness import MARK, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
ROOT = Path(__file__).resolve().parents[2]
SMALL = (
    *("--architecture", "a2", "--trace", "none", "--profile", "smoke", "--world-size", "2"),
    *("--device", "cpu", "--cluster", "tiny", "--campaign", "c"),
)


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name) == []


def started(mark: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "measure", *words],
        env={**os.environ, MARK: mark, "PYTHONPATH": str(ROOT), "SLURM_RESTART_COUNT": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def planned(mark: str, folder: Path, *options: str) -> dict[str, Any]:
    process = started(mark, "plan", *SMALL, "--folder", str(folder), *options)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def task_file(folder: Path, plan: dict[str, Any]) -> Path:
    """One task with all cells of the plan."""
    about = plan["surroundings"]["campaign"]
    cells = [{"run": n, "of": 9, "cell": cell} for n, cell in enumerate(plan["cells"], start=1)]
    found = {
        "file": "failbench-tasks",
        "version": 1,
        "campaign": {**about, "cluster": plan["cluster"], "folder": str(folder)},
        "tasks": [cells],
    }
    path = folder / "job-1.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found))
    return path


def events(path: Path) -> list[dict[str, Any]]:
    lines = path.with_name("job-1-0.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_plan_is_said_or_written_or_refused(mark: str, tmp_path: Path) -> None:
    plan = planned(mark, tmp_path / "runs", "--seeds", "2", "--order", "fixed")
    assert [cell["run_id"] for cell in plan["cells"]] == ["c/a2-ft9-none-s0", "c/a2-ft9-none-s1"]
    assert plan["event"] == "plan"
    assert not (tmp_path / "runs").exists(), "saying it writes nothing"
    out = tmp_path / "plan.json"
    words = ("plan", *SMALL, "--folder", str(tmp_path / "runs"), "--out", str(out))
    process = started(mark, *words, "--mechanism", "ft99")
    _, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (2, "")
    refused = json.loads(out.read_text())
    assert refused["event"] == "refused"
    assert refused["reason"].startswith("unknown mechanism 'ft99'")
    process = started(mark, *words)
    _, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out.read_text())["runs"] == 1
    assert list(tmp_path.glob(".plan*")) == []


def test_a_task_begins_where_it_was_cut_off(mark: str, tmp_path: Path) -> None:
    plan = planned(mark, tmp_path, "--seeds", "3", "--order", "fixed", "--steps", "12")
    path = task_file(tmp_path, plan)
    # Of the first cell there is a result, of the second an interrupted one.
    for cell, reasons in zip(plan["cells"], ([], ["interrupted"]), strict=False):
        folder = tmp_path / cell["run_id"]
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps({"validity_reasons": reasons}))
    process = started(mark, "task", str(path), "0")
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    said = events(path)
    assert (said[0]["event"], said[0]["restarts"]) == ("task-started", "1")
    assert [event["run"] for event in said if event["event"] == "run-started"] == [2, 3]
    assert (said[-1]["finished"], said[-1]["signal"]) == (2, None)
    assert all(has_result(tmp_path / cell["run_id"]) for cell in plan["cells"])
    assert len(list(tmp_path.glob("c/*.aside-1"))) == 1


def training(mark: str, path: Path) -> "subprocess.Popen[str]":
    """The task of a file, once its first run trains."""
    process = started(mark, "task", str(path), "0")
    log = path.with_name("job-1-0.jsonl")
    while not (log.exists() and '"training"' in log.read_text()):
        assert process.poll() is None
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_all_of_a_task_ends_its_run_in_order(
    mark: str, tmp_path: Path, number: signal.Signals
) -> None:
    plan = planned(mark, tmp_path, "--seeds", "2", "--order", "fixed", "--steps", "3000000")
    path = task_file(tmp_path, plan)
    process = training(mark, path)
    os.killpg(process.pid, number)
    os.killpg(process.pid, number)  # a scheduler says it several times
    _, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (130, "")
    last = events(path)[-1]
    assert (last["event"], last["finished"], last["signal"]) == ("end", 1, number.name)
    first, second = (tmp_path / cell["run_id"] for cell in plan["cells"])
    record = json.loads((first / "record.json").read_text())
    assert record["validity_reasons"] == ["interrupted"]
    assert not has_result(first)
    assert not second.exists()


def test_a_task_whose_cell_another_one_took_ends_and_leaves_it_alone(
    mark: str, tmp_path: Path
) -> None:
    """A node that a scheduler lost sight of may still run what was started elsewhere meanwhile."""
    saving = ("--mechanism", "ft1", "--interval", "5", "--steps", "3000000")
    plan = planned(mark, tmp_path, *saving)
    path = task_file(tmp_path, plan)
    process = training(mark, path)
    folder = tmp_path / plan["cells"][0]["run_id"]
    put_aside(folder)
    folder.mkdir()
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert err == f"error: {folder}: another process runs this cell now\n"
    assert list(folder.iterdir()) == [], "what is saved goes where the run began"
    assert {event["event"] for event in events(path)} == {"task-started", "run-started", "phase"}
    assert events(path)[-1]["phase"] == "training"


def test_a_run_that_was_suspended_is_no_evidence(mark: str, tmp_path: Path) -> None:
    """Its clocks went on, as those of a job do that SLURM suspends."""
    plan = planned(mark, tmp_path, "--steps", "20000")
    path = task_file(tmp_path, plan)
    process = training(mark, path)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(4.0)
    os.killpg(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (0, "")
    folder = tmp_path / plan["cells"][0]["run_id"]
    record = json.loads((folder / "record.json").read_text())
    assert record["validity_reasons"] == ["interrupted"]
    assert any("the supervisor stood still for" in note for note in record["notes"])
    assert not has_result(folder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.json", "0"], "no.json: cannot read the tasks"),
        (["job-1.json", "7"], "there is no task 7: there are 0 to 0"),
    ],
)
def test_a_mistake_is_one_line(mark: str, tmp_path: Path, words: list[str], said: str) -> None:
    plan = {"surroundings": {"campaign": {"campaign": "c", "command": "x", "seed": 0}}}
    plan["surroundings"]["campaign"]["created_at"] = "2026-11-30T20:00:00Z"
    task_file(tmp_path, {**plan, "cluster": "tiny", "cells": []})
    process = started(mark, "task", str(tmp_path / words[0]), words[1])
    _, err = process.communicate(timeout=90)
    assert process.returncode == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
