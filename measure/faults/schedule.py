"""Fault schedules: what strikes which rank, and when (paper, section V-B). Stdlib only.

A schedule is JSON: {"schema": "failbench-faults", "version": 1, "name": "F1", "spacing_s": 30,
"events": [{"rank": 3, "kind": "crash", "step": 100, "lead_s": 2.0, "params": {}},
{"rank": 5, "after_s": 30.0}]}.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from measure.errors import UsageError
from measure.faults import params as known_params
from measure.faults.kinds import FaultKind, Phase, RecoveryPhase, StartPhase, Warned
from measure.nodes.placement import ranks_beside

__all__ = [
    "FaultEvent",
    "FaultKind",
    "RecoveryPhase",
    "Schedule",
    "StartPhase",
    "check",
    "parse",
    "read_schedule",
    "victims_of",
]

SCHEMA = "failbench-faults"
VERSION = 1
_LARGEST_FILE_BYTES = 1_000_000
_LATE_SHARE = 0.1
"""What is left of its lead when a late warning comes."""
_Code = TypeVar("_Code", bound=StrEnum)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,79}")
_NAME_WORDS = "letters, digits, spaces and . _ - (1 to 80)"
_LONGEST_NAME = 60
_KEYS = {"schema", "version", "name", "spacing_s", "events"}
_WHEN = ("time_s", "step", "after_s", "phase")
_EVENT_KEYS = {"rank", "kind", *_WHEN, "lead_s", "params"}
_PHASES: Mapping[str, Phase] = {
    phase.value: phase for phases in (StartPhase, RecoveryPhase) for phase in phases
}


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """One planned fault. Exactly one of these says when: `time_s` after training started; before
    the first communication of `step` (from 0); `after_s` after event 0 struck; or the `phase`."""

    rank: int
    kind: FaultKind = FaultKind.CRASH
    time_s: float | None = None
    step: int | None = None
    after_s: float | None = None
    phase: Phase | None = None
    lead_s: float | None = None
    """How long ahead every rank is warned; None: unannounced. With `step`, the warning comes at
    that step and the fault so much later, since nobody knows when a step will be."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """What the kind takes beside (measure.faults.params)."""

    def planned(self) -> dict[str, Any]:
        """When it is to strike, as it stands in records."""
        return {key: getattr(self, key) for key in _WHEN if getattr(self, key) is not None}

    @property
    def warned(self) -> Warned | None:
        """What is wrong with the warning of it; None: nothing."""
        return Warned(self.params["warning"]) if "warning" in self.params else None

    @property
    def ends_its_rank(self) -> bool:
        """Whether the rank is lost by it: not by a false alarm, nor by what it survives."""
        return self.kind.ends_its_rank and self.warned is not Warned.FALSE

    @property
    def warned_s(self) -> float | None:
        """How long ahead the ranks hear of it; None: not at all."""
        if self.lead_s is None or self.warned is Warned.LOST:
            return None
        return self.lead_s * (_LATE_SHARE if self.warned is Warned.LATE else 1.0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The faults of one run; `name` is the trace. No events: the run without a fault."""

    name: str | None = None
    events: tuple[FaultEvent, ...] = ()
    spacing_s: float | None = None
    """Time between cascading faults, where the trace has it (F3); scaled by the profile."""

    def to_json(self) -> dict[str, Any]:
        """The schedule as a JSON object, with its schema and version."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "name": self.name,
            "spacing_s": self.spacing_s,
            "events": [_without_none(event) for event in self.events],
        }


def read_schedule(path: Path, world_size: int, nodes: int = 1) -> Schedule:
    """The schedule of a JSON file; UsageError names file, place and what would be valid."""
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            raise UsageError(f"{path}: a schedule has at most {_LARGEST_FILE_BYTES} bytes")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot read the schedule: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    try:
        schedule = parse(found)
        check(schedule, world_size, nodes)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return replace(schedule, name=_identified(schedule, path))


def _identified(schedule: Schedule, path: Path) -> str:
    """The schedule's name, or its file's, with a digest of what it does: runs under other faults
    must not be taken for runs of the same trace."""
    name = schedule.name or path.stem
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise UsageError(
            f'{path}: give the schedule a "name" of {_NAME_WORDS}, {_LONGEST_NAME} at most'
        )
    what = json.dumps(schedule.to_json()["events"], sort_keys=True)
    return f"{name}@{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def parse(found: object) -> Schedule:
    """The schedule of a JSON value; UsageError otherwise."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UsageError(f'not a fault schedule: "schema" must be "{SCHEMA}"')
    if found.get("version") != VERSION:
        raise UsageError(f'"version" is {found.get("version")!r}: this version reads {VERSION}')
    unknown = set(found) - _KEYS
    if unknown:
        raise UsageError(
            f"unknown key {sorted(unknown)[0]!r}: known are {', '.join(sorted(_KEYS))}"
        )
    name = found.get("name")
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        raise UsageError(f'"name" must be {_NAME_WORDS}')
    events = found.get("events")
    if not isinstance(events, list):
        raise UsageError('"events" must be a list')
    return Schedule(
        name,
        tuple(_event(number, event) for number, event in enumerate(events)),
        _number(found, "spacing_s", "schedule"),
    )


