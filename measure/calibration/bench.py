"""What a process of the crew keeps between two orders: contents, buffers, groups."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from measure.rank.groups import GlooPair, ProcessGroups, StorePlace
from measure.state.contract import PARAMETERS, RankState

PATIENT_S = 60.0
_TENSORS = 100
"""As the paper's ResNet-50 with its momentum has."""


class Bench:
    """One process's own. `rank` is its number in the crew."""

    def __init__(self, rank: int, folder: Path, store_port: int, run_key: str) -> None:
        self.rank, self.folder, self.run_key = rank, folder, run_key
        self.store_port = store_port
        self.kept: dict[Any, Any] = {}
        """Of one module, by keys of its own."""
        self._content = torch.empty(0, dtype=torch.int64)
        self._buffer = torch.empty(0, dtype=torch.uint8)
        self._groups: ProcessGroups | None = None
        self._pairs: dict[int, GlooPair] = {}

    def content(self, size: int) -> Tensor:
        """So many bytes that do not compress; the same ones each time."""
        words = -(-size // 8)
        if len(self._content) < words:
            drawn = torch.Generator().manual_seed(self.rank)
            self._content = torch.empty(words, dtype=torch.int64).random_(generator=drawn)
        return self._content.view(torch.uint8)[:size]

    def buffer(self, size: int) -> Tensor:
        """Memory for so many bytes; touched, since the first write to a page costs several times
        what the next ones do."""
        if len(self._buffer) < size:
            self._buffer = torch.zeros(size, dtype=torch.uint8)
        return self._buffer[:size]

    def state(self, size: int, rank: int = 0, world_size: int = 1) -> RankState:
        """A state of so many bytes (whole words of four), in as many tensors as a model has."""
        return state_over(self.content(size), rank, world_size)

    @property
    def groups(self) -> ProcessGroups:
        """The groups of all that this calibration keeps open."""
        if self._groups is None:
            place = StorePlace("127.0.0.1", self.store_port)
            self._groups = ProcessGroups(place, self.rank, 2, "gloo", PATIENT_S, PATIENT_S)
        return self._groups

    def pair(self, peer: int) -> GlooPair:
        """The group of this process and another one; both come to the first call."""
        if peer not in self._pairs:
            self._pairs[peer] = self.groups.pair(peer)
        return self._pairs[peer]


def state_over(memory: Tensor, rank: int, world_size: int) -> RankState:
    """A state whose tensors lie in `memory`: 32-bit parameters, equally long but the last."""
    words = memory[: len(memory) // 4 * 4].view(torch.float32)
    length = max(1, -(-len(words) // _TENSORS))
    tensors = {
        f"{PARAMETERS}t{number:03d}": piece
        for number, piece in enumerate(words.split(length) if len(words) else ())
    }
    plain = {
        "step": 1,
        "rank": rank,
        "world_size": world_size,
        "data": {"epoch": 0, "permutation_seed": 0, "offset": 0},
        "optimizer": None,
        "tensors": {"parameters": len(tensors), "buffers": 0, "optimizer": 0},
    }
    return RankState(tensors, plain)


def timed(action: Callable[[], object], at: float | None = None) -> list[float]:
    """[begin, end] of the action (CLOCK_MONOTONIC, s), which begins at `at` or at once."""
    if at is not None:
        time.sleep(max(0.0, at - time.monotonic() - 0.0005))
        while time.monotonic() < at:  # a sleep overshoots by more than small copies take
            pass
    begin = time.monotonic()
    action()
    return [begin, time.monotonic()]
