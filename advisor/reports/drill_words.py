"""Words and table rows of drills and of scorecards."""

from collections.abc import Iterator, Sequence

from advisor.drills.scorecard import Card, ScoreRow
from advisor.drills.suite import Suite
from advisor.reports.words import drill_words
from advisor.units import format_duration
from db.records import Drilled, DrillResult

SUITE_HEADER = ("drill", "on", "mechanisms", "deadline", "what it proves")
SUITE_NUMERIC = (3,)
HEADER = ("mechanism", "drill", "on", "result", "outcome", "took", "why it failed")
NUMERIC = (5,)
CARD_HEADER = (
    *("fault", "on", "promised", "seen", "noticed", "restored from", "lost", "mark", "newest"),
    "run",
)
CARD_NUMERIC = (4, 6)
CARD_LEGEND = (
    "promised: run outcomes; noticed: median time until all knew; lost: the most steps made again;"
    "\nmark: of the newest run; seen: runs met it, nothing was promised; run: the newest"
)


def suite_rows(suite: Suite) -> Iterator[tuple[str, ...]]:
    """A row for each drill that would be run, under SUITE_HEADER."""
    for each in suite.chosen:
        drill = each.drill
        yield (
            drill.name,
            drill.architecture,
            " ".join(each.mechanisms),
            format_duration(drill.deadline_s),
            drill.proves,
        )


def suite_lines(suite: Suite) -> Iterator[str]:
    """How many runs there are, and what is left out."""
    drills = "1 drill" if len(suite.chosen) == 1 else f"{len(suite.chosen)} drills"
    yield f"{drills}, {suite.runs} runs"
    yield from (f"skipped: {each.drill}: {each.reason}" for each in suite.skipped)


def rows(drills: Sequence[Drilled]) -> Iterator[tuple[str, ...]]:
    """A row for each drill of a campaign, under HEADER."""
    for each in drills:
        yield (
            each.mechanism.upper(),
            each.drill,
            each.architecture,
            "not run yet" if each.result is DrillResult.PLANNED else str(each.result),
            each.outcome or "",
            "" if each.wall_s is None else format_duration(each.wall_s),
            each.reason,
        )


def result_line(drills: Sequence[Drilled]) -> str:
    """`43 of 45 drills passed, 2 failed`."""
    counts = {kind: sum(each.result is kind for each in drills) for kind in DrillResult}
    line = f"{counts[DrillResult.PASSED]} of {len(drills)} drills passed"
    if counts[DrillResult.FAILED]:
        line += f", {counts[DrillResult.FAILED]} failed"
    if counts[DrillResult.PLANNED]:
        line += f", {counts[DrillResult.PLANNED]} not run yet"
    return line


def card_line(card: Card) -> str:
    """`FT1 Periodic disk checkpoint: 9 drills passed, the newest on 2026-12-01`."""
    return f"{card.mechanism.upper()} {card.name}: {drill_words(card.mark)}"


def card_rows(card: Card) -> Iterator[tuple[str, ...]]:
    """A row for each fault, under CARD_HEADER."""
    yield from map(_card_row, card.rows)


def card_reasons(card: Card) -> Iterator[str]:
    """Why drills failed, a line each."""
    for row in card.rows:
        if row.reason:
            yield f"{row.fault}: {row.reason}"


def _card_row(row: ScoreRow) -> tuple[str, ...]:
    more = f" and {len(row.run_ids) - 1} more" if len(row.run_ids) > 1 else ""
    return (
        row.fault,
        row.architecture,
        row.promise,
        ", ".join(f"{outcome} {count}" for outcome, count in row.outcomes),
        "" if row.detection_s is None else format_duration(row.detection_s),
        ", ".join(row.sources),
        "" if row.lost_steps is None else str(row.lost_steps),
        str(row.mark),
        (row.newest_at or "")[:10],
        (row.run_ids[0] if row.run_ids else "") + more,
    )
