"""`advisor db status`: what a database is, on both servers; it makes nothing."""

from pathlib import Path

import pytest

from advisor.cli import run
from db.migrate import downgrade
from db.schema import HEAD


def test_a_database_in_two_lines(shipped_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "status", "--db", shipped_url]) == 0
    first, second = capsys.readouterr().out.splitlines()
    server = "SQLite 3." if shipped_url.startswith("sqlite") else "PostgreSQL 1"
    assert f": {server}" in first
    assert first.endswith(f", schema {HEAD}, may be written")
    assert ("role postgres" in first) == shipped_url.startswith("postgresql")
    assert second.endswith(" operating points, 0 runs, 0 campaigns")


def test_an_older_schema_names_the_command(
    shipped_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    downgrade(shipped_url, "0008")
    assert run(["db", "status", "--db", shipped_url]) == 2
    assert "advisor db upgrade" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "advisor.db"
    assert run(["db", "status", "--db", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path}: not there yet; the first command that needs it makes it\n"
    )
    assert list(tmp_path.iterdir()) == []
