"""`advisor accuracy` as a person sees it."""

from pathlib import Path

import pytest

from advisor import cli
from advisor.commands import accuracy as command
from advisor.leave_one_out import Comparison, LeaveOneOut
from advisor.recommendation import RuleCheck, RuleError
from advisor.rules import AppliedRule, Part, Rule


def test_the_table(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["accuracy", "--db", str(shipped_database)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("matilda-8xv100: ")
    assert " ".join(said[2].split()) == (
        "another architecture with the same capabilities stall 11 1.1 % 10 % +0.76 % 0"
    )
    assert any(line.startswith("not checked: another interval: ") for line in said)
    assert "own behaviour" not in "".join(said)  # predicts nothing, so there is nothing to check
    assert said[-1].startswith("No prediction was tried live on this cluster")
    assert said[-3].startswith("11 comparisons; the rest does not predict 7 measured values")


def test_every_comparison(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["accuracy", "--comparisons", "--db", str(shipped_database)]) == 0
    said = capsys.readouterr().out
    assert said.count(": off by ") == 11
    assert said.count(" not predicted\n") == 7
    assert "measured on A5, which has the same capabilities, not on A4" in said
    assert "a step of 372.5 ms is 11.8 times from the measured 31.57 ms" in said


def test_what_is_near_zero_has_no_relative_error(capsys: pytest.CaptureFixture[str]) -> None:
    rule = AppliedRule(Rule.INTERVAL, "from 100 steps to 50")
    error = RuleError(Part.STALL, 0, None, None, None, 1, 0.0123)
    comparison = Comparison("p", "a2", "ft1", Part.STALL, 0.2, 0.01, None, 0.0123, (rule,))
    found = LeaveOneOut((RuleCheck(Rule.INTERVAL, (error,), None),), (comparison,), ())
    command._echo_leave_one_out(found, comparisons=True)
    said = capsys.readouterr().out.splitlines()
    assert " ".join(said[1].split()) == "another interval stall 0 1 1.2 %"
    assert said[-2] == (
        "p: stall predicted 200 ms, measured 10 ms: near zero, off by +1.2 % of the steps that "
        "pay for it"
    )
    assert said[-1] == "  from 100 steps to 50"


def test_a_cluster_that_is_not_there(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["accuracy", "--cluster", "nosuch", "--db", str(shipped_database)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nosuch" in line
    assert "matilda-8xv100" in line
