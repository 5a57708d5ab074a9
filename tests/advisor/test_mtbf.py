"""`advisor mtbf` as a person and a program see it."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from advisor import cli
from advisor.failure_logs.counting import CountMode
from advisor.failure_logs.estimate import FORMAT, VERSION, Announcements
from advisor.failure_logs.formats import NAMES
from advisor.failure_logs.gaps import Weibull
from advisor.failure_logs.nodes import Node, Nodes, Without
from advisor.failure_logs.rates import Mtbf
from advisor.failure_logs.records import Kind, Use
from db.records import FailureScope
from db.resources import resource_dir
from tests.advisor.failure_logs.samples import FOLDER

SCHEMA: dict[str, Any] = json.loads(
    (resource_dir("data") / "schemas" / "mtbf-1.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)
_LLAMA = str(FOLDER / "llama3_counts.csv")


def test_the_published_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mtbf", _LLAMA, "--window", "54d", "--nodes", "2048"]) == 0
    said = capsys.readouterr().out
    assert "MTBF of a job on 2,048 nodes: 3.09 h = 3 h 6 min (95 %: 2 h 49 min to" in said
    assert "419 failures in 1,296 job-hours" in said
    assert "warning: printed shares do not match the counts" in said


def test_the_rows_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mtbf", str(FOLDER / "sacct.txt")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("rows"))
    end = next(i for i, line in enumerate(lines) if "all rows" in line)
    numbers = [int(line.split()[0]) for line in lines[start + 1 : end]]
    assert sum(numbers) == int(lines[end].split()[0]) == 18
    assert "4 of 9 nodes had a failure." in lines
    assert any(line.startswith("without the worst") for line in lines)


def test_no_failure_is_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mtbf", str(FOLDER / "acme_kalos.csv")]) == 0
    said = capsys.readouterr().out
    assert "at least 40 min 3 s (95 %, one-sided), no failure in 2 job-hours" in said
    assert "inf" not in said.replace("infra", "")


def test_announced_interruptions(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mtbf", str(FOLDER / "events.csv"), "--window", "2024-05-01..2024-05-11"]
    assert cli.run(arguments) == 0
    said = capsys.readouterr().out
    assert "Interruptions: 4 unexpected (infra 3, abort 1), 3 planned" in said
    assert "coverage of 60 % (95 %: 14.66 % to 94.73 %)" in said
    assert "MTBF of all of them, 2 d, 2 min ahead in the median, 30 s at least" in said


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mtbf", str(FOLDER / "lanl.csv"), "--format", "lanl", "--output", "json"]
    assert cli.run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["version"]) == ("failbench-advisor-mtbf", 1)
    assert (found["scope"], found["log_format"]) == ("node", "lanl")
    assert found["mtbf"]["failures"] == 3
    assert sum(part["rows"] for part in found["accounting"]) == found["rows"] == 11
    assert found["weibull"] is None


@pytest.mark.parametrize("name", sorted(p.name for p in FOLDER.iterdir() if p.suffix != ".md"))
def test_the_document_is_that_of_its_schema(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    window = {"llama3_counts.csv": ["--window", "54d"]}.get(name, [])
    arguments = ["mtbf", str(FOLDER / name), "--count", "all", *window, "--output", "json"]
    assert cli.run([*arguments, "--coalesce", "none", "--nodes", "9"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(document)] == []
    for key in document:
        assert not VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


def test_the_schema_knows_every_field_and_every_code() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    for name, kind in (
        ("mtbf", Mtbf),
        ("weibull", Weibull),
        ("announcements", Announcements),
        ("by_node", Nodes),
        ("node", Node),
        ("without", Without),
    ):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    for name, codes in (
        ("log_format", NAMES),
        ("scope", FailureScope),
        ("count", CountMode),
    ):
        assert SCHEMA["properties"][name]["enum"] == [*codes]
    assert definitions["part"]["properties"]["use"]["enum"] == [*Use]
    assert set(definitions["kinds"]["required"]) == {*Kind}
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert SCHEMA["properties"]["version"]["const"] == VERSION


def test_many_reasons_are_shortened_and_still_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.txt"
    rows = [f"{n}|STATE{n}|1700000100|1700000200" for n in range(60)]
    path.write_text(
        "\n".join(["JobID|State|Start|End", *rows, "99|COMPLETED|1700000100|1700000200"])
    )
    assert cli.run(["mtbf", str(path)]) == 0
    said = capsys.readouterr().out
    assert "21 other reasons" in said
    assert "61  all rows" in said


def test_columns_that_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "Job Id;Status;Begin;Finish;Size\n"
        "1;NODE_FAIL;2024-03-01T00:00:00;2024-03-01T10:00:00;2\n"
        "2;completed;2024-03-01T00:00:00;2024-03-02T06:00:00;2\n"
    )
    told = ["job=Job Id", "state=Status", "start=Begin", "end=Finish", "nodes=Size"]
    options = [part for each in told for part in ("--column", each)]
    assert cli.run(["mtbf", str(path), *options]) == 0
    said = capsys.readouterr().out
    assert "MTBF of a job on 2 nodes, the mean size in the log: 40 h" in said
    assert "1 failure in 40 job-hours" in said
    for wrong, says in (
        (["--column", "when=Begin"], "write it as time=Date"),
        (["--column", "time=Date"], "no column 'Date': its columns are Job Id, Status, Begin"),
        (["--column", "state=Status"], "need a column for start and end (or duration)"),
        (["--column", "time=Begin", "--column", "time=Finish"], "told of two columns"),
        (["--column", "time=Begin", "--format", "sacct"], "to be read as sacct"),
        ([], "of a table of your own, say which column is which"),
    ):
        assert cli.run(["mtbf", str(path), *wrong]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        assert says in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nosuch.txt"], "nosuch.txt"),
        ([_LLAMA], "such as 54d"),
        ([_LLAMA, "--window", "54"], "no unit"),
        ([_LLAMA, "--tz", "Mars/Base"], "Europe/Berlin"),
        ([_LLAMA, "--nodes", "0"], "--nodes"),
        ([_LLAMA, "--format", "lanl"], "lanl"),
        ([_LLAMA, "--count", "some"], "infra+abort"),
        ([str(FOLDER / "README.md")], "none of the logs"),
        ([str(FOLDER)], "directory"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["mtbf", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert says in line


def test_names_from_a_file_cannot_act_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,cause,node\n1700000100,\x1b[31mred,n\x1b[2J\n1700090000,\x1b[31mred,n\x1b[2J\n"
    )
    assert cli.run(["mtbf", str(path), "--nodes", "4"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_times_that_are_all_the_same_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time\n" + "".join(f"2024-03-{day:02d}\n" for day in range(1, 10)))
    assert cli.run(["mtbf", str(path)]) == 0
    assert "Times between failures: all 1 d, so that none has a shape." in capsys.readouterr().out


def test_nothing_is_saved_of_a_file_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, database = tmp_path / "log.csv", tmp_path / "own.db"
    path.write_text("time\n01.03.2024 10:00\n")
    arguments = ["--window", "2024-01-01..2024-06-01", "--save", "mine", "--db", str(database)]
    assert cli.run(["mtbf", str(path), *arguments]) == 2
    assert "no row of 1 can be used" in capsys.readouterr().err
    assert not database.exists()
