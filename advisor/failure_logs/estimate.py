"""All that one log says of how often its cluster fails. Pure."""

from dataclasses import asdict, dataclass
from math import exp
from statistics import median
from typing import Any

from advisor.errors import UserError
from advisor.failure_logs.counting import Counted, Question, count_failures, scope_of
from advisor.failure_logs.gaps import Weibull, variation, weibull
from advisor.failure_logs.nodes import Nodes, nodes_of
from advisor.failure_logs.rates import Mtbf, mtbf, share_interval
from advisor.failure_logs.records import Log
from db.records import FailureScope

FORMAT = "failbench-advisor-mtbf"
VERSION = 1
_MERGED_BY_CHANCE = 0.02
"""Share of independent failures that coalescing may hide before it is said."""


@dataclass(frozen=True, slots=True)
class Announcements:
    """What was announced: it feeds warning coverage and warning lead."""

    announced: int
    unannounced: int
    """Failures that were not."""
    coverage: float
    """announced / (announced + unannounced), a fraction."""
    low: float
    high: float
    mtbf: Mtbf
    """Of all of them together: the one that the coverage goes with."""
    shortest_lead_s: float | None
    median_lead_s: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer for one log; times in seconds."""

    log: Log
    question: Question
    scope: FailureScope
    counted: Counted
    nodes: float | None
    """The size that `mtbf` is for: --nodes, else the mean size over the time at risk; None if
    the log does not say any."""
    mtbf: Mtbf
    """Of a job or system of that size."""
    node_mtbf: Mtbf | None
    """Of one node; None where no size is known."""
    weibull: Weibull | None
    variation: float | None
    announcements: Announcements | None
    by_node: Nodes | None
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For programs; seconds, fractions, null for what does not exist."""
        counted = self.counted
        return {
            "format": FORMAT,
            "version": VERSION,
            "log_format": self.log.format,
            "scope": self.scope.value,
            "count": self.question.count.value,
            "coalesce_s": self.question.coalesce_s,
            "nodes": self.nodes,
            "mtbf": asdict(self.mtbf),
            "node_mtbf": None if self.node_mtbf is None else asdict(self.node_mtbf),
            "windows": [
                {"system": system, "start_s": window.start_s, "end_s": window.end_s}
                for system, window in counted.windows.items()
            ],
            "weibull": None if self.weibull is None else asdict(self.weibull),
            "variation": self.variation,
            "causes": _counts(counted.causes),
            "kinds": {kind.value: number for kind, number in counted.kinds},
            "apart": _counts(counted.apart),
            "announcements": (None if self.announcements is None else asdict(self.announcements)),
            "by_node": None if self.by_node is None else asdict(self.by_node),
            "rows": counted.accounting.rows,
            "accounting": [
                {"use": use.value, "reason": reason, "rows": rows}
                for use, reason, rows in counted.accounting.parts
            ],
            "warnings": list(self.warnings),
        }


def estimate(log: Log, question: Question) -> Estimate:
    """The answer. Raises UserError if nothing was at risk, the question does not fit the log, or
    too little of the log can be read."""
    counted = count_failures(log, question)
    _refuse_unreadable(log)
    if not counted.work_s > 0.0:
        raise UserError(_nothing_at_risk(log, counted))
    ends = counted.ends_at_failure
    nodes: float | None = None
    if counted.node_s:
        nodes = question.nodes or counted.node_s / counted.work_s
        node_mtbf = mtbf(counted.failures, counted.node_s, ends_at_failure=ends)
        whole = mtbf(counted.failures, counted.node_s / nodes, ends_at_failure=ends)
    else:
        node_mtbf = None
        whole = mtbf(counted.failures, counted.work_s, ends_at_failure=ends)
    shape = weibull(counted.gaps_s, counted.open_gaps_s, question.coalesce_s)
    scatter = variation(counted.gaps_s)
    return Estimate(
        *(log, question, scope_of(log, question), counted, nodes, whole, node_mtbf),
        *(
            shape,
            scatter,
            _announcements(counted, whole.at_risk_s, ends),
            nodes_of(log, question, counted),
        ),
        warnings=tuple(_warnings(log, question, counted, shape, scatter)),
    )


def _refuse_unreadable(log: Log) -> None:
    """Events and counts are at risk whatever their rows say, so that nothing else would tell."""
    lost = [entry for entry in log.entries if entry.excluded]
    if log.systems is None or not lost:
        return
    first = f"row {lost[0].row:,}: {lost[0].excluded}"
    if len(lost) == len(log.entries):
        raise UserError(f"no row of {len(lost):,} can be used ({first}): nothing can be said")
    if any(e.interruption is not None and e.interruption.at_s is None for e in log.entries):
        raise UserError(
            f"{len(lost):,} of {len(log.entries):,} counts cannot be read ({first}): a sum without "
            "them would be too small"
        )


def _nothing_at_risk(log: Log, counted: Counted) -> str:
    rows = counted.accounting.rows
    if log.systems is None:
        said = "a header and no rows" if rows == 0 else f"{rows:,} rows, of which none was at risk"
        reasons = "; ".join(f"{reason}: {n:,}" for _, reason, n in counted.accounting.parts[:3])
        return f"the log has {said}{f' ({reasons})' if reasons else ''}: nothing can be said"
    return (
        "the log has fewer than two failures of one system, so that only a window can say how "
        "long it was at risk"
    )


def _announcements(
    counted: Counted, at_risk_s: float, ends_at_failure: bool
) -> Announcements | None:
    if not counted.announced:
        return None
    whole = counted.announced + counted.unannounced
    leads = counted.leads_s
    return Announcements(
        counted.announced,
        counted.unannounced,
        counted.announced / whole,
        *share_interval(counted.announced, whole),
        mtbf(whole, at_risk_s, ends_at_failure=ends_at_failure),
        leads[0] if leads else None,
        median(leads) if leads else None,
    )


def _warnings(
    log: Log,
    question: Question,
    counted: Counted,
    shape: Weibull | None,
    scatter: float | None,
) -> list[str]:
    found = list(log.notes)
    if shape is not None and shape.bursts:
        wide = f"about {scatter:.2g} times as wide" if scatter and scatter > 1.0 else "wider"
        found.append(
            f"failures come in bursts (Weibull shape {shape.shape:.2f}, at most "
            f"{shape.high:.2f}, below 1): the interval of the MTBF should be {wide}, and formulas "
            "that take failures as memoryless, Eq. (5) too, expect losses to be spread more evenly"
        )
    if not log.entries:
        found.append("the log is a header without rows: is it the right file?")
    if counted.unsized and counted.node_s is None:
        found.append(
            f"{counted.unsized:,} of the jobs do not say how many nodes they had, which are too "
            "many to leave out: no size is used, neither theirs nor the others'"
        )
    elif counted.unsized:
        found.append(
            f"{counted.unsized:,} of the jobs do not say how many nodes they had, and are left out"
        )
    if question.coalesce_s and counted.failures and counted.gaps_s:
        hidden = 1.0 - exp(-question.coalesce_s * len(counted.gaps_s) / sum(counted.gaps_s))
        if hidden > _MERGED_BY_CHANCE:
            found.append(
                f"the coalescing time is so long that about {100 * hidden:.0f} % of failures that "
                "have nothing to do with each other are merged as well: the MTBF is that much too "
                "long"
            )
    malformed = sum(
        rows for _, reason, rows in counted.accounting.parts if reason.startswith("malformed")
    )
    if malformed:
        found.append(f"{malformed:,} of {counted.accounting.rows:,} rows cannot be read")
    return found


def _counts(found: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"cause": cause, "count": count} for cause, count in found]
