"""Faults of storage: it is full, it is slow, or what it holds is damaged or gone."""

import os
import time
from pathlib import Path
from typing import ClassVar

from measure.faults.acts.act import Act, CannotStrikeError, Scene, Told
from measure.faults.acts.bits import flip_in_file
from measure.state import durable
from measure.state.checkpoints import Checkpoints, Generation, manifest_path
from measure.state.durable import Hindrance

_FULL_DEVICE = "/dev/full"


class FullStorage(Act):
    """Whatever this process begins to write is refused by the kernel: its file is replaced by the
    device that is always full. Other processes write on, so that a full quota is meant rather than
    a full disk."""

    lasts: ClassVar[bool] = True

    def strike(self, at: Scene, told: Told) -> None:
        """From the next file on."""
        durable.hinder(_Full())
        told({})


class _Full(Hindrance):
    def opened(self, descriptor: int) -> None:
        full = os.open(_FULL_DEVICE, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(full, descriptor, inheritable=False)
        finally:
            os.close(full)


class SlowStorage(Act):
    """Each write of this process, and the flush of each file, takes `factor` times as long; or each
    write `pause_s` seconds longer."""

    lasts: ClassVar[bool] = True

    def strike(self, at: Scene, told: Told) -> None:
        """From the next write on."""
        durable.hinder(_Slow(self.params.get("factor", 1.0), self.params.get("pause_s", 0.0)))
        told({})


class _Slow(Hindrance):
    def __init__(self, factor: float, pause_s: float) -> None:
        self._factor, self._pause_s = factor, pause_s

    def wrote(self, took_s: float) -> None:
        time.sleep((self._factor - 1.0) * took_s + self._pause_s)

    def flushed(self, took_s: float) -> None:
        """What is written is in memory first: it is here that a disk takes its time."""
        time.sleep((self._factor - 1.0) * took_s)


class CorruptShard(Act):
    """Flips a bit of this rank's shard of the newest generation."""

    def strike(self, at: Scene, told: Told) -> None:
        """Where any is committed by now."""
        generation = _newest(at.folder)
        path = _shard(generation, at.rank)
        size = path.stat().st_size
        told({"generation": generation.step, **flip_in_file(path, 0, size, self.random)})


class MissingShard(Act):
    """Removes this rank's shard of the newest generation."""

    def strike(self, at: Scene, told: Told) -> None:
        """Where any is committed by now."""
        generation = _newest(at.folder)
        path = _shard(generation, at.rank)
        path.unlink()
        told({"generation": generation.step, "file": path.name})


class CorruptManifest(Act):
    """Flips a bit of the newest generation's manifest."""

    def strike(self, at: Scene, told: Told) -> None:
        """Where any is committed by now."""
        generation = _newest(at.folder)
        path = manifest_path(generation.folder)
        size = path.stat().st_size
        told({"generation": generation.step, **flip_in_file(path, 0, size, self.random)})


def _newest(folder: Path) -> Generation:
    """The newest generation of all that the mechanism keeps in folders of the run's."""
    found = [
        generation
        for inside in sorted(folder.iterdir())
        if inside.is_dir()
        for generation in Checkpoints(inside).generations()
    ]
    if not found:
        raise CannotStrikeError("no generation of checkpoints is committed yet")
    return max(found, key=lambda generation: generation.step)


def _shard(generation: Generation, rank: int) -> Path:
    try:
        return generation.folder / generation.manifest.of_rank(rank).file
    except ValueError as error:  # of a larger group
        raise CannotStrikeError(str(error)) from error
