"""Fills in what the user did not state, and says of each filled value where it comes from."""

from dataclasses import fields
from typing import Any

from advisor.characterization import (
    Origin,
    bandwidth_bytes_per_s,
    detection_s,
    nearest_step_time_s,
    only_state_size,
    regroup_s,
    require_architecture,
    require_mechanisms,
)
from advisor.errors import NoDataError, UserError
from advisor.scenario import (
    FailureRegime,
    FewerRanks,
    IntervalPolicy,
    RestoreBasis,
    Scenario,
    ScenarioInput,
)
from advisor.units import SIZE_EXAMPLE, format_bytes
from db.records import ClusterEvidence, TransferPath

DEFAULT_CLUSTER = "matilda-8xv100"
DEFAULT_DURATION_S = 30 * 86400.0
DEFAULT_REGROUP_S = 5.0
"""Inside the paper's sensitivity range of 2-10 s for T_PG (section VII-D)."""
DEFAULT_INIT_S = 0.0
"""T_init is 'fixed or negligible' (section VII-D)."""


def resolve(inputs: ScenarioInput, evidence: ClusterEvidence) -> Scenario:
    """The scenario with every default filled in from the cluster's evidence.

    Raises UserError for an unknown architecture or mechanism, and where the state size is needed;
    NoDataError where the cluster measured nothing that a needed default could come from.
    """
    require_architecture(evidence, inputs.architecture)
    require_mechanisms(evidence, inputs.mechanisms or ())
    values: dict[str, Any] = {f.name: getattr(inputs, f.name) for f in fields(ScenarioInput)}
    assumed: dict[str, str] = {}
    if inputs.state_bytes is None:
        values["state_bytes"], assumed["state_bytes"] = _state_size(inputs, evidence)
    state_bytes: int = values["state_bytes"]
    for name, origin in _defaults(inputs, evidence, state_bytes).items():
        if values[name] is None and origin is not None:
            values[name], assumed[name] = origin
    return Scenario(**values, assumed=assumed)


def _defaults(
    inputs: ScenarioInput, evidence: ClusterEvidence, state_bytes: int
) -> dict[str, tuple[Any, str] | None]:
    cluster = evidence.cluster
    return {
        "cluster": (cluster.cluster, "the default cluster"),
        "step_time_s": None if inputs.step_time_s else _step_time(inputs, evidence, state_bytes),
        "duration_s": (DEFAULT_DURATION_S, "default: 30 d of failure-free training"),
        "detection_s": None if inputs.detection_s is not None else _detection(inputs, evidence),
        "regroup_s": _regroup(inputs, evidence),
        "init_s": (DEFAULT_INIT_S, "assumed negligible, as the paper does"),
        "interval": (IntervalPolicy.AUTO, "default: the interval that minimises Eq. (5)"),
        "failure_regime": (FailureRegime.SINGLE, "default: one worker lost at a time (F1)"),
        "fewer_ranks": (FewerRanks.REFUSE, "default: the job keeps its size"),
        "restore_basis": (
            RestoreBasis.PUBLISHED,
            "default: the operating points' own restore times",
        ),
        "warning_coverage": (
            (1.0, "assumed: every failure is announced, since a warning lead is given")
            if inputs.warning_lead_s is not None
            else None
        ),
        "storage_write_bytes_per_s": _bandwidth(evidence, TransferPath.STORAGE_WRITE),
        "storage_read_bytes_per_s": _bandwidth(evidence, TransferPath.STORAGE_READ),
        "host_memory_bytes": _memory(cluster.host_memory_bytes, "per node of"),
        "device_memory_bytes": _memory(cluster.device_memory_bytes, "per device of"),
    }


def _state_size(inputs: ScenarioInput, evidence: ClusterEvidence) -> tuple[int, str]:
    found = only_state_size(evidence, inputs.architecture)
    if found is None:
        architecture = inputs.architecture
        sizes = sorted({p.state_bytes for p in evidence.points if p.architecture == architecture})
        if not sizes:
            raise NoDataError(f"{evidence.cluster.cluster} measured nothing on {architecture}")
        raise UserError(
            f"state-size is missing: {evidence.cluster.cluster} measured {architecture} with "
            f"{', '.join(map(format_bytes, sizes))} a rank; write yours, such as {SIZE_EXAMPLE}"
        )
    return int(found.value), found.words


def _regroup(inputs: ScenarioInput, evidence: ClusterEvidence) -> tuple[float, str]:
    found = regroup_s(evidence, inputs.architecture)
    if found is None:
        return DEFAULT_REGROUP_S, "assumed: not measured; the paper's range is 2 to 10 s"
    return found.value, found.words


def _step_time(
    inputs: ScenarioInput, evidence: ClusterEvidence, state_bytes: int
) -> tuple[float, str]:
    found = nearest_step_time_s(evidence, inputs.architecture, state_bytes)
    return _needed(found, "step time", inputs, evidence)


def _detection(inputs: ScenarioInput, evidence: ClusterEvidence) -> tuple[float, str]:
    found = detection_s(evidence, inputs.architecture)
    return _needed(found, "time to detect a loss", inputs, evidence)


def _needed(
    found: Origin | None, what: str, inputs: ScenarioInput, evidence: ClusterEvidence
) -> tuple[float, str]:
    if found is None:
        raise NoDataError(
            f"cluster {evidence.cluster.cluster} has no measured {what} for "
            f"{inputs.architecture}: give the {what}"
        )
    return found.value, found.words


def _bandwidth(evidence: ClusterEvidence, path: TransferPath) -> tuple[float, str] | None:
    rate = bandwidth_bytes_per_s(evidence, path)
    if rate is None:
        return None
    return rate, f"the measured {path.value.replace('_', ' ')} of {evidence.cluster.cluster}"


def _memory(size_bytes: int | None, per: str) -> tuple[int, str] | None:
    return None if size_bytes is None else (size_bytes, f"{per} the cluster")
