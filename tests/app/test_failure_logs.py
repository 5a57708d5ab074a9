"""The page Failure logs: a file in, what it says, and on to Recommend."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.advisor.failure_logs.samples import FOLDER
from tests.app.conftest import Page, texts
from tests.app.test_words import options_in, said


def uploaded(page: Page, name: str, database: Path | None = None, **address: str) -> AppTest:
    """The page with one of the sample logs in it."""
    shown = page("failure-logs", **({} if database is None else {"database": database}), **address)
    content = (FOLDER / name).read_bytes()
    shown.file_uploader(key="failure_log").upload(name, content).run()
    assert not shown.exception
    return shown


@pytest.fixture
def own_database(shipped_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(shipped_database, tmp_path / "own.db"))


def test_a_log_is_read_and_accounted_for(page: Page) -> None:
    shown = uploaded(page, "sacct.txt")
    assert "MTBF of a job on 2.58 nodes, the mean size in the log" in texts(shown)
    rows = next(t.value for t in shown.table if "used as" in t.value.columns)
    assert sum(int(n) for n in rows.index[:-1]) == int(rows.index[-1]) == 18
    assert "2 of 18 rows cannot be read" in texts(shown)
    assert "4 of 9 nodes had a failure" in texts(shown)
    assert options_in(said(shown)) == []


def test_the_fields_are_those_of_the_command(page: Page) -> None:
    shown = uploaded(page, "llama3_counts.csv", log_window="54d", log_nodes="2048")
    assert "3.09 h = 3 h 6 min" in texts(shown)
    assert "printed shares do not match the counts" in texts(shown)
    shown.selectbox(key="log-count").set_value("all").run()
    assert "all interruptions, planned ones too" in texts(shown)
    assert "no MTBF for Recommend" in texts(shown)


def test_an_mtbf_is_taken_into_the_scenario(page: Page) -> None:
    shown = uploaded(page, "llama3_counts.csv", log_window="54d", nodes="64", node_mtbf="32d")
    shown.button(key="use_mtbf").click().run()
    assert not shown.exception
    assert shown.text_input(key="mtbf").value == f"{54 * 86400 / 419!r}s"
    assert shown.text_input(key="nodes").value == ""
    assert "The scenario in the sidebar has this MTBF" in texts(shown)


def test_only_a_bound_is_not_taken(page: Page) -> None:
    shown = uploaded(page, "acme_kalos.csv")
    assert "there is only a bound" in texts(shown)
    assert not [button for button in shown.button if button.key == "use_mtbf"]


def test_it_is_saved_under_a_name_once(page: Page, own_database: Path) -> None:
    shown = uploaded(page, "sacct.txt", own_database)
    shown.text_input(key="estimate_name").set_value("my log").run()
    shown.button(key="save_estimate").click().run()
    assert "is no name" in texts(shown)
    shown.text_input(key="estimate_name").set_value("mine").run()
    shown.button(key="save_estimate").click().run()
    assert "advisor recommend --mtbf-from mine" in texts(shown)
    with closing(sqlite3.connect(own_database)) as connection:
        (found,) = connection.execute("SELECT name, scope, failures FROM failure_estimates")
    assert found == ("mine", "job", 1)
    shown.button(key="save_estimate").click().run()
    assert "is called 'mine' already" in texts(shown)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"log_nodes": "many"}, "whole number"),
        ({"log_nodes": "0"}, "whole number"),
        ({"log_nodes": "9" * 5000}, "whole number"),
        ({"log_nodes": "10000001"}, "whole number from 1 to 10,000,000"),
        ({"log_window": "yesterday"}, "yesterday"),
        ({"log_coalesce": "5"}, "no unit"),
        ({"log_tz": "Mars/Base"}, "Europe/Berlin"),
        ({"log_format": "lanl"}, "cannot be read as lanl"),
        ({"log_window": "54d"}, "start and end"),
    ],
)
def test_mistakes_are_said(page: Page, address: dict[str, str], says: str) -> None:
    shown = uploaded(page, "sacct.txt", None, **address)
    assert says in "\n".join(e.value for e in shown.error)
    assert options_in(said(shown)) == []


def test_a_file_that_is_no_log(page: Page) -> None:
    shown = uploaded(page, "README.md")
    assert "none of the logs" in "\n".join(e.value for e in shown.error)
    assert not shown.table or "used as" not in shown.table[0].value.columns
