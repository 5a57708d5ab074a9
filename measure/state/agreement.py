"""One verdict for all ranks: what one of them failed at has failed on every one (seed 002).

Ranks report to the store that they share. Whoever knows the outcome first - the last to report,
the one that failed, or the first whose time is up - writes the verdict, and the store takes the
first one only: no two ranks can come away with different ones.
"""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState
from measure.state.errors import PeerFailedError
from measure.state.manifest import Receipt

_SILENT = "did not report in time"
_PREVIOUS = "agreement/previous"


def agree(
    store: dist.Store,
    generation: str,
    rank: int,
    world_size: int,
    outcome: Receipt | Exception,
    timeout_s: float,
) -> list[Receipt]:
    """Every rank's receipt, in rank order; called by every rank with its own or its failure.

    `generation` names this agreement among all that the store will see: a step that is saved
    again needs another name, ranks that form a new group another store prefix.

    PeerFailedError on every rank alike if one failed, or if some did not report before the first
    of the others had waited for `timeout_s`.
    """
    report = outcome if isinstance(outcome, Exception) else outcome.to_json()
    reports = agree_on(store, generation, rank, world_size, report, timeout_s)
    return [Receipt.from_json(found) for found in reports]


def agree_on(
    store: dist.Store,
    name: str,
    rank: int,
    world_size: int,
    outcome: Mapping[str, Any] | Exception,
    timeout_s: float,
) -> list[dict[str, Any]]:
    """As `agree`, for any report that JSON can hold."""
    try:
        verdict = _Agreement(store, name, rank, world_size).reach(outcome, timeout_s)
    except RuntimeError as error:  # torch's DistError is one
        raise PeerFailedError(name, {rank: f"lost the store: {_first_line(error)}"}) from error
    if verdict["failed"]:
        raise PeerFailedError(name, {int(r): why for r, why in verdict["failed"].items()})
    reports: list[dict[str, Any]] = verdict["reports"]
    return reports


def veto(store: dist.Store, name: str, rank: int, world_size: int, why: Exception) -> bool:
    """Makes an agreement that is still open fail on every rank, for what this rank cannot do.

    Waits for nobody and counts for nothing: this rank still reports to the agreement when its turn
    comes, as if there had been no veto. Returns whether the agreement has failed, for this or
    another reason; PeerFailedError if the store is lost.
    """
    try:
        return bool(_Agreement(store, name, rank, world_size).refuse(why)["failed"])
    except RuntimeError as error:
        raise PeerFailedError(name, {rank: f"lost the store: {_first_line(error)}"}) from error


class _Agreement:
    """One rank's part in one agreement; RuntimeError when the store is lost."""

    def __init__(self, store: dist.Store, name: str, rank: int, world_size: int) -> None:
        self._store, self._name, self._rank, self._world_size = store, name, rank, world_size
        self._verdict = f"agreement/{name}/verdict"
        self._count = f"agreement/{name}/count"

    def reach(self, outcome: Mapping[str, Any] | Exception, timeout_s: float) -> dict[str, Any]:
        self._say(outcome)
        everybody = self._store.add(self._count, 1) == self._world_size
        if everybody:
            self._tidy()
        if everybody or isinstance(outcome, Exception):
            return self._decide()
        try:
            self._store.wait([self._verdict], timedelta(seconds=timeout_s))
        except dist.DistStoreError:  # time is up; if the store itself is gone, the next call says
            return self._decide(time_is_up=True)
        return self._decided(self._store.get(self._verdict))

    def refuse(self, why: Exception) -> dict[str, Any]:
        self._say(why)
        return self._decide()

    def _say(self, outcome: Mapping[str, Any] | Exception) -> None:
        report = {"error": _said(outcome)} if isinstance(outcome, Exception) else {"done": outcome}
        self._store.set(self._report(self._rank), json.dumps(report))

    def _decide(self, time_is_up: bool = False) -> dict[str, Any]:
        """Proposes a verdict; returns the one that counts, which may be another's."""
        reports: list[Any] = []
        failures: dict[int, str] = {}
        for rank in range(self._world_size):
            if not self._store.check([self._report(rank)]):
                if time_is_up:
                    failures[rank] = _SILENT
                continue
            report = json.loads(self._store.get(self._report(rank)))
            reports.append(report.get("done"))
            if "error" in report:
                failures[rank] = report["error"]
        proposed = {"failed": failures, "reports": [] if failures else reports}
        return self._decided(self._store.compare_set(self._verdict, "", json.dumps(proposed)))

    def _decided(self, verdict: bytes) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(verdict)
        return found

    def _report(self, rank: int) -> str:
        return f"agreement/{self._name}/{rank}"

    def _tidy(self) -> None:
        """Deletes the agreement before this one: every rank has come past it. Otherwise the
        store would grow with each save."""
        if self._store.check([_PREVIOUS]):
            name = self._store.get(_PREVIOUS).decode()
            previous = _Agreement(self._store, name, self._rank, self._world_size)
            for rank in range(self._world_size):
                self._store.delete_key(previous._report(rank))
            self._store.delete_key(previous._count)
            self._store.delete_key(previous._verdict)
        self._store.set(_PREVIOUS, self._name)


def save_together(
    checkpoints: Checkpoints,
    store: dist.Store,
    name: str,
    state: RankState,
    write: Callable[[], Receipt],
    lineage: Mapping[str, Any],
    timeout_s: float,
) -> list[Receipt]:
    """Every rank's shard, then the manifest by rank 0: a save that all ranks made, or none.

    `write` writes this rank's shard. `name` as of `agree`. PeerFailedError on every rank alike;
    whatever a rank's own part raised is in it. Only after this may anything be pruned.
    """
    rank, size = state.rank, state.world_size
    receipts = agree(store, name, rank, size, outcome_of(write), timeout_s)

    def commit() -> dict[str, Any]:
        if rank == 0:
            checkpoints.publish(state.step, size, receipts, lineage)
        return {}

    agree_on(store, f"{name}/commit", rank, size, outcome_of(commit), timeout_s)
    return receipts


def outcome_of(action: Callable[[], Any]) -> Any:
    """What `action` returns or raises: either is reported, so that no rank is left waiting."""
    try:
        return action()
    except Exception as error:
        return error


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
