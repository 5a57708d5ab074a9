"""From a mechanism's name to its plug-in; imports it only then, since plug-ins need torch."""

import importlib

from measure.errors import MissingLibraryError, UsageError
from measure.interfaces.capabilities import MechanismEntry
from measure.interfaces.mechanism import Mechanism
from measure.mechanisms.catalogue import MECHANISMS


def entry_named(name: str) -> MechanismEntry:
    """The catalogue's line; UsageError with the known names otherwise."""
    for entry in MECHANISMS:
        if entry.mechanism == name:
            return entry
    raise UsageError(
        f"unknown mechanism {name!r}: known are {', '.join(e.mechanism for e in MECHANISMS)}"
    )


def load(name: str) -> type[Mechanism]:
    """The plug-in's class; UsageError if this version has none."""
    entry = entry_named(name)
    if not entry.plugin:
        measured = ", ".join(e.mechanism for e in MECHANISMS if e.plugin)
        raise UsageError(f"this version does not run {name} yet: it runs {measured}")
    module, _, plugin = entry.plugin.partition(":")
    try:
        found: type[Mechanism] = getattr(importlib.import_module(module), plugin)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{name} needs {error.name}, which is not installed:"
            " pip install 'failbench-advisor[measure]'"
        ) from error
    return found
