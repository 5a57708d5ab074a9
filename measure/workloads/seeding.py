"""Random numbers that depend on a seed and a purpose alone, never on what was drawn before."""

import hashlib
import random
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A CPU generator of its own for each (seed, purpose)."""
    digest = hashlib.sha256(repr((seed, *purpose)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7]))


def seeded_module(make: Callable[[], Module], seed: int, *purpose: str | int) -> Module:
    """What `make()` returns, its initial values drawn from (seed, purpose).

    torch's modules draw from the global generator; its state is put back afterwards.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(generator(seed, *purpose).get_state())
        return make()


def seed_generators(seed: int, rank: int) -> None:
    """Seeds this process's own generators for what `rank` draws while it trains: each rank has
    another sequence, as dropout and augmentation need it."""
    start = generator(seed, "rank", rank)
    torch.default_generator.set_state(start.get_state())
    if torch.cuda.is_available():
        torch.cuda.manual_seed(start.initial_seed())
    random.seed(start.initial_seed())
