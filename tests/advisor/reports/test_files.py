"""Reports as files: offline, the same bytes, searchable, nothing cut; and without a browser."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pypdf import PdfReader

from advisor.cli import run
from advisor.errors import MissingToolError, UserError
from advisor.report import Report, command_line, make_report, make_saved_report
from advisor.reports.files import html_of, today, write_report
from advisor.reports.pdf import find_browser
from advisor.scenario import ScenarioInput
from db.errors import UnreachableError
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend
from tests.app.browser import chromium

_SCENARIO = 'architecture = "a2"\nstate-size = "204.7MB"\nmtbf = "4h"\ndetection = "30s"\n'


@pytest.fixture
def report(matilda: ClusterEvidence) -> Report:
    inputs = ScenarioInput(
        architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0, detection_s=30.0
    )
    return make_report(recommend(matilda, inputs), matilda)


@pytest.fixture
def browser() -> None:
    """Skips, or fails in CI, where no browser is installed."""
    try:
        find_browser()
    except MissingToolError as error:
        if os.environ.get("ADVISOR_REQUIRE_SERVICES") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


class Outline(HTMLParser):
    """Headings, and every address that the browser would fetch by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.fetched: list[str] = []
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_heading = tag in ("h1", "h2")
        if tag in ("script", "img", "iframe", "link", "object", "embed"):
            self.fetched += [v for k, v in attrs if k in ("src", "href", "data") and v]

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self.headings.append(data)
            self._in_heading = False


def test_html_works_offline_and_answers_first(report: Report) -> None:
    outline = Outline()
    outline.feed(html_of(report, "2026-01-31"))
    assert outline.fetched == []
    assert outline.headings[0].startswith("FT1 Periodic disk checkpoint, a checkpoint every 351")
    for heading in ("Not offered", "Frontier", "Sensitivity", "Scenario", "Evidence"):
        assert heading in outline.headings
    assert outline.headings[-1] == "Make it again"


def test_the_same_scenario_and_data_give_the_same_bytes_apart_from_the_date(
    report: Report, matilda: ClusterEvidence
) -> None:
    again = make_report(recommend(matilda, _inputs_of(report)), matilda)
    assert html_of(report, "2026-01-31") == html_of(again, "2026-01-31")
    other_day = html_of(report, "2026-02-01")
    assert other_day.replace("2026-02-01", "2026-01-31") == html_of(report, "2026-01-31")


def _inputs_of(report: Report) -> ScenarioInput:
    scenario = report.recommendation.scenario
    return ScenarioInput(
        architecture=scenario.architecture,
        state_bytes=scenario.state_bytes,
        mtbf_s=scenario.mtbf_s,
        detection_s=scenario.detection_s,
    )


@pytest.mark.parametrize("ending", [".html", ".md", ".json", ".csv", ".txt"])
def test_every_ending_twice_gives_the_same_bytes(
    report: Report, tmp_path: Path, ending: str
) -> None:
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    write_report(report, first, "2026-01-31")
    write_report(report, second, "2026-01-31")
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [first.name, second.name]


