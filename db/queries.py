"""Read functions: SQL in, the dataclasses of `db.records` out. No ORM, to keep the import fast.

Every function takes a connection of `db.session.reading` and changes nothing.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, text

from db.drill_queries import drills_of
from db.errors import NotFoundError
from db.excerpt import EXCERPT_POINTS, MOST_POINTS, Near
from db.excerpt_queries import has_more_than, read_excerpt
from db.records import (
    Architecture,
    Arrivals,
    Cadence,
    Calibration,
    CalibrationFit,
    CalibrationPath,
    Cluster,
    ClusterEvidence,
    Compatibility,
    DispersionKind,
    Evidence,
    EvidencedValue,
    FitModel,
    FittedNumber,
    Mechanism,
    MissingReason,
    OperatingPoint,
    PairStatus,
    PointOutcome,
    PublishedCount,
    PublishedSelection,
    Quantity,
    RecommendationSummary,
    SavedRecommendation,
    SoftwareStack,
    Source,
    TextValue,
    TransferPath,
    ValidatedRun,
    ValidationRole,
)
from db.stack_times import measured_again, measured_stacks
from db.stacks import points_that_count

_ARCHITECTURES = """
SELECT a.architecture, a.name, a.description, c.capability
FROM architectures a
LEFT JOIN architecture_capabilities c ON c.architecture = a.architecture
ORDER BY a.architecture, c.capability
"""

# Points and their values in one statement; a point without values has one row of NULLs.
_POINTS = """
SELECT p.point_id, p.cluster, p.architecture, p.mechanism, p.workload, p.state_bytes,
  p.software_stack, k.batch_per_rank, p.interval_steps, p.replicas, p.lead_s, p.trace, p.storage,
  p.group_timeout_s, p.world_size, p.nodes, p.failure_domain, p.outcome, p.note,
  v.quantity, v.value, v.evidence, v.missing_reason, v.n, v.dispersion, v.dispersion_kind,
  v.low, v.high, v.conditions, v.source_id, v.run_id, v.table_ref
FROM operating_points p
JOIN workloads k ON k.workload = p.workload
LEFT JOIN operating_point_values v ON v.point_id = p.point_id
"""

_POINTS_OF_CLUSTER = text(f"{_POINTS} WHERE p.cluster = :cluster")
_POINTS_NAMED = text(f"{_POINTS} WHERE p.point_id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)

_SOURCES = text("SELECT * FROM sources WHERE source_id IN :ids ORDER BY source_id").bindparams(
    bindparam("ids", expanding=True)
)

_SUMMARY = """
SELECT r.recommendation_id, r.scenario_id, s.name AS scenario_name, r.cluster, r.created_at,
  r.advisor_version
FROM recommendations r
JOIN scenarios s ON s.scenario_id = r.scenario_id
"""

_RECOMMENDATION = """
SELECT r.recommendation_id, r.scenario_id, s.name AS scenario_name, r.cluster, r.created_at,
  r.advisor_version, s.inputs_sha256, r.schema_revision, r.data_version, s.inputs, r.result
