"""A simulation in words: the same command again, and a row for each candidate."""

import shlex
from dataclasses import replace

import pytest

from advisor.arrivals import Law
from advisor.commands.simulate import command as simulate
from advisor.inputs import scenario_input
from advisor.reports import simulation_document, simulation_words
from advisor.scenario import ScenarioInput
from advisor.simulation.setups import (
    Beyond,
    Failures,
    NotSimulated,
    setups_of,
    simulate_setups,
)
from db.records import Arrivals, ClusterEvidence
from tests.advisor.conftest import recommend

_ASKED = ScenarioInput(
    "a2", 204_700_000, 7200.0, duration_s=86400.0, detection_s=30.0, mechanisms=("ft1", "ft4")
)


@pytest.mark.parametrize("law", [Law(Arrivals.POISSON), Law(Arrivals.WEIBULL, 0.1234567890123 + 1)])
def test_the_command_asks_the_same_again(matilda: ClusterEvidence, law: Law) -> None:
    found = recommend(matilda, _ASKED)
    words = shlex.split(simulation_words.command_line(found.scenario, law))
    assert words[:2] == ["advisor", "simulate"]
    parsed = simulate.make_context("simulate", words[2:]).params
    assert parsed["law"] == law
    assert scenario_input(parsed) == _ASKED
    said = simulation_words.basis_line(law, 7)
    assert f"arrivals {words[-1]}, seed 7" in said


def test_rows_and_remarks(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, replace(_ASKED, warning_lead_s=2.0))
    failures = Failures(Law(Arrivals.POISSON))
    few = simulate_setups(setups_of(matilda, found, failures, Beyond()), 0, narrow=1e-9, most=4)
    rows = {row[0]: row for row in (simulation_words.row(*e) for e in few.found)}
    assert set(rows) == {"FT1", "FT4"}
    assert all(len(row) == len(simulation_words.HEADER) for row in rows.values())
    assert rows["FT4"][1] == "–"
    assert rows["FT1"][1].endswith(" steps")
    assert [row[-1] for row in rows.values()] == ["4", "4"]
    more = replace(few, left_out=(NotSimulated("ft9", "it is outside"),))
    remarks = list(simulation_document.remarks(more))
    few_jobs = [line for line in remarks if "4 jobs are too few, the mean is known within " in line]
    assert [line.split(":")[0] for line in few_jobs] == [*rows]
    announced = "FT4: every failure is announced in time for the emergency save ("
    assert [line.startswith(announced) for line in remarks].count(True) == 1
    assert remarks[-1] == "FT9: not simulated, it is outside"
