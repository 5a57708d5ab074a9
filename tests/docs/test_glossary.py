"""docs/glossary.md: complete, in order, and every name that it gives exists."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from advisor import cli
from db import records
from tests.docs.documents import code_words, read, sections
from tests.docs.test_json_document import OBJECTS

_MODULES = (
    "db.records",
    "advisor.recommendation",
    "advisor.emit.needs",
    "advisor.emit.tool",
    "advisor.scale.answer",
    "advisor.scale.growth",
    "advisor.scenario",
    "advisor.failure_classes.catalogue",
    "advisor.failure_classes.search",
    "advisor.flips",
    "advisor.optimizer",
    "advisor.exact_time",
    "advisor.simulation.process",
    "advisor.simulation.run",
    "advisor.prediction.outcome",
    "advisor.tuning.hiccups",
    "advisor.tuning.tiers",
    "advisor.validated",
    "advisor.validation",
    "advisor.failure_logs.records",
    "measure.interfaces.capabilities",
)
_KINDS = ("Code", "SQL", "JSON", "CLI", "Schema")
_ENUMS = [
    value
    for value in vars(records).values()
    if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
]
_TERMS = (
    "architecture, mechanism, pair, trace, tuple, cell, run, campaign, fault event, phase, "
    "operating point, scenario, candidate, exclusion, frontier, dominated, crossover, runner-up, "
    "margin, evidence, evidence code, cluster, calibration, overhead, restore, effective restore, "
    "emergency save, stall per save, lost work, pause, detection, regrouping, goodput, MTBF, "
    "warning lead, warning coverage, coverage, native degradation, capability, compatibility, "
    "interval, state per rank, restore basis, bundle, run outcome, detector, profile, run record, "
    "exposure"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One term: what it means, and its names by kind."""

    term: str
    text: str
    names: dict[str, list[str]]


def _entries(text: str) -> Iterator[Entry]:
    for term, body in re.findall(r"^- \*\*(.+?)\*\*: (.+?)(?=^- |^#|\Z)", text, re.M | re.S):
        joined = " ".join(body.split())
        names = {
            kind: re.findall(r"`([^`]+)`", listed)
            for kind, listed in re.findall(rf"\b({'|'.join(_KINDS)}): ((?:`[^`]+`,? ?)+)", joined)
        }
        yield Entry(term, joined, names)


GROUPS = {name: list(_entries(body)) for name, body in sections(read("glossary.md")).items()}
ENTRIES = [entry for group in GROUPS.values() for entry in group]


def _named(kind: str) -> list[str]:
    return sorted({name for entry in ENTRIES for name in entry.names.get(kind, [])})


@pytest.mark.parametrize("kind", _ENUMS, ids=lambda kind: str(kind.__name__))
def test_every_stored_code_is_explained(kind: type[StrEnum]) -> None:
    (entry,) = [e for e in ENTRIES if kind.__name__ in e.names.get("Code", [])]
    words = code_words(entry.text)
    assert [code.value for code in kind if code.value not in words] == []


def test_every_word_is_there_once() -> None:
    terms = [entry.term for entry in ENTRIES]
    assert len(set(terms)) == len(terms)
    assert set(_TERMS.split(", ")) <= set(terms)


@pytest.mark.parametrize("group", GROUPS)
def test_groups_are_in_order_and_brief(group: str) -> None:
    terms = [entry.term.casefold() for entry in GROUPS[group]]
    assert terms == sorted(terms)
    for entry in GROUPS[group]:
        assert entry.text.endswith("."), entry.term
        said = re.split(rf"\b(?:{'|'.join(_KINDS)}): ", entry.text)[0]
        limit = 120 if entry.term in ("evidence", "quantity") else 60
        assert len(said.split()) <= limit, entry.term


@pytest.mark.parametrize("name", _named("Code"))
def test_names_in_the_code(name: str) -> None:
    kind, _, attribute = name.partition(".")
    found: list[Any] = [
        vars(module)[kind] for module in map(import_module, _MODULES) if kind in vars(module)
    ]
    assert found
    assert not attribute or any(attribute in each.__annotations__ for each in found)


def test_names_in_sql(first_use: Path) -> None:
    with closing(sqlite3.connect(first_use)) as connection:
        for name in _named("SQL"):
            table, _, column = name.partition(".")
            connection.execute(f"SELECT {column or '*'} FROM {table} LIMIT 0")


@pytest.mark.parametrize("name", _named("JSON"))
def test_names_in_the_json_document(name: str) -> None:
    item, _, key = name.partition(".")
    assert key in OBJECTS[item]["properties"]


def test_names_on_the_command_line() -> None:
    context = click.Context(cli.cli)
    commands = [cli.cli.get_command(context, name) for name in cli.cli.list_commands(context)]
    options = {option for c in commands if c for p in c.params for option in p.opts}
    assert set(_named("CLI")) <= options


def test_architectures_mechanisms_and_traces_of_the_shipped_data(first_use: Path) -> None:
    with closing(sqlite3.connect(first_use)) as connection:
        traces = {t for (t,) in connection.execute("SELECT DISTINCT trace FROM operating_points")}
    assert traces - {None} <= code_words(read("glossary.md"))


def test_every_list_item_is_an_entry() -> None:
    assert len(re.findall(r"^- ", read("glossary.md"), re.MULTILINE)) == len(ENTRIES)
