"""From the names in a job to its monitors; torch is imported only then."""

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from measure.monitors.catalogue import Setting, settings_of

if TYPE_CHECKING:
    from measure.interfaces.monitor import Monitor


def load(names: Iterable[str]) -> "list[Monitor]":
    """The monitors, ready to be attached."""
    return [_loaded(setting) for setting in settings_of(names)]


def _loaded(setting: Setting) -> "Monitor":
    module, _, plugin = setting.entry.plugin.partition(":")
    made: Monitor = getattr(importlib.import_module(module), plugin)(setting.interval_steps)
    return made
