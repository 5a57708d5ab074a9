"""The same runs with CUDA tensors, where a GPU is at hand: torch.cuda.is_available() says so.

One GPU carries all the ranks over gloo; NCCL is taken where each rank has a GPU of its own. The
record says which.
"""

from pathlib import Path

import pytest
import torch

from measure.architectures.catalogue import ARCHITECTURES
from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.capabilities import ArchitectureEntry, Capability
from tests.measure.harness import record, request

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="no GPU: torch.cuda.is_available() is false"
    ),
]


@pytest.mark.parametrize("entry", ARCHITECTURES, ids=lambda entry: entry.architecture)
@pytest.mark.parametrize("crash", [False, True])
def test_every_architecture_with_cuda_tensors(
    tmp_path: Path, entry: ArchitectureEntry, crash: bool
) -> None:
    asked = request(entry.architecture, device="cuda", steps=30, group_timeout_s=10.0)
    schedule = Schedule("crash", (FaultEvent(2, step=10),)) if crash else Schedule()
    found = record(tmp_path, asked, schedule)
    assert found["validity"] == "valid", found["validity_reasons"]
    assert found["cell"]["device"] == "cuda"
    expected = "nccl" if torch.cuda.device_count() >= 4 else "gloo"
    assert found["cell"]["backend"] == expected
    assert found["cluster"]["device"] == torch.cuda.get_device_name()
    assert found["peak_memory_bytes"] > 0
    goes_on = Capability.CONTINUES_AFTER_LOSS in entry.capabilities
    after_a_crash = "graceful" if goes_on else "halted"
    assert found["outcome"] == (after_a_crash if crash else "completed")
