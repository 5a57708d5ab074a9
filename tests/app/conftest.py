"""Pages run under Streamlit's AppTest, each in a session of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab
from streamlit.testing.v1 import AppTest

from tests.advisor.conftest import matilda, shipped_database
from tests.app.browser import WAIT_MS, chromium

__all__ = ["browser", "matilda", "page", "shipped_database", "tab"]

Page = Callable[..., AppTest]
expect.set_options(timeout=WAIT_MS)
_TIMEOUT_S = 60


@pytest.fixture
def page(shipped_database: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """Opens a page with an address, against the shipped data or another database."""
    st.cache_resource.clear()
    st.cache_data.clear()

    def opened(
        path: str, database: Path | str = shipped_database, **address: str | list[str]
    ) -> AppTest:
        monkeypatch.setenv("ADVISOR_DB_URL", str(database))
        script = f"from app.router import draw\ndraw({path!r})"
        test = AppTest.from_string(script, default_timeout=_TIMEOUT_S)
        for name, value in address.items():
            test.query_params[name.replace("_", "-")] = value
        return test.run()

    return opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser."""
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab of it, in a session of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    yield opened
    context.close()


def texts(test: AppTest) -> str:
    """Everything that the page says, in order of kind."""
    kinds = ("header", "subheader", "markdown", "caption", "info", "warning", "error", "code")
    return "\n".join(str(e.value) for kind in kinds for e in getattr(test, kind))
