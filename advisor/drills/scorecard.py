"""The contract of a mechanism, fault by fault: what was promised, and what runs showed. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import Any

from advisor.drills.catalogue import DRILLS
from advisor.drills.drill import Drill
from advisor.drills.marks import is_stale, mark_of
from advisor.recommendation import DrillMark
from db.records import Drilled, DrillResult, StruckRun


class ScoreMark(StrEnum):
    """How a line of the contract stands."""

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"
    """It passed, too long ago."""
    UNTESTED = "untested"
    """Never tried on this cluster."""
    SEEN = "seen"
    """Runs met this fault; nothing was promised of them."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One fault on one architecture. Numbers are over all its runs, the mark is the newest's.

    `detection_s` is the median time until all knew (None: nobody noticed in time), `sources` the
    tiers that states were restored from, `lost_steps` the most that a recovery lost.
    """

    fault: str
    is_drill: bool
    architecture: str
    promise: str
    """What is expected, in words; empty where nothing was promised."""
    mark: ScoreMark
    reason: str
    """Why it failed; empty otherwise."""
    outcomes: tuple[tuple[str, int], ...]
    """Run outcomes, and how many runs had each."""
    detection_s: float | None
    sources: tuple[str, ...]
    lost_steps: int | None
    newest_at: str | None
    run_ids: tuple[str, ...]
    """The runs behind the mark, newest first."""


@dataclass(frozen=True, slots=True)
class Card:
    """The scorecard of one mechanism on one cluster."""

    mechanism: str
    name: str
    mark: DrillMark
    rows: tuple[ScoreRow, ...]


def card_of(
    mechanism: str,
    name: str,
    drills: Sequence[Drilled],
    struck: Sequence[StruckRun],
    now: datetime,
) -> Card:
    """The card of a mechanism, from all drills and all struck runs of a cluster, oldest first:
    first every drill that applies to it, then every other fault that its runs met."""
    mine = [each for each in drills if each.mechanism == mechanism]
    runs = {run.run_id: run for run in struck if run.mechanism == mechanism}
    promised = [drill for drill in DRILLS if mechanism in drill.promises]
    rows = [_drill_row(drill, mechanism, mine, runs, now) for drill in promised]
    rows += _trace_rows(run for run in runs.values() if not run.is_drill)
    return Card(mechanism, name, mark_of(drills, mechanism, now), tuple(rows))


def _drill_row(
    drill: Drill,
    mechanism: str,
    drills: Iterable[Drilled],
    runs: Mapping[str, StruckRun],
    now: datetime,
) -> ScoreRow:
    tried = [each for each in drills if each.drill == drill.name][::-1]
    shown = [runs[each.run_id] for each in tried if each.run_id in runs]
    return ScoreRow(
        fault=drill.name,
        is_drill=True,
        architecture=drill.architecture,
        promise=drill.promises[mechanism].in_words(),
        mark=_mark(tried[0], now) if tried else ScoreMark.UNTESTED,
        reason=tried[0].reason if tried else "",
        outcomes=_counted(each.outcome for each in tried),
        newest_at=tried[0].tried_at if tried else None,
        run_ids=tuple(each.run_id for each in tried),
        **_numbers(shown),
    )


def _mark(newest: Drilled, now: datetime) -> ScoreMark:
    if newest.result is DrillResult.FAILED:
        return ScoreMark.FAILED
    return ScoreMark.STALE if is_stale(newest, now) else ScoreMark.PASSED


def _trace_rows(runs: Iterable[StruckRun]) -> list[ScoreRow]:
    """One for each trace and architecture, in their order; a schedule's digest is left out."""
    found: dict[tuple[str, str], list[StruckRun]] = {}
    for run in runs:
        fault = (run.trace or "").partition("@")[0]
        found.setdefault((fault, run.architecture), []).append(run)
    return [
        ScoreRow(
            fault=fault,
            is_drill=False,
            architecture=architecture,
            promise="",
            mark=ScoreMark.SEEN,
            reason="",
            outcomes=_counted(run.outcome for run in several),
            newest_at=several[-1].started_at,
            run_ids=tuple(run.run_id for run in reversed(several)),
            **_numbers(several),
        )
        for (fault, architecture), several in sorted(found.items())
    ]


def _numbers(runs: Sequence[StruckRun]) -> dict[str, Any]:
    noticed = [run.detection_s for run in runs if run.detection_s is not None]
    lost = [run.lost_steps for run in runs if run.lost_steps is not None]
    return {
        "detection_s": median(noticed) if noticed else None,
        "sources": tuple(sorted({source for run in runs for source in run.sources if source})),
        "lost_steps": max(lost, default=None),
    }


def _counted(outcomes: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    """Most frequent first, then by name."""
    counted = Counter(outcome for outcome in outcomes if outcome)
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))
