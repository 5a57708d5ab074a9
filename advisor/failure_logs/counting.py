"""From a log to failures and time at risk, with what became of every row. Pure.

A job is at risk from its start to its end, whatever ended it; one that still runs, or ends after
the window, is censored there. A system is at risk, with all its nodes, for the whole window;
without a window from its first failure (which then only opens it) to its last. Failures closer than
the coalescing time to the first one of a group are that one failure.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import inf

from advisor.errors import UserError
from advisor.failure_logs.records import (
    Accounting,
    AtRisk,
    Entry,
    Interruption,
    Kind,
    Log,
    Use,
)
from advisor.units import format_duration
from db.records import FailureScope


class CountMode(StrEnum):
    """Which interruptions are failures."""

    INFRA = "infra"
    ABORT = "infra+abort"
    ALL = "all"

    def counts(self, kind: Kind) -> bool:
        """Whether interruptions of the kind are counted."""
        return self is CountMode.ALL or kind.value in self.value.split("+")


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is looked at, in seconds since 1970."""

    start_s: float
    end_s: float
    opened_by_failure: bool = False
    """It begins with a failure, which is not counted, and ends with one."""


@dataclass(frozen=True, slots=True)
class Question:
    """How a log is counted; times in seconds."""

    count: CountMode = CountMode.INFRA
    coalesce_s: float = 300.0
    window: Window | None = None
    length_s: float | None = None
    """How long it took, for a log that has counts without times."""
    nodes: int | None = None
    """The size for which an MTBF is wanted; of a system whose log does not say it, its own."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a log amounts to; times in seconds."""

    failures: int
    work_s: float
    """Time at risk of jobs, or of systems, whatever their size."""
    node_s: float | None
    """Time at risk of nodes; None where a size is not known."""
    ends_at_failure: bool
    gaps_s: tuple[float, ...]
    open_gaps_s: tuple[float, ...]
    causes: tuple[tuple[str, int], ...]
    kinds: tuple[tuple[Kind, int], ...]
    """All interruptions by kind, counted or not, before any are merged."""
    apart: tuple[tuple[str, int], ...]
    """Interruptions that are not counted as failures, by cause."""
    announced: int
    """Failures that were announced, and planned interruptions that were, within the same time at
    risk and with those merged that are as close as failures that are one."""
    unannounced: int
    """Failures that were not."""
    leads_s: tuple[float, ...]
    unsized: int
    """Jobs that do not say how many nodes they had, in a log where others do. Without a size in
    `node_s` they are too many to do without; else they are left out."""
    accounting: Accounting
    windows: Mapping[str, Window]
    """By system; of jobs under the name ''."""


_OUTSIDE = "outside the window"
_SEVERAL = (
    "the log has several systems and does not say how many nodes each has: without that, leave "
    "out your own"
)
_NO_LENGTH = (
    "the log has times: write a window with its start and end, such as 2024-03-01..2024-04-24"
)
_FEW = 0.05
"""Share of the jobs that may lack a size and be left out, so that the others keep theirs."""
_UNSIZED = "it does not say how many nodes it had, as others do"
_Verdict = tuple[Use, str]


def count_failures(
    log: Log, question: Question, windows: Mapping[str, Window] | None = None
) -> Counted:
    """Counts. `windows`: those of an earlier count, to be kept. Raises UserError."""
    if question.count is CountMode.INFRA and not log.knows_causes:
        raise UserError(
            f"{log.format} logs do not tell failures of the cluster from failures of programs: "
            "count infra+abort or all"
        )
    if log.systems is None:
        return _count_jobs(log, question, windows)
    has_times = any(e.interruption and e.interruption.at_s is not None for e in log.entries)
    if question.length_s is not None and has_times:
        raise UserError(_NO_LENGTH)
    untimed = any(e.interruption and e.interruption.at_s is None for e in log.entries)
    if untimed or question.length_s is not None:
        return _count_totals(log, question)
    return _count_events(log, question, windows)


