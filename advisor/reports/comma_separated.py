"""The candidates and exclusions as CSV: one row a mechanism, SI units in the column names."""

import csv
from io import StringIO

from advisor.recommendation import Candidate, Excluded, Recommendation
from advisor.reports import Canvas
from advisor.reports.words import drill_words, rules_with_checks

COLUMNS = (
    "mechanism",
    "status",
    "evidence",
    "interval_steps",
    "overhead_fraction",
    "restore_s",
    "pause_s",
    "lost_s",
    "expected_completion_s",
    "goodput_fraction",
    "host_memory_bytes_per_rank",
    "reason",
)


def render(recommendation: Recommendation, canvas: Canvas) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for candidate in recommendation.candidates:
        status = "selected" if recommendation.is_selected(candidate) else "candidate"
        writer.writerow(_candidate(candidate, status))
    for excluded in recommendation.excluded:
        writer.writerow(_excluded(excluded))
    return out.getvalue()


def _candidate(candidate: Candidate, status: str) -> tuple[object, ...]:
    return (
        candidate.mechanism,
        status,
        candidate.evidence.value,
        candidate.interval_steps,
        candidate.overhead,
        candidate.restore_s,
        candidate.pause_s,
        candidate.lost_s,
        candidate.expected_completion_s,
        candidate.goodput,
        candidate.host_memory_bytes_per_rank,
        "; ".join([*rules_with_checks(candidate), *_software(candidate), *_drilled(candidate)]),
    )


def _software(candidate: Candidate) -> list[str]:
    return ["measured under superseded software"] if candidate.is_superseded else []


def _drilled(candidate: Candidate) -> list[str]:
    mark = candidate.drilled
    return [drill_words(mark)] if mark is not None and not mark.is_tested else []


def _excluded(excluded: Excluded) -> tuple[object, ...]:
    known = {"overhead": 4, "restore_s": 5}
    row: list[object] = [excluded.mechanism, "excluded", *[None] * 9, excluded.reason]
    for name, column in known.items():
        row[column] = excluded.shown.get(name)
    return tuple(row)
