"""`--uncertainty` and `--mtbf-factor`, as a person sees them and as a program does."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor import cli
from advisor.scenario import ScenarioInput
from advisor.uncertainty.answer import minimax_of, uncertainty_of, with_uncertainty
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_ASKED = ("recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h")


def stated(**more: Any) -> ScenarioInput:
    given: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return ScenarioInput(**(given | more))


def document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert cli.run([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_nothing_is_drawn_unless_asked_for(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document([*_ASKED, "--db", str(shipped_database)], capsys)
    assert found["uncertainty"] is None
    assert found["minimax"] is None


def test_the_rest_of_the_answer_stays_as_it_is(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = document([*_ASKED, "--db", str(shipped_database)], capsys)
    options = ["--uncertainty", "--mtbf-factor", "3", "--db", str(shipped_database)]
    found = document([*_ASKED, *options], capsys)
    assert {k: v for k, v in found.items() if k not in ("uncertainty", "minimax")} == {
        k: v for k, v in plain.items() if k not in ("uncertainty", "minimax")
    }
    names = [c["mechanism"] for c in plain["candidates"]]
    assert [c["mechanism"] for c in found["uncertainty"]["chances"]] == names
    assert sum(c["best_probability"] for c in found["uncertainty"]["chances"]) == pytest.approx(1)


def test_the_same_question_draws_the_same(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, stated(warning_lead_s=5.0))
    assert uncertainty_of(matilda, found) == uncertainty_of(matilda, found)
    other = uncertainty_of(matilda, found, seed=1)
    assert other.seed == 1
    assert other.chances != uncertainty_of(matilda, found).chances
    for a, b in zip(other.chances, uncertainty_of(matilda, found).chances, strict=True):
        assert a.best_probability == pytest.approx(b.best_probability, abs=0.03)


def test_a_factor_of_1_is_the_recommendation(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, stated())
    assert found.selected is not None
    minimax = minimax_of(matilda, found, 1.0)
    best = minimax.choices[0]
    assert (best.mechanism, best.interval_steps) == (
        found.selected.mechanism,
        found.selected.interval_steps,
    )
    assert minimax.held is not None
    assert minimax.held.largest_regret_s == pytest.approx(best.largest_regret_s, abs=1e-6)
    assert found.candidates[1].expected_completion_s is not None
    assert minimax.choices[1].largest_regret_s == pytest.approx(found.margin_s, abs=1e-6)


def test_what_is_recommended_regrets_at_least_as_much(matilda: ClusterEvidence) -> None:
    minimax = minimax_of(matilda, recommend(matilda, stated()), 5.0)
    assert minimax.held is not None
    assert minimax.held.largest_regret_s > minimax.choices[0].largest_regret_s > 0.0


@pytest.mark.parametrize("factor", ["0.5", "0", "-2", "nan", "inf", "1e9"])
def test_a_factor_that_is_none(
    factor: str, shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*_ASKED, "--mtbf-factor", factor, "--db", str(shipped_database)]
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert "factor" in line
    assert "such as 2" in line


def test_a_range_beyond_any_mtbf(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "1s"]
    arguments += ["--mtbf-factor", "10000", "--db", str(shipped_database)]
    assert cli.run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("advisor: the MTBF is ")


def test_in_words(matilda: ClusterEvidence) -> None:
    from advisor.reports import render

    found = with_uncertainty(matilda, recommend(matilda, stated()), mtbf_factor=2.0)
    for fmt in ("table", "markdown"):
        text = render(found, fmt)
        assert "How sure" in text
        assert "Least largest regret" in text
        assert "FT1: the best with a probability of 100 %" in text
        assert "held at their value: 5 numbers (not measured: analytical)" in text.replace(
            "\n", " "
        )
    native = recommend(matilda, stated(architecture="a6"))
    said = render(with_uncertainty(matilda, native, mtbf_factor=2.0), "table")
    assert "not known: A6 goes on by itself" in said
    assert "none between 2 h and 8 h: A6 goes on by itself" in said


def test_next_in_words(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["next", "--architecture", "a6", "--state-size", "204.7MB", "--mtbf", "4h"]
    assert cli.run([*asked, "--db", str(shipped_database)]) == 0
    assert capsys.readouterr().out.startswith("Nothing to weigh: A6 goes on by itself")
    assert cli.run(["next", *_ASKED[1:], "--db", str(shipped_database)]) == 0
    said = capsys.readouterr().out
    basis = "By the scatter of the measurements alone"
    assert said.startswith(f"{basis}, FT1 is the best with a probability of 100 %")
    assert f"{basis}, measuring any one cell again cannot change the pick." in said
    assert "What cannot be weighed" in said
    small = ["--cluster", "2-cores-8-ranks", "--architecture", "a2", "--mtbf", "10m"]
    assert cli.run(["next", *small, "--db", str(shipped_database)]) == 0
    said = capsys.readouterr().out
    assert f"Measure this cell next. {basis}: what rules are off by is not weighed" in said
    assert "other cells, measured again by itself, cannot change the pick." in said
