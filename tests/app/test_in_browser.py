"""The main paths in a real browser against a real server."""

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Dialog, expect
from playwright.sync_api import Page as Tab
from pypdf import PdfReader

from app.router import PAGES
from tests.advisor.failure_logs.samples import FOLDER
from tests.app.browser import WAIT_MS, serving, settled

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

_PAGES = (
    *("", "frontier", "sensitivity", "scale", "tune", "coverage", "clusters"),
    *("operating-points", "runs", "campaigns", "failure-logs", "sql", "saved"),
)


@pytest.fixture(scope="module")
def address(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    own = tmp_path_factory.mktemp("browser") / "advisor.db"
    shutil.copy(shipped_database, own)
    with serving(own) as found:
        yield found


def answer(tab: Tab) -> str:
    heading = tab.get_by_role("heading", level=2).first
    expect(heading).to_be_visible(timeout=WAIT_MS)
    settled(tab)
    return heading.inner_text()


def go_to(tab: Tab, page: str) -> None:
    settled(tab)
    tab.get_by_test_id("stSidebarNav").get_by_role("link", name=page).click()


def type_in(tab: Tab, label: str, text: str) -> None:
    field = tab.get_by_label(label, exact=True).first
    field.fill(text)
    field.press("Enter")


def test_enter_a_scenario_read_the_answer_and_follow_its_link(tab: Tab, address: str) -> None:
    tab.goto(address)
    assert answer(tab).startswith("FT1 Periodic disk checkpoint")
    type_in(tab, "Warning lead", "2s")
    expect(tab.get_by_role("heading", name=re.compile("^FT4 Just-in-time"))).to_be_visible()
    type_in(tab, "MTBF", "1h")
    expect(tab).to_have_url(re.compile(r"mtbf=1h"))
    expect(tab.get_by_role("heading", name=re.compile("^FT4"))).to_be_visible()
    said = answer(tab)
    tab.get_by_text("Link to this page").click()
    link = tab.get_by_test_id("stCode").last.inner_text().strip()
    other = tab.context.new_page()
    other.goto(link)
    expect(other.get_by_role("heading", name=said)).to_be_visible(timeout=WAIT_MS)


def test_inputs_go_with_the_reader_from_page_to_page(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/?architecture=a4&state-size=2567MB&warning-lead=15s")
    assert "FT4" in answer(tab)
    go_to(tab, "Frontier")
    expect(tab.get_by_role("heading", name="Frontier").first).to_be_visible()
    expect(tab).to_have_url(re.compile(r"/frontier\?.*architecture=a4"))
    go_to(tab, "Recommend")
    expect(tab.get_by_role("heading", name=re.compile("^FT4"))).to_be_visible()
    expect(tab).to_have_url(re.compile(r"warning-lead=15s"))


def test_going_back_brings_the_earlier_state_back(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/?mtbf=2h")
    first = answer(tab)
    type_in(tab, "MTBF", "1h")
    expect(tab).to_have_url(re.compile(r"mtbf=1h"))
    settled(tab)
    tab.go_back()
    expect(tab.get_by_role("heading", name=first)).to_be_visible()
    expect(tab.get_by_role("textbox", name="MTBF", exact=True)).to_have_value("2h")


def test_download_the_pdf_and_open_it(tab: Tab, address: str) -> None:
    tab.goto(address)
    said = answer(tab)
    with tab.expect_download(timeout=90_000) as download:
        tab.get_by_role("button", name="Report (PDF)").click()
    pdf = PdfReader(download.value.path())
    text = " ".join(pdf.pages[0].extract_text().split())
    assert said.split(":")[0] in text
    everything = " ".join(" ".join(p.extract_text().split()) for p in pdf.pages)
    for words in ("Not offered", "Scenario", "Evidence", "Make it again", "advisor recommend"):
        assert words in everything


def test_run_a_query_and_a_forbidden_one(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/sql?q=select+count(*)+as+n+from+mechanisms")
    expect(tab.get_by_text("1 rows.")).to_be_visible()
    tab.get_by_role("textbox", name="Statement").fill("delete from mechanisms")
    tab.get_by_role("textbox", name="Statement").press("Control+Enter")
    expect(tab.get_by_text("nothing that writes")).to_be_visible()
    tab.get_by_role("textbox", name="Statement").fill("select count(*) as n from mechanisms")
    tab.get_by_role("textbox", name="Statement").press("Control+Enter")
    expect(tab.get_by_text("1 rows.")).to_be_visible()


def test_every_page_is_in_sight_in_the_sidebar(tab: Tab, address: str) -> None:
    tab.goto(address)
    settled(tab)
    links = tab.get_by_test_id("stSidebarNav").get_by_role("link")
    # The icons are letters of a font.
    expect(links).to_have_text([re.compile(f"{name}$") for name, *_ in PAGES])
    for link in links.all():
        expect(link).to_be_visible()


def test_save_and_open_again(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/?mtbf=2h")
    said = answer(tab)
    tab.get_by_role("button", name="Save in the database").click()
    expect(tab.get_by_text("Saved as")).to_be_visible()
    go_to(tab, "Saved")
    expect(tab.get_by_role("heading", name=said)).to_be_visible()


def choose(tab: Tab, label: str, option: str) -> None:
    settled(tab)
    field = tab.get_by_role("combobox", name=label).first
    # A list that is open closes when its page scrolls.
    field.scroll_into_view_if_needed()
    tab.wait_for_timeout(500)
    field.click()
    tab.get_by_role("option", name=option, exact=True).click()


def test_an_mtbf_is_saved_from_a_log_chosen_and_given_up(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/failure-logs?log-window=54d&mtbf=4h")
    settled(tab)
    tab.locator("input[type=file]").last.set_input_files(FOLDER / "llama3_counts.csv")
    expect(tab.get_by_text("419 failures in").first).to_be_visible()
    type_in(tab, "Name", "llama-3")
    settled(tab)
    tab.get_by_role("button", name="Save in the database").click()
    expect(tab.get_by_text("the sidebar has llama-3")).to_be_visible()
    choose(tab, "MTBF from a failure log", "llama-3")
    field = tab.get_by_role("textbox", name="MTBF", exact=True)
    expect(field).to_have_value(re.compile(r"^11135\."))
    expect(field).to_be_disabled()
    expect(tab).to_have_url(re.compile(r"mtbf-from=llama-3&mtbf=11135\.\d+s"))
    go_to(tab, "Recommend")
    expect(tab.get_by_text("MTBF 3 h 6 min, from the log llama-3").first).to_be_visible()
    choose(tab, "MTBF from a failure log", "none")
    expect(field).to_be_enabled()
    expect(field).to_have_value(re.compile(r"^11135\."))
    expect(tab).not_to_have_url(re.compile(r"mtbf-from"))
    settled(tab)
    type_in(tab, "MTBF", "1h")
    expect(tab).to_have_url(re.compile(r"mtbf=1h"))


def test_percentiles_come_when_they_are_asked_for(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/?mtbf=2h&duration=2d&mechanism=ft1&mechanism=ft2")
    answer(tab)
    expect(tab.get_by_text("Simulated, not measured")).to_have_count(0)
    choose(tab, "Simulate with arrivals", "Poisson: memoryless")
    expect(tab.get_by_text("Simulated, not measured: arrivals poisson")).to_be_visible()
    expect(tab).to_have_url(re.compile(r"arrivals=poisson"))


@pytest.mark.parametrize("path", _PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_their_width_without_an_error(
    browser: Browser, address: str, path: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(f"{address}/{path}")
    expect(tab.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible(timeout=WAIT_MS)
    tab.wait_for_timeout(500)
    assert "error" not in tab.get_by_test_id("stMain").inner_text().lower()
    scrolls = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert scrolls <= 1
    assert problems == []
    context.close()


def test_nothing_is_asked_of_another_host(tab: Tab, address: str) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for path in _PAGES:
        tab.goto(f"{address}/{path}")
        expect(tab.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible()
        tab.wait_for_timeout(300)
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []


def upload(tab: Tab, name: str, content: bytes) -> None:
    tab.locator("input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": content}
    )


def test_a_scenario_file_fills_the_form(tab: Tab, address: str) -> None:
    tab.goto(address)
    answer(tab)
    upload(tab, "job.toml", b'architecture = "a4"\nstate-size = "2567MB"\nmtbf = "6h"\n')
    expect(tab.get_by_role("heading", name=re.compile("^FT2"))).to_be_visible()
    expect(tab.get_by_label("MTBF", exact=True)).to_have_value("6h")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bomb.json", b"PK\x03\x04" + b"\x00" * 5000, "not JSON"),
        ("deep.json", b"[" * 9_000, "not JSON"),
        ("binary.toml", bytes(range(256)), "not TOML"),
        ("script.toml", b'"<script>alert(1)</script>" = "x"', "there is no input"),
        ("large.toml", b"#" * 2_000_000, "must be"),
    ],
)
def test_hostile_uploads_end_in_a_message(
    tab: Tab, address: str, name: str, content: bytes, said: str
) -> None:
    alerts: list[str] = []

    def seen(dialog: Dialog) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", seen)
    tab.goto(address)
    before = answer(tab)
    upload(tab, name, content)
    expect(tab.get_by_text(said).first).to_be_visible()
    assert alerts == []
    assert answer(tab) == before


def test_a_200_mb_upload_is_refused_and_the_server_goes_on(address: str) -> None:
    class Zeros(io.RawIOBase):
        left = 200_000_000

        def read(self, size: int = -1) -> bytes:
            count = min(self.left, size if size > 0 else 65_536)
            self.left -= count
            return b"\x00" * count

    request = Request(  # noqa: S310
        f"{address}/_stcore/upload_file/none/none",
        data=Zeros(),
        method="PUT",
        headers={"Content-Length": "200000000"},
    )
    with pytest.raises(OSError, match=r"."):
        urlopen(request, timeout=30)  # noqa: S310
    with urlopen(f"{address}/_stcore/health", timeout=10) as reply:  # noqa: S310
        assert reply.status == 200
