"""Writes a report to a file; the name's ending says in which format."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from advisor.errors import MissingToolError, UserError
from advisor.report import Report
from advisor.reports import Canvas, render
from db.whole_file import write_whole

_PLAIN = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}
ENDINGS = (".html", ".pdf", *_PLAIN)
_EXTRA = "install the extra: pip install 'failbench-advisor[app]'"


def write_report(report: Report, path: Path, made_on: str | None = None) -> None:
    """Writes the whole file or nothing. `made_on` is a date; None is today's.

    Raises UserError for an unknown ending, UnreachableError for a place that cannot be written,
    MissingToolError where the extra or a browser is missing; the HTML of a PDF is written then.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path} has no known ending: write one of {', '.join(ENDINGS)}")
    if ending in _PLAIN:
        text = render(report.recommendation, _PLAIN[ending], Canvas(width=120))
        write_whole(path, text.encode())
        return
    html = html_of(report, made_on)
    if ending == ".html":
        write_whole(path, html.encode())
    else:
        _write_pdf(html, path)


def html_of(report: Report, made_on: str | None = None) -> str:
    """The HTML report. Raises MissingToolError if the plotting extra is not installed."""
    try:
        from advisor.reports.html import render_html
    except ModuleNotFoundError as error:
        raise MissingToolError(f"an HTML or PDF report needs {error.name}: {_EXTRA}") from None
    return render_html(report, made_on or today())


def pdf_of(report: Report, made_on: str | None = None) -> bytes:
    """The PDF report. Raises MissingToolError if the extra or a browser is missing."""
    return _printed(html_of(report, made_on))


def today() -> str:
    """The date in UTC; SOURCE_DATE_EPOCH fixes it, for files that can be compared."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"SOURCE_DATE_EPOCH is {epoch!r}: it must be whole seconds since 1970"
        ) from None
    return moment.strftime("%Y-%m-%d")


def _write_pdf(html: str, path: Path) -> None:
    """Prints the PDF; where that fails, leaves the HTML beside it, under a name that is free."""
    try:
        write_whole(path, _printed(html))
    except MissingToolError as error:
        beside = path.with_suffix(".html")
        if beside.exists():
            beside = path.with_name(f"{path.name}.html")
        write_whole(beside, html.encode())
        raise MissingToolError(f"{error} (the HTML is at {beside})") from None


def _printed(html: str) -> bytes:
    from advisor.reports.pdf import print_pdf

    with tempfile.TemporaryDirectory(prefix="advisor-report-") as folder:
        page, pdf = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        print_pdf(page, pdf)
        return pdf.read_bytes()
