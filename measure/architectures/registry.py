"""From an architecture's name to its class; torch is imported when a class is loaded."""

import importlib
from typing import TYPE_CHECKING

from measure.architectures.catalogue import ARCHITECTURES
from measure.errors import UsageError
from measure.interfaces.capabilities import ArchitectureEntry

if TYPE_CHECKING:
    from measure.interfaces.architecture import Architecture


def entry_named(name: str) -> ArchitectureEntry:
    """The architecture's entry; UsageError with the known names otherwise."""
    for entry in ARCHITECTURES:
        if entry.architecture == name:
            return entry
    known = ", ".join(a.architecture for a in ARCHITECTURES)
    raise UsageError(f"unknown architecture {name!r}: known are {known}")


def load(entry: ArchitectureEntry) -> "type[Architecture]":
    """The class that implements the entry."""
    module, _, attribute = entry.plugin.partition(":")
    plugin: type[Architecture] = getattr(importlib.import_module(module), attribute)
    return plugin
