"""The Campaigns page in a real browser, while another process writes to the database."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, WebSocket, expect
from playwright.sync_api import Page as Tab

from db.records import CampaignStatus, CellStatus
from tests.app import campaigns
from tests.app.browser import WAIT_MS, serving, settled
from tests.app.campaigns import CAMPAIGN

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

_SILENCE_MS = 6_000
"""Several times as long as a page that follows a campaign waits before it looks again."""
OTHER = "20261130-100000-ffffffff"


def fact(tab: Tab, name: str) -> Locator:
    """What the page says under a name."""
    label = tab.get_by_test_id("stMetricLabel").filter(has_text=re.compile(f"^{name}$"))
    return tab.get_by_test_id("stMetric").filter(has=label).get_by_test_id("stMetricValue")


def expect_fact(tab: Tab, name: str, value: str) -> None:
    expect(fact(tab, name)).to_have_text(value, timeout=WAIT_MS)


def test_the_page_follows_a_campaign_to_its_end(tab: Tab, shipped_url: str, tmp_path: Path) -> None:
    sent: list[str] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda _: sent.append("frame"))

    tab.on("websocket", listen)
    with campaigns.running(shipped_url, tmp_path) as campaign, serving(shipped_url) as address:
        campaign.run(1)
        tab.goto(f"{address}/campaigns")
        expect_fact(tab, "done", "1 of 24")
        # Gone if the page were loaded again.
        tab.evaluate("window.loadedOnce = true")
        tab.get_by_text("The matrix as a table").click()
        pair = tab.get_by_role("row", name=re.compile(r"^A6\s+FT1"))
        expect(pair).to_contain_text("none: 2 pending")
        cell = campaign.start()
        expect_fact(tab, "running", "1")
        expect(pair).to_contain_text("1 running")
        campaign.end(cell, CellStatus.FAILED)
        expect(tab.get_by_role("heading", name="Cells that failed")).to_be_visible()
        expect_fact(tab, "done", "2 of 24")
        expect(pair).to_contain_text("1 failed")
        campaign.run(1)
        campaign.start()
        expect_fact(tab, "done", "3 of 24")
        assert campaign.let_go() is CampaignStatus.STALE
        expect_fact(tab, "status", "stale")
        expect(tab.get_by_text(f"advisor measure --resume {CAMPAIGN}")).to_be_visible()
        assert tab.evaluate("window.loadedOnce") is True
        settled(tab)
        tab.wait_for_timeout(1000)
        sent.clear()
        tab.wait_for_timeout(_SILENCE_MS)
        assert sent == []


@pytest.fixture(scope="module")
def address(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a campaign that was interrupted, a newer one that runs, and a calibration."""
    folder = tmp_path_factory.mktemp("campaigns")
    database = Path(shutil.copy(shipped_database, folder / "campaigns.db"))
    url = str(database)
    with campaigns.running(url, folder / "old") as old:
        old.run(5, failing=[2])
        old.let_go()
    campaigns.calibrate(url, folder)
    with campaigns.running(url, folder / "new", OTHER) as new, serving(database) as found:
        new.run(3)
        new.start()
        yield found


def test_choices_are_kept_while_the_page_draws_itself_again(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/campaigns?cells-of=F1")
    expect_fact(tab, "status", "running")
    tab.get_by_text("The matrix as a table").click()
    pair = tab.get_by_role("row", name=re.compile(r"^A2\s+FT1"))
    expect(pair).to_contain_text("F1: 2 pending")
    tab.wait_for_timeout(_SILENCE_MS)
    expect(pair).to_be_visible()
    expect(pair).to_contain_text("F1: 2 pending")
    expect(tab).to_have_url(re.compile(rf"campaign={OTHER}.*cells-of=F1|cells-of=F1.*campaign="))
    field = tab.get_by_label("MTBF", exact=True).first
    field.fill("2h")
    field.press("Enter")
    expect(tab).to_have_url(re.compile("mtbf=2h"))
    expect_fact(tab, "status", "running")


def test_another_campaign_by_its_address(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/campaigns?campaign={CAMPAIGN}")
    expect_fact(tab, "status", "stale")
    expect_fact(tab, "done", "5 of 24")
    expect(tab.get_by_role("heading", name="All campaigns")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("campaign", [CAMPAIGN, OTHER])
def test_the_page_fits_its_width(browser: Browser, address: str, campaign: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(f"{address}/campaigns?campaign={campaign}")
    expect(tab.get_by_role("heading", name="Prediction against observation")).to_be_visible(
        timeout=WAIT_MS
    )
    settled(tab)
    for chart in tab.get_by_test_id("stPlotlyChart").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()
    tab.get_by_text("The matrix as a table").click()
    tab.wait_for_timeout(500)
    assert tab.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
    assert problems == []
    context.close()
