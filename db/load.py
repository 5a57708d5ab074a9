"""Loads data folders and bundles, all or nothing; what is shipped by the same code as what is not.

Every problem of every row is named before anything is written. Loading the same rows again
changes nothing; rows that are in the database but not in the files stay. A bundle adds to the
catalogue of architectures, mechanisms and their compatibility, and changes nothing of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy import Connection, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from db import files
from db.files import RawRow
from db.kinds import KINDS, Kind, to_table
from db.models import Base
from db.resources import resource_dir
from db.schema import check_schema
from db.session import open_engine, write

_CAPABILITIES = Base.metadata.tables["architecture_capabilities"]

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a load did with the rows of one kind."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Counts for each kind that had rows."""

    kinds: Mapping[str, Counts]

    @property
    def changed(self) -> bool:
        """Whether the database differs from before."""
        return any(counts.added or counts.updated for counts in self.kinds.values())


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A valid row: as it stood in the file, and as the table takes it."""

    raw: RawRow
    values: dict[str, Any]

    @property
    def key(self) -> Key:
        return tuple(self.values[name] for name in self.raw.kind.key)


def load(url: str, path: Path | None = None) -> LoadReport:
    """Loads a data folder (CSV files, then the bundles of its clusters) or a bundle file; None is
    the shipped data.

    Raises InvalidDataError, which names file, row, column, input and what would be valid.
    """
    return _load(url, files.read(path or resource_dir("data")))


def load_rows(url: str, raw: Iterable[RawRow]) -> LoadReport:
    """The same for rows that were read already (`db.files.bundle_rows`)."""
    return _load(url, [raw])


def _load(url: str, parts: Iterable[Iterable[RawRow]]) -> LoadReport:
    """Stores one part after the other, so that a bundle may say again what stands in a CSV file,
    in one transaction."""
    parsed = _parse(parts)
    engine = open_engine(url)
    try:
        check_schema(engine)
        return write(
            engine,
            lambda connection: _together(_store_all(connection, part) for part in parsed),
        )
    except IntegrityError as error:
        raise files.invalid([f"the database refuses a row: {error.orig}"]) from error
    finally:
        engine.dispose()


def _together(reports: Iterable[LoadReport]) -> LoadReport:
    """What was done with each kind in all parts, in the order of KINDS."""
    found: dict[str, list[Counts]] = {}
    for report in reports:
        for name, counts in report.kinds.items():
            found.setdefault(name, []).append(counts)
    return LoadReport(
        {
            kind.name: Counts(
                added=sum(each.added for each in found[kind.name]),
                updated=sum(each.updated for each in found[kind.name]),
                unchanged=sum(each.unchanged for each in found[kind.name]),
            )
            for kind in KINDS
            if kind.name in found
        }
    )


def _parse(parts: Iterable[Iterable[RawRow]]) -> list[list[_Parsed]]:
    problems: list[str] = []
    parsed = [_parse_part(part, problems) for part in parts]
    if problems:
        raise files.invalid(problems)
    return parsed


def _parse_part(raw: Iterable[RawRow], problems: list[str]) -> list[_Parsed]:
    """The valid rows; what is wrong with the others is added to `problems`."""
    parsed: list[_Parsed] = []
    for row in raw:
        try:
            parsed.append(_parse_row(row))
        except ValidationError as error:
            problems.extend(_explained(row, detail) for detail in error.errors())
        except ValueError as error:
            problems.append(f"{row.where}: {error}")
    problems.extend(_duplicates(parsed))
    return parsed


def _parse_row(row: RawRow) -> _Parsed:
    columns = row.kind.columns
    given = {
        columns[name].field: value for name, value in row.values.items() if value not in ("", None)
    }
    values = to_table(row.kind, row.kind.model.model_validate(given))
    for name in row.kind.optional:
        if name not in row.values:
            del values[columns[name].field]
    return _Parsed(row, values)


def _explained(row: RawRow, detail: ErrorDetails) -> str:
    """One problem: file, row, column, what is wrong with it, and the input."""
    names = {column.field: name for name, column in row.kind.columns.items()}
    message = detail["msg"].removeprefix("Value error, ")
    if not detail["loc"]:
        return f"{row.where}: {message}"
    place = f"{row.where}, column {names.get(str(detail['loc'][0]), detail['loc'][0])}"
    if detail["type"] == "missing":
        return f"{place}: is empty, but needed"
    return f"{place}: {message}, not {str(detail['input'])[:80]!r}"


def _duplicates(parsed: Iterable[_Parsed]) -> Iterator[str]:
    first: dict[tuple[str, Key], str] = {}
    for row in parsed:
        seen = first.setdefault((row.raw.kind.name, row.key), row.raw.where)
        if seen != row.raw.where:
            yield f"{row.raw.where}: {'/'.join(map(str, row.key))} is already in {seen}"


def _store_all(connection: Connection, parsed: list[_Parsed]) -> LoadReport:
    by_kind: dict[str, list[_Parsed]] = {}
    for row in parsed:
        by_kind.setdefault(row.raw.kind.name, []).append(row)
    dangling = list(_dangling(connection, by_kind))
    if dangling:
        raise files.invalid(dangling)
    # In the order of KINDS, what is referred to is there before what refers to it.
    return LoadReport(
        {
            kind.name: _store(connection, kind, by_kind[kind.name])
            for kind in KINDS
            if kind.name in by_kind
        }
    )


def _dangling(connection: Connection, by_kind: Mapping[str, list[_Parsed]]) -> Iterator[str]:
    """References to rows that are neither in the database nor about to be loaded."""
    known: dict[str, set[Key]] = {}
    for kind in KINDS:
        for row in by_kind.get(kind.name, ()):
            for names, parent in _references(kind).items():
                if parent not in known:
                    known[parent] = _known(connection, parent, by_kind)
                value = tuple(row.values.get(name) for name in names)
                if None not in value and value not in known[parent]:
                    yield _unknown_reference(row, names, value, known[parent])


def _references(kind: Kind) -> dict[tuple[str, ...], str]:
    """Columns of the kind's table, in the order of the key that they hold: whose key it is."""
    constraints = kind.sql_table.foreign_key_constraints
    found = {tuple(c.name for c in each.columns): each.referred_table.name for each in constraints}
    return {
        names: table for names, table in found.items() if set(names) <= set(kind.model.model_fields)
    }


