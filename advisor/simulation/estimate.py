"""About how many failures and false alarms one job meets, before anything is simulated. Pure.

    B    = (M + T_det) e^(R/M) - M           from a failure until a recovery has succeeded
    t(L) = (1 / r + B) (e^(r L) - 1)         until L passes without a failure, at the rate r

as in the exact time (docs/completion_time.md), tier by tier: only the failures that fall back to a
tier, at the rate r, undo what was done since its last save; its period L is longer by what more
frequent tiers, announced failures and false alarms take. Those that nothing survives undo all of
the job. As if failures were Poisson, whatever their law: only good for telling jobs that end from
jobs that do not.

Bursts are taken in both of two ways, of which the lower number counts: their failures come apart,
at the rate of all failures; or nothing is done in a burst, and the worst of its failures undoes
what it does. Waits for spares (waiting.py) add to the time: as a job meets failures also while it
waits, all others of its times pass as if there were no waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, expm1, inf, isnan

from advisor.simulation.fallbacks import Fallbacks, fallbacks_of
from advisor.simulation.process import Bursts, Process, Spares
from advisor.simulation.timeline import Timeline
from advisor.simulation.waiting import enough_fraction

_LARGEST = 700.0
"""Exponent up to which a float holds the power."""
_ROUNDS, _SETTLED = 30, 1.001
"""The longer a job waits, the more nodes are in repair, and the longer it waits: so often, or until
it is no longer by that factor."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Failures and false alarms of one job in the mean; infinity where no float holds so many.

    Of its time it waits `waiting_fraction` for a node.
    """

    events: float
    waiting_fraction: float


@dataclass(frozen=True, slots=True)
class _Failures:
    """Failures as they are taken to come: so many at once, `mtbf_s` after the last ones, which
    took the rest of `cycle_s` for themselves.

    `shares` are what they fall back to, `nodes` the shares of the numbers of nodes that they take.
    """

    mtbf_s: float
    cycle_s: float
    at_once: float
    shares: Fallbacks
    nodes: Mapping[int, float]


def expected_events(process: Process) -> float:
    """Failures and false alarms of one job in the mean; infinity where no float holds so many."""
    return expected(process).events


def expected(process: Process) -> Expected:
    """What one job is expected to meet."""
    ways = [_apart(process)]
    if process.bursts is not None:
        ways.append(_together(process, process.bursts))
    return min((_expected(process, way) for way in ways), key=lambda found: found.events)


def _apart(process: Process) -> _Failures:
    """All failures come by themselves, as often as with bursts."""
    mtbf_s, bursts = process.arrivals.mean_s, process.bursts
    if bursts is not None:
        more = bursts.share * bursts.more
        mtbf_s = (mtbf_s + more * bursts.spacing.mean_s) / (1.0 + more)
    return _Failures(mtbf_s, mtbf_s, 1.0, fallbacks_of(process), _nodes(process))


def _together(process: Process, bursts: Bursts) -> _Failures:
    """A burst is one failure that takes its time."""
    mtbf_s, more = process.arrivals.mean_s, bursts.share * bursts.more
    nodes: dict[int, float] = {}
    for taken, share in _nodes(process).items():
        for number, part in (
            (taken, 1.0 - bursts.share),
            (taken * (1 + bursts.more), bursts.share),
        ):
            nodes[number] = nodes.get(number, 0.0) + part * share
    return _Failures(
        mtbf_s,
        mtbf_s + more * bursts.spacing.mean_s,
        1.0 + more,
        _worst(fallbacks_of(process), bursts),
        nodes,
    )


def _nodes(process: Process) -> dict[int, float]:
    found: dict[int, float] = {}
    for kind in process.kinds:
        found[kind.nodes] = found.get(kind.nodes, 0.0) + kind.share
    return found


def _worst(shares: Fallbacks, bursts: Bursts) -> Fallbacks:
    """What the worst failure of a burst falls back to; of failures without one what they do."""
    reaching, before, found = 0.0, 0.0, []
    for share in (shares.unsurvived, shares.missed, *reversed(shares.tiers)):
        reaching += share
        none_of_burst = max(1.0 - reaching, 0.0) ** (1 + bursts.more)
        together = (1.0 - bursts.share) * reaching + bursts.share * (1.0 - none_of_burst)
        found.append(together - before)
        before = together
    unsurvived, missed, *tiers = found
    return Fallbacks(tuple(reversed(tiers)), max(1.0 - before, 0.0), missed, unsurvived)


def _expected(process: Process, failures: _Failures) -> Expected:
    clock_s = _training_s(process, failures) * failures.cycle_s / failures.mtbf_s
    waiting = 0.0
    if process.spares is not None:
        clock_s, waiting = _with_waits(process.spares, failures, clock_s)
    events = clock_s / failures.cycle_s * failures.at_once
    if process.warnings is not None and process.warnings.false_alarms is not None:
        events += clock_s / process.warnings.false_alarms.mean_s
    return Expected(inf if isnan(events) else events, waiting)


def _with_waits(spares: Spares, failures: _Failures, clock_s: float) -> tuple[float, float]:
    """The job's time with its waits (s), and their share of it. All spares are there at first."""
    longer_s, enough = clock_s, 1.0
    repair_s = spares.repair.mean_s
    for _ in range(_ROUNDS):
        if not longer_s < inf:  # also nan
            break
        filled = -expm1(-longer_s / repair_s) if repair_s > 0.0 else 0.0
        load = repair_s / failures.cycle_s * filled
        enough = enough_fraction(load, failures.nodes, spares.count)
        before_s, longer_s = longer_s, clock_s / enough if enough > 0.0 else inf
        if longer_s <= before_s * _SETTLED:
            break
    return longer_s, 1.0 - enough


