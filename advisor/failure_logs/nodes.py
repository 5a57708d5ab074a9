"""Which nodes fail, and what the MTBF is without the worst of them. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from advisor.failure_logs.counting import Counted, Question, count_failures, without_nodes
from advisor.failure_logs.rates import Mtbf, fewer_chance, mtbf
from advisor.failure_logs.records import Log

WORST = (1, 2, 5, 10, 20)
"""How many of the worst nodes are left out."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node; time in seconds."""

    name: str
    failures: int
    """Failures of it; of jobs, those that ended while they held it."""
    at_risk_s: float


@dataclass(frozen=True, slots=True)
class Without:
    """The MTBF of one node where the worst nodes are left out."""

    left_out: int
    mtbf: Mtbf


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that a log names."""

    known: int
    """Nodes that were at risk, with those that never failed."""
    failing: tuple[Node, ...]
    """Those with a failure, the most failures first."""
    chance: float | None
    """The probability that the worst of equally good nodes fails as often or more often than
    the worst one did; None without a failure."""
    without: tuple[Without, ...]


def nodes_of(log: Log, question: Question, counted: Counted) -> Nodes | None:
    """The table; None if the log does not name nodes, or not how many there are."""
    if counted.node_s is None or not counted.windows:
        return None
    log = _with_sizes(log, question)
    failures = _failures(log, question, counted)
    at_risk = _at_risk_s(log, counted)
    if not failures:
        return None
    if log.systems is None:
        known = len(at_risk)
    else:
        known = sum(nodes or 0 for nodes in log.systems.values())
    found = sorted(
        (Node(name, n, at_risk.get(name, 0.0)) for name, n in failures.items()),
        key=lambda node: (-node.failures, node.name),
    )
    return Nodes(
        max(known, len(found)),
        tuple(found),
        _chance(log, found, max(known, len(found))),
        tuple(_without(log, question, counted, found)),
    )


def _with_sizes(log: Log, question: Question) -> Log:
    """The log with the sizes that the question gives, so that nodes can be taken away from them."""
    if log.systems is None:
        return log
    return replace(log, systems={s: nodes or question.nodes for s, nodes in log.systems.items()})


def _failures(log: Log, question: Question, counted: Counted) -> Counter[str]:
    """By node; two within the coalescing time on the same node are one."""
    times: dict[str, list[float]] = {}
    for entry in log.entries:
        found = entry.interruption
        if found is None or found.at_s is None or not question.count.counts(found.kind):
            continue
        window = counted.windows.get(found.system)
        if window is None or not window.start_s <= found.at_s <= window.end_s:
            continue
        if window.opened_by_failure and found.at_s == window.start_s:
            continue
        for name in found.nodes:
            times.setdefault(name, []).append(found.at_s)
    return Counter(
        {name: _groups(sorted(each), question.coalesce_s) for name, each in times.items()}
    )


def _groups(times: Sequence[float], coalesce_s: float) -> int:
    groups, last = 0, None
    for at_s in times:
        if last is None or not coalesce_s or at_s - last > coalesce_s:
            groups, last = groups + 1, at_s
    return groups


def _at_risk_s(log: Log, counted: Counted) -> dict[str, float]:
    """By name (s): of a system's nodes its window, of others the jobs that held them."""
    found: dict[str, float] = {}
    if log.systems is not None:
        for entry in log.entries:
            if entry.interruption is not None and entry.interruption.system in counted.windows:
                window = counted.windows[entry.interruption.system]
                for name in entry.interruption.nodes:
                    found[name] = window.end_s - window.start_s
        return found
    window = counted.windows[""]
    for entry in log.entries:
        span = entry.at_risk
        if span is None:
            continue
        end_s = min(window.end_s if span.end_s is None else span.end_s, window.end_s)
        length_s = max(end_s - max(span.start_s, window.start_s), 0.0)
        for name in span.names:
            found[name] = found.get(name, 0.0) + length_s
    return found


def _chance(log: Log, failing: Sequence[Node], known: int) -> float | None:
    """1 - P(no node has as many): all nodes Poisson, with the mean that they have together.

    None for jobs: one failure counts for every node that the job held. None for several systems
    too, whose nodes were at risk for different times.
    """
    if log.systems is None or len(log.systems) != 1:
        return None
    mean = sum(node.failures for node in failing) / known
    return 1.0 - exp(known * _log_fewer(failing[0].failures, mean))


def _log_fewer(failures: int, expected: float) -> float:
    chance = fewer_chance(failures, expected)
    return log(chance) if chance > 0.0 else -745.0  # below the smallest number there is


def _without(
    log: Log, question: Question, counted: Counted, failing: Sequence[Node]
) -> list[Without]:
    found = []
    for left_out in WORST:
        if left_out >= len(failing):
            break
        names = frozenset(node.name for node in failing[:left_out])
        rest = count_failures(without_nodes(log, names), question, counted.windows)
        if not rest.node_s:
            break
        found.append(Without(left_out, mtbf(rest.failures, rest.node_s)))
    return found
