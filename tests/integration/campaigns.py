"""Starts real controllers of real campaigns, kills them at a moment, looks at what is left."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from measure.state import segment_names
from tests.measure.harness import MARK, wait_until_gone

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 110

TINY = (
    *("--architecture", "a2", "--trace", "none", "--profile", "smoke", "--world-size", "2"),
    *("--device", "cpu", "--cluster", "tiny"),
)
SMALL = (*TINY, "--mechanism", "ft1,ft9", "--steps", "12")
"""Two cells a seed, each a second."""
LONG = (*TINY, "--mechanism", "ft1", "--steps", "300000")
"""One cell a seed, which nobody waits for."""

_STRUCK = """
import os, signal, sys
import advisor.campaign_run as run
from advisor import cli

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def strike(owner, name, after, number):
    '''Kills this process at the call of that number, before it or after it.'''
    real, calls = getattr(owner, name), [0]
    def struck(*arguments, **named):
        calls[0] += 1
        if calls[0] == number and not after:
            kill()
        found = real(*arguments, **named)
        if calls[0] == number:
            kill()
        return found
    setattr(owner, name, struck)

"""
MOMENTS = {
    "planned": "strike(run.campaign_store, 'store_plan', True, 1)",
    "claimed": "strike(run.campaign_store, 'claim', True, 2)",
    "recorded": "strike(run, 'ingest_record', False, 2)",
    "ingested": "strike(run, 'ingest_record', True, 2)",
    "letting go": "strike(run.campaign_store, 'let_go', False, 1)",
    "pooling": "strike(run, 'harvest', False, 1)",
}
"""Moments of the controller at which it is killed; what is left is the next one's to find."""


def arguments(folder: Path, *options: str) -> list[str]:
    place = ["--db", str(folder / "advisor.db")]
    if "--resume" not in options:
        place += ["--folder", str(folder / "runs")]
    return ["measure", *options, *place]


def environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}


def started(mark: str, given: Sequence[str], strike: str = "") -> "subprocess.Popen[str]":
    code = f"{_STRUCK}{strike}\ncli.main({list(given)!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(mark),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(mark: str, given: Sequence[str], strike: str = "") -> tuple[int, str, str]:
    """Exit code, stdout and stderr; its harness has ended too."""
    process = started(mark, given, strike)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert wait_until_gone(mark, 60.0) == []
    return process.returncode, out, err


def ask(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "advisor.db")) as connection:
        return connection.execute(statement).fetchall()


def the_campaign(folder: Path) -> str:
    ((name,),) = ask(folder, "SELECT campaign FROM campaign_plans")
    return str(name)


def assert_whole(folder: Path, cells: int) -> None:
    """Every cell is complete and has its one run; nothing of it is left in shared memory."""
    assert ask(folder, "PRAGMA integrity_check") == [("ok",)]
    counted = ask(folder, "SELECT status, COUNT(*) FROM campaign_cells GROUP BY status")
    reasons = ask(folder, "SELECT run_id, reason FROM campaign_cells WHERE status <> 'complete'")
    assert counted == [("complete", cells)], reasons
    joined = "SELECT COUNT(*) FROM campaign_cells c JOIN runs r ON r.run_id = c.run_id"
    assert ask(folder, f"{joined} WHERE r.validity = 'valid'") == [(cells,)]
    assert ask(folder, "SELECT COUNT(*) FROM runs") == [(cells,)]
    assert ask(folder, "SELECT COUNT(*) FROM runs WHERE point_id IS NULL") == [(0,)]
    assert ask(folder, "SELECT DISTINCT status FROM campaigns") == [("complete",)]
    assert ask(folder, "SELECT DISTINCT pid FROM campaign_plans") == [(None,)]
    for (run_id,) in ask(folder, "SELECT run_id FROM runs"):
        key = hashlib.sha256(str(run_id).encode()).hexdigest()[:12]
        assert not list(segment_names.FOLDER.glob(f"failbench-{key}-*"))
        record = json.loads((folder / "runs" / str(run_id) / "record.json").read_text("utf-8"))
        assert record["validity"] == "valid"
