"""The recommendation for a terminal."""

from collections.abc import Iterable
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.printable import printable
from advisor.recommendation import Recommendation
from advisor.reports import Canvas, words


def render(recommendation: Recommendation, canvas: Canvas) -> str:
    """Headline first, then the table of candidates, then everything behind it."""
    out = StringIO()
    console = Console(
        file=out,
        width=canvas.width,
        force_terminal=canvas.color,
        no_color=not canvas.color,
        highlight=False,
        emoji=False,
    )
    _answer(console, recommendation)
    if recommendation.candidates:
        _candidates(console, recommendation)
        console.print(Text(words.EVIDENCE_LEGEND, style="dim"))
    _section(console, "Warnings", recommendation.warnings)
    _section(console, "How sure", words.uncertainty_lines(recommendation))
    _section(console, "Least largest regret", words.minimax_lines(recommendation))
    _section(console, "Why these figures", words.rule_lines(recommendation))
    _section(console, "Tried live", words.seen_lines(recommendation))
    _section(console, "Drills", words.drill_lines(recommendation))
    _section(console, "Evidence", words.evidence_lines(recommendation))
    _section(console, "Time between checkpoints", words.interval_lines(recommendation))
    _section(console, "Not offered", map(words.excluded_line, recommendation.excluded))
    _section(console, "Frontier", words.frontier_lines(recommendation))
    _section(console, "What would flip it", map(words.crossover_line, recommendation.crossovers))
    _scenario(console, recommendation)
    _section(console, "Sources", (f"{s.citation} {s.url}" for s in recommendation.sources))
    versions = recommendation.versions
    console.print(
        Text(
            f"\nadvisor {versions.advisor_version}, schema {versions.schema_revision}, "
            f"data {versions.data_version[:12]}",
            style="dim",
        )
    )
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _answer(console: Console, recommendation: Recommendation) -> None:
    console.print(_safe(words.headline(recommendation), "bold green"))
    runner_up = words.runner_up_line(recommendation)
    if runner_up:
        console.print(_safe(runner_up))
    if recommendation.selected is not None and recommendation.selected.terms is not None:
        cells = words.term_cells(recommendation.selected)
        console.print(Text("; ".join(f"{name} {value}" for name, value in cells), style="dim"))
    console.print()


def _candidates(console: Console, recommendation: Recommendation) -> None:
    """A table, or where the terminal is too narrow for it a paragraph a candidate."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for index, title in enumerate(words.CANDIDATE_HEADER):
        table.add_column(title, justify="left" if index == 0 else "right", no_wrap=True)
    for candidate in recommendation.candidates:
        style = "bold" if recommendation.is_selected(candidate) else None
        table.add_row(*map(_safe, words.candidate_cells(candidate)), style=style)
    if console.measure(table, options=console.options.update(width=1_000)).maximum <= console.width:
        console.print(table)
        return
    for candidate in recommendation.candidates:
        name, *cells = words.candidate_cells(candidate)
        titles = words.CANDIDATE_HEADER[1:]
        console.print(_safe(name, "bold"))
        line = ", ".join(f"{t} {c}" for t, c in zip(titles, cells, strict=True))
        console.print(Padding(_safe(line), (0, 0, 0, 2)))


def _safe(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)


def _section(console: Console, title: str, lines: Iterable[str]) -> None:
    listed = list(lines)
    if not listed:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in listed:
        console.print(Padding(_safe(line), (0, 0, 0, 2)))


def _scenario(console: Console, recommendation: Recommendation) -> None:
    console.print()
    console.print(Text("Scenario", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in words.scenario_rows(recommendation.scenario):
        table.add_row(*map(_safe, row))
    console.print(Padding(table, (0, 0, 0, 2)))