def without_nodes(log: Log, names: frozenset[str]) -> Log:
    """The log as if these nodes had not been there: nor jobs that held them."""

    def touched(entry: Entry) -> bool:
        held = entry.interruption.nodes if entry.interruption else ()
        ran = entry.at_risk.names if entry.at_risk else ()
        return not names.isdisjoint((*held, *ran))

    kept = tuple(
        Entry(e.row, e.says, excluded="a node that is left out") if touched(e) else e
        for e in log.entries
    )
    if log.systems is None:
        return replace(log, entries=kept)
    gone = Counter(
        system
        for system, name in {
            (e.interruption.system, name)
            for e in log.entries
            if e.interruption
            for name in e.interruption.nodes
            if name in names
        }
    )
    systems = {
        system: None if nodes is None else max(nodes - gone[system], 0)
        for system, nodes in log.systems.items()
    }
    return replace(log, entries=kept, systems=systems)


def _count_jobs(log: Log, question: Question, windows: Mapping[str, Window] | None) -> Counted:
    if question.length_s is not None:
        raise UserError(_NO_LENGTH)
    window = (windows or {}).get("") or question.window or _extent(log.entries)
    verdicts: dict[int, _Verdict] = {}
    failures: list[Entry] = []
    inside: list[Interruption] = []
    work_s, node_s = 0.0, 0.0
    lengths: dict[int, float] = {}
    for entry in log.entries:
        if entry.at_risk is None:
            verdicts[entry.row] = (Use.EXCLUDED, entry.excluded)
            continue
        length_s = _length_in(entry.at_risk, window)
        if length_s is None:
            verdicts[entry.row] = (Use.EXCLUDED, _OUTSIDE)
            continue
        lengths[entry.row] = length_s
    unsized = {e.row for e in log.entries if e.row in lengths and e.at_risk and not e.at_risk.nodes}
    few = len(unsized) <= _FEW * len(lengths)
    for entry in log.entries:
        if entry.row not in lengths or entry.at_risk is None:
            continue
        if few and entry.row in unsized:
            verdicts[entry.row] = (Use.EXCLUDED, _UNSIZED)
            continue
        work_s += lengths[entry.row]
        node_s += lengths[entry.row] * (entry.at_risk.nodes or 0)
        found = entry.interruption
        if found is None:
            verdicts[entry.row] = (Use.AT_RISK, entry.says)
        elif found.at_s is None or found.at_s > window.end_s:
            verdicts[entry.row] = (Use.AT_RISK, f"{entry.says}, after the window")
        else:
            inside.append(found)
            if question.count.counts(found.kind):
                failures.append(entry)
            else:
                verdicts[entry.row] = (Use.AT_RISK, _not_counted(entry, question))
    if question.nodes is not None and not few:
        raise UserError(
            f"the log does not say how many nodes each job had ({len(unsized):,} of "
            f"{len(lengths):,}): without that, leave out your own"
        )
    firsts = _firsts(failures, question, verdicts)
    return _counted(
        *(log, question, firsts, inside, verdicts),
        work_s=work_s,
        node_s=node_s if few else None,
        windows={"": window},
        unsized=len(unsized) if len(unsized) < len(lengths) else 0,
    )


def _count_events(log: Log, question: Question, windows: Mapping[str, Window] | None) -> Counted:
    verdicts: dict[int, _Verdict] = {}
    failures: list[Entry] = []
    inside: list[Interruption] = []
    systems = dict(log.systems or {}) or {"": None}
    given = windows or (
        dict.fromkeys(systems, question.window) if question.window is not None else {}
    )
    for entry in log.entries:
        found = entry.interruption
        if found is None or found.at_s is None:
            verdicts[entry.row] = (Use.EXCLUDED, entry.excluded)
            continue
        if given and not _is_in(found.at_s, given.get(found.system)):
            verdicts[entry.row] = (Use.EXCLUDED, _OUTSIDE)
            continue
        inside.append(found)
        if question.count.counts(found.kind):
            failures.append(entry)
        else:
            verdicts[entry.row] = (Use.EXCLUDED, _not_counted(entry, question))
    firsts = _firsts(failures, question, verdicts)
    found_windows = dict(given)
    if not given:
        found_windows = _between_failures(firsts)
        opening = {system: window.start_s for system, window in found_windows.items()}
        for entry in firsts:
            if _at_s(entry) == opening[_system(entry)]:
                verdicts[entry.row] = (Use.AT_RISK, "opens its system's time at risk")
    lengths = {s: w.end_s - w.start_s for s, w in found_windows.items()}
    if question.nodes is not None:
        if len(systems) > 1 and None in systems.values():
            raise UserError(_SEVERAL)
        systems = {system: nodes or question.nodes for system, nodes in systems.items()}
    return _counted(
        *(log, question, firsts, inside, verdicts),
        work_s=sum(lengths.values()),
        node_s=_weighted(lengths, systems),
        windows=found_windows,
        ends_at_failure=not given,
    )


