"""Expected completion time with failures of every class, checks and kept saves. Pure; arrays
broadcast.

Checks and saves keep step with each other: each interval is a whole multiple of the next shorter
one. So the job is a row of patterns, each begun at a state that was proved good, and every pattern
is made of stretches (stretches.py). A check comes before the save of the same step.

symbol  name here        unit  meaning
T0      duration_s       s     work, at the pace of a healthy job
x       interval_s       s     work between two saves
C       stall_s          s     what a save adds
y       every_s          s     work between two checks of a monitor
k       saves            1     saves between two checks of a monitor that checks more rarely
K       kept             1     saves that are kept
        pace             1     seconds that one second of work takes (overhead, stragglers)

Exact for failures that are Poisson, wrong states that arise in work, and constant times; what is
not is said in docs/failure_classes.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.completion_time import Real
from advisor.failure_classes.stretches import Flag, Stops, Stretch

_WHOLE = 1e-12
"""Relative rounding within which a length is a whole number of intervals."""


@dataclass(frozen=True, slots=True)
class Check:
    """A monitor at work: every `every_s` of work a check of `cost_s`.

    `wrong_per_s`: wrong states by second of work that it is the first to notice; `false_per_s` and
    `false_per_check`: its false alarms; `after_s`: from the end of a check that finds one until the
    job works again.
    """

    every_s: Real
    cost_s: Real
    wrong_per_s: Real
    after_s: Real
    false_per_s: Real = 0.0
    false_per_check: Real = 0.0

    def false_hazard(self, work_s: Real) -> Real:
        return self.false_per_s * np.asarray(work_s) + self.false_per_check


@dataclass(frozen=True, slots=True)
class Work:
    """What all stretches of one plan share."""

    stops: Stops
    pace: Real = 1.0
    checks: Sequence[Check] = ()
    """Those that come at least once an interval, by rising `every_s`; each `every_s` is a whole
    multiple of the one before it, and the interval of the last."""


def saved_completion_s(
    work: Work,
    *,
    duration_s: Real,
    interval_s: Real,
    stall_s: Real,
    rare: Check | None = None,
    kept: Real = 1.0,
) -> Real:
    """Expected time of a job that saves after each interval.

    `rare`: a monitor whose `every_s` is a whole multiple of the interval. What it finds wrong goes
    back to the save at its last check, if that is still kept; else the job begins anew. The rest
    after the last whole interval ends the job without a save, but with a check of every monitor.
    Infinity where the expected time exceeds what a float holds.
    """
    whole = np.floor(np.asarray(duration_s) / interval_s * (1.0 + _WHOLE))
    rest_s = np.maximum(duration_s - whole * interval_s, 0.0)
    segment = _segment(work, interval_s)
    save = work.stops.run(stall_s)
    saved_s = segment.then(save).until_passed_s(work.stops)
    rest = _rest(work, rest_s)
    if rare is None:
        return _times(whole, saved_s) + rest.until_passed_s(work.stops)
    saves = np.round(rare.every_s / np.asarray(interval_s))
    patterns = np.floor(whole / saves)
    over = whole - patterns * saves
    pattern = _to_verdict(work, rare, saved_s, saves - 1.0, interval_s, segment, interval_s, save)
    last = _to_verdict(work, rare, saved_s, over, interval_s, rest, rest_s, work.stops.run(0.0))
    there = over * interval_s + rest_s > 0.0
    last = _Pass(np.where(there, last.time_s, 0.0), np.where(there, last.wrong, 0.0))
    return _in_row(patterns, pattern, last, rare.after_s, kept >= saves, kept > over)


def unsaved_completion_s(
    work: Work, *, duration_s: Real, overhead: Real, check: Check | None = None
) -> Real:
    """The same for a mechanism that has one state only, the newest: what stops the job loses what
    its recovery takes (`Stop.recovery_s`, lost work included), but where that state is found wrong
    there is no other one, and the job begins anew."""
    each_s = work.stops.rate_per_s * work.stops.spent_s
    steady = work.pace * (1.0 + overhead) * each_s
    if check is None:
        return np.asarray(duration_s * steady)
    blocks = np.floor(np.asarray(duration_s) / check.every_s * (1.0 + _WHOLE))
    rest_s = np.maximum(duration_s - blocks * check.every_s, 0.0)
    there = rest_s > 0.0

    def block(work_s: Real) -> _Pass:
        hazard = check.wrong_per_s * work_s + check.false_hazard(work_s)
        return _Pass(work_s * steady + check.cost_s * each_s, -np.expm1(-hazard))

    last = block(rest_s)
    last = _Pass(np.where(there, last.time_s, 0.0), np.where(there, last.wrong, 0.0))
    never = np.zeros_like(blocks, dtype=np.bool_)
    return _in_row(blocks, block(check.every_s), last, check.after_s, never, never)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A way through a pattern to its verdict: expected time (s), and the chance of a wrong one."""

    time_s: Real
    wrong: Real


