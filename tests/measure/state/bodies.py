"""What ranks do in the tests of the state contract."""

import importlib
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from measure.interfaces.architecture import Architecture
from measure.state import shard_file
from measure.state.contract import RunFacts, capture, restore
from measure.state.digest import digests

FACTS = RunFacts("a configuration", {"torch": "2"}, {"part": "whole"})


@dataclass(frozen=True)
class Stretch:
    """What one rank did over some steps, and what it held afterwards."""

    losses: list[float | None]
    ids: list[list[int]]
    draws: list[float]
    digests: dict[str, str]


@dataclass(frozen=True)
class Interrupted:
    """The steps after the save, the same ones after the restore, and the state both began with."""

    straight: Stretch
    resumed: Stretch
    saved: dict[str, str]
    restored: dict[str, str]
    names: list[str]


def interrupted(architecture: Architecture, before: int, after: int, folder: str) -> Interrupted:
    """Trains, saves to a file, trains on, restores the file in place, trains the same again."""
    rank = architecture.context.rank
    random.seed(rank)
    torch.manual_seed(rank)
    _numpy_random().seed(rank)
    _stretch(architecture, 0, before)
    saved = capture(architecture, before, FACTS)
    shard_file.write(Path(folder), lambda digest: f"{rank}.safetensors", saved)
    proof = asdict(digests(saved))
    straight = _stretch(architecture, before, after)
    restored = _restore(architecture, folder)
    resumed = _stretch(architecture, before, after)
    return Interrupted(straight, resumed, proof, restored, sorted(saved.tensors))


def replaced(architecture: Architecture, before: int, after: int, folder: str) -> Stretch:
    """A new process: restores what `interrupted` saved, and trains the same steps."""
    _restore(architecture, folder)
    return _stretch(architecture, before, after)


def _restore(architecture: Architecture, folder: str) -> dict[str, str]:
    state = shard_file.read(Path(folder) / f"{architecture.context.rank}.safetensors")
    restore(architecture, state)
    return asdict(digests(capture(architecture, state.step, FACTS)))


def _stretch(architecture: Architecture, first: int, steps: int) -> Stretch:
    loader = architecture.state().loader
    next_ids = loader.next_ids
    ids: list[list[int]] = []

    def recorded() -> list[int]:
        ids.append(next_ids())
        return ids[-1]

    setattr(loader, "next_ids", recorded)  # noqa: B010 - mypy lets nobody assign to a method
    losses, draws = [], []
    for _ in range(steps):
        losses.append(architecture.step().loss)
        draws += [random.random(), torch.rand(()).item(), float(_numpy_random().random())]
    delattr(loader, "next_ids")
    proof = asdict(digests(capture(architecture, first + steps, FACTS)))
    return Stretch(losses, ids, draws, proof)


def _numpy_random() -> Any:
    return importlib.import_module("numpy.random")