def _count_totals(log: Log, question: Question) -> Counted:
    """Counts without times, over a length that the user has to say."""
    window = question.window
    length_s = question.length_s or (window.end_s - window.start_s if window else None)
    if length_s is None:
        raise UserError(
            "the log has counts without times: write as the window over how long they came, such "
            "as 54d"
        )
    verdicts: dict[int, _Verdict] = {}
    counted: list[Entry] = []
    inside: list[Interruption] = []
    for entry in log.entries:
        if entry.interruption is None:
            verdicts[entry.row] = (Use.EXCLUDED, entry.excluded)
            continue
        inside.append(entry.interruption)
        if question.count.counts(entry.interruption.kind):
            counted.append(entry)
            verdicts[entry.row] = (Use.FAILURE, "counted, with its number")
        else:
            verdicts[entry.row] = (Use.EXCLUDED, _not_counted(entry, question))
    systems = dict(log.systems or {})
    known = [nodes for nodes in systems.values() if nodes is not None]
    nodes: int | None
    if len(known) == len(systems):
        nodes = sum(known)
    elif len(systems) > 1 and question.nodes is not None:
        raise UserError(_SEVERAL)
    else:
        nodes = question.nodes if len(systems) == 1 else None
    return _counted(
        *(log, question, counted, inside, verdicts),
        work_s=length_s,
        node_s=None if nodes is None else length_s * nodes,
        windows={},
    )


def _counted(
    log: Log,
    question: Question,
    firsts: Sequence[Entry],
    inside: Sequence[Interruption],
    verdicts: Mapping[int, _Verdict],
    *,
    work_s: float,
    node_s: float | None,
    windows: Mapping[str, Window],
    ends_at_failure: bool = False,
    unsized: int = 0,
) -> Counted:
    failed = [
        e.interruption
        for e in firsts
        if e.interruption is not None and verdicts[e.row][0] is Use.FAILURE
    ]
    gaps, still_open = _gaps(firsts, {} if ends_at_failure else windows)
    announced = [found for found in failed if found.announced]
    announced += _announced_plans(inside, firsts, question, windows)
    return Counted(
        failures=sum(found.count for found in failed),
        work_s=work_s,
        node_s=node_s,
        ends_at_failure=ends_at_failure,
        gaps_s=gaps,
        open_gaps_s=still_open,
        causes=_tally(failed),
        kinds=tuple((kind, sum(f.count for f in inside if f.kind is kind)) for kind in Kind),
        apart=_tally([found for found in inside if not question.count.counts(found.kind)]),
        announced=sum(found.count for found in announced),
        unannounced=sum(found.count for found in failed if not found.announced),
        leads_s=tuple(sorted(f.lead_s for f in announced if f.lead_s is not None)),
        unsized=unsized,
        accounting=_accounting(log.entries, verdicts),
        windows=windows,
    )


def _firsts(
    failures: Sequence[Entry], question: Question, verdicts: dict[int, _Verdict]
) -> list[Entry]:
    """The first failure of each group, in time; every failure's row gets its verdict."""
    within = format_duration(question.coalesce_s)
    firsts: list[Entry] = []
    last: dict[str, float] = {}
    for entry in sorted(failures, key=_at_s):
        system, at_s = _system(entry), _at_s(entry)
        if question.coalesce_s and system in last and at_s - last[system] <= question.coalesce_s:
            verdicts[entry.row] = (Use.FAILURE, f"the same as another within {within}")
            continue
        last[system] = at_s
        firsts.append(entry)
        verdicts[entry.row] = (Use.FAILURE, entry.says)
    return firsts


