"""From a mechanism's name to its plug-in; imports it only then, since plug-ins need torch.

`ft4+ft2+ft1` is a name too: a mechanism of three tiers, the preferred first.
"""

import importlib
from typing import TYPE_CHECKING

from measure.errors import MissingLibraryError, UsageError
from measure.interfaces.capabilities import Cadence, MechanismEntry
from measure.mechanisms.catalogue import MECHANISMS

if TYPE_CHECKING:
    from measure.interfaces.mechanism import Mechanism


def entry_named(name: str) -> MechanismEntry:
    """The catalogue's line, or the one that a composed name (`ft2+ft1`) makes; UsageError with
    what would be valid otherwise."""
    parts = [_single(part) for part in name.split("+")]
    return parts[0] if len(parts) == 1 else _composed(name, parts)


def load(name: str) -> "Mechanism":
    """A mechanism, ready to be attached."""
    entry = entry_named(name)
    if not entry.parts:
        return _loaded(entry)
    from measure.mechanisms.composed import Composed

    periodic = [part.cadence is Cadence.PERIODIC for part in entry.parts]
    return Composed([_loaded(part) for part in entry.parts], periodic)


def _single(name: str) -> MechanismEntry:
    for entry in MECHANISMS:
        if entry.mechanism == name:
            return entry
    raise UsageError(
        f"unknown mechanism {name!r}: known are {', '.join(e.mechanism for e in MECHANISMS)},"
        " and tiers of them such as ft4+ft2+ft1"
    )


def _composed(name: str, parts: list[MechanismEntry]) -> MechanismEntry:
    names = [part.mechanism for part in parts]
    keeping = [e.mechanism for e in MECHANISMS if e.cadence is not Cadence.NEVER]
    if len(set(names)) < len(names) or not set(names) <= set(keeping):
        raise UsageError(f"{name}: tiers are different ones of {', '.join(keeping)}")
    ways = [way for way in parts[0].ways if all(way in part.ways for part in parts)]
    return MechanismEntry(
        name,
        tuple(dict.fromkeys(needed for part in parts for needed in part.requires)),
        ways=tuple(ways),
        replicas=max(part.replicas for part in parts),
        parts=tuple(parts),
    )


def _loaded(entry: MechanismEntry) -> "Mechanism":
    module, _, plugin = entry.plugin.partition(":")
    try:
        found: type[Mechanism] = getattr(importlib.import_module(module), plugin)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{entry.mechanism} needs {error.name}, which is not installed:"
            " pip install 'failbench-advisor[measure]'"
        ) from error
    return found()
