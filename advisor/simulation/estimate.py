"""About how many failures and false alarms one job meets, before anything is simulated. Pure.

    B    = (M + T_det) e^(R/M) - M           from a failure until a recovery has succeeded
    t(L) = (1 / r + B) (e^(r L) - 1)         until L passes without a failure, at the rate r

as in the exact time (docs/completion_time.md), tier by tier: only the failures that fall back to a
tier, at the rate r, undo what was done since its last save; its period L is longer by what more
frequent tiers, announced failures and false alarms take. Those that nothing survives undo all of
the job. As if failures were Poisson, without bursts and waits for spares: only good for telling
jobs that end from jobs that do not.
"""

from math import exp, expm1, inf

from advisor.simulation.fallbacks import Fallbacks, fallbacks_of
from advisor.simulation.process import Process
from advisor.simulation.timeline import Timeline

_LARGEST = 700.0
"""Exponent up to which a float holds the power."""


def expected_events(process: Process) -> float:
    """Failures and false alarms of one job in the mean; infinity, or nan, where no float holds
    their number."""
    timeline, shares = Timeline(process), fallbacks_of(process)
    slower = _slower_by_warnings(process, shares)
    for tier, period_s, share in zip(process.tiers, timeline.periods_s, shares.tiers, strict=True):
        back_s = _back_s(process, tier.restore_s)
        if period_s == 0.0:
            slower *= 1.0 + share * back_s / process.arrivals.mean_s
        else:
            slower = _attempts_s(process, period_s * slower, share, back_s) / period_s
    total_s = _after_missed_warnings_s(process, shares, timeline.total_s * slower)
    total_s = _attempts_s(process, total_s, shares.unsurvived, _back_s(process, 0.0))
    events = total_s / process.arrivals.mean_s
    if process.warnings is not None and process.warnings.false_alarms is not None:
        events += total_s / process.warnings.false_alarms.mean_s
    return events


def _slower_by_warnings(process: Process, shares: Fallbacks) -> float:
    """How many times as long training takes by announced failures and false alarms."""
    warnings = process.warnings
    if warnings is None:
        return 1.0
    each_s = warnings.save_s + _back_s(process, warnings.restore_s)
    slower = 1.0 + shares.saved * each_s / process.arrivals.mean_s
    if warnings.false_alarms is not None:
        slower += warnings.save_s / warnings.false_alarms.mean_s
    return slower


def _after_missed_warnings_s(process: Process, shares: Fallbacks, total_s: float) -> float:
    """The time with the failures that only an earlier emergency save is there for. A run between
    two failures is kept if its end is announced in time: saved / (saved + missed) of them are."""
    if process.warnings is None or shares.missed <= 0.0:
        return total_s
    back_s = _back_s(process, process.warnings.restore_s)
    from_beginning_s = _attempts_s(process, total_s, shares.missed, back_s)
    if shares.saved <= 0.0:
        return from_beginning_s
    runs_s = total_s * (1.0 + shares.missed / shares.saved)
    return min(from_beginning_s, runs_s * (1.0 + shares.missed * back_s / process.arrivals.mean_s))


def _back_s(process: Process, restore_s: float) -> float:
    """B of this module's formulas."""
    mtbf_s, recovery_s = process.arrivals.mean_s, restore_s + process.regroup_s
    if recovery_s > _LARGEST * mtbf_s:
        return inf
    return (mtbf_s + process.detection_s) * exp(recovery_s / mtbf_s) - mtbf_s


def _attempts_s(process: Process, length_s: float, share: float, back_s: float) -> float:
    """t(L) of this module's formulas for a share of all failures; L itself for none."""
    rate = share / process.arrivals.mean_s
    if rate <= 0.0:
        return length_s
    if rate * length_s > _LARGEST:
        return inf
    return (1.0 / rate + back_s) * expm1(rate * length_s)
