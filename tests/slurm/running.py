"""Runs real controllers of campaigns under SLURM, and looks at what is left."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.integration.campaigns import arguments, ask, started

DEADLINE_S = 500
SLURM = ("--launcher", "slurm")
SMOKE = (
    *("--architecture", "a2", "--profile", "smoke", "--world-size", "3", "--device", "cpu"),
    *("--cluster", "tiny"),
)
MANY = (*SMOKE, "--mechanism", "ft1,ft9", "--trace", "none,f1", "--steps", "40")
"""Four cells a seed."""
ENDLESS = (*SMOKE, "--mechanism", "ft9", "--trace", "none", "--steps", "3000000")
"""One cell a seed, which nobody waits for."""
OFTEN = "from advisor.launchers.slurm import launched, scheduler\nlaunched.POLL_S = 0.5\n"


_BEGUN: list["subprocess.Popen[str]"] = []


def begun(mark: str, folder: Path, *options: str, strike: str = "") -> "subprocess.Popen[str]":
    """A controller that looks often."""
    _BEGUN.append(started(mark, arguments(folder, *options), OFTEN + strike))
    return _BEGUN[-1]


def end_all() -> None:
    """Ends the controllers that a test that failed left behind."""
    while _BEGUN:
        process = _BEGUN.pop()
        if process.returncode is None:
            process.kill()
            process.communicate()


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def resumed(mark: str, folder: Path, *options: str) -> tuple[int, str, str]:
    """Goes on with the one campaign of the folder, to the end."""
    ((campaign,),) = ask(folder, "SELECT campaign FROM campaign_plans")
    return ended(begun(mark, folder, "--resume", str(campaign), *options))


def wait_until(is_so: Callable[[], bool], what: str, within_s: float = 120.0) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.2)


def events(folder: Path, kind: str) -> list[dict[str, object]]:
    """What all tasks of the folder's campaigns said of this kind, by task file and task."""
    found = []
    for path in sorted(folder.glob("runs/*/slurm/job-*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            event = json.loads(line)
            if event["event"] == kind:
                found.append({**event, "file": path.name})
    return found


def training(folder: Path) -> set[str]:
    """The tasks, such as `12_3`, of which some run trains, or trained."""
    return _tasks(folder, [e for e in events(folder, "phase") if e["phase"] == "training"])


def stopped(folder: Path) -> set[str]:
    """The tasks that said that they end."""
    return _tasks(folder, events(folder, "end"))


def restarted(folder: Path) -> set[str]:
    """The tasks that began once more."""
    begun_ = events(folder, "task-started")
    return _tasks(folder, [event for event in begun_ if int(str(event["restarts"])) > 0])


def past_a_run(folder: Path) -> set[str]:
    """The tasks that ended a run."""
    return _tasks(folder, events(folder, "run-finished"))


def _tasks(folder: Path, said: Sequence[dict[str, object]]) -> set[str]:
    """The tasks that said these events."""
    jobs = {path.stem: path.read_text().strip() for path in folder.glob("runs/*/slurm/job-*.id")}
    parts = [str(event["file"]).removesuffix(".jsonl").rpartition("-") for event in said]
    return {f"{jobs[file]}_{task}" for file, _, task in parts}


def reasons(folder: Path) -> dict[str, tuple[str, str]]:
    """Status and reason of each cell, by run id."""
    rows = ask(folder, "SELECT run_id, status, reason FROM campaign_cells ORDER BY ordinal")
    return {str(run_id): (str(status), str(reason)) for run_id, status, reason in rows}


def shapes(folder: Path, tables: Sequence[str]) -> dict[tuple[object, ...], set[object]]:
    """By tuple, the different shapes of its runs: which columns of `runs` are there, and which rows
    the other tables have for them."""
    found: dict[tuple[object, ...], set[object]] = {}
    columns = [str(row[1]) for row in ask(folder, "PRAGMA table_info(runs)")]
    for row in ask(folder, "SELECT * FROM runs"):
        run = dict(zip(columns, row, strict=True))
        there = tuple(name for name in columns if run[name] is not None)
        rows = tuple(
            (table, *ask(folder, f"SELECT {names} FROM {table} WHERE run_id = '{run['run_id']}'"
                                 f" ORDER BY {names}"))
            for table, _, names in (each.partition(":") for each in tables)
        )  # fmt: skip
        key = (run["architecture"], run["mechanism"], run["trace"])
        found.setdefault(key, set()).add((there, rows))
    return found
