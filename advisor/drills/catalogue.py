"""Every drill. A line of `promises` is a sentence of a mechanism's contract: what it is to make of
this fault on this architecture.

With saves every 10 steps a fault at step 25 costs 5 steps; who saves nothing loses nothing or all.
Victims are among ranks 0 to 3, of which 1 and 3 are no neighbours in the ring of replicas.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from advisor.drills.drill import INTERVAL_STEPS, Drill, Promise
from db.records import RunOutcome

EVERY_MECHANISM = "ft1 ft2 ft3 ft4 ft5 ft6 ft7 ft8 ft9"
_STEP = 25
_LEAD_S = 1.0
_GROUP_TIMEOUT = "3s"
"""Of drills in which nothing but the group's timeout tells of a fault."""


def _promise(*outcomes: RunOutcome, lost: int | None = None) -> Promise:
    return Promise(frozenset(outcomes), lost)


_SAVED = _promise(RunOutcome.RECOVERED, lost=INTERVAL_STEPS)
_SAVED_BEFORE = _promise(RunOutcome.RECOVERED, lost=2 * INTERVAL_STEPS)
"""Where the newest save may be lost: still being written, or refused."""
_EVERY_STEP = _promise(RunOutcome.RECOVERED, lost=1)
_KEPT = _promise(RunOutcome.RECOVERED, lost=0)
_FROM_ZERO = _promise(RunOutcome.RESTARTED)
_HALTS = _promise(RunOutcome.HALTED)
_GOES_ON = _promise(RunOutcome.GRACEFUL)
_UNHARMED = _promise(RunOutcome.COMPLETED, RunOutcome.GRACEFUL)
_NOTICED = _promise(RunOutcome.HANG, RunOutcome.HALTED, RunOutcome.RECOVERED)
"""A silent rank is reported, or replaced; it is never waited for without an end."""
_FROM_ZERO_OR_HALTS = _promise(RunOutcome.RESTARTED, RunOutcome.HALTED)
_NOT_WAITED_FOR = _promise(RunOutcome.RECOVERED, RunOutcome.RESTARTED, RunOutcome.HALTED)
_BROUGHT_BACK = _promise(RunOutcome.RECOVERED, RunOutcome.RESTARTED)


def _all(names: str, promise: Promise) -> dict[str, Promise]:
    """The same promise of several mechanisms, which stand in one text."""
    return dict.fromkeys(names.split(), promise)


def _at(rank: int, step: int = _STEP, kind: str = "crash", **more: Any) -> dict[str, Any]:
    return {"rank": rank, "kind": kind, "step": step, **more}


_LOST_ALONE = (
    _all("ft1 ft2 ft6", _SAVED)
    | {"ft3": _SAVED_BEFORE, "ft4": _FROM_ZERO, "ft5": _EVERY_STEP}
    | _all("ft7 ft8", _KEPT)
    | {"ft9": _HALTS}
)
"""One rank is lost, or all of one node; nobody was warned."""