def _training_s(process: Process, failures: _Failures) -> float:
    """The job's time (s) without bursts' own and waits."""
    timeline, shares = Timeline(process), failures.shares
    slower = _slower_by_warnings(process, failures)
    for tier, period_s, share in zip(process.tiers, timeline.periods_s, shares.tiers, strict=True):
        back_s = _back_s(process, failures, tier.restore_s)
        if period_s == 0.0:
            slower *= 1.0 + share * back_s / failures.mtbf_s
        else:
            slower = _attempts_s(failures, period_s * slower, share, back_s) / period_s
    total_s = _after_missed_warnings_s(process, failures, timeline.total_s * slower)
    return _attempts_s(failures, total_s, shares.unsurvived, _back_s(process, failures, 0.0))


def _slower_by_warnings(process: Process, failures: _Failures) -> float:
    """How many times as long training takes by announced failures and false alarms."""
    warnings = process.warnings
    if warnings is None:
        return 1.0
    each_s = warnings.save_s + _back_s(process, failures, warnings.restore_s)
    slower = 1.0 + failures.shares.saved * each_s / failures.mtbf_s
    if warnings.false_alarms is not None:
        slower += warnings.save_s / warnings.false_alarms.mean_s
    return slower


def _after_missed_warnings_s(process: Process, failures: _Failures, total_s: float) -> float:
    """The time with the failures that only an earlier emergency save is there for. A run between
    two failures is kept if its end is announced in time: saved / (saved + missed) of them are."""
    shares = failures.shares
    if process.warnings is None or shares.missed <= 0.0:
        return total_s
    back_s = _back_s(process, failures, process.warnings.restore_s)
    from_beginning_s = _attempts_s(failures, total_s, shares.missed, back_s)
    if shares.saved <= 0.0:
        return from_beginning_s
    runs_s = total_s * (1.0 + shares.missed / shares.saved)
    return min(from_beginning_s, runs_s * (1.0 + shares.missed * back_s / failures.mtbf_s))


def _back_s(process: Process, failures: _Failures, restore_s: float) -> float:
    """B of this module's formulas."""
    mtbf_s, recovery_s = failures.mtbf_s, restore_s + process.regroup_s
    if recovery_s > _LARGEST * mtbf_s:
        return inf
    return (mtbf_s + process.detection_s) * exp(recovery_s / mtbf_s) - mtbf_s


def _attempts_s(failures: _Failures, length_s: float, share: float, back_s: float) -> float:
    """t(L) of this module's formulas for a share of all failures; L itself for none."""
    rate = share / failures.mtbf_s
    if rate <= 0.0:
        return length_s
    if rate * length_s > _LARGEST:
        return inf
    return (1.0 / rate + back_s) * expm1(rate * length_s)
