"""Saves beside the training: a thread writes, all ranks' threads agree, nobody's training waits.

One save is in flight at most. A rank that cannot take part in a save that is due vetoes it at
once, so that it fails on every rank, and none waits for a shard that will never come.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch import Tensor

from measure.state import shard_file
from measure.state.agreement import agree_on, save_together, veto
from measure.state.checkpoints import Checkpoints, Generation
from measure.state.contract import RankState
from measure.state.errors import PeerFailedError, StateError
from measure.state.manifest import Receipt, Serves
from measure.state.retention import Retention
from measure.state.storage import PUBLISHER

_PREFIX = "background"
"""Agreements of two threads side by side would tidy each other's away."""


class BusyError(StateError):
    """This rank's writer still has an earlier save to finish."""


class OverError(StateError):
    """The generation of the group is over: what was on its way is given up."""


@dataclass(frozen=True, slots=True)
class Terms:
    """One rank's part in the saves of one generation of the group, the same for all of them."""

    folder: Path
    """Of the checkpoints."""
    rank: int
    world_size: int
    serves: Serves
    lineage: Mapping[str, Any]
    retention: Retention
    patience_s: float
    """How long a rank's shard may take longer than another's."""
    proved: Callable[[], Sequence[int]] = tuple
    """See measure.interfaces.mechanism.Surroundings."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a save. `why` it failed, on every rank alike; empty once it is committed."""

    step: int
    size_bytes: int
    """Of this rank's shard."""
    seconds: float
    """From the hand-over to the end."""
    why: str = ""
    vetoed: bool = False
    """It failed only since some rank's writer was busy."""


class BackgroundSaves:
    """The writer's thread in one generation; made, used and closed by the training thread.

    `store` is a connection for the thread's own use; `told` hears of each end, from the
    thread, before the next save may begin.
    """

    def __init__(self, terms: Terms, store: dist.Store, told: Callable[[Ended], None]) -> None:
        self._terms, self._told = terms, told
        self._store = dist.PrefixStore(_PREFIX, store)
        self._checkpoints = _UntilOver(terms.folder)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._newest = 0
        self._idle = threading.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._work, name="background saves", daemon=True)
        self._thread.start()

    @property
    def in_flight(self) -> int | None:
        """The step whose save is not over yet; the next one has to be skipped until it is."""
        return None if self._idle.is_set() else self._newest

    def save(self, state: RankState) -> None:
        """Hands a state over, whose tensors must stay as they are while the save is in flight."""
        assert self._idle.is_set()
        self._newest = state.step
        self._idle.clear()
        self._jobs.put(partial(self._save, state, time.monotonic()))

    def skip(self, step: int, store: dist.Store) -> str:
        """Makes the save of `step` fail on all ranks, since this one is busy; returns why.
        `store` is the training thread's connection."""
        why = BusyError(f"the save of step {self._newest} is still being written")
        with suppress(PeerFailedError):  # then there is nobody to be told
            self._veto(step, why, store)
        self._jobs.put(partial(self._report_skipped, step, why))
        return str(why)

    def wait(self, limit_s: float) -> None:
        """Returns when no save is in flight, or when time is up."""
        self._idle.wait(limit_s)

    def close(self, new_store: Callable[[], dist.Store], limit_s: float) -> bool:
        """Ends the thread: a save in flight is given up on all ranks, or committed if all shards
        are there already. `new_store` opens a connection that is certain to work.

        Returns whether the thread has ended. If not, within about twice `limit_s`, it hangs in a
        call of the operating system: it will commit nothing any more, but has its tensors.
        """
        self._checkpoints.interrupt()
        self._jobs.put(None)
        if self.in_flight is not None:
            self._give_up(self._newest, new_store, limit_s)
        self._thread.join(limit_s)
        if not self._thread.is_alive():
            return True
        self._checkpoints.refuse(limit_s)
        self._told = _unheard  # what becomes of it is known by now
        return False

    def _give_up(self, step: int, new_store: Callable[[], dist.Store], limit_s: float) -> None:
        why = OverError("the generation of the group was over before the save")
        try:
            store = new_store()
            if not self._veto(step, why, store):
                self._thread.join(limit_s / 2)  # all shards are there: the publisher commits
                self._veto(f"{step}/commit", why, store)
        except (RuntimeError, StateError):  # nobody can be told: the thread's own calls fail too
            return

    def _veto(self, step: int | str, why: Exception, store: dist.Store) -> bool:
        inner = dist.PrefixStore(_PREFIX, store)
        return veto(inner, _name(step), self._terms.rank, self._terms.world_size, why)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _save(self, state: RankState, began: float) -> None:
        """One save, from the shard to the pruning; whatever happens, it ends and says how."""
        step, own = state.step, list[Receipt]()
        why, vetoed = "", False
        try:
            self._save_together(state, own)
        except Exception as error:
            if step not in self._checkpoints.published:
                why, vetoed = f"{type(error).__name__}: {error}", _is_veto(error)
            if own and _all_know(error, step):
                self._checkpoints.withdraw(step, own[0])
        size_bytes = own[0].size_bytes if own else 0
        with suppress(OSError):  # of a log on a full disk: training says so at its next step
            self._told(Ended(step, size_bytes, time.monotonic() - began, why, vetoed))
        if not why and self._terms.rank == PUBLISHER:
            with suppress(OSError):  # what could not be removed is looked at after the next commit
                self._checkpoints.prune(self._terms.retention, self._terms.proved())
        self._idle.set()

    def _save_together(self, state: RankState, own: list[Receipt]) -> None:
        terms = self._terms

        def write() -> Receipt:
            own.append(self._checkpoints.write(state, terms.serves))
            return own[0]

        save_together(
            self._checkpoints,
            self._store,
            _name(state.step),
            state,
            write,
            terms.lineage,
            terms.patience_s,
        )

    def _report_skipped(self, step: int, why: BusyError) -> None:
        """This rank's turn in the agreement that it has vetoed, so that it can be tidied away."""
        terms = self._terms
        with suppress(PeerFailedError):
            agree_on(self._store, _name(step), terms.rank, terms.world_size, why, terms.patience_s)


