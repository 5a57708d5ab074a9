"""Drills and scorecards as JSON documents: the contracts of docs/json.md."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from advisor.drills.scorecard import Card, ScoreRow
from advisor.drills.suite import Skipped
from db.records import Drilled

DRILLS_FORMAT = "failbench-advisor-drills"
SCORECARD_FORMAT = "failbench-advisor-scorecard"
VERSION = 1


def drills_document(
    campaign: str, cluster: str, drills: Sequence[Drilled], skipped: Sequence[Skipped]
) -> dict[str, Any]:
    """What `advisor drill --format json` prints; `drills-1.schema.json`."""
    return {
        "format": DRILLS_FORMAT,
        "version": VERSION,
        "campaign": campaign,
        "cluster": cluster,
        "drills": [_drill(each) for each in drills],
        "skipped": [asdict(each) for each in skipped],
    }


def _drill(each: Drilled) -> dict[str, Any]:
    return {
        "drill": each.drill,
        "architecture": each.architecture,
        "mechanism": each.mechanism,
        "result": str(each.result),
        "reason": each.reason,
        "expected": list(each.expected),
        "outcome": each.outcome,
        "tried_at": each.tried_at,
        "took_s": each.wall_s,
        "deadline_s": each.deadline_s,
        "run_id": each.run_id,
    }


def scorecard_document(cluster: str, cards: Sequence[Card]) -> dict[str, Any]:
    """What `advisor scorecard --format json` prints; `scorecard-1.schema.json`."""
    return {
        "format": SCORECARD_FORMAT,
        "version": VERSION,
        "cluster": cluster,
        "mechanisms": [_card(card) for card in cards],
    }


def _card(card: Card) -> dict[str, Any]:
    return {
        "mechanism": card.mechanism,
        "name": card.name,
        "drilled": asdict(card.mark) | {"run_ids": list(card.mark.run_ids)},
        "faults": [_row(row) for row in card.rows],
    }


def _row(row: ScoreRow) -> dict[str, Any]:
    return asdict(row) | {
        "mark": str(row.mark),
        "outcomes": dict(row.outcomes),
        "sources": list(row.sources),
        "run_ids": list(row.run_ids),
    }
