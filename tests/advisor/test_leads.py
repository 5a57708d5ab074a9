"""How long a lead an emergency save needs: the counting, and the command."""

import csv
import io
import json
from pathlib import Path

import pytest

from advisor import cli
from advisor.leads import break_evens
from db.ingest import ingest
from db.lead_queries import Answer, warning_answers
from db.session import open_engine, reading
from tests.db import run_records


def answer(lead_s: float, took_s: float | None, architecture: str = "a2") -> Answer:
    within = took_s is not None and took_s < lead_s
    return Answer(architecture, "ft4", "resnet50", 8, lead_s, took_s, within)


def test_the_break_even_lies_above_the_longest_lead_that_was_too_short() -> None:
    (found,) = break_evens(
        [answer(0.4, 0.2), answer(0.1, None), answer(0.2, 0.3), answer(0.2, 0.1), answer(0.3, 0.25)]
    )
    assert [(t.lead_s, t.warnings, t.in_time) for t in found.tried] == [
        (0.1, 1, 0),
        (0.2, 2, 1),
        (0.3, 1, 1),
        (0.4, 1, 1),
    ]
    assert (found.fails_to_s, found.holds_from_s) == (0.2, 0.3)
    second = found.tried[1]
    assert second.median_s == pytest.approx(0.2)
    assert second.slowest_s == 0.3
    assert (found.tried[0].median_s, found.tried[0].slowest_s) == (None, None)


def test_a_longer_lead_that_failed_once_moves_the_break_even() -> None:
    (found,) = break_evens([answer(0.1, 0.05), answer(0.2, 0.3), answer(0.3, 0.1)])
    assert (found.fails_to_s, found.holds_from_s) == (0.2, 0.3)


def test_what_was_not_tried_is_not_known() -> None:
    never, always = break_evens([answer(0.1, 0.2, "a1-sync"), answer(0.1, 0.05)])
    assert (never.fails_to_s, never.holds_from_s) == (0.1, None)
    assert (always.fails_to_s, always.holds_from_s) == (None, 0.1)


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    path.write_bytes(shipped_database.read_bytes())
    records = [run_records.mechanism_record(mechanism="ft4", seed=seed) for seed in range(3)]
    records[1]["emergency"][0]["within_lead"] = False
    run_records.write(
        tmp_path / "runs",
        *records,
        run_records.invalid(run_records.mechanism_record(mechanism="ft4", seed=3)),
    )
    engine = open_engine(str(path))
    assert ingest(engine, tmp_path / "runs").refused == ()
    engine.dispose()
    return path


def test_only_valid_runs_count(database: Path) -> None:
    engine = open_engine(str(database))
    with reading(engine) as connection:
        everywhere = warning_answers(connection, None)
        assert warning_answers(connection, "mybox") == everywhere
        assert warning_answers(connection, "matilda-8xv100") == ()
    engine.dispose()
    assert [each.within_lead for each in everywhere] == [True, False, True]


def test_the_command(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["leads", "--cluster", "mybox", "--db", str(database)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split()[:3] == ["architecture", "mechanism", "lead"]
    assert "2 of 3" in said[1]
    assert "more than" in said[1]


def test_the_command_for_programs(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["leads", "--format", "json", "--db", str(database)]) == 0
    (found,) = json.loads(capsys.readouterr().out)["break_evens"]
    assert found["holds_from_s"] is None
    assert found["tried"][0]["warnings"] == 3
    assert cli.run(["leads", "--format", "csv", "--db", str(database)]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["warnings"], row["in_time"], row["holds_from_s"]) == ("3", "2", "")


def test_without_announced_faults_it_says_how_to_get_some(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["leads", "--db", str(shipped_database)]) == 0
    assert "advisor measure" in capsys.readouterr().out
    assert cli.run(["leads", "--cluster", "nosuch", "--db", str(shipped_database)]) == 2
    assert "matilda-8xv100" in capsys.readouterr().err
