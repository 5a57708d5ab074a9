"""docs/scale.md: every rule and symbol of the code, the options of the command, and its numbers."""

from dataclasses import fields

from advisor.commands.scale import command
from advisor.exact_time import SHOWN_DIFFERENCE
from advisor.scale.answer import SCAN_STEP, ScalePoint
from advisor.scale.growth import Growth, StateLayout
from advisor.scale.rules import ScaleRule
from db.records import FailureScope
from tests.docs.documents import DOCS, code_words, read, sections, table_with, tables

TEXT = read("scale.md")
RULES = sections(TEXT)["The rules"]


def test_every_rule_is_there() -> None:
    words = code_words(RULES)
    assert {each.value for each in ScaleRule} <= words
    assert {each.value for each in StateLayout} <= words
    assert {each.value for each in FailureScope} <= words


def test_symbols_are_names_in_the_code() -> None:
    known = {field.name for kind in (Growth, ScalePoint) for field in fields(kind)}
    rows = table_with(RULES, "symbol")
    assert list(rows) == ["N, N0", "n, n0", "h", "c", "f", "p"]
    assert {name.strip("`") for name, *_ in rows.values()} <= known


def test_options_that_are_named_exist() -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    named = {word.split()[0] for word in code_words(TEXT) if word.startswith("--")}
    assert named
    assert named <= options


def test_numbers_and_files() -> None:
    assert f"in steps of {100 * SCAN_STEP:.0f} % at most" in TEXT
    assert f"differ by more than {100 * SHOWN_DIFFERENCE:.0f} %" in TEXT
    assert all((DOCS.parent / name).is_file() for name in code_words(TEXT) if name.endswith(".py"))
    assert [rows[0][0] for rows in tables(TEXT)] == ["symbol", "rule"]
