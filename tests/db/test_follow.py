"""Following a folder that others write to: whole records once, nothing that is half there."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.follow import SETTLED_AFTER_S, Follower
from db.ingest import ingest, records_below
from db.session import open_engine, reading
from tests.db import run_records
from tests.db.nobody import as_nobody


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


class Clock:
    """An instant that the test moves on (seconds)."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def stored(engine: Engine) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        found = connection.exec_driver_sql("SELECT run_id, validity FROM runs ORDER BY run_id")
        return [tuple(row) for row in found.all()]


def test_what_came_since_the_last_look(engine: Engine, tmp_path: Path) -> None:
    follower = Follower(engine, tmp_path)
    assert follower.look().runs == ()
    made = [run_records.record(seed=seed) for seed in range(3)]
    run_records.write(tmp_path, *made[:2])
    assert follower.look().new == tuple(each["run_id"] for each in made[:2])
    assert follower.look().runs == ()
    run_records.write(tmp_path, made[2])
    assert follower.look().new == (made[2]["run_id"],)
    assert len(stored(engine)) == 3
    assert len(Follower(engine, tmp_path).look().known) == 3


def test_half_a_record_is_waited_for(engine: Engine, tmp_path: Path) -> None:
    """As somebody copies it, byte by byte, without another name meanwhile."""
    clock = Clock()
    follower = Follower(engine, tmp_path, clock)
    (path,) = run_records.write(tmp_path, run_records.record())
    whole = path.read_bytes()
    for size in range(0, len(whole), len(whole) // 7):
        path.write_bytes(whole[:size])
        report = follower.look()
        assert (report.runs, report.refused) == ((), ())
        clock.now_s += 0.9 * SETTLED_AFTER_S
    path.write_bytes(whole)
    assert len(follower.look().new) == 1


def test_half_a_record_that_stays_so_is_refused_once(engine: Engine, tmp_path: Path) -> None:
    clock = Clock()
    follower = Follower(engine, tmp_path, clock)
    (path,) = run_records.write(tmp_path, run_records.record())
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    assert follower.look().refused == ()
    clock.now_s = SETTLED_AFTER_S
    (line,) = follower.look().refused
    assert line.startswith(f"{path}: not a JSON record")
    assert follower.look().refused == ()
    path.write_bytes(whole)  # somebody mends it
    assert len(follower.look().new) == 1


def test_the_last_look_waits_for_nothing(engine: Engine, tmp_path: Path) -> None:
    (path,) = run_records.write(tmp_path, run_records.record())
    path.write_text("{")
    follower = Follower(engine, tmp_path)
    assert follower.look().refused == ()
    assert len(follower.look(is_last=True).refused) == 1


def test_an_interrupted_run_waits_until_it_is_made_again(engine: Engine, tmp_path: Path) -> None:
    """Its id is that of the run that takes its place, so storing it would keep that one out."""
    made = run_records.record()
    (path,) = run_records.write(tmp_path, run_records.invalid(made, "interrupted"))
    follower = Follower(engine, tmp_path)
    assert follower.look(is_last=True).runs == ()
    assert follower.interrupted == 1
    path.parent.rename(path.parent.with_name(f"{path.parent.name}.aside-1"))
    assert follower.look().runs == ()
    run_records.write(tmp_path, made)
    assert follower.look().new == (made["run_id"],)
    assert follower.interrupted == 0
    assert stored(engine) == [(made["run_id"], "valid")]


def test_what_is_put_aside_or_taken_away_meanwhile_is_nobodys_fault(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the folder and the look at the record."""
    made = [run_records.record(seed=seed) for seed in range(3)]
    paths = run_records.write(tmp_path, *made)

    def found(folder: Path, refused: list[str]) -> list[Path]:
        listed = records_below(folder, refused)
        shutil.rmtree(paths[0].parent, ignore_errors=True)
        return listed

    monkeypatch.setattr("db.follow.records_below", found)
    monkeypatch.setattr("db.ingest.records_below", found)
    report = Follower(engine, tmp_path).look()
    assert (len(report.new), report.refused) == (2, ())
    run_records.write(tmp_path, made[0])
    again = ingest(engine, tmp_path)
    assert (len(again.known), again.refused) == (2, ())


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder with one record, and beside it a folder that this process may not read, though it
    is root."""
    folder = Path(tempfile.mkdtemp())
    run_records.write(folder, run_records.record())
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o000)
    folder.chmod(0o755)
    with as_nobody():
        yield closed
    closed.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)
def test_a_folder_that_cannot_be_read_is_said_once(engine: Engine, closed_folder: Path) -> None:
    follower = Follower(engine, closed_folder.parent)
    first, second = follower.look(), follower.look()
    assert first.refused == (f"{closed_folder}: cannot be read: Permission denied",)
    assert (len(first.new), second.refused) == (1, ())


def test_records_that_were_put_aside_are_not_looked_at(tmp_path: Path) -> None:
    (path,) = run_records.write(tmp_path, run_records.record())
    aside = path.parent.with_name(f"{path.parent.name}.aside-1")
    shutil.copytree(path.parent, aside)
    (aside / "deeper").mkdir()
    shutil.copy(path, aside / "deeper")
    (tmp_path / "other" / "record.json").mkdir(parents=True)
    assert records_below(tmp_path, []) == [path]
    assert json.loads(path.read_text("utf-8"))["run_id"]