def _known(connection: Connection, table: str, by_kind: Mapping[str, list[_Parsed]]) -> set[Key]:
    key = list(Base.metadata.tables[table].primary_key)
    stored = {tuple(row) for row in connection.execute(select(*key))}
    coming = {
        tuple(row.values[column.name] for column in key)
        for kind in KINDS
        if kind.table == table
        for row in by_kind.get(kind.name, ())
    }
    return stored | coming


def _unknown_reference(row: _Parsed, names: tuple[str, ...], value: Key, known: set[Key]) -> str:
    there = ", ".join("/".join(map(str, key)) for key in sorted(known)[:10]) or "none"
    wanted = "/".join(map(str, value))
    return f"{row.raw.where}, column {'/'.join(names)}: no such row {wanted!r}; there is {there}"


def _store(connection: Connection, kind: Kind, rows: list[_Parsed]) -> Counts:
    stored = stored_rows(connection, kind)
    new = [row.values for row in rows if row.key not in stored]
    there = [
        (row.key, {name: row.values[name] for name in row.values if name not in kind.decided_here})
        for row in rows
        if row.key in stored and not row.raw.adds
    ]
    changed = [values for key, values in there if not values.items() <= stored[key].items()]
    if new:
        connection.execute(insert(kind.sql_table), [_own(kind, values) for values in new])
    for values in changed:
        _update(connection, kind.sql_table, _own(kind, values))
    for values in (*new, *changed):
        _store_capabilities(connection, values)
    return Counts(len(new), len(changed), len(rows) - len(new) - len(changed))


def stored_rows(connection: Connection, kind: Kind) -> dict[Key, dict[str, Any]]:
    """The kind's rows in the database by key, in the form that `to_table` gives."""
    table = kind.sql_table
    of_kind = [table.c[name] == value for name, value in kind.constants.items()]
    found = connection.execute(select(table).where(*of_kind)).mappings()
    rows = {tuple(row[name] for name in kind.key): dict(row) for row in found}
    if kind.name == "architectures":
        for (architecture,), values in rows.items():
            values["capabilities"] = _capabilities(connection, architecture)
    return rows


def _capabilities(connection: Connection, architecture: str) -> tuple[str, ...]:
    mine = _CAPABILITIES.c.architecture == architecture
    return tuple(
        sorted(connection.execute(select(_CAPABILITIES.c.capability).where(mine)).scalars())
    )


def _own(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are columns of the kind's own table; capabilities have their own."""
    return {name: value for name, value in values.items() if name in kind.sql_table.c}


def _update(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    same = [column == values[column.name] for column in table.primary_key]
    connection.execute(update(table).where(*same).values(**values))


def _store_capabilities(connection: Connection, values: Mapping[str, Any]) -> None:
    if "capabilities" not in values:
        return
    architecture = values["architecture"]
    connection.execute(delete(_CAPABILITIES).where(_CAPABILITIES.c.architecture == architecture))
    rows = [{"architecture": architecture, "capability": word} for word in values["capabilities"]]
    if rows:
        connection.execute(insert(_CAPABILITIES), rows)
