"""Takes run records into the database, many in a transaction.

Ingesting a record again changes nothing: a run is known by its id and by its record's digest. What
the record refers to (cluster, software stack, workload, source, campaign) is added where it is not
there yet, and never changed. Any number of processes may ingest at once, and a connection that is
dropped in the middle loses nothing (`db.session.write`).
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from db import composed, run_rows
from db.errors import InvalidDataError
from db.hardware import add_cluster, add_row, add_rows, added_or_stored
from db.models import Base
from db.records import CampaignStatus
from db.run_record import INTERRUPTED, Record, RecordFile, read_record
from db.run_rows import Row
from db.session import write
from db.stack_store import add_stack

RECORD_NAME = "record.json"
ASIDE = ".aside-"
"""In the name of a folder that was put aside: its run did not end, and was made again."""
MOST_RECORDS = 200
"""In one transaction: others who write wait for no longer than a part of a second."""
MOST_CHARACTERS = 16_000_000
"""Of the records in one transaction, which are in memory together."""
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
    refused: list[str] = []
    paths = record_files(path, refused)
    report = ingest_records(engine, _readable(paths, refused))
    return IngestReport(report.runs, (*refused, *report.refused))


def ingest_records(engine: Engine, files: Iterable[RecordFile]) -> IngestReport:
    """Ingests records that were read already; they are asked for as they are needed."""
    runs: list[Ingested] = []
    refused: list[str] = []
    for batch in _batches(files):
        stored = _ingest_together(engine, batch)
        if stored is None:  # one of them is refused: each by itself, to know which
            _ingest_one_by_one(engine, batch, runs, refused)
        else:
            runs.extend(stored)
    return IngestReport(tuple(runs), tuple(refused))


def _readable(paths: Iterable[Path], refused: list[str]) -> Iterator[RecordFile]:
    """The valid records; what is wrong with the others is added to `refused`."""
    for path in paths:
        try:
            file = read_record(path)
        except InvalidDataError as error:
            if path.exists():  # otherwise its folder was put aside meanwhile
                refused.append(str(error))
        else:
            yield file


def _batches(files: Iterable[RecordFile]) -> Iterator[list[RecordFile]]:
    """As many as one transaction takes; the same run never twice in one."""
    batch: dict[str, RecordFile] = {}
    characters = 0
    for file in files:
        is_full = len(batch) == MOST_RECORDS or characters + len(file.text) > MOST_CHARACTERS
        if batch and (is_full or file.record.run_id in batch):
            yield list(batch.values())
            batch, characters = {}, 0
        batch[file.record.run_id] = file
        characters += len(file.text)
    if batch:
        yield list(batch.values())


def _ingest_together(engine: Engine, files: Sequence[RecordFile]) -> list[Ingested] | None:
    """All of them in one transaction, or none: None where one would be refused."""
    try:
        new = write(engine, lambda connection: _ingest(connection, files, CampaignStatus.COMPLETE))
    except (InvalidDataError, IntegrityError):
        return None
    return [_ingested(file, file.record.run_id in new) for file in files]


def _ingest_one_by_one(
    engine: Engine, files: Iterable[RecordFile], runs: list[Ingested], refused: list[str]
) -> None:
    for file in files:
        try:
            runs.append(ingest_record(engine, file))
        except InvalidDataError as error:
            refused.append(str(error))


def record_files(path: Path, refused: list[str]) -> list[Path]:
    """The file itself, or the records in a folder, as `records_below`. Raises InvalidDataError if
    there is none, and nothing that cannot be read."""
    if path.is_file():
        return [path]
    found = records_below(path, refused)
    if not found and not refused:
        what = f"holds no {RECORD_NAME}" if path.is_dir() else "is neither a record nor a folder"
        raise InvalidDataError(f"{path} {what}")
    return found


def records_below(folder: Path, refused: list[str]) -> list[Path]:
    """The records in a folder and the folders in it, sorted; without those that were put aside.

    Others may write to it meanwhile: a folder that vanishes while it is looked at holds none. One
    line of each that cannot be read is added to `refused`.
    """

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            refused.append(f"{error.filename}: cannot be read: {error.strerror}")

    found = []
    for place, folders, files in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if ASIDE not in name]
        if RECORD_NAME in files and Path(place, RECORD_NAME).is_file():
            found.append(Path(place, RECORD_NAME))
    return sorted(found)


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
        new = write(engine, lambda connection: _ingest(connection, [file], status))
    except InvalidDataError as error:
        raise type(error)(f"{path}: {error}") from error
    except IntegrityError as error:
        reason = " ".join(str(error.orig).split())
        raise InvalidDataError(f"{path}: the database refuses it: {reason}") from error
    return _ingested(file, bool(new))


def _ingested(file: RecordFile, is_new: bool) -> Ingested:
    record = file.record
    return Ingested(record.run_id, record.campaign.campaign, record.cluster.cluster, is_new)


def finish_campaign(engine: Engine, campaign: str, status: CampaignStatus) -> None:
    """Notes how a campaign ended; nothing happens if no run of it was stored."""
    table = _TABLES["campaigns"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    finish = (
        update(table)
        .where(table.c.campaign == campaign)
        .values(status=str(status), finished_at=now)
    )
    write(engine, lambda connection: connection.execute(finish))


def _ingest(
    connection: Connection, files: Sequence[RecordFile], status: CampaignStatus
) -> frozenset[str]:
    """Stores them; the ids of the runs that were not there before."""
    # In one order for all: two processes that wait for each other's rows would be a deadlock.
    files = sorted(files, key=lambda file: file.record.run_id)
    known = _known(connection, files)
    new = [file for file in files if file.record.run_id not in known]
    if not new:
        return frozenset()
    _refuse_interrupted(connection, [file.record for file in new])
    stacks = _add_what_they_refer_to(connection, [file.record for file in new], status)
    rows = [run_rows.run_row(file, stacks[_surroundings_of(file.record)]) for file in new]
    added = add_rows(connection, "runs", rows)
    late = [file for file in new if file.record.run_id not in added]
    # Another process was first with these, and has committed by now.
    if len(_known(connection, late)) < len(late):
        raise InvalidDataError("the same record is stored already, under another run id")
    _add_rows_of(connection, [file for file in new if file.record.run_id in added])
    return frozenset(added)


def _add_rows_of(connection: Connection, files: Iterable[RecordFile]) -> None:
    """What the records become beside their rows in `runs`, table by table."""
    together: dict[str, list[Row]] = {}
    for file in files:
        for table, rows in rows_of(file).items():
            together.setdefault(table, []).extend(rows)
    for table, rows in together.items():
        if rows:
            connection.execute(insert(_TABLES[table]), rows)


def _refuse_interrupted(connection: Connection, records: Iterable[Record]) -> None:
    """A planned run that was interrupted is run again, under the id that one run only can have."""
    cells = _TABLES["campaign_cells"]
    for record in records:
        if INTERRUPTED not in record.validity_reasons:
            continue
        planned = select(cells.c.run_id).where(cells.c.run_id == record.run_id)
        if connection.execute(planned).first():
            raise InvalidDataError(
                f"run {record.run_id} was interrupted: `advisor measure --resume "
                f"{record.campaign.campaign}` runs it again"
            )


def _add_what_they_refer_to(
    connection: Connection, records: Sequence[Record], status: CampaignStatus
) -> dict[str, str]:
    """Where it is not there yet: once for all records that say the same of it. The software stack
    of each surrounding (`_surroundings_of`)."""
    for mechanism in sorted({record.cell.mechanism for record in records}):
        _add_composed(connection, mechanism)
    for column, names in (
        ("architecture", {record.cell.architecture for record in records}),
        ("mechanism", {record.cell.mechanism for record in records}),
    ):
        _require_catalogued(connection, column, names)
    around = {_surroundings_of(record): record for record in records}
    stacks = {said: add_surroundings(connection, record, status) for said, record in around.items()}
    workloads = {repr(run_rows.workload_row(record)): record for record in records}
    for record in workloads.values():
        _add_workload(connection, record)
    return stacks


def _surroundings_of(record: Record) -> str:
    """All that `add_surroundings` reads."""
    stack = run_rows.measured_stack(record.cluster.cluster, record.environment)
    return repr((record.campaign, record.cluster, stack))


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
        "run_monitors": run_rows.monitor_rows(record),
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


def _known(connection: Connection, files: Sequence[RecordFile]) -> set[str]:
    """Which of the runs are stored, from these very records. Raises where one is from another."""
    if not files:
        return set()
    runs = _TABLES["runs"]
    ids = [file.record.run_id for file in files]
    statement = select(runs.c.run_id, runs.c.record_sha256).where(runs.c.run_id.in_(ids))
    stored = {row.run_id: row.record_sha256 for row in connection.execute(statement)}
    for file in files:
        other = stored.get(file.record.run_id, file.sha256)
        if other != file.sha256:
            raise InvalidDataError(
                f"run {file.record.run_id!r} is stored already, from a record that differs "
                f"(SHA-256 {other[:12]}..., this one {file.sha256[:12]}...); nothing is overwritten"
            )
    return set(stored)


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


def _require_catalogued(connection: Connection, column: str, names: Iterable[str]) -> None:
    (key,) = _TABLES[f"{column}s"].primary_key
    known = sorted(connection.execute(select(key)).scalars())
    for name in sorted(set(names) - set(known)):
        there = ", ".join(known) or "none: run `advisor db load` first"
        raise InvalidDataError(f"no {column} {name!r} in the database; there is {there}")


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
