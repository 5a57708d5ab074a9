"""The Runs page in a real browser: open a run by its link, from the list, and go back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from tests.app import measured
from tests.app.browser import WAIT_MS, serving, settled
from tests.app.measured import CLUSTER, GRACEFUL, HALTED
from tests.db import run_records

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

_SCRIPT = "<script>window.hit=1</script><img/src=x/onerror=window.hit=1>"
_HOSTILE = f"hostile/{_SCRIPT}"


@pytest.fixture(scope="module")
def address(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    hostile = run_records.record(
        seed=9, run_id=_HOSTILE, cell__trace=_SCRIPT, notes=[_SCRIPT], ranks__0__error=_SCRIPT
    )
    made = [*measured.records(), run_records.invalid(hostile, _SCRIPT)]
    with serving(measured.database(folder, shipped_database, *made)) as found:
        yield found


def headline(tab: Tab, words: str) -> None:
    expect(tab.get_by_role("heading", name=re.compile(f"^{words}"))).to_be_visible(timeout=WAIT_MS)
    settled(tab)


def test_open_a_run_by_its_link(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/runs?run={HALTED}")
    headline(tab, "A2 with no mechanism, F1: rank 3 was killed at step 20")
    expect(tab.get_by_test_id("stPlotlyChart").locator(".main-svg").first).to_be_visible(
        timeout=30_000
    )
    tab.get_by_text("Link to this page").click()
    link = tab.get_by_test_id("stCode").last.inner_text().strip()
    other = tab.context.new_page()
    other.goto(link)
    headline(other, "A2 with no mechanism, F1: rank 3 was killed at step 20")
    with other.expect_download() as download:
        other.get_by_role("button", name="Record (JSON)").click()
    assert HALTED in download.value.path().read_text(encoding="utf-8")


def test_tick_a_run_and_go_back_to_the_filtered_list(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/runs?cluster={CLUSTER}&run-outcome=graceful")
    expect(tab.get_by_text("1 run. Tick one to open it.")).to_be_visible()
    settled(tab)
    table = tab.get_by_test_id("stDataFrame")
    table.scroll_into_view_if_needed()
    # The list is a canvas: its first column has the boxes, its first row the names.
    table.click(position={"x": 18, "y": 52})
    headline(tab, "A6 with no mechanism, F1")
    expect(tab).to_have_url(re.compile("run=[^&]*a6-ft9"))
    tab.get_by_role("button", name="All runs").click()
    expect(tab.get_by_text("1 run. Tick one to open it.")).to_be_visible()
    expect(tab).to_have_url(re.compile("run-outcome=graceful"))


def test_going_back_closes_the_run(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/runs?cluster={CLUSTER}&run-trace=none")
    expect(tab.get_by_text("1 run. Tick one to open it.")).to_be_visible()
    settled(tab)
    field = tab.get_by_label("Open a run", exact=True)
    field.fill(GRACEFUL)
    field.press("Enter")
    headline(tab, "A6 with no mechanism, F1")
    tab.go_back()
    expect(tab.get_by_text("1 run. Tick one to open it.")).to_be_visible()
    expect(tab).to_have_url(re.compile("run-trace=none"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("query", [f"cluster={CLUSTER}", f"run={GRACEFUL}", f"run={_HOSTILE}"])
def test_the_page_fits_and_nothing_of_a_record_acts(
    browser: Browser, address: str, query: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(f"{address}/runs?{query}")
    expect(tab.get_by_role("heading", name="Runs", exact=True)).to_be_visible(timeout=WAIT_MS)
    settled(tab)
    if query.startswith("run="):
        headline(tab, "A[26] with no mechanism")
        tab.get_by_text("The record", exact=True).click()
        tab.get_by_text("Conditions and environment").click()
    tab.wait_for_timeout(500)
    assert tab.evaluate("window.hit") is None
    assert tab.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
    assert problems == []
    context.close()
