"""Failure logs: a table whose columns are called anything, told column by column."""

import pytest
from streamlit.testing.v1 import AppTest

from advisor.failure_logs.columns import MEANINGS, RowKind, meanings_of
from app.log_columns import FIELDS
from app.markdown import message
from tests.app.conftest import Page, texts
from tests.app.test_address import fields, link
from tests.app.test_failure_logs import uploaded
from tests.app.test_words import options_in, said

_OUTAGES = b"""Failed At;Host;Reason
2024-03-01T00:00:00;n1;GPU
2024-03-02T00:00:00;n2;link
2024-03-04T00:00:00;n1;GPU
"""
_JOBS = b"""Id,Status,Begin,Finish
1,NODE_FAIL,2024-03-01T00:00:00,2024-03-01T10:00:00
2,completed,2024-03-01T00:00:00,2024-03-02T06:00:00
"""


def with_table(page: Page, content: bytes, **address: str) -> AppTest:
    shown = page("failure-logs", **address)
    shown.file_uploader(key="failure_log").upload("own.csv", content).run()
    assert not shown.exception
    return shown


def answers(shown: AppTest) -> bool:
    return any("used as" in table.value.columns for table in shown.table)


def test_every_meaning_has_a_field_with_help(page: Page) -> None:
    assert len(FIELDS) == 1 + len(MEANINGS)
    for kind in RowKind:
        shown = with_table(page, _OUTAGES, log_row=kind.value)
        drawn = {key for key in fields(shown) if key.startswith("log-column-")}
        assert drawn == {f"log-column-{each.name}" for each in meanings_of(kind)}
        for field in shown.selectbox:
            if field.key in FIELDS:
                assert field.label
                assert field.help


def test_events_are_told(page: Page) -> None:
    shown = with_table(page, _OUTAGES)
    assert "say which column is which" in "\n".join(e.value for e in shown.error)
    shown.selectbox(key="log-row").set_value("event").run()
    assert [e.value for e in shown.error] == ["rows that are events need a column for time"]
    chooser = shown.selectbox(key="log-column-time")
    assert chooser.options == ["none", "Failed At", "Host", "Reason"]
    chooser.set_value("Failed At").run()
    assert not shown.error
    assert answers(shown)
    shown.selectbox(key="log-column-cause").set_value("Reason").run()
    (causes,) = [line for m in shown.markdown for line in m.value.split("\n") if "Causes" in line]
    assert "GPU 1" in causes
    assert "link 1" in causes
    assert options_in(said(shown)) == []


def test_jobs_are_told(page: Page) -> None:
    shown = with_table(
        page, _JOBS, log_row="job", log_column_state="Status", log_column_start="Begin"
    )
    needed = "rows that are jobs need a column for end (or duration)"
    assert [e.value for e in shown.error] == [message(needed)]
    shown.selectbox(key="log-column-end").set_value("Finish").run()
    assert not shown.error
    assert "1 failure in 40 job-hours" in texts(shown)


def test_what_was_told_is_in_the_address_and_comes_back(page: Page) -> None:
    address = {"log_row": "event", "log_column_time": "Failed At", "log_column_node": "Host"}
    shown = with_table(page, _OUTAGES, **address)
    assert not shown.warning or "The address" not in texts(shown)
    assert answers(shown)
    stated = link(shown)
    assert (stated["log-row"], stated["log-column-time"]) == (["event"], ["Failed At"])
    assert shown.query_params["log-column-node"] == "Host"
    # A mistake elsewhere takes none of it away.
    shown.text_input(key="log-window").set_value("yesterday").run()
    assert shown.selectbox(key="log-column-time").value == "Failed At"
    shown.text_input(key="log-window").set_value("").run()
    assert answers(shown)
    # Another kind of rows and back again.
    shown.selectbox(key="log-row").set_value("job").run()
    assert shown.selectbox(key="log-column-node").value == "Host"
    shown.selectbox(key="log-row").set_value("event").run()
    assert shown.selectbox(key="log-column-time").value == "Failed At"
    assert answers(shown)


def test_before_a_file_is_there_the_address_is_no_mistake(page: Page) -> None:
    shown = page("failure-logs", log_row="event", log_column_time="Failed At")
    assert not shown.warning or "The address" not in texts(shown)


def test_a_column_that_the_table_has_not_is_said(page: Page) -> None:
    shown = with_table(page, _OUTAGES, log_row="event", log_column_time="Date")
    assert "asks for log-column-time 'Date', which is not there" in texts(shown)
    assert shown.selectbox(key="log-column-time").value == ""


@pytest.mark.parametrize("name", ["sacct.txt", "sacct.json", "helios.csv", "lanl.csv"])
def test_logs_of_a_known_kind_have_nothing_to_tell(page: Page, name: str) -> None:
    shown = uploaded(page, name)
    assert not set(fields(shown)) & set(FIELDS)


def test_a_table_with_the_usual_names_needs_nothing(page: Page) -> None:
    shown = uploaded(page, "events.csv")
    assert shown.selectbox(key="log-row").value == ""
    assert answers(shown)


def test_very_many_columns_are_not_listed(page: Page) -> None:
    names = ",".join(f"c{number}" for number in range(600))
    shown = with_table(page, f"{names}\n".encode())
    assert "A table of 600 columns is read by their own names only." in texts(shown)
    assert not set(fields(shown)) & set(FIELDS)
