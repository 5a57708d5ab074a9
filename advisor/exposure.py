"""What a lost worker does on a cluster, read from the database: exposure and learning."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from advisor.characterization import SINGLE_FAILURE_TRACES
from advisor.learning import Learning, compare, curve
from db.pooling import Mean
from db.queries import operating_points, software_stacks
from db.records import Exposure, RunOutcome, RunSummary, RunValidity
from db.run_queries import RunFilter, exposure, first_detections, list_runs, run_record
from db.stacks import points_that_count

_MOST_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class LearningRow:
    """One configuration that goes on after a loss: does it learn faster then?"""

    architecture: str
    mechanism: str
    workload: str
    world_size: int
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
    exposures, set_aside = counting_exposures(connection, cluster)
    return ClusterExposure(
        exposures,
        first_detections(connection, cluster),
        tuple(_learning(connection, cluster)),
        set_aside,
    )


def counting_exposures(connection: Connection, cluster: str) -> tuple[tuple[Exposure, ...], int]:
    """Those of points that count, marked where of superseded software; how many others there
    are."""
    points, _ = points_that_count(
        operating_points(connection, cluster), software_stacks(connection, cluster)
    )
    superseded_by = {point.point_id: point.superseded_by for point in points}
    every = exposure(connection, cluster)
    counting = [each for each in every if each.point_id in superseded_by]
    marked = (replace(each, superseded_by=superseded_by[each.point_id]) for each in counting)
    return tuple(marked), len(every) - len(counting)


def _learning(connection: Connection, cluster: str) -> Iterable[LearningRow]:
    wanted = RunFilter(cluster=cluster, validity=RunValidity.VALID)
    groups: dict[tuple[str, str, str, int, str | None], list[RunSummary]] = {}
    for run in list_runs(connection, wanted, _MOST_RUNS):
        if _compares(run):
            key = (run.architecture, run.mechanism, run.workload, run.world_size, run.backend)
            groups.setdefault(key, []).append(run)
    for (architecture, mechanism, workload, world_size, _), runs in sorted(groups.items(), key=str):
        if len({run.outcome for run in runs}) < 2:
            continue  # one side alone: no need to read its records
        found = compare([curve(run_record(connection, run.run_id)) for run in runs])
        if found is not None:
            yield LearningRow(architecture, mechanism, workload, world_size, found)


def _compares(run: RunSummary) -> bool:
    """Runs that went on after one loss, and runs without a fault."""
    if run.trace is None:
        return run.outcome is RunOutcome.COMPLETED
    return run.trace in SINGLE_FAILURE_TRACES and run.outcome is RunOutcome.GRACEFUL
