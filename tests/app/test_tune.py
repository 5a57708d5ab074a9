"""The page Tune: what it shows is what `advisor tune` says."""

import json

import pytest

from advisor.cli import run
from advisor.reports.tune_words import TUNE_HEADER
from tests.app.conftest import Page, texts

_SCENARIO = ["--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]
_TOLD = {
    "kinds": "1:95%,all:5%",
    "hiccup-every": "6h",
    "hiccup-length": "20s",
    "repair": "12h",
    "spares-up-to": "10",
}


def _options(told: dict[str, str]) -> list[str]:
    return [word for name, value in told.items() for word in (f"--{name}", value)]


def test_the_table_is_the_commands(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {name.replace("-", "_"): value for name, value in _TOLD.items()}
    shown = page("tune", job_nodes="16", **fields)
    assert not shown.exception
    assert not shown.error
    asked = [
        "tune",
        *_SCENARIO,
        *_options(_TOLD),
        "--nodes",
        "16",
        "--most",
        "0",
        "--format",
        "json",
    ]
    assert run(asked) == 0
    document = json.loads(capsys.readouterr().out)
    table = shown.dataframe[0].value
    assert list(table.columns) == list(TUNE_HEADER)
    assert [int(n) for n in table["spares"]] == [each["spares"] for each in document["choices"]]
    names = [
        " + ".join(each["mechanism"].upper() for each in choice["settings"])
        for choice in document["choices"]
    ]
    assert [name.replace(" (k = 2)", "") for name in table["mechanisms"]] == names
    assert "–" not in set(table["simulated"])
    text = texts(shown)
    assert f"detection timeout {document['choices'][0]['timeout_s']:g} s" in text
    assert "a hiccup every 6 h" in text


def test_what_is_not_stated_is_not_searched(page: Page) -> None:
    shown = page("tune")
    assert not shown.error
    assert "spares were not searched" in texts(shown)
    assert set(shown.dataframe[0].value["timeout"]) == {"–"}


def test_a_mistake_names_its_field_and_nothing_else_is_lost(page: Page) -> None:
    shown = page("tune", repair="12h", kinds="1:100%")
    shown.text_input(key="kinds").set_value("1:50%").run()
    assert [e.value.partition(":")[0] for e in shown.error] == ["Nodes lost at once"]
    assert not shown.exception
    shown.text_input(key="kinds").set_value("0:50%,1:50%").run()
    shown.text_input(key="spares-up-to").set_value("many").run()
    assert "whole number from 0 to 1,000" in shown.error[0].value
    shown.text_input(key="spares-up-to").set_value("3").run()
    assert not shown.error
    assert shown.text_input(key="repair").value == "12h"
    shown.text_input(key="hiccup-every").set_value("6h").run()
    assert "belong together" in shown.error[0].value


def test_observed_hiccups(page: Page) -> None:
    shown = page("tune", hiccups="1s\n9s\n", hiccups_over="7d", regroup="10m")
    assert not shown.error
    assert "2 hiccups seen in 7 d" in texts(shown)
    assert "1 in 7 d" in set(shown.dataframe[0].value["false alarms"])


def test_who_goes_on_by_itself_has_nothing_to_set(page: Page) -> None:
    shown = page("tune", architecture="a6", mechanism="ft9")
    assert not shown.exception
    assert "goes on by itself" in texts(shown)
