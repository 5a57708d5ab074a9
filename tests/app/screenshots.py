"""Pictures of every page, in light and dark, wide and narrow: `make screenshots`.

Looked at by a person; the two of the README are kept in docs/pictures/.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

from advisor.evidence import opened
from tests.app import campaigns, measured
from tests.app.browser import chromium, serving

_ADDRESS = "?architecture=a2&state-size=204.7MB&mtbf=4h&detection=30s&warning-lead=2s"
_PAGES = {
    "recommend": "",
    "frontier": "frontier",
    "sensitivity": "sensitivity",
    "scale": "scale",
    "tune": "tune",
    "coverage": "coverage",
    "clusters": "clusters",
    "operating-points": "operating-points",
    "runs": "runs",
    "campaigns": "campaigns",
    "failure-logs": "failure-logs",
    "sql": "sql",
    "saved": "saved",
}
_ASKED = {
    "recommend-asked": f"{_ADDRESS}&mtbf-factor=3&arrivals=weibull&weibull-shape=0.7&tool=nvrx",
}
"""Pages with all that somebody can ask for, and whole."""
_RUNS = {
    "runs-measured": f"runs?cluster={measured.CLUSTER}",
    "run-halted": f"runs?cluster={measured.CLUSTER}&run={measured.HALTED}",
    "run-goes-on": f"runs?cluster={measured.CLUSTER}&run={measured.GRACEFUL}",
    "run-recovered": f"runs?cluster={measured.CLUSTER}&run={measured.RECOVERED}",
    "run-smaller": f"runs?cluster={measured.CLUSTER}&run={measured.SMALLER}",
    "run-warned": f"runs?cluster={measured.CLUSTER}&run={measured.WARNED}",
    "coverage-measured": f"coverage?cluster={measured.CLUSTER}",
}
"""Pages with runs of their own cluster, so from a database of their own, and whole."""
_CAMPAIGNS = {
    "campaign-running": "campaigns",
    "campaign-interrupted": f"campaigns?campaign={campaigns.CAMPAIGN}",
}
"""Pages with campaigns of the same cluster, one interrupted and one that runs; whole too."""
_WIDTHS = {"wide": 1280, "narrow": 390}
_HEIGHT = 900


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, required=True, help="folder for every picture")
    parser.add_argument("--readme", type=Path, required=True, help="folder for the README's two")
    arguments = parser.parse_args()
    arguments.all.mkdir(parents=True, exist_ok=True)
    arguments.readme.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "advisor.db"
        with opened(str(database)):
            pass
        with serving(database) as address, chromium() as browser:
            for page, path in _PAGES.items():
                for width in _WIDTHS:
                    for scheme in ("light", "dark"):
                        target = arguments.all / f"{page}-{width}-{scheme}.png"
                        url = f"{address}/{path}{_ADDRESS}"
                        _shoot(browser, url, _WIDTHS[width], scheme, target)
            for page, path in (("recommend", ""), ("frontier", "frontier")):
                target = arguments.readme / f"{page}.png"
                _shoot(browser, f"{address}/{path}{_ADDRESS}", 1280, "light", target)
            _shoot_whole(browser, address, _ASKED, arguments.all)
        made = [*measured.records(), *measured.mechanism_records()]
        measured.store(database, Path(folder), *made)
        with serving(database) as address, chromium() as browser:
            _shoot_whole(browser, address, _RUNS, arguments.all)
        database = Path(folder) / "campaigns.db"
        with opened(str(database)):
            pass
        with (
            _campaigns(database, Path(folder)),
            serving(database) as address,
            chromium() as browser,
        ):
            _shoot_whole(browser, address, _CAMPAIGNS, arguments.all)


@contextmanager
def _campaigns(database: Path, folder: Path) -> Iterator[None]:
    """One that was interrupted, a newer one that runs as long as the pictures are taken, and a
    calibration of their cluster."""
    url = str(database)
    with campaigns.running(url, folder / "interrupted") as interrupted:
        interrupted.run(15, failing=[5, 6])
        interrupted.start()
        interrupted.let_go()
    campaigns.calibrate(url, folder)
    every = {
        "architectures": ("a1-sync", "a2", "a3", "a4", "a5", "a6", "a7"),
        "mechanisms": [f"ft{number}" for number in range(1, 10)],
        "traces": (None, "F1", "F2", "F3"),
        "seeds": (0, 1, 2),
    }
    name = "20261130-090000-ab12cd34"
    with campaigns.running(url, folder / "running", name, **every) as running:
        running.run(300, failing=[7, 100])
        running.start()
        yield


def _shoot_whole(browser: Browser, address: str, pages: Mapping[str, str], folder: Path) -> None:
    for page, path in pages.items():
        for width in _WIDTHS:
            for scheme in ("light", "dark"):
                target = folder / f"{page}-{width}-{scheme}.png"
                _shoot(browser, f"{address}/{path}", _WIDTHS[width], scheme, target, True)


def _shoot(
    browser: Browser, url: str, width: int, scheme: str, target: Path, whole: bool = False
) -> None:
    """The first screen of a page, or the `whole` of it."""
    context = browser.new_context(
        viewport={"width": width, "height": _HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    tab = context.new_page()
    tab.goto(url)
    tab.get_by_test_id("stMain").get_by_role("heading").first.wait_for(timeout=30_000)
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    tab.wait_for_function(
        "document.querySelectorAll('[data-testid=stSkeleton]').length === 0", timeout=60_000
    )
    for chart in tab.get_by_test_id("stPlotlyChart").all():
        chart.locator(".main-svg").first.wait_for(timeout=30_000)
    tab.wait_for_timeout(1000)
    if whole:
        # The page scrolls inside: only a window as high as all of it shows all of it.
        height = tab.get_by_test_id("stMain").evaluate("element => element.scrollHeight")
        tab.set_viewport_size({"width": width, "height": int(height)})
        tab.wait_for_timeout(1000)
    tab.screenshot(path=target)
    print(target)
    context.close()


if __name__ == "__main__":
    main()
