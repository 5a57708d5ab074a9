"""Recommend simulates its candidates when asked to, and shows what `advisor simulate` prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from advisor.cli import run
from advisor.reports.simulation_words import HEADER
from advisor.simulation import setups
from advisor.units import format_duration
from app import data
from app.markdown import escape
from tests.app.conftest import Page, texts

_ADDRESS: dict[str, Any] = {
    "mtbf": "2h",
    "duration": "2d",
    "detection": "30s",
    "mechanism": ["ft1", "ft2"],
}
_COMMAND = (
    *("simulate", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "2h"),
    *("--duration", "2d", "--detection", "30s", "--mechanism", "ft1,ft2"),
)


def percentiles(shown: AppTest) -> list[list[str]]:
    """The rows of the page's table of percentiles; none where there is no such table."""
    tables = [t.value for t in shown.dataframe if "P95" in t.value.columns]
    assert len(tables) <= 1
    return [list(map(str, row)) for table in tables for row in table.to_numpy().tolist()]


@pytest.mark.parametrize(
    ("asked", "told", "names"),
    [
        ({"arrivals": "poisson"}, [], ["FT1", "FT2"]),
        (
            {"arrivals": "weibull", "weibull_shape": "0.7"},
            ["--arrivals", "weibull:0.7"],
            ["FT1", "FT2"],
        ),
        (
            {"arrivals": "weibull", "weibull_shape": "1.23456789", "mechanism": ["ft1"]},
            ["--arrivals", "weibull:1.23456789", "--mechanism", "ft1"],
            ["FT1"],
        ),
        (
            {
                "arrivals": "poisson",
                "mechanism": ["ft1", "ft4"],
                "warning_lead": "2s",
                "warning_coverage": "90%",
            },
            [
                *("--mechanism", "ft1,ft4", "--warning-lead", "2s"),
                *("--warning-coverage", "90%"),
            ],
            ["FT1", "FT4"],
        ),
        (
            {"arrivals": "poisson", "mechanism": ["ft4"], "warning_lead": "2s"},
            ["--mechanism", "ft4", "--warning-lead", "2s"],
            ["FT4"],
        ),
    ],
)
def test_the_numbers_are_the_commands(
    page: Page,
    shipped_database: Path,
    capsys: pytest.CaptureFixture[str],
    asked: dict[str, Any],
    told: list[str],
    names: list[str],
) -> None:
    shown = page("recommend", **(_ADDRESS | asked))
    assert not shown.exception
    assert not shown.error
    capsys.readouterr()
    assert run([*_COMMAND, *told, "--format", "json", "--db", str(shipped_database)]) == 0
    document = json.loads(capsys.readouterr().out)
    times = ("p50_s", "p95_s", "p99_s", "mean_s", "half_width_s")
    expected = [
        [*(format_duration(each[name]) for name in times), f"{each['replications']:,}"]
        for each in document["candidates"]
    ]
    rows = percentiles(shown)
    assert [[*row[2:7], row[8]] for row in rows] == expected
    assert [row[0] for row in rows] == names
    # What a mechanism goes back to is said as the command says it.
    assert run([*_COMMAND, *told, "--db", str(shipped_database)]) == 0
    remarks = capsys.readouterr().out.splitlines()[1 + len(names) :]
    assert bool(remarks) == ("FT4" in names)
    assert len(rows[0]) == len(HEADER)
    said = texts(shown)
    assert [line for line in remarks if escape(line) not in said] == []
    assert "Simulated, not measured: arrivals " in said
    assert f"seed {document['seed']}" in said
    (command,) = [c.value for c in shown.code if c.value.startswith("advisor simulate")]
    assert f"--arrivals {document['arrivals']}" in command


def test_nothing_is_simulated_until_somebody_asks(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counting(*arguments: Any, **more: Any) -> setups.SimulatedSetups:
        asked.append(arguments)
        return setups.simulate_setups(*arguments, **more)

    monkeypatch.setattr(data, "simulate_setups", counting)
    shown = page("recommend", **_ADDRESS)
    assert percentiles(shown) == []
    assert "Simulated" not in texts(shown)
    assert asked == []
    shown.selectbox(key="arrivals").set_value("poisson").run()
    first = percentiles(shown)
    assert [len(asked), len(first)] == [1, 2]
    assert shown.query_params["arrivals"] == "poisson"
    # The same question is not simulated twice, another one is.
    shown.run()
    page("recommend", **_ADDRESS, arrivals="poisson")
    assert percentiles(shown) == first
    assert len(asked) == 1
    shown.text_input(key="mtbf").set_value("4h").run()
    assert percentiles(shown) != first
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("", "Weibull shape: it is needed: write a number from 0.3 to 5, such as 0.7"),
        ("many", "Weibull shape: 'many' is not a shape: write a number from 0.3 to 5"),
        ("0.1", "Weibull shape: '0.1' is no shape that failures have"),
        ("nan", "Weibull shape: 'nan' is no shape"),
        ("1" * 5000, "Weibull shape: '111"),
    ],
)
def test_a_mistaken_shape_is_said_and_nothing_else_lost(page: Page, shape: str, said: str) -> None:
    shown = page("recommend", **_ADDRESS, arrivals="weibull", weibull_shape=shape)
    assert [escape(said) in e.value for e in shown.error] == [True]
    assert not shown.exception
    assert percentiles(shown) == []
    assert shown.header[0].value.startswith("FT1")
    shown.text_input(key="weibull-shape").set_value("0.7").run()
    assert not shown.error
    assert len(percentiles(shown)) == 2


def test_what_is_not_simulated_says_why(page: Page) -> None:
    shown = page("recommend", mtbf="1s", detection="1s", arrivals="poisson")
    assert not shown.exception
    assert percentiles(shown) == []
    assert "not simulated, more than 100,000 failures are expected in one job" in texts(shown)


def test_nothing_is_offered_without_an_expected_time(page: Page) -> None:
    for address in ({"architecture": "a6"}, {"max_pause": "1ms"}, {"mtbf": "soon"}):
        shown = page("recommend", arrivals="poisson", **address)
        assert not shown.exception
        assert "How late it may end" not in texts(shown)
        assert "The address" not in texts(shown)
