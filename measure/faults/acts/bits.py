"""Flipping one bit of one element: silent corruption, chosen by a seeded generator."""

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from measure.faults.acts.act import CannotStrikeError

_BYTE_BITS = 8
_WORD_BYTES = 4


def flip_in_tensors(
    tensors: Mapping[str, Tensor], drawn: random.Random, bit: int | None
) -> dict[str, Any]:
    """Flips a bit of an element of one of these, in place, each element as likely as any other;
    `bit` counts from the lowest, and is drawn where it is None.

    Returns what was done, for the log. CannotStrikeError where there is no element.
    """
    sizes = {name: tensors[name].numel() for name in sorted(tensors)}
    if not sum(sizes.values()):
        raise CannotStrikeError("there is no such tensor here")
    number = drawn.randrange(sum(sizes.values()))
    for name, size in sizes.items():
        if number < size:
            return {"tensor": name, "index": number, **_flip(tensors[name], number, drawn, bit)}
        number -= size
    raise AssertionError("the number is less than the sum of the sizes")


def _flip(tensor: Tensor, index: int, drawn: random.Random, bit: int | None) -> dict[str, Any]:
    """Flips a bit of element `index` (in row-major order)."""
    width = tensor.element_size() * _BYTE_BITS
    chosen = drawn.randrange(width) if bit is None else bit % width
    with torch.no_grad():
        place = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), tensor.shape))
        element = tensor.detach()[place]
        changed = element.cpu().reshape(1).clone()
        before = _hex(changed)
        changed.view(torch.uint8)[chosen // _BYTE_BITS] ^= 1 << chosen % _BYTE_BITS
        element.copy_(changed[0])
    return {"bit": chosen, "before": before, "after": _hex(changed)}


def _hex(element: Tensor) -> str:
    """The element's bytes, the lowest first."""
    return bytes(element.view(torch.uint8).tolist()).hex()


def flip_in_file(
    path: Path, begin: int, length: int, drawn: random.Random, bit: int | None = None
) -> dict[str, Any]:
    """Flips a bit of one of `length` bytes at `begin`; with a `bit` one of a word of 32 bits.

    Returns what was done, for the log. CannotStrikeError where there are no such bytes.
    """
    words = length // _WORD_BYTES
    if length < 1 or (bit is not None and words < 1):
        raise CannotStrikeError(f"{path.name} has nothing that could be flipped")
    if bit is None:
        offset, chosen = drawn.randrange(length), drawn.randrange(_BYTE_BITS)
    else:
        offset, chosen = drawn.randrange(words) * _WORD_BYTES + bit // _BYTE_BITS, bit % _BYTE_BITS
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        (before,) = os.pread(descriptor, 1, begin + offset)
        os.pwrite(descriptor, bytes([before ^ 1 << chosen]), begin + offset)
    finally:
        os.close(descriptor)
    return {"file": path.name, "offset": begin + offset, "bit": chosen}
