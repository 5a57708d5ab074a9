"""The report as one HTML file that works offline: text, tables, figures and the plotting code.

Everything from outside is escaped by the template. The same report and date give the same bytes.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from advisor.figures.frontier import frontier
from advisor.figures.sensitivity import (
    mtbf_figure,
    nowhere_line,
    tornado_figure,
    winner_figure,
)
from advisor.figures.time_split import time_split
from advisor.report import Report
from advisor.reports import words


@dataclass(frozen=True, slots=True)
class _Figures:
    """Each figure as HTML, empty where there is nothing to draw."""

    time_split: Markup
    frontier: Markup
    mtbf: Markup
    winners: Markup
    tornado: Markup


def render_html(report: Report, made_on: str) -> str:
    """The whole file. `made_on` is a date, such as 2026-01-31."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(
        files("advisor.reports").joinpath("report.html.j2").read_text(encoding="utf-8")
    )
    r = report.recommendation
    return template.render(
        title=words.headline(r),
        r=r,
        report=report,
        words=words,
        made_on=made_on,
        figures=_figures(report),
        nowhere=_nowhere(report),
        candidate_rows=[words.candidate_cells(c) for c in r.candidates],
        excluded=[words.excluded_line(e) for e in r.excluded],
        crossovers=[words.crossover_line(c) for c in r.crossovers],
        frontier=list(words.frontier_lines(r)),
        rules=list(words.rule_lines(r)),
        uncertainty=list(words.uncertainty_lines(r)),
        minimax=list(words.minimax_lines(r)),
        intervals=list(words.interval_lines(r)),
        seen=list(words.seen_lines(r)),
        drills=list(words.drill_lines(r)),
        evidence=list(words.evidence_lines(r)),
        scenario_rows=list(words.scenario_rows(r.scenario)),
        sources=[f"{s.citation} {s.url}" for s in r.sources],
    )


def _nowhere(report: Report) -> str:
    """What stands in the place of a map on which nobody wins."""
    found = report.sensitivity
    if found is None or not found.winners.is_empty:
        return ""
    return nowhere_line(report.recommendation.scenario, found.winners)


def _figures(report: Report) -> _Figures:
    r, mechanisms, found = report.recommendation, report.mechanisms, report.sensitivity
    nothing = Markup("")
    priced = [c for c in r.candidates if c.terms is not None]
    slowdown = r.selected.slowdown if r.selected else None
    curves = found is not None and bool(found.curves.curves)
    return _Figures(
        time_split=_html(time_split(r), "time-split", script=True) if priced else nothing,
        frontier=_html(frontier(priced, mechanisms), "frontier") if len(priced) > 1 else nothing,
        mtbf=(
            _html(mtbf_figure(found.curves, mechanisms, r.scenario.mtbf_s), "mtbf")
            if found and curves
            else nothing
        ),
        winners=(
            _html(winner_figure(found.winners, mechanisms), "winners", script=not priced)
            if found and not found.winners.is_empty
            else nothing
        ),
        tornado=(
            _html(tornado_figure(found.tornado, slowdown), "tornado")
            if found and slowdown is not None
            else nothing
        ),
    )


def _html(figure: Any, name: str, *, script: bool = False) -> Markup:
    """One figure, as wide as its place; the first of a page brings the plotting code with it."""
    figure.update_layout(template="plotly_white")
    body = figure.to_html(
        full_html=False,
        include_plotlyjs=script,
        div_id=name,
        config={"displayModeBar": False, "responsive": True},
    )
    label = Markup.escape(str(figure.layout.title.text))
    return Markup('<figure role="img" aria-label="{}">{}</figure>').format(label, Markup(body))  # noqa: S704
