"""Writes a file whole: readers see the old one or the new one, never half of it."""

import os
from contextlib import suppress
from pathlib import Path

from db.errors import UnreachableError


def write_whole(path: Path, content: bytes) -> None:
    """Writes under a temporary name, syncs and renames. A link is followed.

    Anything but a regular file (a device, a pipe, a folder) is refused, since a rename would
    replace it. Raises UnreachableError.
    """
    partial = None
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            raise UnreachableError(f"{path} is not a regular file: choose another name")
        partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise UnreachableError(f"{str(path)[:200]} cannot be written: {error.strerror}") from error
    finally:
        if partial is not None:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
