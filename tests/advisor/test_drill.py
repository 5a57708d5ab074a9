"""`advisor drill` and `advisor scorecard` without a run: what is said, and what is refused."""

import json
from pathlib import Path

import pytest

from advisor.drills.catalogue import DRILLS
from tests.advisor.conftest import Advisor


def test_the_suite_is_listed_without_running(advisor: Advisor, tmp_path: Path) -> None:
    code, out, err = advisor("drill", "--list")
    assert (code, err) == (0, "")
    header, *rows = out.splitlines()
    assert header.split()[:3] == ["drill", "on", "mechanisms"]
    assert {row.split()[0].removesuffix(":") for row in rows} >= {d.name for d in DRILLS[:20]}
    assert not (tmp_path / "runs").exists()


def test_what_is_chosen_is_listed(advisor: Advisor) -> None:
    code, out, _ = advisor("drill", "crash", "--mechanism", "ft1,ft2", "--list")
    assert code == 0
    assert out.splitlines()[-1] == "1 drill, 2 runs"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["earthquake"], "unknown drill 'earthquake': known are crash, "),
        (["--mechanism", "ft12"], "unknown mechanism with drills 'ft12': known are ft1, "),
        (["announced", "--mechanism", "ft1"], "none of these drills applies to ft1: to ft4"),
        (["--world-size", "3"], "4<=x<=512"),
        (["--profile", "huge"], "'smoke', 'cpu', 'paper'"),
        (["--list", "--format", "json"], "--list prints a table only"),
        (["crash", "--resume", "x"], "--resume goes on with drills as they were planned"),
        (["--resume", "x"], "no drill belongs to campaign 'x'"),
    ],
)
def test_bad_input_is_one_line(advisor: Advisor, arguments: list[str], says: str) -> None:
    code, out, err = advisor("drill", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_scorecard_of_a_cluster_without_runs(advisor: Advisor) -> None:
    code, out, err = advisor("scorecard", "FT1", "--format", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["cluster"] == "matilda-8xv100"
    (card,) = document["mechanisms"]
    assert (card["mechanism"], card["drilled"]["is_tested"]) == ("ft1", False)
    assert {row["mark"] for row in card["faults"]} == {"untested"}
    code, out, _ = advisor("scorecard")
    assert code == 0
    assert [f"\nFT{number} " in out for number in range(1, 10)] == [True] * 9


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ft12"], "unknown mechanism 'ft12': known are ft1, "),
        (["--cluster", "nowhere"], "no cluster 'nowhere'"),
    ],
)
def test_an_unknown_scorecard_is_one_line(
    advisor: Advisor, arguments: list[str], says: str
) -> None:
    code, out, err = advisor("scorecard", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
