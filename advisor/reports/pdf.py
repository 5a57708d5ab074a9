"""Prints the HTML report to PDF with a browser that is installed: vectors, searchable text."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from advisor.errors import MissingToolError

BROWSER_VARIABLE = "ADVISOR_BROWSER"
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_TIMEOUT_S = 90.0
_HINT = (
    "install one (Debian: apt-get install chromium), or name one in "
    f"{BROWSER_VARIABLE}; the HTML report can be printed by any browser"
)


def find_browser() -> str:
    """The path of a Chromium-like browser. Raises MissingToolError with what to install."""
    named = os.environ.get(BROWSER_VARIABLE)
    for name in (named,) if named else _NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise MissingToolError(f"no browser to print a PDF with: {_HINT}")


def print_pdf(html: Path, pdf: Path) -> None:
    """Prints a local HTML file. Raises MissingToolError if there is no browser, or it fails."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="advisor-print-") as profile:
        partial = Path(profile) / "report.pdf"
        command = _command(browser, Path(profile), html.resolve(), partial)
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
        except (subprocess.TimeoutExpired, OSError) as error:
            raise MissingToolError(f"{browser} did not print the report: {error}") from error
        if not partial.exists() or not partial.stat().st_size:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise MissingToolError(f"{browser} did not print the report: {reason[0]}; {_HINT}")
        shutil.copyfile(partial, pdf)


def _command(browser: str, profile: Path, html: Path, pdf: Path) -> list[str]:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [
        browser,
        "--headless",
        # Chromium's sandbox refuses to run as root; the page is our own file and loads nothing.
        *(["--no-sandbox"] if root else []),
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--no-pdf-header-footer",
        f"--user-data-dir={profile / 'profile'}",
        "--virtual-time-budget=10000",
        f"--print-to-pdf={pdf}",
        html.as_uri(),
    ]
