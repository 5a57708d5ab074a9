"""A log lies beside the checkpoints: who writes into it may have to wait for the same disk."""

import os
from pathlib import Path

import pytest

from measure.rank.event_log import EventLog, read_log
from measure.state.storage_waits import is_in_storage


def test_who_writes_a_line_is_in_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bool] = []
    write = os.write

    def noting(descriptor: int, data: bytes) -> int:
        found.append(is_in_storage())
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", noting)
    log = EventLog(tmp_path / "log", 0)
    log.step(3, 0.0, 1.5, 4)
    log.close()
    assert [event["event"] for event in read_log(tmp_path / "log")] == ["clock", "step"]
    assert found == [True, True]
    assert not is_in_storage()
