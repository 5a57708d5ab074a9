"""The MTBF known within a factor: Recommend says what `advisor recommend --mtbf-factor` prints."""

import json
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from advisor.cli import run
from advisor.reports import words
from advisor.reports.document import from_document
from app.markdown import escape
from tests.app.conftest import Page, texts

_COMMAND = ("recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h")


def said(shown: AppTest) -> list[str]:
    """The lines of the page about the range; none where there are none."""
    found = [str(m.value) for m in shown.markdown]
    if "**Least largest regret**" not in found:
        return []
    return found[found.index("**Least largest regret**") + 1].splitlines()


@pytest.mark.parametrize("factor", ["1", "2", "30"])
def test_the_lines_are_the_commands(
    page: Page, shipped_database: Path, capsys: pytest.CaptureFixture[str], factor: str
) -> None:
    shown = page("recommend", mtbf_factor=factor)
    assert not shown.exception
    assert not shown.error
    capsys.readouterr()
    told = ["--mtbf-factor", factor, "--format", "json", "--db", str(shipped_database)]
    assert run([*_COMMAND, *told]) == 0
    answer = from_document(json.loads(capsys.readouterr().out))
    lines = [f"- {escape(line)}" for line in words.minimax_lines(answer)]
    assert said(shown) == lines
    assert "is the least" in lines[0]


def test_without_a_factor_there_is_no_range(page: Page) -> None:
    shown = page("recommend")
    assert said(shown) == []
    shown.text_input(key="mtbf-factor").set_value("3").run()
    assert len(said(shown)) > 1
    assert shown.query_params["mtbf-factor"] == "3"
    shown.text_input(key="mtbf-factor").set_value("").run()
    assert said(shown) == []


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"mtbf_factor": "twice"}, "'twice' is not a factor: write a number from 1 to 1,000,000"),
        ({"mtbf_factor": "0.5"}, "an MTBF within a factor of 0.5 is not possible: write a number"),
        ({"mtbf_factor": "nan"}, "an MTBF within a factor of nan is not possible"),
        ({"mtbf_factor": "9" * 5000}, "an MTBF within a factor of inf is not possible"),
        ({"mtbf_factor": "10000", "mtbf": "1s"}, "the MTBF is"),
    ],
)
def test_a_mistake_is_said_once_and_the_answer_stays(
    page: Page, address: dict[str, str], says: str
) -> None:
    shown = page("recommend", **address)
    label = "MTBF known within a factor of: "
    assert [e.value.startswith(escape(f"{label}{says}")) for e in shown.error] == [True]
    assert said(shown) == []
    assert not shown.exception
    assert (
        shown.header[0].value == page("recommend", mtbf=address.get("mtbf", "4h")).header[0].value
    )


def test_what_has_no_expected_time_says_why(page: Page) -> None:
    shown = page("recommend", architecture="a6", mtbf_factor="2")
    assert "none between 2 h and 8 h: A6 goes on by itself" in texts(shown)
    assert "The address" not in texts(page("recommend", mtbf="soon", mtbf_factor="2"))


def test_it_is_kept_with_a_saved_answer(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(shipped_database, tmp_path / "own.db"))
    asked = page("recommend", own, mtbf_factor="3")
    asked.button(key="save").click().run()
    lines = said(asked)
    opened = page("saved", own)
    assert not opened.exception
    assert "Least largest regret" in [s.value for s in opened.subheader]
    assert "\n".join(lines) in [str(m.value) for m in opened.markdown]
