"""docs/postgresql.md stays true: its commands print what it says, on a real server."""

import shlex

import pytest

from advisor.cli import run
from db import session
from db.follow import SETTLED_AFTER_S
from db.outages import FIRST_PAUSE_S, LONGEST_PAUSE_S
from db.reader_role import STATEMENT_TIMEOUT_S
from tests.db.postgres import PostgresServer
from tests.docs.documents import console_blocks, difference, read

DOCUMENT = read("postgresql.md")


def test_every_example_prints_what_the_document_says(
    own_postgres: PostgresServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = own_postgres.create_database()
    monkeypatch.setenv("ADVISOR_DB_URL", url)
    place = url.partition("@")[2]
    (block,) = console_blocks(DOCUMENT)
    for step in block:
        program, *arguments = shlex.split(step.command)
        assert program == "advisor"
        capsys.readouterr()
        assert run(arguments) == 0
        printed = capsys.readouterr().out.replace(place, "db.example.org/advisor")
        printed = printed.replace("//postgres@", "//advisor@")
        assert difference(step.prints, printed.splitlines()) is None, printed


def test_its_numbers_are_those_of_the_program() -> None:
    for words, value in (
        (f"from {FIRST_PAUSE_S:g} to {LONGEST_PAUSE_S:g} s", None),
        (f"for up to {session.WRITE_PATIENCE_S:g} s", None),
        (f"{session.READ_PATIENCE_S:g} s. A server", None),
        ("longer than a minute", STATEMENT_TIMEOUT_S == 60.0),
        ("half a minute", SETTLED_AFTER_S == 30.0),
    ):
        assert words in DOCUMENT.replace("\n", " ")
        assert value in (None, True)
