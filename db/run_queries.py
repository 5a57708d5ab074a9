"""Reads runs and what they showed: SQL in, the dataclasses of `db.records` out.

Every function takes a connection of `db.session.reading` and changes nothing.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, text

from db.errors import NotFoundError
from db.pooling import Mean, mean_of
from db.queries import operating_points, software_stacks
from db.records import (
    Detector,
    Exposure,
    OperatingPoint,
    Quantity,
    RunOutcome,
    RunQuantity,
    RunSummary,
    RunValidity,
)
from db.stacks import points_that_count


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; None admits all. A run without a fault has the trace ''."""

    cluster: str | None = None
    campaign: str | None = None
    architecture: str | None = None
    mechanism: str | None = None
    trace: str | None = None
    outcome: RunOutcome | None = None
    validity: RunValidity | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class CountingExposure:
    """The exposures that count, marked where they are of superseded software."""

    exposures: tuple[Exposure, ...]
    set_aside: int
    """How many others are of superseded software, and measured anew since."""


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What the runs of a cluster differ in, sorted; a run without a fault has the trace ''.

    `clusters` are those that have runs at all.
    """

    clusters: tuple[str, ...]
    architectures: tuple[str, ...]
    mechanisms: tuple[str, ...]
    traces: tuple[str, ...]
    outcomes: tuple[str, ...]
    validities: tuple[str, ...]
    profiles: tuple[str, ...]
    campaigns: tuple[str, ...]


_COLUMN = {"trace": "COALESCE(r.trace, '')"}
_OWN = ("censored_at_s", "values")
_COLUMNS = ", ".join(
    f"r.{field.name}" for field in dataclasses.fields(RunSummary) if field.name not in _OWN
)
# The first fault of the run, from which detection is counted.
_CENSORED = """
(SELECT MIN(e.detected_s) FROM fault_events e
 WHERE e.run_id = r.run_id AND e.fired = 1 AND e.detection_censored = 1
 AND NOT EXISTS (SELECT 1 FROM fault_events f WHERE f.run_id = e.run_id AND f.fired = 1
   AND (f.at_s < e.at_s OR (f.at_s = e.at_s AND f.ordinal < e.ordinal))))
"""
_VALUES = text(
    "SELECT run_id, quantity, value FROM run_values WHERE run_id IN :run_ids"
).bindparams(bindparam("run_ids", expanding=True))
_IDS_A_STATEMENT = 500
_QUANTITIES = {str(each): each for each in RunQuantity}
_FIRST_DETECTIONS = text("""
SELECT r.point_id, v.value
FROM runs r
JOIN run_values v ON v.run_id = r.run_id AND v.quantity = 'first_detection_s'
WHERE r.cluster = :cluster AND r.point_id IS NOT NULL AND r.validity = 'valid'
  AND v.value IS NOT NULL
