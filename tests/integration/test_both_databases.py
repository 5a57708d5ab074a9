"""The same commands give the same answers on SQLite and on PostgreSQL."""

import json
import re
from pathlib import Path

import pytest

from advisor.cli import run
from db.schema import HEAD

pytestmark = pytest.mark.integration
_ASK = ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = run(list(arguments))
    out, err = capsys.readouterr()
    assert code == 0, err
    return str(out) + str(err)


def test_recommend_is_the_same_everywhere(
    shipped_url: str, sqlite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--warning-lead", "2s"], ["--architecture", "a6"], ["--max-pause", "1s"]):
        ask = [*_ASK, *more, "--format", "json"]
        here = json.loads(called(capsys, *ask, "--db", shipped_url))
        there = json.loads(called(capsys, *ask, "--db", str(sqlite_file)))
        assert here == there


def test_save_report_sql_and_check(shipped_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved = re.search(r"saved as (\S+):", called(capsys, *_ASK, "--save", "--db", shipped_url))
    assert saved
    printed = called(capsys, "report", saved.group(1), "--db", shipped_url)
    assert printed.startswith("FT1 Periodic disk checkpoint")
    assert "sound" in called(capsys, "db", "check", "--db", shipped_url)
    count = "select count(*) as n from recommendations"
    assert called(capsys, "sql", count, "--format", "csv", "--db", shipped_url) == "n\n1\n"
    assert run(["sql", "delete from recommendations", "--db", shipped_url]) == 2


def test_an_empty_database_names_the_commands(
    empty_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if empty_url.startswith("sqlite"):
        assert run([*_ASK, "--db", empty_url]) == 0
        return
    assert run([*_ASK, "--db", empty_url]) == 2
    message = capsys.readouterr().err
    assert "advisor db upgrade" in message
    assert message.count("\n") == 1
    assert HEAD in called(capsys, "db", "upgrade", "--db", empty_url)
    assert run([*_ASK, "--db", empty_url]) == 2
    assert "advisor db load" in capsys.readouterr().err
    called(capsys, "db", "load", "--db", empty_url)
    assert called(capsys, *_ASK, "--db", empty_url).startswith("FT1")
