"""The page Scale: what it shows is what `advisor scale` says."""

import json

import pytest

from advisor.cli import run
from advisor.cost import Price
from advisor.reports.scale_words import SCALE_HEADER
from tests.app.conftest import Page, texts

_SCENARIO = ["--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]


def test_the_table_is_the_commands(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    shown = page("scale", to="8..64", price="2.50USD", communication="10%", scaling="strong")
    assert not shown.exception
    assert not shown.error
    assert run(
        [
            *("scale", *_SCENARIO, "--to", "8..64", "--price", "2.50USD", "--scaling", "strong"),
            *("--communication", "10%", "--format", "json"),
        ]
    ) == 0  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert document["price"] == {"amount": 2.5, "currency": Price(2.5, "USD").currency}
    table = shown.dataframe[0].value
    assert list(table.columns) == list(SCALE_HEADER)
    assert [int(ranks) for ranks in table["ranks"]] == [8, 16, 32, 64]
    costs = [float(cost.removesuffix(" USD").replace(",", "")) for cost in table["cost"]]
    assert costs == [round(point["cost"]) for point in document["points"]]
    assert "64 ranks finish soonest" in texts(shown)
    assert "4 ranks on a node, as on matilda-8xv100" in texts(shown)


def test_without_a_price_there_is_no_cost(page: Page) -> None:
    shown = page("scale")
    assert set(shown.dataframe[0].value["cost"]) == {"–"}
    assert [int(r.replace(",", "")) for r in shown.dataframe[0].value["ranks"]][-1] == 8 * 2**6


def test_a_mistake_names_its_field_and_nothing_else_is_lost(page: Page) -> None:
    shown = page("scale", to="8..16")
    shown.text_input(key="price").set_value("2.50").run()
    assert [e.value.partition(":")[0] for e in shown.error] == ["Price of a GPU-hour"]
    assert not shown.exception
    shown.text_input(key="price").set_value("2.50EUR").run()
    assert not shown.error
    assert shown.text_input(key="to").value == "8..16"
    shown.selectbox(key="mtbf-scope").set_value("job").run()
    assert "say which share" in shown.error[0].value
    shown.text_input(key="node-share").set_value("78%").run()
    assert not shown.error
    assert shown.query_params["node-share"] == "78%"


def test_no_data_says_why(page: Page) -> None:
    shown = page("scale", architecture="a4", state_size="2.567GB", to="8,1024")
    assert "no data near enough" in texts(shown)
    assert list(shown.dataframe[0].value["mechanism"]) == ["FT2", "nobody"]
