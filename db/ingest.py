"""Takes run records into the database, each in a transaction of its own.

Ingesting a record again changes nothing: a run is known by its id and by its record's digest. What
the record refers to (cluster, software stack, workload, source, campaign) is added where it is not
there yet, and never changed. Any number of processes may ingest at once.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from db import composed, run_rows
from db.errors import InvalidDataError
from db.hardware import add_cluster, add_row, added_or_stored
from db.models import Base
from db.records import CampaignStatus
from db.run_record import INTERRUPTED, Record, RecordFile, read_record
from db.run_rows import Row
from db.session import writing
from db.stack_store import add_stack

RECORD_NAME = "record.json"
ASIDE = ".aside-"
"""In the name of a folder that was put aside: its run did not end, and was made again."""
_TABLES = Base.metadata.tables


@dataclass(frozen=True, slots=True)
class Ingested:
    """A run that is in the database now; `is_new` unless it was there before."""

    run_id: str
    campaign: str
    cluster: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of each record: stored, or refused with one line."""

    runs: tuple[Ingested, ...]
    refused: tuple[str, ...]

    @property
    def new(self) -> tuple[str, ...]:
        """Ids of the runs that were not there before."""
        return tuple(run.run_id for run in self.runs if run.is_new)

    @property
    def known(self) -> tuple[str, ...]:
        """Ids of the runs that were there already."""
        return tuple(run.run_id for run in self.runs if not run.is_new)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters that the runs were made on."""
        return tuple(sorted({run.cluster for run in self.runs}))


def ingest(engine: Engine, path: Path) -> IngestReport:
    """Ingests a record file, or every `record.json` of a folder and the folders in it.

    A record that is refused does not stop the others. Raises InvalidDataError if there is none.
    """
    runs: list[Ingested] = []
    refused: list[str] = []
    for file in record_files(path):
        try:
            runs.append(ingest_file(engine, file))
        except InvalidDataError as error:
            refused.append(str(error))
    return IngestReport(tuple(runs), tuple(refused))


def record_files(path: Path) -> list[Path]:
    """The file itself, or the records in a folder, sorted. Raises InvalidDataError if none."""
    if path.is_file():
        return [path]
    found = sorted(
        file
        for file in path.rglob(RECORD_NAME)
        if file.is_file() and not any(ASIDE in part for part in file.relative_to(path).parts)
    )
    if not found:
        what = f"holds no {RECORD_NAME}" if path.is_dir() else "is neither a record nor a folder"
        raise InvalidDataError(f"{path} {what}")
    return found


def ingest_file(
    engine: Engine, path: Path, status: CampaignStatus = CampaignStatus.COMPLETE
) -> Ingested:
    """Ingests one record; `status` is what its campaign gets if it is not there yet.

    Raises InvalidDataError, one line with the path.
    """
    return ingest_record(engine, read_record(path), status)


def ingest_record(
    engine: Engine, file: RecordFile, status: CampaignStatus = CampaignStatus.COMPLETE
) -> Ingested:
    """As `ingest_file`, of a record that was read already."""
    path = file.path
    try:
        with writing(engine) as connection:
            is_new = _ingest(connection, file, status)
    except InvalidDataError as error:
        raise type(error)(f"{path}: {error}") from error
    except IntegrityError as error:
        reason = " ".join(str(error.orig).split())
        raise InvalidDataError(f"{path}: the database refuses it: {reason}") from error
    record = file.record
    return Ingested(record.run_id, record.campaign.campaign, record.cluster.cluster, is_new)


def finish_campaign(engine: Engine, campaign: str, status: CampaignStatus) -> None:
    """Notes how a campaign ended; nothing happens if no run of it was stored."""
    table = _TABLES["campaigns"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with writing(engine) as connection:
        connection.execute(
            update(table)
            .where(table.c.campaign == campaign)
            .values(status=str(status), finished_at=now)
        )


def _ingest(connection: Connection, file: RecordFile, status: CampaignStatus) -> bool:
    if _is_known(connection, file):
        return False
    record = file.record
    _refuse_interrupted(connection, record)
    _add_composed(connection, record.cell.mechanism)
    _require_catalogued(connection, record)
    stack = add_surroundings(connection, record, status)
    _add_workload(connection, record)
    if not add_row(connection, "runs", run_rows.run_row(file, stack)):
        # Another process was first, and has committed by now.
        if not _is_known(connection, file):
            raise InvalidDataError("the same record is stored already, under another run id")
        return False
    for table, rows in rows_of(file).items():
        if rows:
            connection.execute(insert(_TABLES[table]), rows)
    return True


def _refuse_interrupted(connection: Connection, record: Record) -> None:
    """A planned run that was interrupted is run again, under the id that one run only can have."""
    cells = _TABLES["campaign_cells"]
    planned = select(cells.c.run_id).where(cells.c.run_id == record.run_id)
    if INTERRUPTED in record.validity_reasons and connection.execute(planned).first():
        raise InvalidDataError(
            f"run {record.run_id} was interrupted: `advisor measure --resume "
            f"{record.campaign.campaign}` runs it again"
        )


def rows_of(file: RecordFile) -> dict[str, list[Row]]:
    """What a record becomes beside its row in `runs`, by table, in the order of insertion."""
    record = file.record
    return {
        "run_records": [{"run_id": record.run_id, "record": file.text}],
        "run_values": run_rows.value_rows(record),
        "fault_events": run_rows.fault_rows(record),
        "detections": run_rows.detection_rows(record),
        "recovery_phases": run_rows.phase_rows(record),
        "run_recoveries": run_rows.recovery_rows(record),
        "run_saves": run_rows.save_rows(record),
        "emergency_saves": run_rows.emergency_rows(record),
    }


def add_surroundings(
    connection: Connection, record: run_rows.Surrounded, status: CampaignStatus
) -> str:
    """Adds what runs refer to where it is not there yet: source, cluster, software stack and
    campaign, which gets this status. The id of the stack. Raises AnotherClusterError where the
    cluster is another."""
    # Always in this order: two processes that wait for each other's rows would be a deadlock.
    add_row(connection, "sources", run_rows.source_row(record))
    add_cluster(connection, record.cluster)
    stack = add_stack(connection, record.cluster.cluster, record.environment)
    _add_campaign(connection, record, status, stack)
    return stack


def _is_known(connection: Connection, file: RecordFile) -> bool:
    """Whether the run is stored, from this very record. Raises if it is from another one."""
    runs, run_id = _TABLES["runs"], file.record.run_id
    statement = select(runs.c.record_sha256).where(runs.c.run_id == run_id)
    stored = connection.execute(statement).scalar()
    if stored is not None and stored != file.sha256:
        raise InvalidDataError(
            f"run {run_id!r} is stored already, from a record that differs (SHA-256 "
            f"{stored[:12]}..., this one {file.sha256[:12]}...); nothing is overwritten"
        )
    return stored is not None


def _add_composed(connection: Connection, name: str) -> None:
    """The catalogue's rows of a mechanism such as ft4+ft2+ft1, made from those of its parts."""
    mechanisms, pairs = _TABLES["mechanisms"], _TABLES["compatibility"]
    names = name.split("+")
    known = select(mechanisms.c.mechanism).where(mechanisms.c.mechanism == name)
    if len(names) == 1 or connection.execute(known).first():
        return
    found = connection.execute(select(mechanisms).where(mechanisms.c.mechanism.in_(names)))
    parts = {row["mechanism"]: dict(row) for row in found.mappings()}
    if set(parts) != set(names):
        return  # `_require_catalogued` says that it is not known
    add_row(connection, "mechanisms", composed.mechanism_row(name, [parts[each] for each in names]))
    stored = connection.execute(select(pairs).where(pairs.c.mechanism.in_(names))).mappings()
    for row in composed.compatibility_rows(name, [dict(each) for each in stored]):
        add_row(connection, "compatibility", row)


