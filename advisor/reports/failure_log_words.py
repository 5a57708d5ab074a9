"""What a failure log says, in sentences and table rows: shared by the command and the app."""

from collections.abc import Iterator

from advisor.failure_logs.estimate import Announcements, Estimate
from advisor.failure_logs.gaps import FEWEST
from advisor.failure_logs.nodes import Nodes
from advisor.failure_logs.rates import Mtbf
from advisor.failure_logs.records import Kind
from advisor.units import format_duration, format_number, format_percent
from db.records import FailureScope

SCOPES = {
    FailureScope.NODE: "failures of nodes, with or without a job on them",
    FailureScope.JOB: "unexpected interruptions of jobs",
    FailureScope.ALL: "all interruptions, planned ones too",
}
ROWS_HEADER = ("rows", "used as", "because")
NODES_HEADER = ("node", "failures", "time at risk")
WITHOUT_HEADER = ("without the worst", "failures", "MTBF of one node", "95 % interval")
_MOST_NODES = 10
_MOST_CAUSES = 8
_MOST_REASONS = 40


def headline(found: Estimate) -> str:
    """The answer in one sentence."""
    of_nodes = found.log.systems is not None and found.scope is FailureScope.NODE
    unit = "system-hours" if of_nodes else "job-hours"
    return f"MTBF {_subject(found)}: {mtbf_words(found.mtbf, unit)}."


def mtbf_words(found: Mtbf, unit: str) -> str:
    """`3.09 h = 3 h 6 min (95 %: 2 h 49 min to 3 h 25 min), 419 failures in 1,296 job-hours`."""
    at_risk = f"{format_number(found.at_risk_s / 3600.0)} {unit}"
    if found.mtbf_s is None or found.high_s is None:
        return f"at least {format_duration(found.low_s)} (95 %, one-sided), no failure in {at_risk}"
    failures = "1 failure" if found.failures == 1 else f"{found.failures:,} failures"
    return (
        f"{format_number(found.mtbf_s / 3600.0)} h = {format_duration(found.mtbf_s)} "
        f"({interval_words(found)}), {failures} in {at_risk}"
    )


def interval_words(found: Mtbf) -> str:
    """`95 %: 2 h to 3 h`, or the bound."""
    if found.high_s is None:
        return f"95 %: at least {format_duration(found.low_s)}"
    return f"95 %: {format_duration(found.low_s)} to {format_duration(found.high_s)}"


def lines(found: Estimate) -> Iterator[str]:
    """Everything that is no table, one sentence a line; the warnings come apart."""
    yield headline(found)
    if found.node_mtbf is not None and found.nodes != 1:
        yield f"MTBF of one node: {mtbf_words(found.node_mtbf, 'node-hours')}."
    yield f"Scope: {SCOPES[found.scope]} ({found.question.count.value} counted)."
    if found.counted.ends_at_failure:
        yield "Each system was at risk from its first failure, which only opens it, to its last."
    numbers = dict(found.counted.kinds)
    yield (
        f"Interruptions: {numbers[Kind.INFRA] + numbers[Kind.ABORT]:,} unexpected (infra "
        f"{numbers[Kind.INFRA]:,}, abort {numbers[Kind.ABORT]:,}), {numbers[Kind.PLANNED]:,} "
        "planned, before any are merged."
    )
    causes = ", ".join(f"{cause} {n:,}" for cause, n in found.counted.causes[:_MOST_CAUSES])
    if causes:
        yield f"Causes: {causes}{_more(len(found.counted.causes), _MOST_CAUSES)}."
    apart = ", ".join(f"{cause} {n:,}" for cause, n in found.counted.apart[:_MOST_CAUSES])
    if apart:
        yield f"Not counted: {apart}{_more(len(found.counted.apart), _MOST_CAUSES)}."
    if found.announcements is not None:
        yield announcement_words(found.announcements)
    yield _gap_words(found)


def announcement_words(found: Announcements) -> str:
    """What was announced, for --warning-coverage and --warning-lead."""
    together = format_duration(found.mtbf.at_risk_s / found.mtbf.failures)
    said = (
        f"Announced: {found.announced:,}, beside {found.unannounced:,} failures that were not: a "
        f"coverage of {format_percent(found.coverage)} (95 %: {format_percent(found.low)} to "
        f"{format_percent(found.high)}), which goes with the MTBF of all of them, {together}"
    )
    if found.median_lead_s is None or found.shortest_lead_s is None:
        return f"{said}; the log does not say how long ahead."
    return (
        f"{said}, {format_duration(found.median_lead_s)} ahead in the median, "
        f"{format_duration(found.shortest_lead_s)} at least."
    )


def row_cells(found: Estimate) -> Iterator[tuple[str, str, str]]:
    """What became of every row, under ROWS_HEADER; the last line is their sum."""
    parts = found.counted.accounting.parts
    for use, reason, rows in parts[:_MOST_REASONS]:
        yield f"{rows:,}", use.value, reason
    if rest := parts[_MOST_REASONS:]:
        yield f"{sum(rows for *_, rows in rest):,}", "", f"{len(rest)} other reasons"
    yield f"{found.counted.accounting.rows:,}", "all rows", ""


def node_cells(found: Nodes) -> Iterator[tuple[str, str, str]]:
    """The nodes that failed most, under NODES_HEADER."""
    for node in found.failing[:_MOST_NODES]:
        yield node.name, f"{node.failures:,}", format_duration(node.at_risk_s)


def node_words(found: Nodes) -> str:
    """How unlike the nodes are."""
    said = f"{len(found.failing):,} of {found.known:,} nodes had a failure"
    if found.chance is None:
        return f"{said}."
    worst = found.failing[0].failures
    return (
        f"{said}; the worst of as many equal nodes would have {worst:,} or more with a probability "
        f"of {format_number(found.chance)}."
    )


def without_cells(found: Nodes) -> Iterator[tuple[str, str, str, str]]:
    """The MTBF without the worst nodes, under WITHOUT_HEADER."""
    for each in found.without:
        mean_s = each.mtbf.mtbf_s
        yield (
            str(each.left_out),
            f"{each.mtbf.failures:,}",
            "" if mean_s is None else format_duration(mean_s),
            interval_words(each.mtbf),
        )


def _subject(found: Estimate) -> str:
    of_nodes = found.log.systems is not None and found.scope is FailureScope.NODE
    what = "of a system" if of_nodes else "of a job"
    if found.nodes is None:
        return f"{what}, of the size that the log is about"
    size = f"{format_number(found.nodes)} node{'' if found.nodes == 1 else 's'}"
    given = "" if found.question.nodes is not None else ", the mean size in the log"
    return f"{what} on {size}{given}"


def _gap_words(found: Estimate) -> str:
    kept = [gap for gap in found.counted.gaps_s if gap > found.question.coalesce_s]
    if len(kept) >= FEWEST and min(kept) == max(kept):
        return f"Times between failures: all {format_duration(kept[0])}, so that none has a shape."
    if found.weibull is None or found.variation is None:
        return "Times between failures: too few for a shape."
    shape = found.weibull
    return (
        f"Times between failures: Weibull shape {shape.shape:.2f} (95 %: {shape.low:.2f} to "
        f"{shape.high:.2f}; 1 is memoryless), coefficient of variation {found.variation:.2f}, "
        f"from {shape.n:,}."
    )


def _more(number: int, shown: int) -> str:
    return f" and {number - shown} more causes" if number > shown else ""
