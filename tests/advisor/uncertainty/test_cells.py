"""Which cell to measure next: what each is of, and a command that the program itself accepts."""

import shlex
from dataclasses import replace

import pytest

from advisor.commands.measure import command as measure
from advisor.recommendation import Recommendation
from advisor.scenario import RestoreBasis, ScenarioInput
from advisor.uncertainty.answer import uncertainty_of
from advisor.uncertainty.cells import NextCells, as_json, next_cells
from db.records import ClusterEvidence
from measure.workloads.catalogue import entry_named
from tests.advisor.conftest import recommend


def asked(evidence: ClusterEvidence, **inputs: object) -> tuple[Recommendation, NextCells]:
    stated = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    found = recommend(evidence, ScenarioInput(**(stated | inputs)))  # type: ignore[arg-type]
    return found, next_cells(evidence, found)


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"warning_lead_s": 5.0},
        {"architecture": "a1-sync"},
        {"architecture": "a4", "state_bytes": 2_567_000_000},
    ],
)
def test_every_command_is_one_that_measure_accepts(
    matilda: ClusterEvidence, inputs: dict[str, object]
) -> None:
    _, found = asked(matilda, **inputs)
    commands = [c.command for c in found.cells] + [u.command for u in found.unvalued if u.command]
    assert commands
    for words in map(shlex.split, commands):
        assert words[:2] == ["advisor", "measure"]
        parsed = measure.make_context("measure", words[2:]).params
        assert parsed["profile"] in entry_named(parsed["workload"]).sizes


def test_what_is_measured_without_a_fault_is_a_cell_of_its_own(matilda: ClusterEvidence) -> None:
    _, found = asked(matilda, warning_lead_s=5.0)
    traces = {q: each.cell.trace for each in found.cells for q in each.quantities}
    assert traces["overhead_fraction"] == "none"
    emergency = next(each for each in found.cells if each.cell.mechanism == "ft4")
    assert (emergency.cell.trace, emergency.quantities) == ("f1", ("save_s",))
    assert "--lead 2s" in emergency.command
    baseline = {each.cell.trace for each in found.cells if each.cell.mechanism == "ft9"}
    assert baseline == {"none", "f1"}  # throughput, detection


def test_the_most_worthwhile_comes_first(matilda: ClusterEvidence) -> None:
    found, cells = asked(matilda, warning_lead_s=5.0)
    worth = [each.one_more_s for each in cells.cells]
    assert worth == sorted(worth, reverse=True)
    for each in cells.cells:
        assert 0.0 <= each.one_more_s <= each.perfect_s
    uncertainty = uncertainty_of(matilda, found)
    assert cells.perfect_s == uncertainty.perfect_s
    assert cells.best_probability == uncertainty.chances[0].best_probability


def test_bounds_cannot_be_weighed(matilda: ClusterEvidence) -> None:
    _, found = asked(matilda)
    assert {each.quantity for each in found.unvalued} == {"restore_s"}
    known = asked(matilda, restore_basis=RestoreBasis.CALIBRATED)[1]
    assert known.unvalued == ()
    assert all(each.cell.trace == "none" for each in known.cells if each.cell.mechanism != "ft9")


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"architecture": "a6"}, "A6 goes on by itself"),
        ({"mechanisms": ("ft7",)}, "no candidate"),
    ],
)
def test_what_is_not_priced_says_why(
    matilda: ClusterEvidence, inputs: dict[str, object], reason: str
) -> None:
    recommendation, found = asked(matilda, **inputs)
    assert reason in (found.reason or "")
    assert reason in (uncertainty_of(matilda, recommendation).reason or "")
    assert as_json(found)["cells"] == []


def test_runs_of_our_own_go_on_with_the_next_seed(matilda: ClusterEvidence) -> None:
    """Those of a publication have no seeds here."""
    _, found = asked(matilda)
    assert not any("--first-seed" in each.command for each in found.cells)
    own = replace(
        matilda,
        points=tuple(
            replace(p, values={q: replace(v, source_id=None) for q, v in p.values.items()})
            for p in matilda.points
        ),
        sources={},
    )
    overheads = [c for c in asked_of(own).cells if c.cell.mechanism == "ft2"]
    assert [c.command.endswith(f"--first-seed {c.runs}") for c in overheads] == [True]


def asked_of(evidence: ClusterEvidence) -> NextCells:
    found = recommend(
        evidence, ScenarioInput(architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0)
    )
    return next_cells(evidence, found)
