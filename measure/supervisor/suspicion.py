"""What is done about a suspicion (seed 002): how far a recovery goes follows from the evidence.

Ranks that all prove one state, at the step up to which a monitor proved it good, may try again
from there. Any difference, and any doubt, sends all of them back behind the moment at which the
failure may have begun: to a state that was proved good. Who was a suspect before is replaced.
All of it is pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from measure.interfaces.monitor import Suspicion


class Scope(StrEnum):
    """How far a recovery goes."""

    REPORT = "report"
    """Nothing is done: it is written down."""
    RETRY = "retry"
    """The same processes try again from the newest state: all prove one that is good."""
    REBUILD = "rebuild"
    """As retry, with another process in the place of a suspect."""
    ROLLBACK = "rollback"
    """All go back behind the onset; states beyond it are poisoned."""
    HALT = "halt"
    """Nothing can bring training back: the run ends."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """The process that trained as a rank, and the node that it is on (None: there is one only)."""

    slot: int
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier incident of the run."""

    monitors: frozenset[str]
    step: int
    restored_step: int
    """The step at which training went on."""
    suspects: tuple[Suspect, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done. `why` is the line for lineage."""

    scope: Scope
    not_after: int | None
    """States of more steps are poisoned; None: none is."""
    suspects: tuple[Suspect, ...]
    quarantined: tuple[Suspect, ...]
    """Whose places others take."""
    why: str


def suspicion_of(message: Mapping[str, Any]) -> Suspicion:
    """What a rank said over its pipe."""
    return Suspicion(
        monitor=message["monitor"],
        step=message["step"],
        proved_step=message["proved_step"],
        ranks=tuple(message["ranks"]),
        why=message["why"],
        kind=message["kind"],
        severity=message["severity"],
    )


def decide(
    said: Sequence[Suspicion],
    members: Mapping[int, Suspect],
    aligned: bool,
    past: Sequence[Past],
    recovers: bool,
) -> Decision:
    """The answer to all that was `said` in one generation.

    `members` are its processes by rank; where most of them are suspects, nobody knows which to
    replace. `aligned`: every one of them showed that it stands at one state with all others.
    `past`: the incidents before, in order. `recovers`: there is a way back to training.
    """
    stops = [each for each in said if each.severity == "stop"]
    named = suspects_of(stops or said, members)
    if not stops:
        return Decision(Scope.REPORT, None, named, (), f"reported: {_first(said)}")
    if not recovers:
        return Decision(Scope.HALT, None, named, (), f"nothing brings it back: {_first(stops)}")
    quarantined = to_quarantine(named, past) if 2 * len(named) <= len(members) else ()
    again = _again(stops, past)
    if aligned and not again and all(each.proved_step >= each.step for each in stops):
        scope = Scope.REBUILD if quarantined else Scope.RETRY
        verb = "formed anew" if quarantined else "tried again"
        why = f"{verb} at step {stops[0].step}: {_first(stops)}"
        return Decision(scope, None, named, quarantined, why)
    not_after = min(each.proved_step for each in stops)
    if again:
        # What was taken for good has led here before: an older state is tried.
        not_after = max(0, min([not_after, *(each.restored_step - 1 for each in again)]))
    why = f"rolled back behind step {not_after}: {_first(stops)}"
    return Decision(Scope.ROLLBACK, not_after, named, quarantined, why)


def joined(before: Decision | None, found: Decision) -> Decision:
    """What is to be done where a decision was still to be carried out when another came."""
    if before is None:
        return found
    both = [each.not_after for each in (before, found) if each.not_after is not None]
    return replace(
        found,
        scope=Scope.ROLLBACK if both and found.scope is not Scope.HALT else found.scope,
        not_after=min(both, default=None),
        why=f"{before.why}; {found.why}",
    )


def suspects_of(said: Sequence[Suspicion], members: Mapping[int, Suspect]) -> tuple[Suspect, ...]:
    """The processes that somebody named, in the order of their ranks."""
    ranks = sorted({rank for each in said for rank in each.ranks})
    return tuple(members[rank] for rank in ranks if rank in members)


def to_quarantine(suspects: Sequence[Suspect], past: Sequence[Past]) -> tuple[Suspect, ...]:
    """Those that were suspects before, or whose node had one: what fails again is not tried a third
    time."""
    earlier = [suspect for incident in past for suspect in incident.suspects]
    slots = {suspect.slot for suspect in earlier}
    nodes = {suspect.node for suspect in earlier if suspect.node is not None}
    return tuple(each for each in suspects if each.slot in slots or each.node in nodes)


def _again(stops: Sequence[Suspicion], past: Sequence[Past]) -> list[Past]:
    """The incidents after which training came no further than the same monitor."""
    step = min(each.step for each in stops)
    monitors = {each.monitor for each in stops}
    return [incident for incident in past if incident.monitors & monitors and step <= incident.step]


def _first(said: Sequence[Suspicion]) -> str:
    """The first one in words; how many others said something else."""
    words = list(dict.fromkeys(f"{each.monitor}: {each.why}" for each in said))
    more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
    return words[0] + more if words else "nothing was said"
