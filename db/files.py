"""Reads a data folder or a bundle file into raw rows, and writes bundles.

A data folder has one CSV file a kind, and bundles in its folder `clusters`, one a cluster. A
bundle is one JSON object: {"format": "failbench-advisor-cluster", "version": 2, "kinds":
{"clusters": [{...}, ...], ...}}, with the columns and units of the CSV files. It says nothing of
when it was written, so that one and the same evidence is one and the same file. What a bundle may
hold is also in data/schemas/cluster-bundle-2.schema.json.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from db.errors import InvalidDataError
from db.kinds import BY_NAME, KINDS, Kind
from db.whole_file import write_whole

FORMAT = "failbench-advisor-cluster"
VERSION = 2
CLUSTERS = "clusters"
"""The folder of a data folder that holds bundles."""
LARGEST_FILE_BYTES = 64_000_000
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row as it stands in its file; `where` names file and row for a person. One that only
    `adds` leaves a row of the same key as it is."""

    kind: Kind
    where: str
    values: Mapping[str, Any]
    adds: bool = False


def invalid(problems: Iterable[str]) -> InvalidDataError:
    """One line that names the problems, the first twenty of them; all are in `.problems`."""
    found = list(problems)
    rest = len(found) - _MOST_PROBLEMS
    more = f"; and {rest} more" if rest > 0 else ""
    counted = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    message = f"nothing was loaded, {counted}: {'; '.join(found[:_MOST_PROBLEMS])}{more}"
    return InvalidDataError(" ".join(message.split()), tuple(found))


def read(path: Path) -> list[list[RawRow]]:
    """What is to be loaded, in that order: a bundle file's rows; or those of a folder's CSV files,
    then those of each of its bundles, by name. Raises InvalidDataError."""
    if path.is_dir():
        return _read_folder(path)
    if path.is_file():
        return [list(_read_bundle(path))]
    raise invalid([f"{path} is neither a folder of CSV files nor a bundle file"])


def _read_folder(folder: Path) -> list[list[RawRow]]:
    files = {file.name for file in folder.glob("*.csv")}
    expected = [kind.file for kind in KINDS]
    unknown = sorted(files.difference(expected))
    if unknown or not files:
        what = f"unknown files {', '.join(unknown)}" if unknown else "no CSV files"
        raise invalid([f"{folder} holds {what}; known are {', '.join(expected)}"])
    rows: list[RawRow] = []
    problems: list[str] = []
    for kind in KINDS:
        if kind.file in files:
            rows += _collected(_read_csv(kind, folder / kind.file), problems)
    bundles = [
        _collected(_read_bundle(file), problems)
        for file in sorted((folder / CLUSTERS).glob("*.json"))
    ]
    if problems:
        raise invalid(problems)
    return [rows, *bundles]


def _collected(found: Iterator[RawRow], problems: list[str]) -> list[RawRow]:
    """A file's rows, or its problem: the other files are looked at all the same."""
    try:
        return list(found)
    except InvalidDataError as error:
        problems.extend(error.problems)
        return []


def _read_csv(kind: Kind, path: Path) -> Iterator[RawRow]:
    reader = csv.reader(io.StringIO(_read_text(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_header(kind, header)
        for number, cells in enumerate(reader, start=2):
            if not cells:
                continue  # a blank line
            if len(cells) != len(header):
                raise invalid(
                    [f"{kind.file} row {number}: {len(cells)} cells, the header has {len(header)}"]
                )
            yield RawRow(kind, f"{kind.file} row {number}", dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise invalid([f"{kind.file} line {reader.line_num}: not a CSV file: {error}"]) from error


def _check_header(kind: Kind, header: list[str]) -> None:
    columns = kind.columns
    problems = [f"unknown column {name!r}" for name in header if name not in columns]
    problems += [
        f"missing column {name!r}"
        for name in columns
        if name not in header and name not in kind.optional
    ]
    problems += [f"column {name!r} twice" for name in set(header) if header.count(name) > 1]
    if problems:
        raise invalid([f"{kind.file}: {', '.join(problems)}; columns are {', '.join(columns)}"])


def _read_text(path: Path) -> str:
    """The file's text; at most LARGEST_FILE_BYTES are read, whatever its size claims to be."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise invalid([f"{path} cannot be read: {error.strerror}"]) from error
    if len(content) > LARGEST_FILE_BYTES:
        raise invalid([f"{path} is larger than {LARGEST_FILE_BYTES // 10**6} MB"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid([f"{path} is not UTF-8 text (byte {error.start})"]) from error


def _read_bundle(path: Path) -> Iterator[RawRow]:
    try:
        bundle = json.loads(_read_text(path), parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise invalid([f"{path} is not JSON: {error}"]) from error
    yield from bundle_rows(bundle, path.name)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number; leave it out and give a missing_reason")


def bundle_rows(bundle: Any, name: str) -> list[RawRow]:
    """The rows of a bundle; `name` is how messages call it. Raises InvalidDataError."""
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise invalid([f"{name} is not a bundle: its format is not {FORMAT!r}"])
    if bundle.get("version") != VERSION:
        raise invalid([f"{name} has version {bundle.get('version')!r}, known is {VERSION}"])
    kinds = bundle.get("kinds")
    unknown = set(bundle) - {"format", "version", "kinds"}
    if not isinstance(kinds, dict) or unknown:
        raise invalid([f"{name}: a bundle holds format, version and kinds"])
    strange = sorted(set(kinds) - set(BY_NAME))
    if strange:
        raise invalid([f"{name}: unknown kinds {', '.join(strange)}; known: {', '.join(BY_NAME)}"])
    return [row for kind in KINDS for row in _kind_rows(kind, kinds.get(kind.name, []), name)]


def _kind_rows(kind: Kind, rows: Any, name: str) -> Iterator[RawRow]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise invalid([f"{name}: {kind.name} is not a list of objects"])
    for number, row in enumerate(rows, start=1):
        where = f"{name} {kind.name} row {number}"
        unknown = sorted(set(row) - set(kind.columns))
        if unknown:
            raise invalid(
                [f"{where}: unknown columns {', '.join(unknown)}; known: {', '.join(kind.columns)}"]
            )
        yield RawRow(kind, where, row, adds=kind.is_catalogue)


def write_bundle(bundle: Mapping[str, Any], path: Path) -> None:
    """Writes a bundle: the old file or the new one, never half of it. Raises UnreachableError."""
    write_whole(path, (bundle_text(bundle) + "\n").encode())


def bundle_text(value: Any, indent: str = "") -> str:
    """JSON with every decimal written digit by digit, which `json` would turn into a float."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}: {bundle_text(v, indent + ' ')}" for key, v in value.items()]
        return _bracketed("{", inner, "}", indent)
    if isinstance(value, list):
        return _bracketed("[", [bundle_text(item, indent + " ") for item in value], "]", indent)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _bracketed(left: str, inner: list[str], right: str, indent: str) -> str:
    if not inner:
        return left + right
    lines = f",\n{indent} ".join(inner)
    return f"{left}\n{indent} {lines}\n{indent}{right}"
