"""Every page's address says what its fields hold, the link spells it out, and both lead back."""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from app.router import PAGES
from tests.app.conftest import Page, texts

_FIELDS = ("text_input", "text_area", "selectbox", "multiselect")


def fields(shown: AppTest) -> dict[str, Any]:
    """What every field holds, by key."""
    return {
        field.key: field.value
        for kind in _FIELDS
        for field in getattr(shown, kind)
        if field.key and field.key != "example"
    }


def link(shown: AppTest) -> dict[str, list[str]]:
    """The parameters of the page's own link."""
    found = next(str(c.value) for c in shown.code if "mtbf=" in str(c.value))
    return parse_qs(urlsplit(found).query, keep_blank_values=True)


def saved_twice(page: Page, database: Path) -> None:
    for mtbf in ("1h", "4h"):
        page("recommend", database, mtbf=mtbf).button(key="save").click().run()


@pytest.fixture
def own_database(shipped_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(shipped_database, tmp_path / "own.db"))


@pytest.mark.parametrize("path", [path for _, path, _, _ in PAGES])
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"mtbf": "2h", "architecture": "a4", "state_size": "2567MB", "max_overhead": "40%"},
        {"nodes": "64", "node_mtbf": "32d", "mtbf": "", "mechanism": ["ft1", "ft2"]},
        {"states": "", "q": "", "x": "lost-work", "filter_mechanism": ["ft1", "ft3"]},
    ],
    ids=["defaults", "scenario", "nodes", "emptied"],
)
def test_the_link_reproduces_every_field(
    page: Page, own_database: Path, path: str, changed: dict[str, str | list[str]]
) -> None:
    if path == "saved":
        saved_twice(page, own_database)
    shown = page(path, own_database, **changed)
    assert not shown.exception
    if path == "sql" and changed.get("q") == "":
        assert shown.text_area(key="q").value == ""
    again = page(path, own_database, **link(shown))
    assert fields(again) == fields(shown)
    assert link(again) == link(shown)
    assert not again.warning or "address" not in texts(again)


def test_the_link_keeps_emptied_fields_and_nodes(page: Page) -> None:
    assert link(page("coverage", states=""))["states"] == [""]
    assert link(page("sql", q=""))["q"] == [""]
    assert link(page("recommend", mtbf=""))["mtbf"] == [""]
    stated = link(page("recommend", nodes="64", node_mtbf="32d"))
    assert (stated["nodes"], stated["node-mtbf"], stated["mtbf"]) == (["64"], ["32d"], ["4h"])


def test_a_saved_answer_is_named_by_its_address(page: Page, own_database: Path) -> None:
    saved_twice(page, own_database)
    shown = page("saved", own_database)
    newest, older = shown.selectbox(key="id").options
    assert shown.query_params["id"] == newest
    assert link(shown)["id"] == [newest]
    shown.selectbox(key="with").set_value(older).run()
    assert (shown.query_params["id"], shown.query_params["with"]) == (newest, older)
    page("recommend", own_database, mtbf="2h").button(key="save").click().run()
    again = page("saved", own_database, id=newest)
    assert len(again.selectbox(key="id").options) == 3
    assert again.selectbox(key="id").value == newest


def test_a_choice_can_be_taken_back(page: Page) -> None:
    shown = page("recommend", restore_basis="calibrated")
    # The default can be chosen again.
    chooser = shown.selectbox(key="restore-basis")
    chooser.set_value(chooser.options[0]).run()
    assert "restore-basis" not in shown.query_params
    assert link(shown)["restore-basis"] == ["published"]


def test_a_field_that_a_browser_builds_anew_starts_with_what_it_holds(page: Page) -> None:
    """A busy one does so when the page changes, and sends what the field starts with."""
    stated = {"architecture": "a4", "state_size": "2567MB", "mechanism": ["ft1", "ft4"]}
    shown = page("recommend", restore_basis="calibrated", **stated)
    held = fields(shown)
    starts: dict[str | None, Any] = {}
    for field in (*shown.text_input, *shown.text_area):
        starts[field.key] = field.proto.default
    for field in shown.selectbox:
        # Options are shown in words: the place among them tells which one is held.
        words = field.options[field.proto.default]
        starts[field.key] = field.value if field.proto.default == field.index else words
    for field in shown.multiselect:
        starts[field.key] = [field.options[index] for index in field.proto.default]
    assert held["state-size"] == "2567MB"
    assert held["mechanism"] == ["ft1", "ft4"]
    assert {key: starts[key] for key in held} == held


def test_a_saved_answer_that_is_not_there_is_said(page: Page, own_database: Path) -> None:
    assert not page("saved", own_database, id="gone").warning
    saved_twice(page, own_database)
    assert "asks for id 'gone', which is not there" in texts(page("saved", own_database, id="gone"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"nosuch": "1"}, "The address gives 'nosuch', for which this page has no field"),
        ({"MTBF": "1h"}, "'MTBF' (did you mean mtbf?)"),
        ({"warning_led": "1s"}, "'warning-led' (did you mean warning-lead?)"),
        ({f"p{number}": "1" for number in range(200)}, "'p2' and 197 more"),
        ({"n" * 5000: "1"}, "n…'"),
        ({"mtbf": ["1h", "2h"]}, "gives mtbf 2 times, and it can have one value: '1h', the first"),
        ({"architecture": ["a4", "a2"]}, "gives architecture 2 times"),
        ({"architecture": "a9"}, "asks for architecture 'a9'"),
        ({"cluster": "nowhere"}, "asks for cluster 'nowhere'"),
        ({"mechanism": "zzz"}, "asks for mechanism 'zzz'"),
        ({"x": "restore"}, "gives 'x', for which this page has no field"),
    ],
)
def test_what_no_field_takes_up_is_said_once(
    page: Page, address: dict[str, str | list[str]], said: str
) -> None:
    shown = page("recommend", **address)
    assert [said in w.value for w in shown.warning if "The address" in w.value] == [True]
    assert len(shown.warning[0].value) < 1_200
    assert not shown.exception
    shown.run()
    assert "The address" not in texts(shown)


def test_names_of_fields_further_down_are_known(page: Page) -> None:
    shown = page("frontier", x="restore", mtbf="soon")
    assert "The address" not in texts(shown)
    shown.text_input(key="mtbf").set_value("1h").run()
    assert shown.selectbox(key="x").value == "restore"


def test_fields_that_a_mistake_takes_away_come_back_as_they_were(page: Page) -> None:
    asked = {"mtbf_factor": "3", "weibull_shape": "0.7", "tool": "dcp", "candidate": "ft3"}
    shown = page("recommend", **asked)
    held = fields(shown)
    shown.text_input(key="mtbf").set_value("soon").run()
    assert "tool" not in fields(shown)
    shown.run()
    shown.text_input(key="mtbf").set_value("4h").run()
    assert fields(shown) == held
    assert shown.query_params["tool"] == "dcp"
    assert not shown.warning or "The address" not in texts(shown)
    # What was emptied before stays empty.
    shown.text_input(key="mtbf-factor").set_value("").run()
    shown.text_input(key="mtbf").set_value("soon").run()
    shown.text_input(key="mtbf").set_value("4h").run()
    assert fields(shown) == held | {"mtbf-factor": ""}
