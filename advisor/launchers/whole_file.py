"""Files of a campaign that others read while they are written."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes a file for good: whole or not at all, whoever is killed. OSError where it cannot be
    written."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
