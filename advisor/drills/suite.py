"""Which drills are run, and the files that say so to the harness. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.drills.drill import INTERVAL_STEPS, Drill, Promise
from advisor.errors import UserError
from db.drill_verdict import SEPARATOR

_SCHEDULE = {"schema": "failbench-faults", "version": 1}
MONITORS_KEY = "monitors"
"""The key of campaign files that switches monitors on."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A drill, and the mechanisms on which it is tried."""

    drill: Drill
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A drill that the harness of this version cannot run, and why."""

    drill: str
    reason: str


@dataclass(frozen=True, slots=True)
class Suite:
    """What one command runs, and what it leaves out."""

    chosen: tuple[Chosen, ...]
    skipped: tuple[Skipped, ...]

    @property
    def runs(self) -> int:
        """How many runs it takes: one for each drill and mechanism."""
        return sum(len(each.mechanisms) for each in self.chosen)


@dataclass(frozen=True, slots=True)
class Known:
    """What the harness understands, from the schemas of its schedules and of its campaign files."""

    kinds: frozenset[str]
    phases: frozenset[str]
    takes_params: bool
    keys: frozenset[str]


def known_of(schedules: Mapping[str, Any], campaigns: Mapping[str, Any]) -> Known:
    """What these two JSON schemas admit."""
    event = schedules["$defs"]["event"]["properties"]
    return Known(
        kinds=frozenset(filter(None, event["kind"]["enum"])),
        phases=frozenset(filter(None, event["phase"]["enum"])),
        takes_params=event["params"].get("maxProperties") != 0,
        keys=frozenset(campaigns["$defs"]["keys"]["properties"]),
    )


def suite_of(
    drills: Sequence[Drill],
    known: Known,
    names: Sequence[str] = (),
    mechanisms: Sequence[str] = (),
) -> Suite:
    """The drills of these names that apply to these mechanisms; without names all. Raises
    UserError, with the known ones, for a name that is none, or where nothing is left."""
    _require([drill.name for drill in drills], names, "drill")
    there = sorted({name for drill in drills for name in drill.promises})
    _require(there, mechanisms, "mechanism with drills")
    wanted = [drill for drill in drills if not names or drill.name in names]
    chosen: list[Chosen] = []
    skipped: list[Skipped] = []
    for drill in wanted:
        tried = tuple(m for m in drill.promises if not mechanisms or m in mechanisms)
        reason = unknown_words(drill, known)
        if tried and reason:
            skipped.append(Skipped(drill.name, reason))
        elif tried:
            chosen.append(Chosen(drill, tried))
    if not chosen and not skipped:
        applies = ", ".join(sorted({name for drill in wanted for name in drill.promises}))
        raise UserError(f"none of these drills applies to {', '.join(mechanisms)}: to {applies}")
    return Suite(tuple(chosen), tuple(skipped))


def _require(known: Sequence[str], named: Sequence[str], what: str) -> None:
    for name in named:
        if name not in known:
            raise UserError(f"unknown {what} {name!r}: known are {', '.join(known)}")


def unknown_words(drill: Drill, known: Known) -> str:
    """What of a drill the harness does not know; empty where it knows all."""
    kinds = {event["kind"] for event in drill.events} - known.kinds
    phases = {event["phase"] for event in drill.events if "phase" in event} - known.phases
    missing = [f"the kind of fault {kind}" for kind in sorted(kinds)]
    missing += [f"the phase {phase}" for phase in sorted(phases)]
    if not missing and not known.takes_params and any(e.get("params") for e in drill.events):
        missing.append("params of faults")
    if drill.monitors and MONITORS_KEY not in known.keys:
        missing.append("monitors")
    return f"the harness of this version does not know {', '.join(missing)}" if missing else ""


def schedule_file(drill: Drill) -> dict[str, Any]:
    """The fault schedule of a drill, as the harness reads it."""
    events = [dict(event) for event in drill.events]
    return {**_SCHEDULE, "name": drill.trace, "events": events}


def campaign_file(
    chosen: Sequence[Chosen], traces: Mapping[str, str], common: Mapping[str, Any]
) -> dict[str, Any]:
    """A campaign file of drills: a block each. `traces` has the file of each drill's schedule by
    its name, `common` what is the same for all runs, its profile among it."""
    said = {key: value for key, value in common.items() if value is not None}
    return {**said, "block": [_block(each, traces, common["profile"]) for each in chosen]}


def _block(each: Chosen, traces: Mapping[str, str], profile: str) -> dict[str, Any]:
    drill = each.drill
    monitors = {MONITORS_KEY: ",".join(drill.monitors)} if drill.monitors else {}
    return {
        "architecture": drill.architecture,
        "mechanism": list(each.mechanisms),
        "trace": traces[drill.name],
        "steps": drill.steps_in(profile),
        "interval": INTERVAL_STEPS,
        **monitors,
        **drill.settings,
    }


def expected_row(drill: Drill, promise: Promise) -> dict[str, Any]:
    """What is stored of a promise before its run: columns of `drills`."""
    return {
        "drill": drill.name,
        "architecture": drill.architecture,
        "expected": SEPARATOR.join(sorted(promise.outcomes)),
        "most_lost_steps": promise.most_lost_steps,
        "noticed_by": drill.noticed_by,
        "deadline_s": drill.deadline_s,
    }
