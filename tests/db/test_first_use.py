"""The first use makes a SQLite database: whole or not at all, once, and never a PostgreSQL one."""

import fcntl
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from db import first_use
from db.errors import EmptyDatabaseError, NotADatabaseError, UnreachableError
from db.first_use import ensure_ready, hidden_database
from db.migrate import check
from db.queries import cluster_names
from db.session import open_engine, reading, writing
from tests.db.nobody import as_nobody

ROOT = Path(__file__).parents[2]


def clusters(url: str) -> tuple[str, ...]:
    engine = open_engine(url)
    with reading(engine) as connection:
        names = cluster_names(connection)
    engine.dispose()
    return names


def test_it_is_made_with_its_folder_and_filled(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "advisor.db"
    assert ensure_ready(str(path)) is True
    measured = {file.stem for file in (ROOT / "data" / "clusters").glob("*.json")}
    assert measured
    assert set(clusters(str(path))) == {"matilda-8xv100", *measured}
    assert check(str(path)).problems == ()
    assert [file.name for file in path.parent.iterdir()] == ["advisor.db"]
    before = path.read_bytes()
    assert ensure_ready(str(path)) is False
    assert path.read_bytes() == before


@pytest.mark.parametrize("empty_url", ["postgresql"], indirect=True)
def test_postgresql_is_never_made_silently(empty_url: str) -> None:
    with pytest.raises(EmptyDatabaseError) as caught:
        ensure_ready(empty_url)
    assert f"advisor db upgrade --db {empty_url}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(NotADatabaseError):
        ensure_ready(str(path))
    assert path.read_text().startswith("not a database")


def make(path: str, barrier: Barrier) -> None:
    barrier.wait()
    ensure_ready(path)


def test_two_first_uses_at_once_make_one_database(tmp_path: Path) -> None:
    path = tmp_path / "advisor.db"
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    both = [context.Process(target=make, args=(str(path), barrier)) for _ in range(3)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["advisor.db"]
    assert check(str(path)).problems == ()


def test_one_that_was_published_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "advisor.db"
    ensure_ready(str(path))
    theirs = path.read_bytes()
    path.rename(tmp_path / "hidden")
    build = first_use._build

    def build_while_another_publishes(built: Path) -> None:
        build(built)
        (tmp_path / "hidden").rename(path)

    monkeypatch.setattr(first_use, "_build", build_while_another_publishes)
    assert ensure_ready(str(path)) is False
    assert path.read_bytes() == theirs


def test_without_hard_links_it_is_renamed_under_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "advisor.db"
    assert ensure_ready(str(path)) is True
    assert clusters(str(path))
    built = tmp_path / "built"
    built.write_text("second")
    assert first_use._publish(built, path) is False


def test_a_lock_that_somebody_keeps_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(first_use, "_LOCK_PATIENCE_S", 0.2)
    path = tmp_path / "advisor.db"
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(UnreachableError) as caught:
            ensure_ready(str(path))
    finally:
        os.close(folder)
    assert str(caught.value) == (
        f"no database could be made at {path}: another process has kept {tmp_path} locked for "
        "0.2 s; choose another place with --db"
    )
    assert list(tmp_path.iterdir()) == []
    assert ensure_ready(str(path)) is True


KILLED = """
import os, signal, sys
from db import first_use
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(*{
    "before_load": (sys.modules.setdefault("db.load", __import__("db.load").load), "load", die),
    "before_publish": (first_use, "_publish", die),
    "after_publish": (first_use, "_fsync_folder", die),
}[sys.argv[2]])
first_use.ensure_ready(sys.argv[1])
"""


@pytest.mark.parametrize("moment", ["before_load", "before_publish", "after_publish"])
def test_killed_in_the_middle_it_leaves_all_or_nothing(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "advisor.db"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), moment], check=False, cwd=ROOT, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert path.exists() == (moment == "after_publish")
    ensure_ready(str(path))
    assert check(str(path)).problems == ()
    assert clusters(str(path))


def test_what_a_killed_process_left_is_swept_when_old(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    old, fresh, alive = (
        tmp_path / f".advisor.db.{pid}.tmp" for pid in (gone.pid, gone.pid + 10**6, os.getppid())
    )
    for folder in (old, fresh, alive):
        folder.mkdir()
    long_ago = time.time() - 10_000
    os.utime(old, (long_ago, long_ago))
    os.utime(alive, (long_ago, long_ago))
    ensure_ready(str(tmp_path / "advisor.db"))
    assert [old.exists(), fresh.exists(), alive.exists()] == [False, True, True]


FULL = """
import resource, signal, sys
from db.errors import UnreachableError
from db.first_use import ensure_ready, hidden_database
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import db.load, db.migrate
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ensure_ready(sys.argv[1])
except UnreachableError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "advisor.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stdout.startswith(f"no database could be made at {path}: ")
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk() -> Iterator[Path]:
    """A file system of 200 kB; skipped where this process may not mount one."""
    folder = Path(tempfile.mkdtemp())
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


def test_a_full_disk_is_one_line_and_leaves_nothing(tiny_disk: Path) -> None:
    with pytest.raises(UnreachableError, match="no space left on its disk") as caught:
        ensure_ready(str(tiny_disk / "advisor.db"))
    assert "\n" not in str(caught.value)
    assert list(tiny_disk.iterdir()) == []


@pytest.mark.parametrize("where", ["advisor.db", "deeper/advisor.db"])
def test_a_read_only_folder_is_one_line(where: str) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    with as_nobody(), pytest.raises(UnreachableError, match="Permission denied") as caught:
        ensure_ready(str(folder / where))
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []
    shutil.rmtree(folder)


def test_a_file_where_the_folder_should_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreachableError, match="no database could be made"):
        ensure_ready(str(tmp_path / "file" / "advisor.db"))


def test_a_hidden_database_is_published_when_the_body_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "advisor.db"
    with hidden_database(str(path)) as hidden:
        assert clusters(hidden)
        assert not path.exists()
    assert clusters(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["advisor.db"]


def test_a_hidden_database_vanishes_when_the_body_raises(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), hidden_database(str(tmp_path / "advisor.db")):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_to_a_hidden_database_is_never_dropped_silently(tmp_path: Path) -> None:
    path = tmp_path / "advisor.db"
    with pytest.raises(UnreachableError, match="run the command again"):
        write_while_another_publishes(path)
    assert check(str(path)).problems == ()


def write_while_another_publishes(path: Path) -> None:
    with hidden_database(str(path)) as hidden:
        engine = open_engine(hidden)
        with writing(engine) as connection:
            connection.exec_driver_sql("UPDATE clusters SET description = 'mine'")
        engine.dispose()
        make_in_another_process(path)


def make_in_another_process(path: Path) -> None:
    code = "import sys; from db.first_use import ensure_ready; ensure_ready(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=ROOT, timeout=60)
