"""Campaigns in words, facts and table cells, for the command line and for the app."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from advisor.campaign_summary import TupleSummary
from advisor.campaign_view import CampaignView
from advisor.drift import Drift
from advisor.time_left import Kind, kind_of
from advisor.units import format_duration, format_percent
from db.campaign_queries import CampaignSummary, CellSummary
from db.records import CampaignStatus, CellStatus, RunQuantity

LIST_HEADER = ("campaign", "cluster", "status", "cells", "done", "failed", "left", "created")
FAILED_HEADER = ("cell", "seed", "attempts", "reason")


def list_row(each: CampaignSummary) -> tuple[object, ...]:
    """One campaign among others; one without a plan has as many cells as runs were ingested."""
    planned = each.cells or each.stored
    done = each.done if each.cells else each.stored
    return (
        each.campaign,
        each.cluster,
        str(each.status),
        planned,
        done,
        each.counts[CellStatus.FAILED],
        planned - done,
        each.created_at,
    )


def resume_command(campaign: str) -> str:
    """What goes on with an interrupted campaign."""
    return f"advisor measure --resume {campaign}"


def progress_line(view: CampaignView) -> str:
    """How far the campaign is, and what goes on with it, in one line."""
    summary = view.summary
    if not summary.cells:
        return f"{summary.campaign} {summary.status}: {summary.stored} runs ingested, no plan"
    failed = summary.counts[CellStatus.FAILED]
    parts = [f"{summary.done} of {summary.cells} cells done"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"now {view.now}"] if view.now else []
    if view.time_left_s:
        parts.append(f"about {format_duration(view.time_left_s)} left")
    if summary.status is CampaignStatus.STALE:
        parts.append(f"go on with `{resume_command(summary.campaign)}`")
    return f"{summary.campaign} {summary.status}: {'; '.join(parts)}"


def origin_line(summary: CampaignSummary) -> str:
    """Where and since when, and who runs it."""
    who = f", run by process {summary.pid} on {summary.host}" if summary.pid else ""
    return f"on {summary.cluster}, created {summary.created_at}{who}"


def order_words(summary: CampaignSummary) -> str:
    """In which order the cells are run."""
    seed = summary.order_seed
    return f"order: {'as asked' if seed is None else f'shuffled, seed {seed}'}"


def drift_words(drift: Drift | None) -> str:
    """What the baselines say of the machine, in one line."""
    if drift is None:
        return "drift of the machine: not known (too few baselines)"
    seen = "" if drift.is_seen else ", none that could be told from zero"
    return (
        f"drift of the machine: step time {format_percent(drift.fraction_per_hour)} ± "
        f"{format_percent(drift.half_width)} an hour (95 %, {drift.n} baselines over "
        f"{format_duration(3600 * drift.hours)}){seen}"
    )


def facts(view: CampaignView) -> list[tuple[str, str]]:
    """The numbers that a reader looks for first, by name; what is zero and unusual is left out."""
    summary = view.summary
    if not summary.cells:
        return [("status", str(summary.status)), ("runs ingested", f"{summary.stored:,}")]
    counts = summary.counts
    told = [
        ("status", str(summary.status)),
        ("done", f"{summary.done:,} of {summary.cells:,}"),
        ("failed", f"{counts[CellStatus.FAILED]:,}"),
    ]
    left = summary.cells - summary.done
    if left:
        told += [("left", f"{left:,}"), ("running", f"{counts[CellStatus.RUNNING]:,}")]
    if counts[CellStatus.STALE]:
        told.append(("stale", f"{counts[CellStatus.STALE]:,}"))
    if left:
        left_s = view.time_left_s
        told.append(("time left", "not known yet" if left_s is None else format_duration(left_s)))
    return told


def failed_rows(cells: Iterable[CellSummary]) -> list[tuple[object, ...]]:
    """The cells that failed, each with its reason."""
    return [
        (_name(cell), cell.seed, cell.attempts, cell.reason)
        for cell in cells
        if cell.status is CellStatus.FAILED
    ]


def _name(cell: CellSummary) -> Kind:
    return kind_of(cell.architecture, cell.mechanism, cell.trace)


def newest_first(
    tuples: Iterable[TupleSummary], cells: Iterable[CellSummary]
) -> list[TupleSummary]:
    """The tuples whose cells were finished last come first; those that no cell names, last."""
    finished: dict[Kind, str] = {}
    for cell in cells:
        finished[_name(cell)] = max(finished.get(_name(cell), ""), cell.finished_at or "")
    return sorted(tuples, key=lambda each: finished.get(_kind(each), ""), reverse=True)


def _kind(each: TupleSummary) -> Kind:
    return kind_of(each.architecture, each.mechanism, each.trace)


def tuple_name(each: TupleSummary) -> str:
    """`a2 ft1 F1`, with what tells it from another one of its kind."""
    told = (f"{key.removesuffix('_steps')} {value}" for key, value in each.parameters.items())
    return ", ".join((_kind(each), *told))


def outcome_words(each: TupleSummary) -> str:
    """How its runs ended: `recovered`, or `2 recovered, 1 halted`."""
    return ", ".join(name if n == each.runs else f"{n} {name}" for name, n in each.outcomes.items())


def tuple_rows(tuples: Sequence[TupleSummary]) -> list[Mapping[str, Any]]:
    """What the runs of each tuple showed: means of the valid ones, and halves of their 95 %
    intervals; None where no run says it."""
    return [_tuple_row(each) for each in tuples]


def _tuple_row(each: TupleSummary) -> Mapping[str, Any]:
    means = each.means
    overhead = means[RunQuantity.OVERHEAD]
    return {
        "tuple": tuple_name(each),
        "way": each.way,
        "runs": each.runs,
        "valid": each.valid,
        "outcome": outcome_words(each),
        "overhead_fraction": overhead and overhead.value,
        "overhead_half_width": overhead and overhead.half_width,
        "recovery_total_s": each.recovery_s,
        "detection_s": _value(each, RunQuantity.DETECTION),
        "lost_steps": _value(each, RunQuantity.LOST_STEPS),
        "samples_per_s_per_rank": _value(each, RunQuantity.THROUGHPUT),
        "post_failure_samples_per_s_per_rank": _value(each, RunQuantity.POST_FAILURE_THROUGHPUT),
        "why": each.infeasible_reason,
    }


def _value(each: TupleSummary, quantity: RunQuantity) -> float | None:
    mean = each.means[quantity]
    return None if mean is None else mean.value
