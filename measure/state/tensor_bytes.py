"""A tensor's bytes without a copy and without NumPy, which a compute node may lack."""

import ctypes

import torch
from torch import Tensor


def on_host(tensor: Tensor) -> Tensor:
    """The tensor's values on the CPU in row-major order; the tensor itself if they are already."""
    return tensor.detach().cpu().contiguous()


def size_bytes(tensor: Tensor) -> int:
    """How many bytes `view_of` shows."""
    return tensor.numel() * tensor.element_size()


def view_of(tensor: Tensor) -> memoryview:
    """The memory of a tensor from `on_host`: shared, writable, and the tensor's as long as the
    caller keeps the tensor."""
    assert tensor.device.type == "cpu"
    assert tensor.is_contiguous()
    length = size_bytes(tensor)
    if not length:
        return memoryview(b"")
    return memoryview((ctypes.c_ubyte * length).from_address(tensor.data_ptr()))


def from_bytes(buffer: Tensor, dtype: torch.dtype, shape: list[int]) -> Tensor:
    """The tensor that lies in `buffer` (bytes,): shares its memory."""
    return buffer.view(dtype).view(shape)