def _require_catalogued(connection: Connection, record: Record) -> None:
    for table, name in (
        ("architectures", record.cell.architecture),
        ("mechanisms", record.cell.mechanism),
    ):
        (key,) = _TABLES[table].primary_key
        known = sorted(connection.execute(select(key)).scalars())
        if name not in known:
            there = ", ".join(known) or "none: run `advisor db load` first"
            raise InvalidDataError(f"no {key.name} {name!r} in the database; there is {there}")


def _add_workload(connection: Connection, record: Record) -> None:
    """The batch decides what a sample per second means in steps, so it has to be the same."""
    row = run_rows.workload_row(record)
    stored = added_or_stored(connection, "workloads", row)
    if stored["batch_per_rank"] not in (None, row["batch_per_rank"]):
        raise InvalidDataError(
            f"there is another workload called {row['workload']!r}, with a batch per rank of "
            f"{stored['batch_per_rank']}, not {row['batch_per_rank']}"
        )


def _add_campaign(
    connection: Connection, record: run_rows.Surrounded, status: CampaignStatus, stack: str
) -> None:
    row = run_rows.campaign_row(record, status, stack)
    stored = added_or_stored(connection, "campaigns", row)
    if stored["cluster"] != row["cluster"]:
        raise InvalidDataError(
            f"campaign {row['campaign']!r} is of cluster {stored['cluster']!r}, "
            f"not {row['cluster']!r}"
        )
