"""Copies in this host's memory: whether there is room, and buffers that are ready to be filled."""

from pathlib import Path

import torch
from torch import Tensor

from measure.state.contract import RankState
from measure.state.tensor_bytes import size_bytes

_MEMINFO = Path("/proc/meminfo")


def available_bytes() -> int:
    """What the kernel says may be taken without swapping."""
    for line in _MEMINFO.read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_MEMINFO} does not say how much memory is available")


def buffers_like(state: RankState) -> RankState:
    """Host memory for copies of such states, touched: a first write to a page costs several times
    what the next ones do. Pinned for tensors of a device, which then copies faster."""
    return RankState({name: _buffer(t) for name, t in state.tensors.items()}, {})


def fits(buffers: RankState, state: RankState) -> bool:
    """Whether `state` can be copied into these buffers: same names, shapes and types."""
    return _layout(buffers) == _layout(state)


def total_bytes(state: RankState) -> int:
    """Bytes of all tensors."""
    return sum(size_bytes(tensor) for tensor in state.tensors.values())


def _buffer(tensor: Tensor) -> Tensor:
    buffer = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=tensor.is_cuda)
    return buffer.zero_()


def _layout(state: RankState) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (tensor.shape, tensor.dtype) for name, tensor in state.tensors.items()}
