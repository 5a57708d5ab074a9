"""The MTBF from a failure log: chosen in the sidebar, said with every answer, kept by links."""

import json
import shlex
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from advisor import cli
from advisor.reports import words
from advisor.reports.document import from_document
from advisor.units import format_duration
from app.markdown import escape
from tests.advisor.failure_logs.samples import FOLDER
from tests.app.conftest import Page, texts
from tests.app.test_failure_logs import uploaded
from tests.app.test_words import options_in, said

_MTBF_S = 54 * 86400 / 419
_WRITTEN = f"{_MTBF_S!r}s"
_LABEL = "MTBF from a failure log"


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A copy of the shipped database with three estimates: one of jobs, two that are no MTBF."""
    own = Path(shutil.copy(shipped_database, tmp_path / "own.db"))
    for name, log in (
        ("llama-3", ["llama3_counts.csv", "--window", "54d", "--nodes", "2048"]),
        ("of-nodes", ["lanl.csv"]),
        ("bound", ["acme_kalos.csv"]),
    ):
        path, *options = log
        told = ["--save", name, "--db", str(own)]
        assert cli.run(["mtbf", str(FOLDER / path), *options, *told]) == 0
    capsys.readouterr()
    return own


def assumed(shown: AppTest) -> tuple[str, str]:
    """The MTBF that the answer has, and where it is from."""
    table = next(t.value for t in shown.table if "from" in t.value.columns)
    value, origin = table.loc["MTBF"]
    return str(value), str(origin)


def link(shown: AppTest) -> dict[str, list[str]]:
    found = next(str(c.value) for c in shown.code if "mtbf=" in str(c.value))
    return parse_qs(urlsplit(found).query, keep_blank_values=True)


def test_the_answer_is_the_commands(
    page: Page, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = page("recommend", database)
    chooser = shown.selectbox(key="mtbf-from")
    assert chooser.value == ""
    assert sorted(chooser.options[1:]) == ["bound", "llama-3", "of-nodes"]
    assert assumed(shown) == ("4 h", "given")
    chooser.set_value("llama-3").run()
    assert not shown.exception
    assert not shown.error
    told = ["--architecture", "a2", "--state-size", "204.7MB", "--mtbf-from", "llama-3"]
    assert cli.run(["recommend", *told, "--format", "json", "--db", str(database)]) == 0
    answer = from_document(json.loads(capsys.readouterr().out))
    assert shown.header[0].value == escape(words.headline(answer))
    origin = answer.scenario.assumed["mtbf_s"]
    assert "the log llama-3 for a job on 2,048 nodes: 419 failures" in origin
    assert assumed(shown) == (escape(format_duration(_MTBF_S)), escape(origin))
    assert escape(origin) in "\n".join(str(c.value) for c in shown.sidebar.caption)
    assert options_in(said(shown)) == []


def test_the_field_shows_what_decides(page: Page, database: Path) -> None:
    shown = page("recommend", database, mtbf="4 parsecs")
    shown.selectbox(key="mtbf-from").set_value("llama-3").run()
    field = shown.text_input(key="mtbf")
    assert (field.value, field.disabled) == (_WRITTEN, True)
    assert not shown.error
    # Without the log, its MTBF is one that somebody typed.
    shown.selectbox(key="mtbf-from").set_value("").run()
    field = shown.text_input(key="mtbf")
    assert (field.value, field.disabled) == (_WRITTEN, False)
    assert assumed(shown) == (escape(format_duration(_MTBF_S)), "given")


def test_a_link_means_the_same_where_nothing_is_saved(
    page: Page, database: Path, shipped_database: Path
) -> None:
    shown = page("recommend", database, mtbf_from="llama-3")
    stated = link(shown)
    assert (stated["mtbf"], stated["mtbf-from"]) == ([_WRITTEN], ["llama-3"])
    assert shown.query_params["mtbf-from"] == "llama-3"
    again = page("recommend", database, **stated)
    assert assumed(again) == assumed(shown)
    assert not again.warning or "The address" not in texts(again)
    elsewhere = page("recommend", shipped_database, **stated)
    assert "asks for mtbf-from 'llama-3', which is not there" in texts(elsewhere)
    assert elsewhere.header[0].value == shown.header[0].value
    assert assumed(elsewhere) == (assumed(shown)[0], "given")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"mtbf_from": "of-nodes"}, "of-nodes is a rate of scope node"),
        ({"mtbf_from": "bound"}, "bound saw no failure"),
        ({"mtbf_from": "llama-3", "nodes": "64"}, "Nodes and MTBF of a node say the MTBF too"),
        ({"mtbf_from": "llama-3", "node_mtbf": "9d"}, "Nodes and MTBF of a node say the MTBF too"),
    ],
)
def test_what_cannot_be_used_is_said_once(
    page: Page, database: Path, address: dict[str, str], says: str
) -> None:
    shown = page("recommend", database, **address)
    assert [e.value.startswith(escape(f"{_LABEL}: {says}")) for e in shown.error] == [True]
    assert [i.value for i in shown.info] == [
        f"The scenario in the sidebar is not complete: see {_LABEL}."
    ]
    assert shown.text_input(key="mtbf").value == "4h"
    for key in ("mtbf-from", "nodes", "node-mtbf"):
        field = (shown.selectbox if key == "mtbf-from" else shown.text_input)(key=key)
        field.set_value("")
    shown.run()
    assert not shown.error
    assert assumed(shown) == ("4 h", "given")


def test_every_page_answers_for_it(page: Page, database: Path) -> None:
    for path in ("frontier", "sensitivity", "scale"):
        by_log = page(path, database, mtbf_from="llama-3")
        assert not by_log.exception
        assert not by_log.error
        typed = page(path, database, mtbf=_WRITTEN)
        assert [str(m.value) for m in by_log.markdown] == [str(m.value) for m in typed.markdown]


def test_a_saved_answer_says_where_its_mtbf_is_from(page: Page, database: Path) -> None:
    asked = page("recommend", database, mtbf_from="llama-3")
    asked.button(key="save").click().run()
    assert "the log llama-3" in assumed(page("saved", database))[1]


def test_the_commands_to_copy_state_the_mtbf(page: Page, database: Path) -> None:
    shown = page(
        "recommend", database, mtbf_from="llama-3", tool="torchrun", duration="6h", mechanism="ft1"
    )
    emitted = next(c.value for c in shown.code if "made by: advisor emit" in c.value)
    made = " ".join(line.strip("# ") for line in str(emitted).splitlines())
    assert f"--mtbf {_WRITTEN}" in made
    again = page(
        "recommend",
        database,
        mtbf_from="llama-3",
        duration="6h",
        mechanism="ft1",
        arrivals="poisson",
    )
    (simulate,) = [c.value for c in again.code if c.value.startswith("advisor simulate")]
    assert shlex.split(simulate)[shlex.split(simulate).index("--mtbf") + 1] == _WRITTEN


def test_another_source_of_the_mtbf_takes_its_place(page: Page, database: Path) -> None:
    shown = uploaded(page, "sacct.txt", database, mtbf_from="llama-3")
    shown.button(key="use_mtbf").click().run()
    assert not shown.exception
    assert shown.selectbox(key="mtbf-from").value == ""
    assert "The scenario in the sidebar has this MTBF" in texts(shown)


def test_what_is_saved_can_be_chosen_at_once(page: Page, database: Path) -> None:
    shown = uploaded(page, "sacct.txt", database)
    shown.text_input(key="estimate_name").set_value("mine").run()
    shown.button(key="save_estimate").click().run()
    assert "the sidebar has mine under MTBF from a failure log" in texts(shown)
    shown.selectbox(key="mtbf-from").set_value("mine").run()
    assert not shown.error
    assert "The scenario in the sidebar has this MTBF" in texts(shown)
