"""Which kind of fault is tried on which mechanism, and where not, why. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from advisor.drills.catalogue import EVERY_MECHANISM
from advisor.drills.drill import Drill

_WARNINGS: Mapping[str, str] = {
    "lost": "lost-warning",
    "late": "late-warning",
    "false": "false-alarm",
}
IN_A_RECOVERY = "fault-in-a-recovery"
_STARTS = ("starting", "forming-groups")

_MEMORY = "ft2 ft5 ft6"
_STORAGE = "ft1 ft3 ft4"
_EVERY = tuple(EVERY_MECHANISM.split())


def _but(names: str) -> tuple[str, ...]:
    return tuple(name for name in _EVERY if name not in names.split())


_OF_STORAGE = ("full-storage", "slow-storage", "corrupt-shard", "missing-shard", "corrupt-manifest")
_UNTRIED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "partition": (_EVERY, "needs hosts whose link can be cut, which one machine has not"),
    "flip-replica": (_but(_MEMORY), "keeps no state in a peer's memory"),
    **dict.fromkeys(_OF_STORAGE, (_but(_STORAGE), "writes nothing to storage")),
    **dict.fromkeys(_WARNINGS.values(), (_but("ft4"), "does nothing on a warning")),
}
_LATE = "saves only when it is warned, so that nothing is stored before"
_ALSO_UNTRIED: Mapping[tuple[str, str], str] = {
    **{(kind, "ft4"): _LATE for kind in _OF_STORAGE},
    (IN_A_RECOVERY, "ft9"): "recovers from nothing",
}


@dataclass(frozen=True, slots=True)
class Tried:
    """A kind of fault on a mechanism: the drills that try it, or why there is none."""

    kind: str
    mechanism: str
    drills: tuple[str, ...]
    reason: str
    """Empty where there are drills; empty beside no drill is a gap."""


def kinds_of(drill: Drill) -> set[str]:
    """The kinds of fault that a drill strikes with. One that is warned of wrongly is a kind of its
    own, and so is one that strikes a recovery."""
    found = set()
    for event in drill.events:
        warning = event.get("params", {}).get("warning")
        phase = event.get("phase")
        if warning is not None:
            found.add(_WARNINGS[warning])
        elif phase is not None and phase not in _STARTS:
            found.add(IN_A_RECOVERY)
        else:
            found.add(event["kind"])
    return found


def tried(drills: Sequence[Drill], kinds: Iterable[str]) -> list[Tried]:
    """Every one of these kinds, and those that drills add, on every mechanism; in the order of the
    kinds' names."""
    drilled = {kind for drill in drills for kind in kinds_of(drill)}
    return [
        _tried(kind, mechanism, drills)
        for kind in sorted(drilled | set(kinds))
        for mechanism in _EVERY
    ]


def _tried(kind: str, mechanism: str, drills: Sequence[Drill]) -> Tried:
    names = tuple(d.name for d in drills if kind in kinds_of(d) and mechanism in d.promises)
    return Tried(kind, mechanism, names, "" if names else _reason(kind, mechanism))


def _reason(kind: str, mechanism: str) -> str:
    where, why = _UNTRIED.get(kind, ((), ""))
    return why if mechanism in where else _ALSO_UNTRIED.get((kind, mechanism), "")


def rows(pairs: Sequence[Tried]) -> tuple[list[str], list[list[str]], list[str]]:
    """A table of them: its header, a row a kind with the number of drills on each mechanism or a
    letter, and what the letters say."""
    letters: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.drills:
            cell = str(len(pair.drills))
        else:
            cell = letters.setdefault(pair.reason, chr(ord("a") + len(letters)))
        lines.setdefault(pair.kind, [pair.kind]).append(cell)
    header = ["kind of fault", *(name.upper() for name in _EVERY)]
    return header, list(lines.values()), [f"{letter} {why}" for why, letter in letters.items()]
