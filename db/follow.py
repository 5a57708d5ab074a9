"""Ingests a folder that others write to while it is looked at, again and again.

Compute nodes often reach a shared folder and no database: whoever reaches both follows the folder.
A record is taken once it is whole. One that is not may be half copied: it is refused only after it
stayed as it is for a while. A run that was interrupted may be made again under its id, which one
run only can have: its record waits.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from db.errors import InvalidDataError
from db.ingest import IngestReport, ingest_records, records_below
from db.run_record import INTERRUPTED, RecordFile, read_record

SETTLED_AFTER_S = 30.0
"""A record that is not whole and has not changed for so long is refused."""

_Version = tuple[int, int]
"""Of a file: when it was changed (ns), and its size (bytes)."""


@dataclass(frozen=True, slots=True)
class _Unsettled:
    version: _Version
    since_s: float


class Follower:
    """Follows one folder into one database; `look` takes what came since the last look.

    `clock` gives seconds from any instant on.
    """

    def __init__(
        self, engine: Engine, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine, self._folder, self._clock = engine, folder, clock
        self._done: dict[Path, _Version] = {}
        self._unsettled: dict[Path, _Unsettled] = {}
        self._unreadable: set[str] = set()
        self._interrupted: dict[Path, _Version] = {}

    @property
    def interrupted(self) -> int:
        """How many records of interrupted runs were there at the last look; none was stored."""
        return len(self._interrupted)

    def look(self, *, is_last: bool = False) -> IngestReport:
        """Ingests what is new, or changed; `is_last` does not wait for what is not whole yet."""
        refused: list[str] = []
        found = dict(_versions(records_below(self._folder, refused)))
        refused = [line for line in refused if line not in self._unreadable]
        self._unreadable.update(refused)
        self._interrupted = {p: v for p, v in self._interrupted.items() if found.get(p) == v}
        report = ingest_records(self._engine, self._whole(found, refused, is_last))
        return IngestReport(report.runs, (*refused, *report.refused))

    def _whole(
        self, found: Mapping[Path, _Version], refused: list[str], is_last: bool
    ) -> Iterator[RecordFile]:
        for path, version in found.items():
            if version in (self._done.get(path), self._interrupted.get(path)):
                continue
            try:
                file = read_record(path)
            except InvalidDataError as error:
                if path.exists() and (is_last or self._is_settled(path, version)):
                    self._done[path] = version
                    refused.append(str(error))
                continue
            if INTERRUPTED in file.record.validity_reasons:
                self._interrupted[path] = version
                continue
            self._done[path] = version
            yield file

    def _is_settled(self, path: Path, version: _Version) -> bool:
        """Whether the file has been as it is for long enough."""
        known = self._unsettled.get(path)
        if known is None or known.version != version:
            self._unsettled[path] = _Unsettled(version, self._clock())
            return False
        return self._clock() - known.since_s >= SETTLED_AFTER_S


def _versions(paths: list[Path]) -> Iterator[tuple[Path, _Version]]:
    for path in paths:
        try:
            found = path.stat()
        except OSError:  # put aside since
            continue
        yield path, (found.st_mtime_ns, found.st_size)
