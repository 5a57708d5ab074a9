"""The recommendation as Markdown, for an issue, a wiki or a mail."""

import re
from collections.abc import Iterable, Iterator, Sequence

from advisor.printable import printable
from advisor.recommendation import Recommendation
from advisor.reports import Canvas, words

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#~$&"})
# A list or a rule: acts only where a line starts.
_AT_START = re.compile(r"^(\d{0,9})([-+](?=[-\s]|$)|(?<=\d)[.)](?=\s|$))")


def render(recommendation: Recommendation, canvas: Canvas) -> str:
    """GitHub-flavoured tables; every piece of text from outside is escaped."""
    return "\n".join(_lines(recommendation)) + "\n"


def escape(text: str) -> str:
    """One line, with every character that Markdown or HTML would act on defused."""
    line = printable(" ".join(text.split())).translate(_SPECIAL)
    return _AT_START.sub(r"\1\\\2", line)


def _lines(recommendation: Recommendation) -> Iterator[str]:
    yield f"# {escape(words.headline(recommendation))}"
    yield ""
    runner_up = words.runner_up_line(recommendation)
    if runner_up:
        yield escape(runner_up)
        yield ""
    if recommendation.candidates:
        yield from _section(
            "Candidates",
            _table(words.CANDIDATE_HEADER, map(words.candidate_cells, recommendation.candidates)),
        )
        yield escape(words.EVIDENCE_LEGEND)
        yield ""
    yield from _list("Warnings", recommendation.warnings)
    yield from _list("How sure", words.uncertainty_lines(recommendation))
    yield from _list("Least largest regret", words.minimax_lines(recommendation))
    if recommendation.selected is not None and recommendation.selected.terms is not None:
        rows = words.term_cells(recommendation.selected)
        yield from _section("Expected time, term by term", _table(("term", "time"), rows))
    yield from _list("Why these figures", words.rule_lines(recommendation))
    yield from _list("Tried live", words.seen_lines(recommendation))
    yield from _list("Drills", words.drill_lines(recommendation))
    yield from _list("Evidence", words.evidence_lines(recommendation))
    yield from _list("Time between checkpoints", words.interval_lines(recommendation))
    yield from _list("Not offered", map(words.excluded_line, recommendation.excluded))
    yield from _list("Frontier", words.frontier_lines(recommendation))
    yield from _list("What would flip it", map(words.crossover_line, recommendation.crossovers))
    rows3 = words.scenario_rows(recommendation.scenario)
    yield from _section("Scenario", _table(("input", "value", "from"), rows3))
    yield from _list("Sources", (f"{s.citation} {s.url}" for s in recommendation.sources))
    versions = recommendation.versions
    yield (
        f"advisor {escape(versions.advisor_version)}, "
        f"schema {escape(versions.schema_revision)}, data {versions.data_version[:12]}"
    )


def _section(title: str, body: Iterable[str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield from body
    yield ""


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = [f"- {escape(line)}" for line in lines]
    if listed:
        yield from _section(title, listed)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(map(escape, header)) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(map(escape, row)) + " |"
