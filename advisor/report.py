"""A report: the recommendation with what a meeting asks next, and how to make it again."""

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.inputs import written
from advisor.recommendation import Recommendation
from advisor.reports.document import scenario_document
from advisor.scenario import Scenario
from advisor.sensitivity import (
    MtbfCurves,
    TornadoBar,
    WinnerMap,
    mtbf_curves,
    mtbf_grid,
    tornado,
    winner_map,
)
from db.records import ClusterEvidence

_MAP_SIZES = 25
_MAP_DECADES = 3.0
_MAP_REACH = 4.0


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How the answer moves with its inputs."""

    curves: MtbfCurves
    winners: WinnerMap
    tornado: tuple[TornadoBar, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All that a report shows. `sensitivity` is None where `note` says why."""

    recommendation: Recommendation
    mechanisms: tuple[str, ...]
    sensitivity: Sensitivity | None
    note: str
    command: str
    scenario_sha256: str


def make_report(recommendation: Recommendation, evidence: ClusterEvidence) -> Report:
    """A report on an answer that was computed from this evidence."""
    return _report(recommendation, evidence, sensitivity_of(evidence, recommendation.scenario), "")


def make_saved_report(
    recommendation: Recommendation, evidence: ClusterEvidence, data_version: str
) -> Report:
    """A report on a saved answer: its sensitivity only if the evidence is still the same."""
    if recommendation.versions.data_version == data_version:
        return make_report(recommendation, evidence)
    note = "the measurements have changed since this was saved, so its sensitivity is left out"
    return _report(recommendation, evidence, None, note)


def sensitivity_of(evidence: ClusterEvidence, scenario: Scenario) -> Sensitivity:
    """Curves, map and tornado around one scenario."""
    return Sensitivity(
        mtbf_curves(evidence, scenario, mtbf_grid(scenario.mtbf_s)),
        winner_map(
            evidence,
            scenario,
            mtbf_grid(scenario.mtbf_s, _MAP_DECADES, 61),
            size_grid(evidence, scenario),
        ),
        tornado(evidence, scenario),
    )


def size_grid(evidence: ClusterEvidence, scenario: Scenario) -> NDArray[np.int64]:
    """State sizes around the scenario's, as far as any measurement of the architecture reaches."""
    sizes = [p.state_bytes for p in evidence.points if p.architecture == scenario.architecture]
    low = min(*sizes, scenario.state_bytes) / _MAP_REACH
    high = max(*sizes, scenario.state_bytes) * _MAP_REACH
    return np.maximum(np.geomspace(low, high, _MAP_SIZES).round(), 1.0).astype(np.int64)


def command_line(scenario: Scenario) -> str:
    """The command that gives the answer again, with the assumptions spelled out."""
    parts = ["advisor", "recommend"]
    for option, text in written(scenario, assumed=True).items():
        parts += [f"--{option}", text]
    return shlex.join(parts)


def scenario_digest(scenario: Scenario) -> str:
    """SHA-256 of the scenario's inputs, as 64 hexadecimal digits."""
    document: Mapping[str, Any] = scenario_document(scenario)
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _report(
    recommendation: Recommendation,
    evidence: ClusterEvidence,
    sensitivity: Sensitivity | None,
    note: str,
) -> Report:
    return Report(
        recommendation=recommendation,
        mechanisms=tuple(evidence.mechanisms),
        sensitivity=sensitivity,
        note=note,
        command=command_line(recommendation.scenario),
        scenario_sha256=scenario_digest(recommendation.scenario),
    )
