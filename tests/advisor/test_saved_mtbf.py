"""`advisor mtbf --save` and `advisor recommend --mtbf-from`."""

import json
import shutil
from pathlib import Path

import pytest

from advisor import cli
from tests.advisor.failure_logs.samples import FOLDER

_LLAMA = ("mtbf", str(FOLDER / "llama3_counts.csv"), "--window", "54d", "--nodes", "2048")
_ASK = ("recommend", "--architecture", "a2", "--state-size", "204.7MB")


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> str:
    """A copy of the shipped database."""
    return str(shutil.copy(shipped_database, tmp_path / "advisor.db"))


def test_a_log_answers_for_the_mtbf(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*_LLAMA, "--save", "llama-3", "--db", database]) == 0
    assert "--mtbf-from llama-3" in capsys.readouterr().err
    arguments = [*_ASK, "--mtbf-from", "llama-3", "--format", "json", "--db", database]
    assert cli.run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scenario"]["mtbf_s"] == pytest.approx(54 * 86400 / 419)
    words = found["assumed"]["mtbf_s"]
    assert "the log llama-3 for a job on 2,048 nodes: 419 failures in 1,296 job-hours" in words
    assert "95 %: 2 h 49 min to 3 h 25 min" in words


def test_the_answer_is_that_of_the_same_mtbf(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*_LLAMA, "--save", "llama-3", "--db", database, "--output", "json"]) == 0
    mtbf_s = json.loads(capsys.readouterr().out)["mtbf"]["mtbf_s"]
    answers = []
    for stated in (["--mtbf-from", "llama-3"], ["--mtbf", f"{mtbf_s!r}s"]):
        assert cli.run([*_ASK, *stated, "--format", "json", "--db", database]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["candidates"] == answers[1]["candidates"]
    assert "mtbf_s" not in answers[1]["assumed"]


def test_a_saved_answer_keeps_its_origin(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*_LLAMA, "--save", "llama-3", "--db", database]) == 0
    capsys.readouterr()
    assert cli.run([*_ASK, "--mtbf-from", "llama-3", "--save", "--db", database]) == 0
    saved = capsys.readouterr().err.split()[2].rstrip(":")
    assert cli.run(["report", saved, "--format", "json", "--db", database]) == 0
    assert "llama-3" in json.loads(capsys.readouterr().out)["assumed"]["mtbf_s"]


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (["lanl.csv"], "scope node"),
        (["sacct.txt", "--count", "all"], "scope all-interruptions"),
        (["acme_kalos.csv"], "at least 40 min 3 s"),
    ],
)
def test_what_is_no_mtbf_of_jobs(
    log: list[str], says: str, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FOLDER / log[0])
    assert cli.run(["mtbf", path, *log[1:], "--save", "other", "--db", database]) == 0
    capsys.readouterr()
    assert cli.run([*_ASK, "--mtbf-from", "other", "--db", database]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*_ASK], "--mtbf-from"),
        ([*_ASK, "--mtbf", "4h", "--mtbf-from", "x"], "one of them"),
        ([*_ASK, "--mtbf-from", "x"], "none is saved"),
        ([*_LLAMA, "--save", "a b"], "cluster-2024"),
        ([*_LLAMA, "--save", ""], "cluster-2024"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], says: str, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*arguments, "--db", database]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_name_is_given_once(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*_LLAMA, "--save", "llama-3", "--db", database]
    assert cli.run(arguments) == 0
    capsys.readouterr()
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "llama-3" in said.err
