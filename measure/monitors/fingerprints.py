"""Digests of live state, as cheap as they can be: they are taken while training waits."""

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from xxhash import xxh3_128

from measure.state.tensor_bytes import on_host, size_bytes, view_of


def of_tensors(tensors: Iterable[Tensor]) -> tuple[str, int]:
    """(one digest of the values of all of them, in this order: 32 hexadecimal digits; how many
    bytes that were). Names and shapes are not in it: who compares knows that they are equal."""
    digest, read = xxh3_128(), 0
    for tensor in tensors:
        host = on_host(tensor)
        digest.update(view_of(host))
        read += size_bytes(host)
    return digest.hexdigest(), read


def optimizer_tensors(optimizer: Optimizer) -> Iterator[Tensor]:
    """What the optimizer keeps of each parameter, in the order of the parameters: a restored one
    has made its entries in another."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            kept = optimizer.state.get(parameter, {})
            for key in sorted(kept):
                if isinstance(kept[key], Tensor):
                    yield kept[key]


def of_generators(device: torch.device) -> str:
    """Of the random number generators that `measure.state.rng` keeps; equal within one process
    only."""
    tensors = [torch.get_rng_state()]
    if device.type == "cuda":
        tensors.append(torch.cuda.get_rng_state(device))
    numpy_random: Any = sys.modules.get("numpy.random")
    of_numpy = b""
    if numpy_random is not None:  # if nobody has imported it, nobody has drawn from it
        _, keys, *place = numpy_random.get_state()
        of_numpy = keys.tobytes() + repr(place).encode()
    python = hash(random.getstate())
    return f"{of_tensors(tensors)[0]} {python} {hash(of_numpy)}"
