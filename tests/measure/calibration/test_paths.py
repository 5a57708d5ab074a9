"""What each path wants to have sampled, and how samples of several processes become one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from measure.calibration import (
    device,
    groups,
    memory,
    peer,
    restores,
    serialisation,
    storage,
    verification,
)
from measure.calibration.catalogue import all_paths
from measure.calibration.crew import Crew
from measure.calibration.device import HostToDevice
from measure.calibration.plan import MANY, Extent, Purpose
from measure.calibration.worker import OPERATIONS
from tests.db.calibration_records import LINES

EXTENT = Extent((1000, 4000, 16_000), (2000,), 3)


def test_every_path_is_named_once_and_as_in_the_database() -> None:
    from db.records import CalibrationPath

    names = [path.name for path in all_paths()]
    assert sorted(names) == sorted(path.value for path in CalibrationPath)
    assert set(LINES) < set(names)


def test_operations_of_all_modules_have_names_of_their_own() -> None:
    modules = (*(device, groups, memory, peer, restores, serialisation, storage, verification),)
    assert len(OPERATIONS) == sum(len(module.OPERATIONS) for module in modules)
    assert all("." in name for name in OPERATIONS)


@pytest.mark.parametrize("path", all_paths(), ids=lambda path: str(path.name))
def test_what_is_sampled(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy = SimpleNamespace(total_memory=1 << 40)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: roomy)
    cells = path.cells(EXTENT)
    sizes = {cell.size_bytes for cell, _ in cells}
    checks = path.name.startswith("restore_")
    assert {cell.purpose for cell, _ in cells} == {Purpose.CHECK if checks else Purpose.FIT}
    if path.name in ("group_formation", "process_start"):
        assert sizes == {None}
        assert {times for _, times in cells} == {6}
    else:
        assert sizes == set(EXTENT.checks_bytes if checks else EXTENT.sizes_bytes)
        assert {times for _, times in cells} == {3}
    many = [cell.size_bytes for cell, _ in cells if cell.processes == MANY]
    if path.name.startswith("storage_"):
        assert many == [1000, 4000]


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert HostToDevice().unavailable() == "no GPU: torch.cuda.is_available() is false"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert HostToDevice().unavailable() == ""


def test_several_processes_count_from_their_common_start_to_the_last_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crew = Crew(cast("Any", None), 0, Path(), 0, "")
    spans = [[10.0, 11.0], [10.25, 12.0]]
    monkeypatch.setattr(crew, "ask_all", lambda _: spans)
    assert crew.timed_all([(0, "a", {}), (1, "b", {})]) == 1.75
    assert len(crew) == 0
