"""Text from outside comes out as text, whatever Streamlit's Markdown would make of it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.markdown import escape, message
from tests.app.browser import chromium, serving

HOSTILE = (
    "$x^2$ and $y$, :red[a], :red-badge[b], :material/check:, :smile:, ::material/home:, "
    ":streamlit:, ~~c~~, `d`, [e](http://f/), ![g](http://h/), <b>i</b>, **j**, _k_, &amp;, | #l "
    "\\$ a:b 12:30:00"
)
LEADING = (
    "- a",
    "+ a",
    "* a",
    "# a",
    "> a",
    "1. a",
    "12) a",
    "=== a",
    "--- a",
    ":::note a",
    "    a",
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("$a$", "\\$a\\$"),
        (":red[a]", "\\:red\\[a\\]"),
        ("a: b", "a: b"),
        ("~~a~~", "\\~\\~a\\~\\~"),
        ("&lt;", "\\&lt;"),
        ("- a", "\\- a"),
        ("-5 s", "-5 s"),
        ("1. a", "1\\. a"),
        ("1.5 s", "1.5 s"),
        ("a\nb", "a b"),
    ],
)
def test_what_markdown_acts_on_is_defused(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_long_values_are_shortened_in_messages_and_paths_are_not() -> None:
    assert message(f"{'a' * 81!r} is not") == f"'{'a' * 79}…' is not"
    assert message(f"{'a' * 80!r} is not") == f"'{'a' * 80}' is not"
    assert message(f"no column {'b' * 500} there") == f"no column {'b' * 79}… there"
    spaced = "words and " * 20
    assert message(f"there is no {spaced!r}: write") == f"there is no '{spaced[:79]}…': write"
    path = "/".join(["folder"] * 30)
    assert message(f"{path} is empty") == f"{path} is empty"
    assert len(message("word " * 1000)) == 1000
    apart = f"the paper's {'word ' * 30}and Daly's rule"
    assert message(apart) == apart


@pytest.mark.integration
@pytest.mark.timeout(120)
def test_a_browser_shows_it_as_it_is(shipped_database: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(shipped_database, tmp_path / "own.db"))
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("UPDATE mechanisms SET name = ? WHERE mechanism = 'ft1'", (HOSTILE,))
        for number, name in enumerate(LEADING):
            connection.execute(
                "UPDATE mechanisms SET name = ? WHERE mechanism = ?", (name, f"ft{number + 2}")
            )
        connection.commit()
    with serving(own) as address, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"{address}/?mtbf=soon:material/check:,$a$:red[b]&regroup=5s")
        wrong = tab.get_by_test_id("stAlert").first
        wrong.wait_for(timeout=30_000)
        assert "soon:material/check:,$a$:red[b]" in _plain(wrong.inner_text())
        tab.goto(address)
        heading = tab.get_by_role("heading", level=2).first
        heading.wait_for(timeout=30_000)
        assert f"FT1 {HOSTILE}" in _plain(heading.inner_text())
        # Every text here follows a mechanism's id, so only a table's first column could begin so.
        assert HOSTILE in _plain(tab.get_by_role("table").first.inner_text())


def _plain(text: str) -> str:
    return text.replace("\u200b", "")
