"""What an event may say in `params`, by kind; each complaint is one line. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from measure.errors import UsageError
from measure.faults.kinds import FaultKind, Warned

COMPUTE, NETWORK = "compute", "network"
"""What of a straggler is slow."""


class Check(Protocol):
    """What a value must be."""

    def complaint(self, value: object) -> str:
        """What it must be, in words; empty where it is."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`, whole if `whole`."""

    low: float
    high: float
    whole: bool = False

    def complaint(self, value: object) -> str:
        """See Check."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self._takes(value):
            return ""
        kind = "whole number" if self.whole else "number"
        return f"a {kind} from {self.low:g} to {self.high:g}"

    def _takes(self, value: Any) -> bool:
        inside: bool = self.low <= value <= self.high
        return inside and not (self.whole and isinstance(value, float))


@dataclass(frozen=True, slots=True)
class Word:
    """One of some words."""

    known: tuple[str, ...]

    def complaint(self, value: object) -> str:
        """See Check."""
        return "" if value in self.known else f"one of {', '.join(self.known)}"


_FACTOR = Number(1.01, 1000.0)
_SEED = Number(0, 2**31, whole=True)
_FLIP: Mapping[str, Check] = {"bit": Number(0, 31, whole=True), "seed": _SEED}
_CHOSEN: Mapping[str, Check] = {"seed": _SEED}
_WARNED: Mapping[str, Check] = {"warning": Word(tuple(each.value for each in Warned))}
PARAMS: Mapping[FaultKind, Mapping[str, Check]] = {
    **{kind: _WARNED for kind in FaultKind if kind.ends_its_rank},
    FaultKind.STRAGGLER: {
        "factor": _FACTOR,
        "what": Word((COMPUTE, NETWORK)),
        "steps": Number(1, 10**9, whole=True),
    },
    FaultKind.PARTIAL_RESTORE: _CHOSEN,
    FaultKind.FLIP_PARAMETER: _FLIP,
    FaultKind.FLIP_GRADIENT: _FLIP,
    FaultKind.FLIP_BUFFER: _FLIP,
    FaultKind.FLIP_REPLICA: _FLIP,
    FaultKind.SLOW_STORAGE: {"factor": _FACTOR, "pause_s": Number(0.001, 60.0)},
    FaultKind.CORRUPT_SHARD: _CHOSEN,
    FaultKind.CORRUPT_MANIFEST: _CHOSEN,
}
"""The names that a kind knows; a kind that is not here takes none."""
_ONE_OF: Mapping[FaultKind, Sequence[str]] = {
    FaultKind.STRAGGLER: ("factor",),
    FaultKind.SLOW_STORAGE: ("factor", "pause_s"),
}
"""Exactly one of these has to be given."""


def checked(kind: FaultKind, found: object, where: str) -> Mapping[str, Any]:
    """The params of an event of this kind; UsageError, with what would be valid, otherwise."""
    if not isinstance(found, Mapping):
        raise UsageError(f"{where}: params must be an object")
    known = PARAMS.get(kind, {})
    for name, value in found.items():
        if not known:
            raise UsageError(f"{where}: params must be empty: a {kind.value} takes none")
        if name not in known:
            raise UsageError(
                f"{where}: unknown params {name!r}: a {kind.value} takes {', '.join(known)}"
            )
        if complaint := known[name].complaint(value):
            raise UsageError(f"{where}: params {name} must be {complaint}")
    needed = _ONE_OF.get(kind, ())
    if needed and sum(name in found for name in needed) != 1:
        said = " or ".join(needed)
        raise UsageError(f"{where}: a {kind.value} needs params {said}")
    return dict(found)
