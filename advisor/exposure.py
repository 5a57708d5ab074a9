"""What a lost worker does on a cluster, read from the database: exposure and learning."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from advisor.characterization import SINGLE_FAILURE_TRACES
from advisor.learning import Learning, compare, curve
from db.pooling import Mean
from db.records import Exposure, RunOutcome, RunSummary, RunValidity
from db.run_queries import (
    RunFilter,
    exposure_that_counts,
    first_detections,
    list_runs,
    run_record,
)

_MOST_RUNS = 10_000
_Alike = tuple[str, str, str, int, str | None, str | None]
"""What runs that are compared have in common, the backend last."""


@dataclass(frozen=True, slots=True)
class LearningRow:
    """One configuration that goes on after a loss: does it learn faster then?"""

    architecture: str
    mechanism: str
    workload: str
    world_size: int
    software_stack: str | None
    learning: Learning


@dataclass(frozen=True, slots=True)
class ClusterExposure:
    """Everything that a cluster's runs without a mechanism showed (paper, RQ1)."""

    exposures: tuple[Exposure, ...]
    first_detections: Mapping[str, Mean]
    """When the first rank knew, by operating point."""
    learning: tuple[LearningRow, ...]
    set_aside: int = 0
    """How many exposures are of superseded software, and measured anew since."""


def cluster_exposure(connection: Connection, cluster: str) -> ClusterExposure:
    """The exposure of a cluster; empty where nothing was measured."""
    found = exposure_that_counts(connection, cluster)
    return ClusterExposure(
        found.exposures,
        first_detections(connection, cluster),
        tuple(_learning(connection, cluster)),
        found.set_aside,
    )


def _learning(connection: Connection, cluster: str) -> Iterable[LearningRow]:
    wanted = RunFilter(cluster=cluster, validity=RunValidity.VALID)
    groups: dict[_Alike, list[RunSummary]] = {}
    for run in list_runs(connection, wanted, _MOST_RUNS):
        if _compares(run):
            pair = (run.architecture, run.mechanism)
            key = (*pair, run.workload, run.world_size, run.software_stack, run.backend)
            groups.setdefault(key, []).append(run)
    for key, runs in sorted(groups.items(), key=str):
        if len({run.outcome for run in runs}) < 2:
            continue  # one side alone: no need to read its records
        found = compare([curve(run_record(connection, run.run_id)) for run in runs])
        if found is not None:
            yield LearningRow(*key[:-1], found)


def _compares(run: RunSummary) -> bool:
    """Runs that went on after one loss, and runs without a fault."""
    if run.trace is None:
        return run.outcome is RunOutcome.COMPLETED
    return run.trace in SINGLE_FAILURE_TRACES and run.outcome is RunOutcome.GRACEFUL
