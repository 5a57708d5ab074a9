"""`advisor ingest --follow`: a folder that grows while it is read, by a process that is killed."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from advisor.cli import run
from db.session import open_engine, reading
from tests.db import run_records
from tests.db.lossy_proxy import LossyProxy
from tests.db.postgres import PostgresServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261130
RUNS = 60

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def follower() -> Iterator[Start]:
    """Starts a follower with (url, folder, *options); none outlives the test, however that ends."""
    with ExitStack() as started:

        def start(url: str, folder: Path, *options: str) -> "subprocess.Popen[str]":
            arguments = ["ingest", str(folder), "--follow", "--every", "50ms", *options]
            process = started.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "advisor", *arguments, "--db", url],
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            started.callback(process.kill)
            return process

        yield start


def runs_in(url: str) -> list[tuple[Any, ...]]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = connection.exec_driver_sql("SELECT run_id, validity, point_id FROM runs")
        rows = [tuple(row) for row in found.all()]
    engine.dispose()
    return rows


def write_somehow(folder: Path, record: dict[str, Any], chance: random.Random) -> None:
    """As the harness does it, or in pieces, or after a run that was interrupted."""
    how = chance.choice(("at once", "in pieces", "the second time"))
    place = folder / record["run_id"]
    place.mkdir(parents=True)
    if how == "the second time":
        run_records.write(folder, run_records.invalid(record, "interrupted"))
        time.sleep(chance.uniform(0.0, 0.1))
        place.rename(place.with_name(f"{place.name}.aside-1"))
        place.mkdir()
    text = json.dumps(record) + "\n"
    if how == "in pieces":
        with (place / "record.json").open("w", encoding="utf-8") as file:
            for start in range(0, len(text), 2000):
                file.write(text[start : start + 2000])
                file.flush()
                time.sleep(chance.uniform(0.0, 0.02))
    else:
        (place / ".record.tmp").write_text(text, encoding="utf-8")
        (place / ".record.tmp").rename(place / "record.json")


def test_a_folder_that_grows(shipped_url: str, follower: Start, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    chance = random.Random(SEED)
    process = follower(shipped_url, folder)
    for seed in range(RUNS):
        write_somehow(folder, run_records.record(seed=seed % 40, run_id=f"shared/{seed}"), chance)
        if seed == RUNS // 2:
            deadline = time.monotonic() + 60.0
            while not runs_in(shipped_url):
                assert time.monotonic() < deadline, "nothing was stored while it grew"
                time.sleep(0.05)
            process.kill()
            process.communicate(timeout=60)
            process = follower(shipped_url, folder, "--idle", "2s", "--format", "json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    documents = [json.loads(line) for line in out.splitlines()]
    assert sum(len(document["new"]) for document in documents) < RUNS, "some came before the kill"
    rows = runs_in(shipped_url)
    assert len(rows) == RUNS
    assert {validity for _, validity, _ in rows} == {"valid"}
    assert None not in {point for *_, point in rows}


ON_POSTGRESQL = pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)


@ON_POSTGRESQL
def test_one_that_is_killed_before_it_pools_the_last_runs(
    shipped_url: str, follower: Start, tmp_path: Path
) -> None:
    """Nothing comes after them: the next one finds no new run, and pools them all the same."""
    folder = tmp_path / "shared"
    run_records.write(folder, *(run_records.record(seed=seed) for seed in range(3)))
    with psycopg.connect(shipped_url) as holder:
        holder.execute("LOCK TABLE operating_points IN SHARE ROW EXCLUSIVE MODE")
        process = follower(shipped_url, folder)
        deadline = time.monotonic() + 60.0
        while len(runs_in(shipped_url)) < 3:
            assert time.monotonic() < deadline, "nothing was stored"
            time.sleep(0.05)
        process.kill()
        process.communicate(timeout=60)
    assert {point for *_, point in runs_in(shipped_url)} == {None}
    process = follower(shipped_url, folder, "--idle", "100ms")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out == "runs: 0 new, 3 already there\nmybox: 1 operating point, 1 added, 0 updated\n"
    assert None not in {point for *_, point in runs_in(shipped_url)}


@ON_POSTGRESQL
def test_runs_whose_commit_was_not_answered_are_pooled(
    shipped_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    folder = tmp_path / "shared"
    run_records.write(folder, *(run_records.record(seed=seed) for seed in range(3)))
    proxy = LossyProxy(postgres_server.port)
    proxy.lose_next_commit()
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{shipped_url.rpartition('/')[2]}"
    follow = ["ingest", str(folder), "--follow", "--every", "10ms", "--idle", "50ms"]
    assert run([*follow, "--db", url]) == 0
    proxy.close()
    assert proxy.lost == 1
    points = [point for *_, point in runs_in(shipped_url)]
    assert (len(points), None in points) == (3, False)


def test_a_new_database_is_there_before_the_end(follower: Start, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    run_records.write(folder, run_records.record())
    path = tmp_path / "advisor.db"
    follower(str(path), folder)
    deadline = time.monotonic() + 60.0
    while not (path.exists() and runs_in(str(path))):
        assert time.monotonic() < deadline, "nothing is to be seen while it follows"
        time.sleep(0.1)


def test_what_is_left_is_said(
    sqlite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shared"
    first, second = run_records.record(seed=0), run_records.record(seed=1)
    whole, broken = run_records.write(folder, first, second)
    run_records.write(folder, run_records.invalid(run_records.record(seed=2), "interrupted"))
    broken.write_text("{")
    follow = ["ingest", str(folder), "--follow", "--every", "10ms", "--idle", "50ms"]
    assert run([*follow, "--db", str(sqlite_file)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("runs: 1 new, 0 already there\nmybox: 1 operating point, 1 added")
    assert f"refused: {broken}: not a JSON record" in err
    assert "1 record of interrupted runs not stored" in err
    assert "1 of 2 records refused" in err
    assert whole.exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--idle", "1s"], "--idle says when --follow ends"),
        (["--follow", "--every", "0s"], "--every must be more than 0"),
    ],
)
def test_options_that_make_no_sense(
    sqlite_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    assert run(["ingest", str(tmp_path), *options, "--db", str(sqlite_file)]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_only_a_folder_can_be_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.db"
    assert run(["ingest", str(tmp_path / "nowhere"), "--follow", "--db", str(path)]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert not path.exists()
