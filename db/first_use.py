"""First use: a SQLite database that does not exist is made, whole or not at all.

It is built in a hidden folder beside its place and published by a hard link, which fails if
another process was first. So two first uses at once both succeed, with one database, and a
process killed in the middle leaves nothing that anybody could open by mistake.
"""

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from db.errors import EmptyDatabaseError, UnreachableError
from db.schema import check_schema
from db.session import open_engine, refuse_network_filesystem, shown, sqlite_path

_ABANDONED_AFTER_S = 600.0
_LOCK_PATIENCE_S = 30.0
_TRY_AGAIN_S = 0.05


def ensure_ready(url: str) -> bool:
    """Returns when the database has this code's schema; True if it was made just now.

    Makes and fills a SQLite file that is not there. PostgreSQL is never changed silently: an
    empty one raises EmptyDatabaseError, which names `advisor db upgrade`.
    """
    path = sqlite_path(url)
    made = False
    if path is not None and not path.exists():
        with _hidden(path) as hidden:
            pass
        made = hidden.is_published
    engine = open_engine(url)
    try:
        check_schema(engine)
    except EmptyDatabaseError as error:
        name = shown(url)
        raise EmptyDatabaseError(
            f"{name} is empty: run `advisor db upgrade --db {name}`, which makes the tables, and "
            f"`advisor db load --db {name}`, which fills in the shipped data"
        ) from error
    finally:
        engine.dispose()
    return made


@contextmanager
def hidden_database(url: str) -> Iterator[str]:
    """A SQLite database that is not there yet, filled, under a name that nobody else opens.

    Yields its URL. It gets its real name when the body ends well, and vanishes when the body
    raises: a mistaken first question leaves nothing behind. Raises UnreachableError if another
    process made the database meanwhile and the body had written to this one.
    """
    path = sqlite_path(url)
    assert path is not None
    with _hidden(path) as hidden:
        yield str(hidden.file)


@dataclass(slots=True)
class _Hidden:
    file: Path
    is_published: bool = False


@contextmanager
def _hidden(path: Path) -> Iterator[_Hidden]:
    with ExitStack() as stack:
        with _one_line(path):
            refuse_network_filesystem(path)
            folder = stack.enter_context(_building_folder(path))
            hidden = _Hidden(folder / path.name)
            _build(hidden.file)
            as_built = _fingerprint(hidden.file)
        yield hidden
        with _one_line(path):
            hidden.is_published = _publish(hidden.file, path)
        if not hidden.is_published and _fingerprint(hidden.file) != as_built:
            raise UnreachableError(
                f"another process made {path} at the same moment: run the command again"
            )


def _fingerprint(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Names the file that was wanted, not the one being built, when the disk refuses."""
    try:
        yield
    except OSError as error:
        raise UnreachableError(
            f"no database could be made at {path}: {error.strerror}; choose another place with --db"
        ) from error
    except UnreachableError as error:
        reason = "no space left on its disk" if "no space" in str(error) else "its disk refused"
        raise UnreachableError(
            f"no database could be made at {path}: {reason}; choose another place with --db"
        ) from error


@contextmanager
def _building_folder(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    # Process ids come back, in containers above all: the name is made unique besides.
    prefix = f".{path.name}.{os.getpid()}."
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=".tmp", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(path: Path) -> None:
    """Removes what killed processes left: old, and of a process that is gone."""
    for folder in path.parent.glob(f".{path.name}.*.tmp"):
        pid = folder.name.removeprefix(f".{path.name}.").partition(".")[0]
        with suppress(FileNotFoundError):  # its process has just finished
            old = time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S
            if old and (pid == str(os.getpid()) or not Path(f"/proc/{pid}").exists()):
                shutil.rmtree(folder, ignore_errors=True)


def _build(path: Path) -> None:
    # Alembic, the ORM and pydantic take half a second to import: only when there is work.
    from db.load import load
    from db.migrate import upgrade

    upgrade(str(path))
    load(str(path))
    with path.open("rb") as file:
        os.fsync(file.fileno())


_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def _publish(built: Path, path: Path) -> bool:
    """Gives the built file its name, unless another process gave it to its own first."""
    try:
        os.link(built, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if not _rename_if_free(built, path):
            return False
    _fsync_folder(path.parent)
    return True


def _rename_if_free(built: Path, path: Path) -> bool:
    """For file systems without hard links: the look and the rename happen under a lock."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        _lock(folder, path.parent, time.monotonic() + _LOCK_PATIENCE_S)
        if path.exists():
            return False
        built.rename(path)
        return True
    finally:
        os.close(folder)


def _lock(descriptor: int, folder: Path, deadline: float) -> None:
    """Holds the folder's lock; OSError where another process keeps it: of ours none does so for
    longer than a look and a rename."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                reason = f"another process has kept {folder} locked for {_LOCK_PATIENCE_S:g} s"
                raise OSError(errno.ETIMEDOUT, reason) from None
            time.sleep(_TRY_AGAIN_S)
        else:
            return


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
