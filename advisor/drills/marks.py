"""Whether a mechanism counts as tested on a cluster: its newest drills, as of today. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from advisor.drills.catalogue import BY_NAME
from advisor.recommendation import Candidate, DrillMark, Recommendation
from db.records import Drilled, DrillResult

MOST_DAYS = 30
"""A drill that passed longer ago says nothing any more: software and machine have changed."""
_INSTANT = "%Y-%m-%dT%H:%M:%SZ"
_MOST_NAMED = 3


def newest(drills: Iterable[Drilled], mechanism: str) -> dict[str, Drilled]:
    """Of each drill of a mechanism the newest, by name; `drills` are the oldest first. Drills that
    this version does not know any more do not count."""
    mine = (each for each in drills if each.mechanism == mechanism and each.drill in BY_NAME)
    return {each.drill: each for each in mine}


def is_stale(drilled: Drilled, now: datetime) -> bool:
    """Whether it was tried more than `MOST_DAYS` before `now` (with its time zone)."""
    return age(drilled, now) > timedelta(days=MOST_DAYS)


def age(drilled: Drilled, now: datetime) -> timedelta:
    """How long ago it was tried."""
    return now - datetime.strptime(drilled.tried_at, _INSTANT).replace(tzinfo=UTC)


def mark_of(drills: Iterable[Drilled], mechanism: str, now: datetime) -> DrillMark:
    """The mark of one mechanism, from all drills of a cluster."""
    found = newest(drills, mechanism)
    failed = [each for each in found.values() if each.result is DrillResult.FAILED]
    passed = [each for each in found.values() if each.result is DrillResult.PASSED]
    stale = [each for each in passed if is_stale(each, now)]
    reason = _reason(failed, stale, len(found), now)
    return DrillMark(
        is_tested=not reason,
        reason=reason,
        passed=len(passed) - len(stale),
        failed=len(failed),
        stale=len(stale),
        newest_at=max((each.tried_at for each in found.values()), default=None),
        run_ids=tuple(each.run_id for each in found.values()),
    )


def _reason(failed: Sequence[Drilled], stale: Sequence[Drilled], found: int, now: datetime) -> str:
    if failed:
        first = failed[0]
        if len(failed) == 1:
            return (
                f"drill {first.drill} failed on {first.tried_at[:10]}: {first.reason} "
                f"(run {first.run_id})"
            )
        return f"{len(failed)} of {found} drills failed: {_names(failed)}"
    if stale:
        oldest = max(age(each, now).days for each in stale)
        return (
            f"{len(stale)} of {found} drills are older than {MOST_DAYS} days, the oldest "
            f"{oldest} days: {_names(stale)}"
        )
    return "" if found else "no drill of it was run on this cluster"


def _names(drills: Sequence[Drilled]) -> str:
    more = ", ..." if len(drills) > _MOST_NAMED else ""
    return ", ".join(each.drill for each in drills[:_MOST_NAMED]) + more


def with_marks(found: Recommendation, drills: Sequence[Drilled], now: datetime) -> Recommendation:
    """The answer with a mark at each candidate; without any drill on the cluster, as it was."""
    if not drills:
        return found

    def marked(candidate: Candidate) -> Candidate:
        return replace(candidate, drilled=mark_of(drills, candidate.mechanism, now))

    candidates = tuple(map(marked, found.candidates))
    return replace(
        found,
        candidates=candidates,
        selected=candidates[0] if found.selected else None,
        runner_up=candidates[1] if found.runner_up else None,
    )
