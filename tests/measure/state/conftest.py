"""One thread for what these tests train in their own process, and a folder in memory."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.measure.architectures.conftest import one_thread

__all__ = ["one_thread"]


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on tmpfs where there is one: for thousands of saves that need no disk."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder below has a name of its own
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as folder:
        yield Path(folder)