FROM recommendations r
JOIN scenarios s ON s.scenario_id = r.scenario_id
WHERE r.recommendation_id = :recommendation_id
"""

_POINT_FIELDS = tuple(
    field.name
    for field in dataclasses.fields(OperatingPoint)
    if field.name not in ("outcome", "values", "superseded_by")
)


def _rows(connection: Connection, statement: str, **values: object) -> list[RowMapping]:
    return list(connection.execute(text(statement), values).mappings())


def _table(connection: Connection, table: str, key: str) -> list[RowMapping]:
    """A whole table in the order of its key; both names are literals of this file."""
    return _rows(connection, f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608


def cluster_names(connection: Connection) -> tuple[str, ...]:
    """Every cluster that the database holds, sorted."""
    return tuple(sorted(row["cluster"] for row in _table(connection, "clusters", "cluster")))


def software_stacks(connection: Connection, cluster: str) -> dict[str, SoftwareStack]:
    """The software stacks of a cluster by name, sorted; none of an unknown one."""
    statement = "SELECT * FROM software_stacks WHERE cluster = :cluster"
    found = (SoftwareStack(**row) for row in _rows(connection, statement, cluster=cluster))
    return {each.software_stack: each for each in sorted(found, key=lambda s: s.software_stack)}


def cluster_evidence(
    connection: Connection, cluster: str, near: Near | None = None
) -> ClusterEvidence:
    """All that is known of one cluster, in eleven statements.

    A question says what it is about by `near`, and is given an excerpt of the operating points
    where there are very many of them (db/excerpt.py).
    Raises NotFoundError, which lists the clusters that there are.
    """
    found = _cluster(connection, cluster)
    stacks = software_stacks(connection, cluster)
    architectures, mechanisms = _architectures(connection), _mechanisms(connection)
    excerpt = None
    if near is not None and has_more_than(connection, cluster, MOST_POINTS):
        excerpt, ids = read_excerpt(
            connection, cluster, near, architectures, mechanisms, stacks, EXCERPT_POINTS
        )
        listed = _points_named(connection, ids)
    else:
        listed = operating_points(connection, cluster)
    points, set_aside = points_that_count(listed, stacks)
    calibrations = _calibrations(connection, cluster)
    fits = calibration_fits(connection, cluster)
    values = (value for point in (*points, *set_aside) for value in point.values.values())
    named = {found.source_id, *(value.source_id for value in values)}
    named |= {each.value.source_id for each in calibrations} | {fit.source_id for fit in fits}
    return ClusterEvidence(
        cluster=found,
        architectures=architectures,
        mechanisms=mechanisms,
        compatibility=_compatibility(connection),
        points=points,
        calibrations=calibrations,
        sources=_sources(connection, named),
        fits=fits,
        validations=validated_runs(connection, cluster),
        stacks=stacks,
        set_aside=set_aside,
        excerpt=excerpt,
        gone_back_to=_gone_back_to(connection, cluster, stacks),
        drills=drills_of(connection, cluster),
    )


def _gone_back_to(
    connection: Connection, cluster: str, stacks: Mapping[str, SoftwareStack]
) -> tuple[tuple[str, str], ...]:
    """Where none is superseded, no statement asks for the times of the runs."""
    if all(stack.superseded_by is None for stack in stacks.values()):
        return ()
    return measured_again(measured_stacks(connection, cluster), stacks)


def _sources(connection: Connection, named: Iterable[str | None]) -> dict[str, Source]:
    """Those of these ids; a database of many clusters has many more."""
    ids = sorted(each for each in named if each is not None)
    rows = connection.execute(_SOURCES, {"ids": ids}).mappings()
    return {row["source_id"]: Source(**row) for row in rows}


def change_token(connection: Connection) -> str:
    """A cheap token that changes whenever anything in the database may have changed.

    SQLite: size and time of the file and of its write-ahead log. PostgreSQL: the next transaction
    id, which every writing transaction moves.
    """
    if connection.dialect.name != "sqlite":
        snapshot = "SELECT CAST(txid_snapshot_xmax(txid_current_snapshot()) AS TEXT)"
        return str(connection.execute(text(snapshot)).scalar_one())
    path = Path(str(connection.engine.url.database))
    return " ".join(_stamp(file) for file in (path, Path(f"{path}-wal")))


def _stamp(file: Path) -> str:
    """Nothing for an empty log: readers make one and remove it again."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}" if found.st_size else ""


def data_version(connection: Connection, cluster: str) -> str:
    """A token that changes whenever the evidence on this cluster does. See `evidence_version`."""
    return evidence_version(cluster_evidence(connection, cluster))


def evidence_version(evidence: ClusterEvidence) -> str:
    """SHA-256 over every record of the evidence in a fixed order, as 64 hexadecimal digits. What is
    measured on another cluster does not change it."""
    records: list[Any] = [
        *(evidence.cluster, *evidence.points, *evidence.set_aside),
        *(*evidence.calibrations, *evidence.fits),
        *evidence.validations,
        *evidence.drills,
        *(stack for stack in evidence.stacks.values() if stack.superseded_by is not None),
        *([] if evidence.excerpt is None else [evidence.excerpt]),
    ]
    for mapping in (
        evidence.architectures,
        evidence.mechanisms,
        evidence.compatibility,
        evidence.sources,
    ):
        records.extend(value for _, value in sorted(mapping.items()))
    canonical = json.dumps(records, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """What `json` does not know: records as their fields, sets in order.

    Marks and nodes that are not there are left out, so that answers
    from before there were any still count as given from the same evidence.
    """
    if isinstance(value, frozenset):
        return sorted(value)
    found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, OperatingPoint):
        for name in ("superseded_by", "nodes", "failure_domain"):
            if found[name] is None:
                del found[name]
    return found


def _cluster(connection: Connection, cluster: str) -> Cluster:
    found = _rows(connection, "SELECT * FROM clusters WHERE cluster = :cluster", cluster=cluster)
    if found:
        return Cluster(**found[0])
    names = cluster_names(connection)
    if not names:
        raise NotFoundError("the database holds no cluster yet: run `advisor db load` first")
    raise NotFoundError(f"no cluster {cluster!r} in the database; there is {', '.join(names)}")


