"""What `pareto` and `crossover` share: a scenario that excludes nothing that was measured.

They look at measurements rather than decide for a job, so a warning always comes in time and the
interval is the measured one unless stated.
"""

from collections.abc import Mapping
from typing import Any

from advisor.characterization import require_architecture
from advisor.errors import UserError
from advisor.inputs import scenario_input
from advisor.scenario import IntervalPolicy, ScenarioInput
from db.excerpt import Near
from db.records import ClusterEvidence

ALWAYS_IN_TIME_S = 86_400.0
UNUSED_MTBF_S = 86_400.0
"""Stands in for an MTBF where nothing that is printed depends on it."""


def permissive_input(
    options: Mapping[str, Any], evidence: ClusterEvidence, *, needs_mtbf: bool
) -> ScenarioInput:
    """Fills in what makes every measured mechanism comparable. Raises UserError."""
    values = dict(options)
    require_architecture(evidence, values["architecture"])
    if values.get("state_bytes") is None:
        values["state_bytes"] = smallest_state_bytes(evidence, values["architecture"])
    if values.get("interval") is None:
        values["interval"] = IntervalPolicy.MEASURED
    if values.get("mtbf_s") is None:
        if needs_mtbf or values["interval"] is IntervalPolicy.AUTO:
            raise UserError("this depends on the MTBF: give --mtbf, such as 4h")
        values["mtbf_s"] = UNUSED_MTBF_S
    if values.get("warning_lead_s") is None:
        values["warning_lead_s"] = ALWAYS_IN_TIME_S
        values["warning_coverage"] = 1.0
    return scenario_input(values)


def smallest_state_bytes(evidence: ClusterEvidence, architecture: str) -> int:
    """The smallest state size that was measured on the architecture."""
    return min(p.state_bytes for p in evidence.points if p.architecture == architecture)


def near_of(options: Mapping[str, Any]) -> Near:
    """What of a cluster with very many operating points such a command reads."""
    return Near(options["architecture"], options["state_bytes"])
