"""Files that are there whole or not at all, also after a kill or a loss of power.

A file is written under a temporary name, flushed to the disk, renamed, and the folder flushed:
without the first flush a loss of power leaves the right name on a file of zeros, without the
last one the old file may be back.
"""

import ctypes
import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from measure.rank.event_log import boot_id
from measure.state.errors import NoSpaceError
from measure.state.processes import started

_FULL = {errno.ENOSPC, errno.EDQUOT}
_TEMPORARY = ".tmp"
_numbers = count()
_START_EVERY_BYTES = 1 << 23
_LIBC: Any = ctypes.CDLL(None)


class Hindrance:
    """What stands between this process and its storage: nothing, unless a fault of a schedule has
    put something there (measure.faults.acts.storage)."""

    def opened(self, descriptor: int) -> None:
        """A file was opened to be written."""

    def wrote(self, took_s: float) -> None:
        """A write came back after so many seconds."""

    def flushed(self, took_s: float) -> None:
        """What was written is on the disk, after so many seconds more."""


_hindrances: list[Hindrance] = []


def hinder(by: Hindrance) -> None:
    """From now on `by` stands there too, for the rest of this process's life."""
    _hindrances.append(by)


class Draft:
    """A file under its temporary name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.published = False
        self._written, self._started = 0, 0
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        for each in _hindrances:
            each.opened(self._fd)

    def write(self, data: memoryview | bytes) -> None:
        """Appends all of `data`, however much one call takes."""
        left = memoryview(data)
        while left:
            began = time.monotonic()
            count = os.write(self._fd, left)
            took_s = time.monotonic() - began
            for each in _hindrances:
                each.wrote(took_s)
            left = left[count:]
            self._written += count
        if self._written - self._started >= _START_EVERY_BYTES:
            _start_writing_back(self._fd, self._started, self._written - self._started)
            self._started = self._written

    def overwrite(self, data: bytes, offset: int) -> None:
        """Replaces the bytes at `offset`: a few, which one call takes."""
        written = os.pwrite(self._fd, data, offset)
        if written != len(data):
            raise OSError(errno.EIO, "a short write", str(self.path))

    def publish(self, name: str) -> Path:
        """Gives the file its final name in its folder, for good; replaces what had the name."""
        began = time.monotonic()
        os.fsync(self._fd)
        took_s = time.monotonic() - began
        for each in _hindrances:
            each.flushed(took_s)
        self.close()
        final = self.path.rename(self.path.with_name(name))
        self.published = True
        flush_folder(final.parent)
        return final

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        if self._fd >= 0:
            descriptor, self._fd = self._fd, -1
            os.close(descriptor)


@contextmanager
def draft(folder: Path, label: str) -> Iterator[Draft]:
    """A file to write and `publish`; unless that happened, nothing is left of it.

    NoSpaceError when the disk is full; OSError otherwise.
    """
    path = folder / temporary_name(label)
    file: Draft | None = None
    try:
        file = Draft(path)
        yield file
    except OSError as error:
        if error.errno in _FULL:
            raise NoSpaceError(f"{folder}: {error.strerror} while writing {label}") from error
        raise
    finally:
        if file is not None and not file.published:
            with suppress(OSError):  # what failed before says more
                file.close()
            with suppress(OSError):
                path.unlink()


def write_file(path: Path, data: bytes) -> None:
    """Writes a small file, whole or not at all; errors as of `draft`."""
    with draft(path.parent, path.stem) as file:
        file.write(data)
        file.publish(path.name)


def make_folder(folder: Path) -> None:
    """Makes the folder if it is not there; its parent must be. Not flushed."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        if error.errno in _FULL:
            raise NoSpaceError(f"{folder}: {error.strerror}") from error
        raise


def flush_folder(folder: Path) -> None:
    """Waits until the names in the folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def need_space(folder: Path, size_bytes: int) -> None:
    """NoSpaceError unless `size_bytes` are free where `folder` lies."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < size_bytes:
        raise NoSpaceError(f"{folder}: {size_bytes} bytes are needed, {free} are free")


def _start_writing_back(descriptor: int, begin: int, length: int) -> None:
    """Has the kernel write these bytes to the disk now, while the next ones are made: otherwise
    the disk is idle until the flush. Only a hint: the flush waits, and reports what went wrong."""
    start_only = 2  # SYNC_FILE_RANGE_WRITE
    if hasattr(_LIBC, "sync_file_range"):
        offset, size = ctypes.c_int64(begin), ctypes.c_int64(length)
        _LIBC.sync_file_range(descriptor, offset, size, start_only)


def sweep(folder: Path) -> list[Path]:
    """Removes the temporary files in `folder` whose writers are dead; returns them.

    A writer of another host cannot be asked: its files stay. So do those of the living.
    """
    swept = []
    for path in sorted(folder.glob(f".*{_TEMPORARY}")):
        if is_dead(path.name):
            path.unlink(missing_ok=True)
            swept.append(path)
    return swept


def temporary_name(label: str) -> str:
    """A name that says who writes, and that nobody else takes."""
    return f".{label}.{_writer()}.{next(_numbers)}{_TEMPORARY}"


def _writer() -> str:
    """Who writes: `<host>.<boot and process namespace>.<pid>.<when it started>`."""
    return f"{_host()}.{_epoch()}.{os.getpid()}.{started(os.getpid())}"


def is_dead(name: str) -> bool:
    """Whether who took this `temporary_name` is gone for certain."""
    fields = name.removesuffix(_TEMPORARY).rsplit(".", 5)
    if len(fields) != 6 or not fields[3].isdigit():
        return False
    _, host, epoch, pid, since, _ = fields
    if host != _host():
        return False
    if epoch != _epoch():
        return True  # this host, before it was started again
    return started(int(pid)) != since  # the number may be another process's by now


def _host() -> str:
    return socket.gethostname().replace(".", "-")


def _epoch() -> str:
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{boot_id()[:8]}-{namespace:x}"
