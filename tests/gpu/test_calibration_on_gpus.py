"""Copies to and from a GPU as a calibration times them, where one is at hand."""

from pathlib import Path

import pytest
import torch

from measure.calibration.bench import Bench
from measure.calibration.device import OPERATIONS, DeviceToHost, HostToDevice, _buffers
from measure.calibration.plan import Extent

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="no GPU: torch.cuda.is_available() is false"
    ),
]


def test_bytes_go_there_and_come_back(tmp_path: Path) -> None:
    bench = Bench(0, tmp_path, 0, "0" * 12)
    host, there = _buffers(bench, 1_000_000)
    host.copy_(bench.content(1_000_000))
    begin, end = OPERATIONS["device.copy"](bench, size=1_000_000, to_device=True)
    assert begin < end
    host.zero_()
    OPERATIONS["device.copy"](bench, size=1_000_000, to_device=False)
    assert torch.equal(host, bench.content(1_000_000))
    assert torch.equal(there.cpu(), host)


@pytest.mark.parametrize("path", [HostToDevice(), DeviceToHost()], ids=lambda path: str(path.name))
def test_sizes_that_fit_the_device_are_sampled(path: HostToDevice | DeviceToHost) -> None:
    assert path.unavailable() == ""
    cells = path.cells(Extent((1000, 1 << 60), (), 3))
    assert [(cell.size_bytes, times) for cell, times in cells] == [(1000, 3)]
