"""Writes a report to a file; the name's ending says in which format."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from advisor.errors import MissingToolError, UserError
from advisor.report import Report
from advisor.reports import Canvas, render

_PLAIN = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}
ENDINGS = (".html", ".pdf", *_PLAIN)
_EXTRA = "install the extra: pip install 'failbench-advisor[app]'"


def write_report(report: Report, path: Path, made_on: str | None = None) -> None:
    """Writes the whole file or nothing. `made_on` is a date; None is today's.

    Raises UserError for an unknown ending or a place that cannot be written, MissingToolError
    where the extra or a browser is missing. Without a browser, the HTML beside a PDF is written.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path} has no known ending: write one of {', '.join(ENDINGS)}")
    if ending in _PLAIN:
        write_text(path, render(report.recommendation, _PLAIN[ending], Canvas(width=120)))
        return
    html = html_of(report, made_on)
    if ending == ".html":
        write_text(path, html)
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
    from advisor.reports.pdf import print_pdf

    with tempfile.TemporaryDirectory(prefix="advisor-report-") as folder:
        html, pdf = Path(folder) / "report.html", Path(folder) / "report.pdf"
        write_text(html, html_of(report, made_on))
        print_pdf(html, pdf)
        return pdf.read_bytes()


def today() -> str:
    """The date in UTC; SOURCE_DATE_EPOCH fixes it, for files that can be compared."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d")


def write_text(path: Path, text: str) -> None:
    """Under a temporary name, then renamed: the old file or the new one. Raises UserError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def _write_pdf(html: str, path: Path) -> None:
    from advisor.reports.pdf import print_pdf

    beside = path.with_suffix(".html")
    write_text(beside, html)
    try:
        print_pdf(beside, path)
    except MissingToolError as error:
        raise MissingToolError(f"{error} (the HTML is at {beside})") from None