def _segment(work: Work, length_s: Real) -> Stretch:
    """A whole interval's work with its checks, without its save."""
    if not work.checks:
        return work.stops.run(length_s * work.pace)
    longer = [each.every_s for each in work.checks[1:]] + [length_s]
    blocks = _blocks(work)
    return blocks[-1].repeated(np.round(np.asarray(longer[-1]) / work.checks[-1].every_s))


def _blocks(work: Work) -> list[Stretch]:
    """Of each monitor the stretch from one of its checks to the end of the next, in their order."""
    blocks: list[Stretch] = []
    for index, check in enumerate(work.checks):
        if index == 0:
            stretch = work.stops.run(check.every_s * work.pace)
        else:
            times = np.round(np.asarray(check.every_s) / work.checks[index - 1].every_s)
            stretch = blocks[-1].repeated(times)
        blocks.append(_with_check(work, stretch, check, check.every_s))
    return blocks


def _with_check(work: Work, stretch: Stretch, check: Check, since_s: Real) -> Stretch:
    hazard = check.wrong_per_s * np.asarray(since_s) + check.false_hazard(since_s)
    return stretch.then(work.stops.run(check.cost_s)).checked(hazard, check.after_s)


def _rest(work: Work, length_s: Real) -> Stretch:
    """Less than an interval's work, with its checks; those that are not due come at its end."""
    found, left_s = work.stops.run(0.0), np.asarray(length_s, dtype=np.float64)
    since_s = []
    for check, block in zip(reversed(work.checks), reversed(_blocks(work)), strict=True):
        times = np.floor(left_s / check.every_s * (1.0 + _WHOLE))
        found = found.then(block.repeated(times))
        left_s = np.maximum(left_s - times * check.every_s, 0.0)
        since_s.append(left_s)
    found = found.then(work.stops.run(left_s * work.pace))
    for check, since in zip(work.checks, reversed(since_s), strict=True):
        found = found.replaced_where(since > 0.0, _with_check(work, found, check, since))
    return found


def _to_verdict(
    work: Work,
    rare: Check,
    saved_s: Real,
    before: Real,
    interval_s: Real,
    stretch: Stretch,
    work_s: Real,
    save: Stretch,
) -> _Pass:
    """`before` whole intervals of `saved_s` each, then a stretch of `work_s`, the rare check, and
    the save after it.

    Where the state is wrong before the stretch, the verdict is certain as soon as the check is
    reached. Else a failure in the stretch, the check or the save goes back to before the stretch,
    and a wrong state that arose in it is gone.
    """
    before_s = before * np.asarray(interval_s)
    poisoned = -np.expm1(-np.asarray(rare.wrong_per_s * before_s))
    checking = stretch.then(work.stops.run(rare.cost_s))
    hazard = rare.wrong_per_s * work_s + rare.false_hazard(before_s + work_s)
    wrong = checking.passed * -np.expm1(-np.asarray(hazard))
    end = checking.checked(hazard, 0.0).then(save)
    decided = end.passed + wrong
    again_s = _times(end.stopped, work.stops.spent_s) + checking.found_s
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        clean_s = np.where(decided > 0.0, again_s / decided, np.inf)
        clean_wrong = np.where(decided > 0.0, wrong / decided, 0.0)
    certain_s = _times(poisoned, checking.until_passed_s(work.stops))
    time_s = _times(before, saved_s) + certain_s + _times(1.0 - poisoned, clean_s)
    return _Pass(time_s, poisoned + (1.0 - poisoned) * clean_wrong)


def _in_row(
    patterns: Real, pattern: _Pass, last: _Pass, after_s: Real, is_kept: Flag, is_last_kept: Flag
) -> Real:
    """All patterns and the last one. Where the good state is no longer kept, the job begins anew
    after a wrong verdict: (p^-n - 1) / (1 - p) passes for n good ones of probability p."""
    one_s = pattern.time_s + _times(pattern.wrong, after_s)
    last_s = last.time_s + _times(last.wrong, after_s)
    wrong, last_good = np.asarray(pattern.wrong), 1.0 - np.asarray(last.wrong)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        anew = np.where(wrong > 0.0, np.expm1(-patterns * np.log1p(-wrong)) / wrong, patterns)
        row_s = _times(np.where(is_kept, patterns / (1.0 - wrong), anew), one_s)
        on_s = np.where(np.logical_or(is_kept, is_last_kept), row_s, row_s / last_good)
        total_s = on_s + np.where(last_s > 0.0, last_s / last_good, 0.0)
    return np.where(np.isnan(total_s), np.inf, total_s)


def _times(count: Real, each_s: Real) -> Real:
    """Their product; 0 where there is none, however long each takes."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(np.asarray(count) > 0.0, count * np.asarray(each_s), 0.0)
