"""Real restores, at sizes that no line was fitted over: predictions are held against them.

`restore_storage`  a tier loads a checkpoint whose shard the page cache had not
`restore_own`      a rank loads the state in its own slot
`restore_peer`     a rank whose memory is gone gets its own state from its peer, and the one that it
                   is to hold for that peer
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from measure.calibration.bench import PATIENT_S, Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath
from measure.calibration.plan import Cell, Extent, Purpose
from measure.calibration.storage import drop_pages
from measure.interfaces.mechanism import Surroundings
from measure.rank.context import RankContext
from measure.state import segment_names
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RunFacts
from measure.state.replicas import Replicas
from measure.state.storage import Storage

_STEP = 1
_BOTH = (0, 1)
_LOSER = 1


class _Restore(CalibratedPath):
    processes = 1

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return [
            (Cell(self.name, size, self.processes, Purpose.CHECK), extent.repeats)
            for size in extent.checks_bytes
        ]


class RestoreStorage(_Restore):
    """See the module."""

    name = "restore_storage"
    conditions = "Storage.load of one rank's shard; its pages dropped before"

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        for cell in cells:
            crew.ask(0, "restore.checkpoint", size=cell.size_bytes)

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return crew.timed(0, "restore.from_storage", size=cell.size_bytes)


class RestoreOwn(_Restore):
    """See the module."""

    name = "restore_own"
    conditions = "Replicas.load where nothing was lost"

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        for cell in cells:
            _replicate(crew, cell.size_bytes)

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        size = cell.size_bytes
        offers = crew.ask_all([(rank, "restore.offer", {"size": size}) for rank in _BOTH])
        return crew.timed(0, "restore.from_slots", size=size, offers=offers)


class RestorePeer(_Restore):
    """See the module."""

    name, processes = "restore_peer", 2
    conditions = "Replicas.load of two ranks, one of whom has lost its memory"

    def __init__(self) -> None:
        self._lost = 0

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: the pair, and the slots, are there already."""

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        self._lost += 1
        size = cell.size_bytes
        crew.ask(_LOSER, "restore.lose", size=size)
        attach = {"size": size, "generation": self._lost}
        crew.ask_all([(rank, "restore.attach", attach) for rank in _BOTH])
        offers = crew.ask_all([(rank, "restore.offer", {"size": size}) for rank in _BOTH])
        load = {"size": size, "offers": offers}
        return crew.timed_all([(rank, "restore.from_slots", load) for rank in _BOTH])


def _replicate(crew: Crew, size: int | None) -> None:
    """Both ranks attach, and save once."""
    attach = {"size": size, "generation": 0}
    crew.ask_all([(rank, "restore.attach", attach) for rank in _BOTH])
    crew.ask_all([(rank, "restore.save", {"size": size}) for rank in _BOTH])


@dataclass
class _Silent:
    """Nobody reads what these replicas do."""

    def write(self, event: str, **fields: Any) -> float:
        """See Log."""
        return 0.0


def _checkpoint(bench: Bench, size: int) -> None:
    checkpoints = _checkpoints(bench, size)
    checkpoints.open()
    receipt = checkpoints.write(bench.state(size))
    checkpoints.publish(_STEP, 1, [receipt], {})


def _from_storage(bench: Bench, size: int) -> list[float]:
    checkpoints = _checkpoints(bench, size)
    storage = Storage(checkpoints, 0)
    offers = [storage.offer()]
    (generation,) = checkpoints.generations()
    drop_pages(generation.folder / generation.manifest.of_rank(0).file)
    kept: list[Any] = []  # freed after it was timed
    return timed(lambda: kept.append(storage.load(_STEP, offers)))


def _checkpoints(bench: Bench, size: int) -> Checkpoints:
    return Checkpoints(bench.folder / f"check-{size}")


def _attach(bench: Bench, size: int, generation: int) -> None:
    """Enters a generation of a group of two."""
    replicas = bench.kept.setdefault(("replicas", size), Replicas(f"c{size}", "peer memory"))
    peer = 1 - bench.rank
    store = dist.PrefixStore(f"restore-{size}-{generation}", bench.groups.store)
    at = Surroundings(
        folder=bench.folder,
        run_key=bench.run_key,
        store=store,
        new_store=lambda: store,
        generation=generation,
        timeout_s=PATIENT_S,
        interval_steps=1,
        replicas=1,
        one_writer=False,
        goes_on_alone=False,
        somebody_lost=lambda: False,
        facts=RunFacts("", {}),
        log=_Silent(),
    )
    context = RankContext(
        rank=bench.rank,
        world_size=2,
        seed=0,
        device=bench.content(0).device,
        backend="gloo",
        round_limit_s=PATIENT_S,
        groups=bench.groups,
    )
    replicas.attach(at, context, {peer: bench.pair(peer)}, 1, size)


def _save(bench: Bench, size: int) -> None:
    _replicas(bench, size).save(bench.state(size, bench.rank, 2), "save")


def _lose(bench: Bench, size: int) -> None:
    """As after the loss of this rank's host: nothing in its memory, nobody who knows of it."""
    del bench.kept["replicas", size]
    for path in segment_names.FOLDER.glob(f"failbench-{bench.run_key}-h{bench.rank}-c{size}-*"):
        path.unlink()


def _offer(bench: Bench, size: int) -> list[list[Any]]:
    return _replicas(bench, size).offer()


def _from_slots(bench: Bench, size: int, offers: list[Any], at: float | None = None) -> list[float]:
    replicas = _replicas(bench, size)
    span = timed(lambda: replicas.load(_STEP, offers), at)
    replicas.went_back(_STEP)
    return span


def _replicas(bench: Bench, size: int) -> Replicas:
    found: Replicas = bench.kept["replicas", size]
    return found


OPERATIONS: dict[str, Any] = {
    "restore.checkpoint": _checkpoint,
    "restore.from_storage": _from_storage,
    "restore.attach": _attach,
    "restore.save": _save,
    "restore.lose": _lose,
    "restore.offer": _offer,
    "restore.from_slots": _from_slots,
}