def _architectures(connection: Connection) -> dict[str, Architecture]:
    names: dict[str, RowMapping] = {}
    capabilities: dict[str, set[str]] = {}
    for row in _rows(connection, _ARCHITECTURES):
        names[row["architecture"]] = row
        held = capabilities.setdefault(row["architecture"], set())
        held.update([row["capability"]] if row["capability"] else [])
    return {
        key: Architecture(key, row["name"], row["description"], frozenset(capabilities[key]))
        for key, row in names.items()
    }


def _mechanisms(connection: Connection) -> dict[str, Mechanism]:
    return {
        row["mechanism"]: _mechanism(row) for row in _table(connection, "mechanisms", "mechanism")
    }


def _mechanism(row: RowMapping) -> Mechanism:
    return Mechanism(
        mechanism_id=row["mechanism"],
        name=row["name"],
        family=row["family"],
        description=row["description"],
        cadence=Cadence(row["cadence"]),
        save_path=TransferPath(row["save_path"]),
        persist_path=TransferPath(row["persist_path"]),
        restore_path=TransferPath(row["restore_path"]),
        default_replicas=row["default_replicas"],
        host_copies_per_replica=row["host_copies_per_replica"],
        device_copies_per_replica=row["device_copies_per_replica"],
    )


def _compatibility(connection: Connection) -> dict[tuple[str, str], Compatibility]:
    return {
        (row["architecture"], row["mechanism"]): Compatibility(
            row["architecture"], row["mechanism"], PairStatus(row["status"]), row["reason"]
        )
        for row in _table(connection, "compatibility", "architecture, mechanism")
    }


def operating_points(connection: Connection, cluster: str) -> tuple[OperatingPoint, ...]:
    """The operating points of a cluster with all their values, sorted; none of an unknown one."""
    return _points(connection.execute(_POINTS_OF_CLUSTER, {"cluster": cluster}).mappings())


def _points_named(connection: Connection, ids: Iterable[str]) -> tuple[OperatingPoint, ...]:
    return _points(connection.execute(_POINTS_NAMED, {"ids": list(ids)}).mappings())


def _points(found: Iterable[RowMapping]) -> tuple[OperatingPoint, ...]:
    points: dict[str, list[RowMapping]] = {}
    for row in found:
        points.setdefault(row["point_id"], []).append(row)
    # Sorted here, because a PostgreSQL database sorts text by its own locale.
    return tuple(_point(rows) for _, rows in sorted(points.items()))


def _point(rows: list[RowMapping]) -> OperatingPoint:
    present = sorted((row for row in rows if row["quantity"]), key=lambda row: row["quantity"])
    values = {Quantity(row["quantity"]): _value(row) for row in present}
    return OperatingPoint(
        **{name: rows[0][name] for name in _POINT_FIELDS},
        outcome=PointOutcome(rows[0]["outcome"]),
        values=values,
    )


def _value(row: RowMapping) -> EvidencedValue:
    reason, kind = row["missing_reason"], row["dispersion_kind"]
    return EvidencedValue(
        value=row["value"],
        evidence=Evidence(row["evidence"]),
        missing_reason=MissingReason(reason) if reason else None,
        n=row["n"],
        dispersion=row["dispersion"],
        dispersion_kind=DispersionKind(kind) if kind else None,
        low=row["low"],
        high=row["high"],
        conditions=row["conditions"],
        source_id=row["source_id"],
        run_id=row["run_id"],
        table_ref=row["table_ref"],
    )


def _calibrations(connection: Connection, cluster: str) -> tuple[Calibration, ...]:
    statement = "SELECT * FROM calibrations WHERE cluster = :cluster"
    rows = _rows(connection, statement, cluster=cluster)
    return tuple(
        Calibration(
            calibration_id=row["calibration_id"],
            cluster=row["cluster"],
            path=TransferPath(row["path"]),
            quantity=row["quantity"],
            size_bytes=row["size_bytes"],
            value=_value(row),
        )
        for row in sorted(rows, key=lambda row: row["calibration_id"])
    )


_FITS = """
SELECT f.*, s.started_at, s.source_id
FROM calibration_fits f
JOIN calibration_sessions s ON s.session = f.session
WHERE s.cluster = :cluster
"""


def calibration_fits(connection: Connection, cluster: str) -> tuple[CalibrationFit, ...]:
    """The fits of every calibration of a cluster, oldest first; none of an unknown one."""
    rows = _rows(connection, _FITS, cluster=cluster)
    fits = (_fit(row) for row in rows)
    return tuple(sorted(fits, key=lambda f: (f.started_at, f.session, f.path, f.processes)))