_LOSSES = (
    Drill(
        "crash",
        "a rank that is killed is replaced, and no more is lost than since the last save",
        (_at(2),),
        _LOST_ALONE,
    ),
    Drill(
        "exception",
        "a rank whose training code raises is replaced like one that is killed",
        (_at(2, kind="exception"),),
        _LOST_ALONE,
    ),
    Drill(
        "hang",
        "a rank that is silent is noticed, and the run is not waited for without an end",
        (_at(2, kind="hang"),),
        _all(EVERY_MECHANISM, _NOTICED),
        settings={"pg-timeout": _GROUP_TIMEOUT},
    ),
    Drill(
        "group-timeout",
        "a loss that only the process group can tell of is recovered from",
        (_at(2),),
        _all("ft1 ft2", _SAVED),
        settings={"detector": "group-timeout", "pg-timeout": _GROUP_TIMEOUT},
    ),
    Drill(
        "two-at-once",
        "two ranks that are no neighbours are lost at once",
        (_at(1), _at(3)),
        _all("ft1 ft2 ft6", _SAVED)
        | {"ft3": _SAVED_BEFORE, "ft5": _EVERY_STEP}
        | _all("ft7 ft8", _KEPT),
    ),
    Drill(
        "adjacent",
        "an owner and the only holder of its replica are lost at once: a second replica, or"
        " storage, has the state, and where neither is there training begins again",
        (_at(1), _at(2)),
        _all("ft1 ft6", _SAVED) | _all("ft2 ft5", _FROM_ZERO),
    ),
    Drill(
        "three-at-once",
        "all ranks but one are lost at once: storage and a survivor's own memory are enough, two"
        " replicas are not",
        (_at(1), _at(2), _at(3)),
        {"ft1": _SAVED, "ft3": _SAVED_BEFORE, "ft6": _FROM_ZERO},
    ),
    Drill(
        "cascade",
        "a second rank is lost while the first one's recovery is under way",
        (_at(1), {"rank": 3, "kind": "crash", "after_s": 0.05}),
        _all("ft1 ft2 ft6", _SAVED) | {"ft3": _SAVED_BEFORE},
        steps=60,
    ),
    Drill(
        "in-a-row",
        "a second rank is lost after the first one was replaced, and a save later",
        (_at(1, 15), _at(3, 35)),
        _all("ft1 ft2", _SAVED) | {"ft5": _EVERY_STEP},
        steps=50,
    ),
    Drill(
        "before-first-save",
        "a loss before anything was saved begins the training again, and says so; who needs no"
        " save goes on",
        (_at(2, 5),),
        _all("ft1 ft2", _FROM_ZERO) | {"ft5": _EVERY_STEP, "ft7": _KEPT},
    ),
    Drill(
        "at-a-save",
        "a loss as a save has just been made, or is still being written",
        (_at(2, 20),),
        _all("ft1 ft2", _SAVED) | {"ft3": _SAVED_BEFORE},
    ),
    Drill(
        "starting",
        "a rank that is lost as it comes up is replaced, or ends the run; nobody waits for it",
        ({"rank": 2, "kind": "crash", "phase": "starting"},),
        _all("ft1 ft2", _FROM_ZERO_OR_HALTS) | {"ft9": _HALTS},
    ),
    Drill(
        "forming-groups",
        "a rank that is lost while groups are formed is replaced, or ends the run",
        ({"rank": 2, "kind": "crash", "phase": "forming-groups"},),
        _all("ft1 ft2", _FROM_ZERO_OR_HALTS) | {"ft9": _HALTS},
    ),
    Drill(
        "rank-0",
        "the rank that writes for all others is lost",
        (_at(0),),
        _all("ft1 ft2", _SAVED) | {"ft3": _SAVED_BEFORE},
    ),
    Drill(
        "parameter-server",
        "the rank that has what no other has is lost: it is brought back from what was saved, and"
        " without a save the run ends",
        (_at(0),),
        _all("ft1 ft2", _SAVED) | {"ft9": _HALTS},
        architecture="a1-sync",
    ),
    Drill(
        "shard",
        "a rank is lost with its part of a sharded model: the part comes from a save, and where"
        " there is none training begins again",
        (_at(2),),
        _all("ft1 ft2", _SAVED) | {"ft8": _FROM_ZERO},
        architecture="a5",
    ),
    Drill(
        "all-anew",
        "all processes are started anew, and go on from what was saved",
        (_at(2),),
        _all("ft1 ft2", _SAVED),
        settings={"way": "restart"},
    ),
    Drill(
        "gossip",
        "an architecture that goes on by itself does",
        (_at(2),),
        {"ft9": _GOES_ON},
        architecture="a6",
        steps=60,
    ),
    Drill(
        "node-crash",
        "a node is lost as a whole, agent, ranks and memory: what is on the other node is enough",
        (_at(2, kind="node-crash"),),
        _LOST_ALONE,
        settings={"nodes": 2},
    ),
)

_ANNOUNCED: Mapping[str, Any] = {"steps": 200, "smoke_steps": 600}
"""Long enough for the lead to be over before the training is."""
_WARNINGS = (
    Drill(
        "announced",
        "a loss that is announced in time costs the steps since the emergency save",
        (_at(2, lead_s=_LEAD_S),),
        {"ft4": _promise(RunOutcome.RECOVERED)},
        **_ANNOUNCED,
    ),
    Drill(
        "two-announced",
        "two losses that are announced for the same instant",
        (_at(1, lead_s=_LEAD_S), _at(3, lead_s=_LEAD_S)),
        {"ft4": _promise(RunOutcome.RECOVERED)},
        **_ANNOUNCED,
    ),
    Drill(
        "no-lead",
        "a warning that comes with its fault saves nothing, and the training begins again",
        (_at(2, lead_s=0.0),),
        {"ft4": _FROM_ZERO},
    ),
    Drill(
        "late-warning",
        "a warning that comes when most of its lead is over may save something, and harms nothing",
        (_at(2, lead_s=_LEAD_S, params={"warning": "late"}),),
        {"ft4": _BROUGHT_BACK},
        **_ANNOUNCED,
    ),
    Drill(
        "lost-warning",
        "a warning that never comes: the training begins again",
        (_at(2, lead_s=_LEAD_S, params={"warning": "lost"}),),
        {"ft4": _FROM_ZERO},
        **_ANNOUNCED,
    ),
    Drill(
        "false-alarm",
        "a warning that nothing follows costs a save, and nothing else",
        (_at(2, lead_s=_LEAD_S, params={"warning": "false"}),),
        {"ft4": _UNHARMED},
        **_ANNOUNCED,
    ),
)

_HIGH_BIT = 22
"""Of the mantissa: a lower one may be lost as the update is rounded, and with it the difference."""
_DIGESTS: Mapping[str, Any] = {"monitors": ("digest:5",), "noticed_by": "digest"}
_ROLLED_BACK = (
    _all("ft1 ft2 ft3 ft6", _SAVED_BEFORE) | _all("ft4 ft5 ft7 ft8", _FROM_ZERO) | {"ft9": _HALTS}
)
"""Saves that are as old as the last proof are gone back to. Who has nothing so old begins again:
what is replicated in every step, and what survivors hold, is as new as the fault."""


