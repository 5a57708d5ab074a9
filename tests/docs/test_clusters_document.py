"""docs/clusters.md: numbers and symbols are those of the code, and commands and files exist."""

from dataclasses import fields

import click

from advisor.characterization import SAME_SIZE
from advisor.commands.clusters import command
from advisor.commands.db import command as db_command
from advisor.comparison.clusters import CHANCE
from advisor.comparison.difference import Difference, Uncertain
from advisor.comparison.matching import Compared
from advisor.reports.words import SUPERSEDED_MARK
from tests.docs.documents import DOCS, code_words, read, sections, table_with, tables

TEXT = read("clusters.md")


def test_every_number_that_is_compared_is_there() -> None:
    rows = table_with(TEXT, "number")
    named = {name.strip("` ") for cell in rows for name in cell.split(",")}
    assert named == {each.value for each in Compared}
    trace = {
        name.strip("` ")
        for cell, words in rows.items()
        if "trace" in words[1]
        for name in cell.split(",")
    }
    failures = ("emergency_save_s", "restore_s", "effective_restore_s", "recovery_s", "detection_s")
    assert trace == set(failures)


def test_symbols_are_names_in_the_code() -> None:
    known = {field.name for kind in (Uncertain, Difference) for field in fields(kind)}
    rows = table_with(TEXT, "symbol")
    assert {name.strip("`") for name, *_ in rows.values()} <= known
    assert [table[0][0] for table in tables(TEXT)] == ["number", "symbol"]


def test_numbers_and_marks() -> None:
    assert f"(within {100 * SAME_SIZE:.0f} %)" in TEXT
    assert f"Of equal numbers, {100 * CHANCE:.0f} %" in TEXT
    assert SUPERSEDED_MARK in TEXT
    assert "`unlike in`" in TEXT


def test_commands_and_files_exist() -> None:
    assert isinstance(command, click.Group)
    assert {"show", "compare", "recommend"} == set(command.commands)
    assert "supersede" in db_command.commands
    assert set(sections(TEXT)) == {
        "What is compared",
        "By more than chance",
        "The same scenario on each",
        "Software that is superseded",
    }
    assert all((DOCS.parent / name).is_file() for name in code_words(TEXT) if name.endswith(".py"))