def test_hostile_names_come_out_as_text(matilda: ClusterEvidence) -> None:
    hostile = "<script>alert(1)</script>\"'&"
    mechanism = replace(matilda.mechanisms["ft1"], name=hostile)
    evil = replace(matilda, mechanisms={**matilda.mechanisms, "ft1": mechanism})
    inputs = ScenarioInput(architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0)
    html = html_of(make_report(recommend(evil, inputs), evil), "2026-01-31")
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_command_gives_the_same_answer(
    report: Report, shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    _, *arguments = shlex.split(command_line(report.recommendation.scenario))
    assert run([*arguments, "--db", str(shipped_database)]) == 0
    from advisor.reports.words import headline

    assert headline(report.recommendation) in capsys.readouterr().out


def test_a_saved_answer_on_other_data_says_so(report: Report, matilda: ClusterEvidence) -> None:
    same = make_saved_report(report.recommendation, matilda, "test")
    assert same.sensitivity is not None
    changed = make_saved_report(report.recommendation, matilda, "other")
    assert changed.sensitivity is None
    assert "the measurements have changed" in html_of(changed, "2026-01-31")


def test_no_candidate_still_makes_a_report(matilda: ClusterEvidence) -> None:
    inputs = ScenarioInput(
        architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0, max_pause_s=1.0
    )
    html = html_of(make_report(recommend(matilda, inputs), matilda), "2026-01-31")
    assert "No mechanism satisfies every rule and limit." in html
    assert "(longest pause 1 s): “Not offered” says why." in html
    assert "Who finishes first" not in html
    native = ScenarioInput(architecture="a6", state_bytes=204_700_000, mtbf_s=14400.0)
    assert "goes on by itself" in html_of(make_report(recommend(matilda, native), matilda), "x")


@pytest.mark.integration
@pytest.mark.usefixtures("browser")
def test_pdf_is_searchable_sharp_and_whole(report: Report, tmp_path: Path) -> None:
    target = tmp_path / "report.pdf"
    write_report(report, target, "2026-01-31")
    assert [p.name for p in tmp_path.iterdir()] == ["report.pdf"]
    pdf = PdfReader(target)
    text = " ".join(" ".join(page.extract_text().split()) for page in pdf.pages)
    for words in (
        "FT1 Periodic disk checkpoint",
        "Not offered",
        "Who finishes first",
        "30 s given",
    ):
        assert words in text
    # Figures are drawn, not photographed.
    for page in pdf.pages:
        assert list(page.images) == []
        assert (round(float(page.mediabox.width)), round(float(page.mediabox.height))) == (595, 842)
        _assert_inside(page)


# Of a drawing only the words: curves go on beyond the edges that clip them.
_WIDER_THAN_THE_WINDOW = """() =>
  [...document.querySelectorAll("body :not(svg *), svg text")]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".wide"))
    .map(e => e.outerHTML.slice(0, 200))"""


@pytest.mark.integration
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_every_window_and_prints_whole_from_it(
    matilda: ClusterEvidence, tmp_path: Path, width: int
) -> None:
    # A hostile name, and times of three units behind the bars.
    named = replace(matilda, cluster=replace(matilda.cluster, cluster="<b>" + "x" * 90))
    inputs = ScenarioInput(
        architecture="a4", state_bytes=2_567_000_000, mtbf_s=14400.0, warning_lead_s=15.0
    )
    report = make_report(recommend(named, inputs), named)
    write_report(report, tmp_path / "report.html", "2026-01-31")
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.goto((tmp_path / "report.html").as_uri())
        tab.locator("#tornado .main-svg").first.wait_for()
        whole, window = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert whole <= window == width
        assert tab.evaluate(_WIDER_THAN_THE_WINDOW) == []
        tab.pdf(path=tmp_path / "printed.pdf", prefer_css_page_size=True)
    for page in PdfReader(tmp_path / "printed.pdf").pages:
        assert list(page.images) == []
        _assert_inside(page)


def _assert_inside(page: object) -> None:
    """Every piece of text starts on the page, and ends before its edge."""
    outside: list[str] = []

    def visit(text: str, cm: list[float], tm: list[float], font: object, size: float) -> None:
        x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        along = abs(tm[0] * cm[0] + tm[1] * cm[2])  # 0 for an upright axis title
        width = 0.35 * along * size * len(text.strip())
        if text.strip() and not (x >= 0 and x + width <= 600):
            outside.append(text)

    page.extract_text(visitor_text=visit)  # type: ignore[attr-defined]
    assert outside == []


@pytest.mark.integration
def test_without_a_browser_the_html_is_written_and_a_hint_given_soon(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(_SCENARIO)
    command = [sys.executable, "-m", "advisor", "report", "--scenario", "s.toml"]
    command += ["-o", "report.pdf", "--db", str(tmp_path / "a.db")]
    clean = {k: v for k, v in os.environ.items() if k != "ADVISOR_BROWSER"}
    root = str(Path(__file__).resolve().parents[3])
    start = time.monotonic()
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env=clean | {"PATH": str(tmp_path), "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 3, ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "apt-get install chromium" in ran.stderr
    assert (tmp_path / "report.html").stat().st_size > 1_000_000
    assert not (tmp_path / "report.pdf").exists()
    assert time.monotonic() - start < 60


def test_a_browser_that_fails_is_said(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("ADVISOR_BROWSER", str(broken))
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(MissingToolError, match="no display"):
        write_report(report, tmp_path / "report.pdf")
    assert (tmp_path / "report.html").read_text() == "mine"
    assert (tmp_path / "report.pdf.html").exists()


def test_places_that_cannot_be_written(report: Report, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"write one of \.html, \.pdf"):
        write_report(report, tmp_path / "report.docx")
    with pytest.raises(UnreachableError, match="cannot be written"):
        write_report(report, tmp_path / "nowhere" / "report.md")
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "real.md")
    write_report(report, link)
    assert link.is_symlink()
    assert (tmp_path / "real.md").read_text().startswith("# FT1")


def test_the_date_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert today() == "1970-01-02"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "abc")
    with pytest.raises(UserError, match="whole seconds"):
        today()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", today())


Call = Callable[..., int]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "x.html"), "Give an ID or --scenario"),
        (("20260101-00000000", "--scenario", "s.toml"), "not both"),
        (("--scenario", "s.toml", "-o", "x.docx"), "no known ending"),
        (("--scenario", "missing.toml"), "No such file"),
        (("--scenario", "empty.toml"), "architecture is missing"),
        (("--scenario", "bad.toml"), "not TOML"),
        (("--scenario", "twice.json"), "is there twice"),
        (("--scenario", "number.toml"), "write it in quotes"),
        (("--scenario", "both.toml"), "state-size is there twice"),
        (("one", "--id", "other"), "once"),
        (("--scenario", "hex.toml"), "neither a text nor a whole number"),
        (("--scenario", "long.toml"), "larger than"),
    ],
)
def test_mistakes_of_the_command(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    shipped_database: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(_SCENARIO)
    Path("empty.toml").write_text("")
    Path("bad.toml").write_text("architecture = ")
    Path("twice.json").write_text('{"mtbf": "1h", "mtbf": "2h"}')
    Path("number.toml").write_text("mtbf = 4.5")
    Path("hex.toml").write_text(_SCENARIO + "interval = 0x" + "f" * 5000)
    Path("long.toml").write_text(".".join(["a"] * 100_000) + "=1")
    Path("both.toml").write_text(_SCENARIO + 'state_size = "1GB"\n')
    assert run(["report", *arguments, "--db", str(shipped_database)]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
