"""Copies between page-locked host memory and a device, each way."""

from collections.abc import Sequence
from typing import Any

import torch

from measure.calibration.bench import Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath
from measure.calibration.plan import Cell, Extent

_SHARE = 4
"""A size may be this part of the device's memory."""


class _DeviceCopy(CalibratedPath):
    conditions = "page-locked host memory, the first GPU, waited for until it is done"
    to_device: bool

    def unavailable(self) -> str:
        """See CalibratedPath."""
        return "" if torch.cuda.is_available() else "no GPU: torch.cuda.is_available() is false"

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        room = int(torch.cuda.get_device_properties(0).total_memory) // _SHARE
        sizes = (size for size in extent.sizes_bytes if size <= room)
        return [(Cell(self.name, size, 1), extent.repeats) for size in sizes]

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        size = max(cell.size_bytes or 0 for cell in cells)
        crew.timed(0, "device.copy", size=size, to_device=self.to_device)

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return crew.timed(0, "device.copy", size=cell.size_bytes, to_device=self.to_device)


class HostToDevice(_DeviceCopy):
    """What a restore ends with where ranks train on devices."""

    name, to_device = "host_to_device", True


class DeviceToHost(_DeviceCopy):
    """What a snapshot begins with where ranks train on devices."""

    name, to_device = "device_to_host", False


def _copy(bench: Bench, size: int, to_device: bool) -> list[float]:
    host, there = _buffers(bench, size)
    source, target = (host, there) if to_device else (there, host)

    def copy() -> None:
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    return timed(copy)


def _buffers(bench: Bench, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(on the host, on the device), of so many bytes."""
    kept = bench.kept.get("device")
    if kept is None or len(kept[0]) < size:
        host = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
        kept = bench.kept["device"] = (host, torch.zeros(size, dtype=torch.uint8, device="cuda"))
    return kept[0][:size], kept[1][:size]


OPERATIONS: dict[str, Any] = {"device.copy": _copy}
