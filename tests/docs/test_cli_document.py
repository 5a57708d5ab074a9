"""docs/cli.md and docs/json.md: every example runs, every option and unit is there."""

import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from advisor import cli, units
from advisor.errors import MissingToolError, UserError
from advisor.reports import FORMATS
from advisor.reports.pdf import BROWSER_VARIABLE
from db.errors import DatabaseError
from db.session import ALLOW_NETWORK_VARIABLE, default_path
from db.urls import VARIABLE
from tests.docs.documents import (
    Step,
    code_words,
    console_blocks,
    difference,
    read,
    sections,
    table_with,
)

_EXAMPLES = [
    (name, number, block)
    for name in ("cli.md", "failure_logs.md", "json.md")
    for number, block in enumerate(console_blocks(read(name)), start=1)
]
_SAVED = re.compile(r"\b\d{8}-[0-9a-f]{8}\b")
_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SHARED = "Options of several commands"


@pytest.mark.parametrize(
    "block", [block for *_, block in _EXAMPLES], ids=[f"{name}-{n}" for name, n, _ in _EXAMPLES]
)
def test_every_example_prints_what_the_document_says(
    block: list[Step], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, saved = 0, ""
    for position, step in enumerate(block):
        if step.command == "echo $?":
            assert step.prints == (str(code),)
            continue
        program, *arguments = shlex.split(_SAVED.sub(saved, step.command))
        assert program == "advisor"
        code = cli.run(arguments)
        said = capsys.readouterr()
        saved = "".join(_SAVED.findall(said.err)[:1]) or saved
        printed = _lines(said.out + said.err, home)
        wrong = difference(tuple(_lines("\n".join(step.prints), home)), printed)
        assert wrong is None, f"`{step.command}` does not print {wrong!r}, but {printed}"
        says_code = any(later.command == "echo $?" for later in block[position + 1 : position + 2])
        assert code == 0 or says_code, f"`{step.command}` ends with exit code {code}"


def _lines(text: str, home: Path) -> list[str]:
    """Lines that are not blank, with what differs from one run to the next made equal."""
    text = text.replace(str(home), "/home/you")
    text = _INSTANT.sub("<instant>", _SAVED.sub("<saved>", text))
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with the section that describes it."""
    context = click.Context(cli.cli)
    for name in cli.cli.list_commands(context):
        command = cli.cli.get_command(context, name)
        assert command is not None
        yield f"advisor {name}", command
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                yield f"advisor {name}", inner


@pytest.mark.parametrize(("heading", "command"), list(_commands()), ids=lambda value: str(value))
def test_every_option_is_described(heading: str, command: click.Command) -> None:
    described = sections(read("cli.md"))
    known = " ".join(code_words(described[heading]) | code_words(described[_SHARED])).split()
    options = [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
    assert [option for option in options if option not in known] == []


def test_no_option_is_described_that_is_not_there() -> None:
    there = {o for _, command in _commands() for p in command.params for o in p.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", read("cli.md")))
    assert named - there == {"--help"}


def test_every_command_has_an_example_or_a_line() -> None:
    text = read("cli.md")
    described = sections(text)
    for heading, command in _commands():
        assert heading in described
        if heading == "advisor db":
            assert f"advisor db {command.name}" in text or isinstance(command, click.Group)
        else:
            # The app serves until it is stopped, so its line is not run as an example.
            prompt = "" if heading == "advisor app" else "$ "
            assert f"{prompt}{heading}" in described[heading]
        assert f"](#{heading.replace(' ', '-')})" in text


def test_every_unit_is_named() -> None:
    named = code_words(sections(read("cli.md"))["Units"])
    known = {*units._DURATIONS_S, *units._SIZES_BYTES, *units._BIT_RATES_BYTES}
    assert known - named == set()


def test_every_format_is_named() -> None:
    assert set(FORMATS) <= code_words(sections(read("cli.md"))[_SHARED])


def test_environment_variables() -> None:
    named = table_with(sections(read("cli.md"))["Environment variables"], "variable")
    ours = {VARIABLE, ALLOW_NETWORK_VARIABLE, BROWSER_VARIABLE}
    assert set(named) == {*ours, "XDG_DATA_HOME", "NO_COLOR", "SOURCE_DATE_EPOCH"}


def test_the_database_is_where_the_document_says(home: Path) -> None:
    path = "~/.local/share/failbench-advisor/advisor.db"
    assert path in code_words(read("cli.md"))
    assert default_path() == Path(path.replace("~", str(home)))
    assert default_path({"XDG_DATA_HOME": "/data"}) == Path("/data/failbench-advisor/advisor.db")


def test_exit_codes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = table_with(sections(read("cli.md"))["Exit codes"], "code")
    assert set(codes) == {"0", "1", "2", "3", "130"}
    assert (UserError.exit_code, DatabaseError.exit_code, MissingToolError.exit_code) == (2, 2, 3)
    with closing(sqlite3.connect(default_path())) as connection:
        connection.execute("DROP VIEW frontier_view")
    assert cli.run(["db", "check"]) == 1
    assert "frontier_view" in capsys.readouterr().out