def _announced_plans(
    inside: Iterable[Interruption],
    firsts: Sequence[Entry],
    question: Question,
    windows: Mapping[str, Window],
) -> list[Interruption]:
    """Planned interruptions that were announced and are no failures here.

    Only those within the time at risk, as failures are, and only the first of a group; one as
    close to a failure is that failure.
    """
    found = [
        each
        for each in inside
        if each.announced
        and each.kind is Kind.PLANNED
        and not question.count.counts(each.kind)
        and (each.at_s is None or _is_in(each.at_s, windows.get(each.system)))
    ]
    if not question.coalesce_s:
        return found
    near: dict[str, list[float]] = {}
    for entry in firsts:
        if entry.interruption is not None and entry.interruption.at_s is not None:
            near.setdefault(_system(entry), []).append(_at_s(entry))
    last: dict[str, float] = {}
    kept = []
    for each in sorted(found, key=lambda each: each.at_s or 0.0):
        if each.at_s is not None:
            if each.at_s - last.get(each.system, -inf) <= question.coalesce_s or _is_near(
                near.get(each.system, []), each.at_s, question.coalesce_s
            ):
                continue
            last[each.system] = each.at_s
        kept.append(each)
    return kept


def _is_near(times: Sequence[float], at_s: float, within_s: float) -> bool:
    """Whether one of the sorted times lies that close."""
    place = bisect_left(times, at_s - within_s)
    return place < len(times) and times[place] <= at_s + within_s


def _gaps(
    firsts: Sequence[Entry], windows: Mapping[str, Window]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Times between failures of one system, and those from its last failure on (s)."""
    times: dict[str, list[float]] = {}
    for entry in firsts:
        if entry.interruption is not None and entry.interruption.at_s is not None:
            times.setdefault(_system(entry), []).append(_at_s(entry))
    gaps = [b - a for each in times.values() for a, b in pairwise(each)]
    still_open = [windows[s].end_s - each[-1] for s, each in times.items() if s in windows]
    return tuple(gaps), tuple(still_open)


def _between_failures(firsts: Sequence[Entry]) -> dict[str, Window]:
    windows: dict[str, Window] = {}
    for entry in firsts:
        at_s = _at_s(entry)
        begin = windows.get(_system(entry))
        windows[_system(entry)] = Window(begin.start_s if begin else at_s, at_s, True)
    return windows


def _extent(entries: Iterable[Entry]) -> Window:
    spans = [entry.at_risk for entry in entries if entry.at_risk is not None]
    if not spans:
        return Window(0.0, 0.0)
    return Window(
        min(span.start_s for span in spans),
        max(span.start_s if span.end_s is None else span.end_s for span in spans),
    )


def _length_in(span: AtRisk, window: Window) -> float | None:
    """How long the span lies in the window (s); None if it lies outside."""
    end_s = max(window.end_s, span.start_s) if span.end_s is None else span.end_s
    if span.start_s > window.end_s or end_s < window.start_s:
        return None
    return min(end_s, window.end_s) - max(span.start_s, window.start_s)


def _is_in(at_s: float, window: Window | None) -> bool:
    if window is None:
        return False
    after_start = at_s > window.start_s if window.opened_by_failure else at_s >= window.start_s
    return after_start and at_s <= window.end_s


def _weighted(lengths: Mapping[str, float], systems: Mapping[str, int | None]) -> float | None:
    """Node-seconds; None if a system's size is not known."""
    total = 0.0
    for system, length_s in lengths.items():
        nodes = systems.get(system)
        if nodes is None:
            return None
        total += length_s * nodes
    return total


def _not_counted(entry: Entry, question: Question) -> str:
    assert entry.interruption is not None
    return f"{entry.says}; {entry.interruption.kind.value}, not among {question.count.value}"


def _at_s(entry: Entry) -> float:
    assert entry.interruption is not None
    assert entry.interruption.at_s is not None
    return entry.interruption.at_s


def _system(entry: Entry) -> str:
    assert entry.interruption is not None
    return entry.interruption.system


def _tally(found: Iterable[Interruption]) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for each in found:
        counts[each.cause] += each.count
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _accounting(entries: Sequence[Entry], verdicts: Mapping[int, _Verdict]) -> Accounting:
    counts = Counter(verdicts[entry.row] for entry in entries)
    order = list(Use)
    parts = sorted(
        ((use, reason, number) for (use, reason), number in counts.items()),
        key=lambda part: (order.index(part[0]), -part[2], part[1]),
    )
    return Accounting(len(entries), tuple(parts))


def scope_of(log: Log, question: Question) -> FailureScope:
    """What the rate is a rate of."""
    return FailureScope.ALL if question.count is CountMode.ALL else log.scope