ORDER BY r.run_id
""")


def list_runs(
    connection: Connection, wanted: RunFilter | None = None, limit: int = 1000
) -> tuple[RunSummary, ...]:
    """The newest `limit` runs that the filter admits, newest first."""
    where, chosen = _where(wanted or RunFilter())
    statement = (
        f"SELECT {_COLUMNS}, {_CENSORED} AS censored_at_s FROM runs r {where} "  # noqa: S608
        "ORDER BY r.started_at DESC, r.run_id LIMIT :limit"
    )
    found = connection.execute(text(statement), {**chosen, "limit": limit}).mappings().all()
    values = _values(connection, [row["run_id"] for row in found])
    return tuple(_summary(row, values.get(row["run_id"], {})) for row in found)


def count_runs(connection: Connection, wanted: RunFilter | None = None) -> int:
    """How many runs the filter admits."""
    where, chosen = _where(wanted or RunFilter())
    statement = f"SELECT COUNT(*) FROM runs r {where}"  # noqa: S608
    return int(connection.execute(text(statement), chosen).scalar_one())


def _where(wanted: RunFilter) -> tuple[str, dict[str, Any]]:
    chosen = {
        name: value for name, value in dataclasses.asdict(wanted).items() if value is not None
    }
    # Names of our own fields only; every value is a parameter.
    conditions = [f"{_COLUMN.get(name, f'r.{name}')} = :{name}" for name in chosen]
    return (f"WHERE {' AND '.join(conditions)}" if conditions else "", chosen)


def run_choices(connection: Connection, cluster: str) -> RunChoices:
    """What there is to choose from among the runs of a cluster."""
    columns = ("architecture", "mechanism", "trace", "outcome", "validity", "profile", "campaign")
    statement = f"SELECT DISTINCT {', '.join(columns)} FROM runs WHERE cluster = :cluster"  # noqa: S608
    rows = connection.execute(text(statement), {"cluster": cluster}).mappings().all()
    clusters = connection.execute(text("SELECT DISTINCT cluster FROM runs")).scalars()
    outcomes, profiles = (_distinct(rows, name) - {None} for name in ("outcome", "profile"))
    return RunChoices(
        clusters=tuple(sorted(clusters)),
        architectures=tuple(sorted(_distinct(rows, "architecture"))),
        mechanisms=tuple(sorted(_distinct(rows, "mechanism"))),
        traces=tuple(sorted(trace or "" for trace in _distinct(rows, "trace"))),
        outcomes=tuple(sorted(outcomes)),
        validities=tuple(sorted(_distinct(rows, "validity"))),
        profiles=tuple(sorted(profiles)),
        campaigns=tuple(sorted(_distinct(rows, "campaign"), reverse=True)),
    )


def _distinct(rows: Iterable[RowMapping], name: str) -> set[Any]:
    return {row[name] for row in rows}


def first_detections(connection: Connection, cluster: str) -> dict[str, Mean]:
    """When the first rank knew, by operating point: the mean of the runs pooled into it."""
    found: dict[str, list[float]] = {}
    for row in connection.execute(_FIRST_DETECTIONS, {"cluster": cluster}).mappings():
        found.setdefault(row["point_id"], []).append(row["value"])
    means = {point_id: mean_of(values) for point_id, values in found.items()}
    return {point_id: mean for point_id, mean in means.items() if mean is not None}


def _values(
    connection: Connection, run_ids: list[str]
) -> dict[str, dict[RunQuantity, float | None]]:
    values: dict[str, dict[RunQuantity, float | None]] = {}
    for start in range(0, len(run_ids), _IDS_A_STATEMENT):
        some = run_ids[start : start + _IDS_A_STATEMENT]
        for run_id, name, value in connection.execute(_VALUES, {"run_ids": some}):
            values.setdefault(run_id, {})[_QUANTITIES[name]] = value
    return values


def _summary(row: RowMapping, values: Mapping[RunQuantity, float | None]) -> RunSummary:
    codes = {
        "outcome": RunOutcome(row["outcome"]) if row["outcome"] else None,
        "detector": Detector(row["detector"]) if row["detector"] else None,
        "validity": RunValidity(row["validity"]),
        "equivalent": None if row["equivalent"] is None else bool(row["equivalent"]),
    }
    return RunSummary(**{**row, **codes}, values=values)


def run_record(connection: Connection, run_id: str) -> dict[str, Any]:
    """The whole record of a run as it was ingested. Raises NotFoundError, which names some."""
    statement = text("SELECT record FROM run_records WHERE run_id = :run_id")
    found = connection.execute(statement, {"run_id": run_id}).scalar()
    if found is None:
        raise NotFoundError(_no_run(connection, run_id))
    record: dict[str, Any] = json.loads(found)
    return record


def _no_run(connection: Connection, run_id: str) -> str:
    newest = text("SELECT run_id FROM runs ORDER BY started_at DESC, run_id LIMIT 3")
    known = connection.execute(newest).scalars().all()
    there_is = f"the newest are {', '.join(known)}" if known else "no run was ingested yet"
    return f"there is no record of a run {run_id!r}; {there_is}"


def exposure_that_counts(connection: Connection, cluster: str) -> CountingExposure:
    """What a lost worker does to each architecture, in order of architecture and point, without
    what was measured anew under newer software (db/stacks.py).

    From published points and from measured ones alike; none for a cluster without any.
    """
    points = {point.point_id: point for point in operating_points(connection, cluster)}
    counting, _ = points_that_count(points.values(), software_stacks(connection, cluster))
    marks = {point.point_id: point.superseded_by for point in counting}
    statement = text(
        "SELECT point_id, backend, detector, n, halts FROM exposure_view WHERE cluster = :cluster"
    )
    rows = connection.execute(statement, {"cluster": cluster}).mappings()
    every = sorted(_exposures(rows, points), key=lambda e: (e.architecture, e.point_id))
    marked = tuple(
        dataclasses.replace(each, superseded_by=marks[each.point_id])
        for each in every
        if each.point_id in marks
    )
    return CountingExposure(marked, len(every) - len(marked))


def _exposures(
    rows: Iterable[RowMapping], points: Mapping[str, OperatingPoint]
) -> Iterable[Exposure]:
    for row in rows:
        point = points[row["point_id"]]
        yield Exposure(
            point_id=point.point_id,
            architecture=point.architecture,
            mechanism=point.mechanism,
            workload=point.workload,
            trace=point.trace,
            world_size=point.world_size,
            group_timeout_s=point.group_timeout_s,
            backend=row["backend"],
            detector=row["detector"],
            n=row["n"],
            halts=None if row["halts"] is None else bool(row["halts"]),
            throughput=point.values.get(Quantity.THROUGHPUT),
            detection=point.values.get(Quantity.DETECTION),
            post_failure_throughput=point.values[Quantity.POST_FAILURE_THROUGHPUT],
            aggregate_slowdown=point.values.get(Quantity.AGGREGATE_SLOWDOWN),
            resumed=point.values.get(Quantity.RESUMED),
        )
