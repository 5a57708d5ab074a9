"""From command-line options to a `ScenarioInput`."""

from collections.abc import Mapping
from typing import Any

from advisor.scenario import FailureRegime, RestoreBasis, ScenarioInput

_CHOICES = {"failure_regime": FailureRegime, "restore_basis": RestoreBasis}


def scenario_input(options: Mapping[str, Any]) -> ScenarioInput:
    """What the user typed; names in lower case, choices as enums. Raises UserError."""
    values = dict(options)
    values["architecture"] = values["architecture"].strip().lower()
    for name, kind in _CHOICES.items():
        if values.get(name) is not None:
            values[name] = kind(values[name])
    return ScenarioInput(**values)
