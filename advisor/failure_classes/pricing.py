"""What a plan takes: a mechanism, its interval, monitors with theirs, and kept saves. Pure.

Settings are arrays that broadcast, so that a search asks for all of them at once.
"""

from dataclasses import dataclass, field

import numpy as np

from advisor.completion_time import Real
from advisor.failure_classes.catalogue import FailureClass
from advisor.failure_classes.completion import (
    Check,
    Work,
    saved_completion_s,
    unsaved_completion_s,
)
from advisor.failure_classes.noticing import (
    Slowed,
    first_noticed,
    slowed,
    wrong_probability,
)
from advisor.failure_classes.stated import Monitor, Stated
from advisor.failure_classes.stretches import Stop, Stops, stops_of
from advisor.optimizer import Conditions, CostModel


@dataclass(frozen=True, slots=True)
class Settings:
    """What a plan sets. `monitors` watch for corruptions, by rising interval; their steps stand in
    `check_steps`. The last of them may check more rarely than saves are made (`is_last_rare`)."""

    interval_steps: Real
    monitors: tuple[Monitor, ...] = ()
    check_steps: tuple[Real, ...] = ()
    is_last_rare: bool = False
    straggler_monitor: Monitor | None = None
    straggler_steps: Real = 1.0
    kept: Real = 1.0


@dataclass(frozen=True, slots=True)
class Price:
    """Of every setting. `right_s` is the expected time until a result is there that no unnoticed
    failure spoilt: a wrong one is found out at the end, and the job is done again."""

    time_s: Real
    wrong: Real
    overhead: Real
    slowed: Slowed = field(repr=False)

    @property
    def right_s(self) -> Real:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(np.asarray(self.wrong) < 1.0, self.time_s / (1.0 - self.wrong), np.inf)


def price(model: CostModel, conditions: Conditions, stated: Stated, settings: Settings) -> Price:
    """The exact expected time, the chance of a wrong result and the overhead without failures."""
    step_s = conditions.step_time_s
    apart = _slowed(stated, settings, step_s)
    watching_s = 0.0 if settings.straggler_monitor is None else settings.straggler_monitor.cost_s
    watching = watching_s / (settings.straggler_steps * np.asarray(step_s))
    stops = stops_of(_stops(model, conditions, stated, settings, apart))
    checks = _checks(model, conditions, stated, settings, stops)
    overhead = watching + sum(np.asarray(each.cost_s / each.every_s) for each in checks)
    duration_s, pace = conditions.duration_s, apart.pace + watching
    if model.is_periodic:
        interval_s = settings.interval_steps * np.asarray(step_s)
        rare = checks[-1] if settings.is_last_rare else None
        time_s = saved_completion_s(
            Work(stops, pace, checks[:-1] if settings.is_last_rare else checks),
            duration_s=duration_s,
            interval_s=interval_s,
            stall_s=model.stall_s,
            rare=rare,
            kept=settings.kept,
        )
        overhead = overhead + model.stall_s / interval_s
    else:
        time_s = unsaved_completion_s(
            Work(stops, pace),
            duration_s=duration_s,
            overhead=model.overhead,
            check=checks[0] if checks else None,
        )
        overhead = overhead + model.overhead
    wrong = wrong_probability(stated.corrupting, settings.monitors, duration_s)
    return Price(time_s, wrong, overhead, apart)


def recovery_s(model: CostModel, conditions: Conditions) -> float:
    """Restore, regrouping and initialisation together."""
    return float(model.restore_s + conditions.regroup_s + conditions.init_s)


def _slowed(stated: Stated, settings: Settings, step_s: Real) -> Slowed:
    every_s = settings.straggler_steps * np.asarray(step_s)
    return slowed(stated.straggler, settings.straggler_monitor, every_s)


def _stops(
    model: CostModel, conditions: Conditions, stated: Stated, settings: Settings, apart: Slowed
) -> list[Stop]:
    """Crashes, the other classes that stop the job, and stragglers that are replaced, or are taken
    for some, which costs the same."""
    usual_s = recovery_s(model, conditions)
    lost_s = 0.0 if model.is_periodic else model.lost_steps * float(conditions.step_time_s)
    stops = [Stop(1.0 / np.asarray(conditions.mtbf_s), conditions.detection_s, usual_s + lost_s)]
    for each in stated.stopping:
        detection_s = conditions.detection_s if each.detection_s is None else each.detection_s
        recovery = usual_s if each.recovery_s is None else each.recovery_s
        stops.append(Stop(each.rate_per_s, detection_s, recovery + lost_s))
    monitor = settings.straggler_monitor
    if monitor is not None:
        every_s = settings.straggler_steps * np.asarray(conditions.step_time_s)
        false_per_s = monitor.false_per_s + monitor.false_per_check / every_s
        stops.append(Stop(apart.replaced_per_s + false_per_s, 0.0, usual_s + lost_s))
    return stops


def _checks(
    model: CostModel, conditions: Conditions, stated: Stated, settings: Settings, stops: Stops
) -> list[Check]:
    """The monitors of corruptions at work."""
    shares = {c.kind: first_noticed(c.kind, settings.monitors) for c in stated.corrupting}
    again_s = stops.recovered_s(recovery_s(model, conditions))
    return [
        Check(
            every_s=steps * np.asarray(conditions.step_time_s),
            cost_s=monitor.cost_s,
            wrong_per_s=_wrong_per_s(stated, shares, index),
            after_s=monitor.delay_s + again_s,
            false_per_s=monitor.false_per_s,
            false_per_check=monitor.false_per_check,
        )
        for index, (monitor, steps) in enumerate(
            zip(settings.monitors, settings.check_steps, strict=True)
        )
    ]


def _wrong_per_s(
    stated: Stated, shares: dict[FailureClass, tuple[float, ...]], index: int
) -> float:
    return sum(each.rate_per_s * shares[each.kind][index] for each in stated.corrupting)