class _UntilOver(Checkpoints):
    """A folder in which nothing begins any more once the generation is over."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.published: set[int] = set()
        self._interrupted, self._refused = threading.Event(), False
        self._publishing = threading.Lock()

    def write(self, state: RankState, serves: Serves = Serves.OWN) -> Receipt:
        """See Checkpoints; OverError between two tensors."""
        tensors = _Interruptible(state.tensors, self._interrupted)
        return super().write(RankState(tensors, state.plain), serves)

    def publish(self, step: int, *arguments: Any) -> Generation:
        """See Checkpoints."""
        with self._publishing:
            if self._refused:
                raise OverError("the generation of the group is over")
            generation = super().publish(step, *arguments)
            self.published = {step}
        return generation

    def withdraw(self, step: int, receipt: Receipt) -> None:
        """Removes a shard of a save that failed, unless a generation of that step is there: on a
        full disk, what failed would keep the next saves from their room."""
        folder = self._folder_of(step)
        if not any(folder.glob("*.json")):
            with suppress(OSError):
                shard_file.remove(folder / receipt.file)

    def interrupt(self) -> None:
        """No shard is written to its end from now on."""
        self._interrupted.set()

    def refuse(self, limit_s: float) -> bool:
        """Nothing is published from now on; whether that could be had in time."""
        if not self._publishing.acquire(timeout=limit_s):
            return False
        self._refused = True
        self._publishing.release()
        return True


class _Interruptible(dict[str, Tensor]):
    """Tensors that nobody can take out any more once `over` is set."""

    def __init__(self, tensors: Mapping[str, Tensor], over: threading.Event) -> None:
        super().__init__(tensors)
        self._over = over

    def __getitem__(self, name: str) -> Tensor:
        if self._over.is_set():
            raise OverError("the generation of the group was over before the shard was written")
        return super().__getitem__(name)


def _unheard(_: Ended) -> None:
    pass


def _name(step: int | str) -> str:
    return f"save-{step}"


def _all_know(error: Exception, step: int) -> bool:
    """Whether every rank will see that some shard is missing, so that none is ever published:
    not so where this rank lost the store, nor once the publisher has begun."""
    of_shards = isinstance(error, PeerFailedError) and error.what == _name(step)
    return of_shards and error.__cause__ is None


def _is_veto(error: Exception) -> bool:
    """Whether all that any rank had against the save was that its writer was busy."""
    if not isinstance(error, PeerFailedError):
        return False
    return all(why.startswith(f"{BusyError.__name__}:") for why in error.failures.values())