def check(schedule: Schedule, world_size: int, nodes: int = 1) -> None:
    """Raises UsageError unless every event can happen in a run of `world_size` ranks on `nodes`
    nodes."""
    for number, event in enumerate(schedule.events):
        _check_kind(event, f"event {number}")
        _check_lead(event, f"event {number}")
        if not 0 <= event.rank < world_size:
            raise UsageError(
                f"event {number}: there is no rank {event.rank} of {world_size}: "
                f"valid are 0 to {world_size - 1}"
            )
        if event.kind.strikes_a_node and nodes < 2:
            raise UsageError(
                f"event {number}: a {event.kind.value} needs ranks on several nodes:"
                " give --nodes 2 or more"
            )
    victims = [rank for event in schedule.events for rank in victims_of(event, world_size, nodes)]
    for rank in victims:
        if victims.count(rank) > 1:
            raise UsageError(f"rank {rank} fails twice; a rank that is gone cannot fail again")
    announced = [event.rank for event in schedule.events if event.lead_s is not None]
    for rank in announced:
        if announced.count(rank) > 1:
            raise UsageError(f"rank {rank} is announced twice: one warning is about one rank")
    follow = any(event.after_s is not None for event in schedule.events)
    if follow and schedule.events[0].kind is FaultKind.HANG:
        raise UsageError("after_s needs an event 0 that somebody hears of: any kind but hang")
    if len(victims) >= world_size:
        raise UsageError(f"all {world_size} ranks fail: at least one must be left")


def victims_of(event: FaultEvent, world_size: int, nodes: int) -> list[int]:
    """The ranks that are lost by this fault, as long as each is where it began."""
    if not event.ends_its_rank:
        return []
    if event.kind.strikes_a_node:
        return ranks_beside(event.rank, world_size, nodes)
    return [event.rank]


def _event(number: int, found: object) -> FaultEvent:
    where = f"event {number}"
    if not isinstance(found, dict):
        raise UsageError(f"{where}: must be an object")
    unknown = set(found) - _EVENT_KEYS
    if unknown:
        raise UsageError(
            f"{where}: unknown key {sorted(unknown)[0]!r}:"
            f" known are {', '.join(sorted(_EVENT_KEYS))}"
        )
    kind = _choice(found, "kind", {each.value: each for each in FaultKind}, where)
    kind = kind or FaultKind.CRASH
    event = FaultEvent(
        rank=_whole(found, "rank", where, required=True) or 0,
        kind=kind,
        time_s=_number(found, "time_s", where),
        step=_whole(found, "step", where),
        after_s=_number(found, "after_s", where),
        phase=_choice(found, "phase", _PHASES, where),
        lead_s=_number(found, "lead_s", where),
        params=known_params.checked(kind, found.get("params", {}), where),
    )
    _check_when(number, event, where)
    return event


def _check_when(number: int, event: FaultEvent, where: str) -> None:
    if len(event.planned()) != 1:
        raise UsageError(f"{where}: give exactly one of {', '.join(_WHEN)}")
    if event.after_s is not None and number == 0:
        raise UsageError(f"{where}: after_s counts from event 0, which needs another time")
    if isinstance(event.phase, RecoveryPhase) and number == 0:
        raise UsageError(
            f"{where}: {event.phase.value} is a phase of the recovery from event 0, which needs"
            " another time"
        )
    _check_kind(event, where)
    _check_lead(event, where)


def _check_kind(event: FaultEvent, where: str) -> None:
    kind = event.kind
    survived = not kind.ends_its_rank
    if (kind.strikes_a_node or survived) and event.phase is not None:
        raise UsageError(f"{where}: a {kind.value} strikes while training, not at a phase")
    if survived and event.lead_s is not None:
        raise UsageError(
            f"{where}: a {kind.value} cannot be announced: only what ends its rank can be"
        )
    if event.warned is not None and event.lead_s is None:
        raise UsageError(
            f"{where}: a {event.warned.value} warning is of an announced fault: give lead_s"
        )
    if kind is FaultKind.PARTIAL_RESTORE and not event.step:
        raise UsageError(f"{where}: a {kind.value} needs a step, 1 or more")


def _check_lead(event: FaultEvent, where: str) -> None:
    ahead = event.time_s if event.time_s is not None else event.after_s
    if event.lead_s is not None and ahead is not None and event.lead_s > ahead:
        raise UsageError(
            f"{where}: the lead of {event.lead_s:g} s must be at most {ahead:g} s, the time of the"
            " fault"
        )
    if event.lead_s is not None and event.phase is not None:
        raise UsageError(f"{where}: a fault at a phase cannot be announced")


def _number(found: Mapping[str, Any], key: str, where: str) -> float | None:
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where}: {key} must be a number of seconds")
    if not math.isfinite(value) or value < 0 or value > 1e9:
        raise UsageError(f"{where}: {key} must be from 0 to 1e9 seconds")
    return float(value)


def _whole(found: Mapping[str, Any], key: str, where: str, *, required: bool = False) -> int | None:
    value = found.get(key)
    if value is None and not required:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**9:
        raise UsageError(f"{where}: {key} must be a whole number, 0 or more")
    return value


def _choice(
    found: Mapping[str, Any], key: str, known: Mapping[str, _Code], where: str
) -> _Code | None:
    value = found.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{where}: unknown {key} {value!r}: known are {', '.join(known)}")
    return known[value]


def _without_none(event: FaultEvent) -> dict[str, Any]:
    told = ((each.name, getattr(event, each.name)) for each in fields(event))
    return {key: value for key, value in told if value is not None}