def _fit(row: RowMapping) -> CalibrationFit:
    latency_s = _fitted(row, "latency_s")
    assert latency_s is not None
    same = ("session", "started_at", "processes", "n", "outliers", "spread_fraction")
    return CalibrationFit(
        **{name: row[name] for name in same},
        path=CalibrationPath(row["path"]),
        model=FitModel(row["model"]),
        latency_s=latency_s,
        s_per_byte=_fitted(row, "s_per_byte"),
        s_per_rank=_fitted(row, "s_per_rank"),
        smallest_bytes=row["smallest_bytes"],
        largest_bytes=row["largest_bytes"],
        conditions=row["conditions"],
        source_id=row["source_id"],
    )


def _fitted(row: RowMapping, name: str) -> FittedNumber | None:
    if row[name] is None:
        return None
    return FittedNumber(row[name], row[f"{name}_low"], row[f"{name}_high"])


_VALIDATED = """
SELECT v.validation, v.name, v.created_at, v.architecture, v.scenario, v.mtbf_s,
  v.step_time_s AS planned_step_time_s,
  CASE WHEN r.predicted_s IS NOT NULL THEN COALESCE(r.step_time_s, v.step_time_s) END
    AS step_time_s,
  v.steps, v.arrivals, v.shape, v.seed, v.covered_s, r.mechanism, r.role, r.interval_steps,
  r.evidence, r.predicted_s, r.failures_expected, r.observed_s, r.failures, r.outcome, r.run_id
FROM validations v
JOIN validation_runs r ON r.validation = v.validation
WHERE v.cluster = :cluster
"""


def validated_runs(connection: Connection, cluster: str) -> tuple[ValidatedRun, ...]:
    """The candidates of all validations of a cluster, oldest first; none of an unknown one."""
    runs = (
        ValidatedRun(
            **{**row, "arrivals": Arrivals(row["arrivals"]), "role": ValidationRole(row["role"])}
        )
        for row in _rows(connection, _VALIDATED, cluster=cluster)
    )
    return tuple(sorted(runs, key=lambda r: (r.created_at, r.validation, r.mechanism)))


def text_values(connection: Connection) -> dict[str, TextValue]:
    """The numbers that sources state in their text, by name."""
    return {
        row["name"]: TextValue(**{**row, "evidence": Evidence(row["evidence"])})
        for row in _table(connection, "text_values", "name")
    }


def published_counts(connection: Connection) -> dict[str, PublishedCount]:
    """The counts that sources state about their own coverage, by name."""
    rows = _table(connection, "published_counts", "name")
    return {row["name"]: PublishedCount(**row) for row in rows}


def published_selections(connection: Connection) -> tuple[PublishedSelection, ...]:
    """The rows of the sources' decision tables, as printed."""
    rows = _table(connection, "published_selections", "length(row_id), row_id")
    return tuple(PublishedSelection(**row) for row in rows)


def list_recommendations(
    connection: Connection, limit: int = 100
) -> tuple[RecommendationSummary, ...]:
    """The newest `limit` saved recommendations, newest first."""
    statement = f"{_SUMMARY} ORDER BY r.created_at DESC, r.recommendation_id LIMIT :limit"
    return tuple(RecommendationSummary(**row) for row in _rows(connection, statement, limit=limit))


def get_recommendation(connection: Connection, recommendation_id: str) -> SavedRecommendation:
    """A recommendation as it was saved. Raises NotFoundError, which lists the newest ids."""
    found = _rows(connection, _RECOMMENDATION, recommendation_id=recommendation_id)
    if not found:
        raise NotFoundError(_no_recommendation(connection, recommendation_id))
    row = dict(found[0])
    points = _rows(
        connection,
        "SELECT point_id, snapshot FROM recommendation_points "
        "WHERE recommendation_id = :recommendation_id ORDER BY point_id",
        recommendation_id=recommendation_id,
    )
    return SavedRecommendation(
        summary=RecommendationSummary(
            **{field.name: row[field.name] for field in dataclasses.fields(RecommendationSummary)}
        ),
        inputs_sha256=row["inputs_sha256"],
        schema_revision=row["schema_revision"],
        data_version=row["data_version"],
        inputs=json.loads(row["inputs"]),
        result=json.loads(row["result"]),
        points=_snapshots(points),
    )


def _snapshots(rows: Iterable[RowMapping]) -> dict[str, Mapping[str, object]]:
    return {row["point_id"]: json.loads(row["snapshot"]) for row in rows}


def _no_recommendation(connection: Connection, recommendation_id: str) -> str:
    known = [each.recommendation_id for each in list_recommendations(connection, 5)]
    there_is = f"the newest are {', '.join(known)}" if known else "none is saved yet"
    return f"no recommendation {recommendation_id!r}; {there_is}"