def _diverged(name: str, proves: str, **params: Any) -> Drill:
    return Drill(name, proves, (_at(2, 22, name, params=params),), _ROLLED_BACK, **_DIGESTS)


_SILENT = (
    _diverged("skipped-update", "a rank that misses an update is found, and all go back behind it"),
    _diverged("partial-restore", "a rank with older tensors is found, and all go back behind it"),
    _diverged("flip-parameter", "a flipped bit of a parameter is found, and is not trained on"),
    _diverged("flip-buffer", "a flipped bit of a buffer is found, and is not trained on"),
    _diverged(
        "flip-gradient",
        "a flipped bit of a gradient that tells ranks apart is found, and all go back behind it",
        bit=_HIGH_BIT,
    ),
    _diverged("wrong-rng", "a rank whose generators are elsewhere is found before it draws"),
    Drill(
        "straggler",
        "a rank that is slow is named, and training goes on",
        # After the five checks of ten steps from which the monitor learns what is usual.
        (_at(2, 65, "straggler", params={"factor": 3.0, "what": "compute"}),),
        _all(EVERY_MECHANISM, _UNHARMED),
        steps=100,
        monitors=("stragglers",),
        noticed_by="stragglers",
    ),
)


def _spoilt(name: str, proves: str, promises: Mapping[str, Promise], rank: int = 0) -> Drill:
    """What was saved after step 20 is spoilt, then a rank is lost."""
    return Drill(name, proves, (_at(rank, 23, name), _at(2)), promises)


_STORED = (
    _spoilt(
        "corrupt-shard",
        "a shard that was changed is refused, and the save before it used",
        _all("ft1 ft3", _SAVED_BEFORE),
    ),
    _spoilt(
        "missing-shard",
        "a shard that is gone is noticed, and the save before it used",
        _all("ft1 ft3", _SAVED_BEFORE),
    ),
    _spoilt(
        "corrupt-manifest",
        "a manifest that was changed is refused, and the save before used",
        _all("ft1 ft3", _SAVED_BEFORE),
    ),
    _spoilt(
        "flip-replica",
        "a replica that was changed is refused: another one is used, or none",
        {"ft2": _BROUGHT_BACK, "ft5": _BROUGHT_BACK, "ft6": _SAVED_BEFORE},
        rank=3,
    ),
    Drill(
        "full-storage",
        "a storage without room fails the save on all ranks, and no broken one is left",
        (_at(0, 15, "full-storage"),),
        _all("ft1 ft3", _promise(RunOutcome.GRACEFUL, RunOutcome.HALTED)),
    ),
    Drill(
        "slow-storage",
        "a storage that is slow is waited for, and nobody is taken for lost",
        (_at(0, 15, "slow-storage", params={"pause_s": 0.02}),),
        _all("ft1 ft3", _UNHARMED),
    ),
)

_COORDINATION = (
    Drill(
        "coordinator-loss",
        "the server of a parameter server is lost: brought back from what was saved",
        (_at(0, kind="coordinator-loss"),),
        _all("ft1 ft2 ft6", _SAVED)
        | _all("ft4 ft7 ft8", _FROM_ZERO)
        | {"ft3": _SAVED_BEFORE, "ft5": _EVERY_STEP, "ft9": _HALTS},
        architecture="a1-sync",
    ),
    Drill(
        "store-loss",
        "the store by which ranks meet is lost: recovered from or reported, never waited for",
        (_at(0, kind="store-loss"),),
        _all("ft1 ft2 ft3 ft4 ft5 ft6 ft7 ft8", _NOT_WAITED_FOR)
        | {"ft9": _promise(RunOutcome.GRACEFUL, RunOutcome.HALTED)},
    ),
)


def _second_loss(phase: str) -> Drill:
    return Drill(
        f"second-loss-{phase}",
        f"a second rank is lost in the phase {phase} of the first one's recovery",
        (_at(1), {"rank": 3, "kind": "crash", "phase": phase}),
        _all("ft1 ft2 ft6", _SAVED)
        | {"ft3": _SAVED_BEFORE, "ft4": _FROM_ZERO, "ft5": _EVERY_STEP}
        | _all("ft7 ft8", _KEPT),
        steps=60,
    )


_SECOND_LOSSES = tuple(
    _second_loss(phase) for phase in ("noticing", "electing", "restoring", "checking")
)


DRILLS: tuple[Drill, ...] = (
    *_LOSSES,
    *_WARNINGS,
    *_SILENT,
    *_STORED,
    *_COORDINATION,
    *_SECOND_LOSSES,
)
"""In the order in which a suite runs them."""

BY_NAME: Mapping[str, Drill] = {drill.name: drill for drill in DRILLS}


def mechanisms_of(drills: Iterable[Drill] = DRILLS) -> tuple[str, ...]:
    """The mechanisms that any of these applies to, sorted."""
    return tuple(sorted({name for drill in drills for name in drill.promises}))
