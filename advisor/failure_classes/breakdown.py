"""Where a plan's time goes, class by class: Eq. (5) with a term a class. Pure.

    E[T] = A + sum N_c (T_c + R_c + lost_c)      A = T0 (pace + O + sum c_j / y_j)

First order, as Eq. (5) is: failures in recoveries and saves are not counted again. The plan's own
time is exact; these are its reasons. Derivation: docs/failure_classes.md.

symbol  name here        unit  meaning
N_c     expected         1     failures of the class over the whole job
T_c     noticed_after_s  s     from the onset until it is noticed
lost_c  lost_s           s     work that is done again
"""

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.candidates import conditions_of
from advisor.failure_classes.catalogue import FailureClass
from advisor.failure_classes.noticing import first_noticed, slowed
from advisor.failure_classes.pricing import recovery_s
from advisor.failure_classes.search import Plan
from advisor.failure_classes.stated import ClassRate, Monitor, Stated
from advisor.optimizer import CostModel
from advisor.scenario import Scenario


@dataclass(frozen=True, slots=True)
class ClassCost:
    """What failures of one class do to a plan. Times in seconds; of one failure that is noticed,
    but `cost_s` of all over the job, with what stragglers slow down. Where none is noticed, what
    follows on that is None."""

    kind: FailureClass
    every_s: float
    expected: float
    noticed: float
    noticed_after_s: float | None
    recovery_s: float | None
    lost_s: float | None
    cost_s: float


@dataclass(frozen=True, slots=True)
class MonitorCost:
    """What a monitor costs over the job: its checks, and its false alarms (seconds)."""

    name: str
    checks_s: float
    false_alarms: float
    false_alarms_s: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """In seconds over the whole job; everything adds up to `total_s`."""

    base_s: float
    saves_s: float
    classes: tuple[ClassCost, ...]
    monitors: tuple[MonitorCost, ...]

    @property
    def total_s(self) -> float:
        parts = [each.checks_s + each.false_alarms_s for each in self.monitors]
        costs = [each.cost_s for each in self.classes]
        return self.base_s + self.saves_s + sum(parts) + sum(costs)


def breakdown(scenario: Scenario, stated: Stated, plan: Plan) -> Breakdown:
    """Of one plan."""
    model = plan.candidate.model
    if model is None:
        raise ValueError(f"{plan.mechanism} has no cost model")
    return _Breaking(scenario, stated, plan, model).all()


class _Breaking:
    def __init__(self, scenario: Scenario, stated: Stated, plan: Plan, model: CostModel) -> None:
        self._scenario, self._stated, self._plan, self._model = scenario, stated, plan, model
        step_s = scenario.step_time_s
        self._again_s = recovery_s(model, conditions_of(scenario))
        if plan.interval_steps is None:
            self._stop_lost_s = model.lost_steps * step_s
            self._saves = model.overhead
        else:
            self._stop_lost_s = 0.5 * plan.interval_steps * step_s
            self._saves = model.stall_s / (plan.interval_steps * step_s)
        watching = plan.straggler_monitor
        monitor = None if watching is None else watching.monitor
        every_s = (1 if watching is None else watching.interval_steps) * step_s
        self._slowed = slowed(stated.straggler, monitor, every_s)
        self._running_s = scenario.duration_s * (
            float(self._slowed.pace)
            + self._saves
            + sum(m.monitor.cost_s / (m.interval_steps * step_s) for m in plan.monitors)
        )

    def all(self) -> Breakdown:
        return Breakdown(
            base_s=self._scenario.duration_s,
            saves_s=self._scenario.duration_s * self._saves,
            classes=tuple(self._classes()),
            monitors=tuple(self._monitors()),
        )

    def _classes(self) -> Iterator[ClassCost]:
        scenario = self._scenario
        crash = ClassRate(FailureClass.CRASH, scenario.mtbf_s)
        for each in (crash, *self._stated.stopping):
            yield self._stopping(each)
        if self._stated.straggler is not None:
            yield self._straggler(self._stated.straggler)
        for each in self._stated.corrupting:
            yield self._corrupting(each)

    def _stopping(self, each: ClassRate) -> ClassCost:
        detection_s = self._scenario.detection_s if each.detection_s is None else each.detection_s
        again_s = self._again_s if each.recovery_s is None else each.recovery_s
        expected = self._running_s * each.rate_per_s
        cost_s = expected * (detection_s + again_s + self._stop_lost_s)
        return ClassCost(
            each.kind, each.every_s, expected, 1.0, detection_s, again_s, self._stop_lost_s, cost_s
        )

    def _straggler(self, each: ClassRate) -> ClassCost:
        apart, watching = self._slowed, self._plan.straggler_monitor
        replaced = self._running_s * float(apart.replaced_per_s)
        slow_s = self._scenario.duration_s * (float(apart.pace) - 1.0)
        cost_s = slow_s + replaced * (self._again_s + self._stop_lost_s)
        expected = self._running_s / (each.every_s + float(apart.lasting_s))
        noticed = float(apart.noticed)
        if watching is None or noticed <= 0.0:
            return ClassCost(each.kind, each.every_s, expected, 0.0, None, None, None, cost_s)
        factor = each.factor or 1.0
        late_s = 0.5 * factor * watching.interval_steps * self._scenario.step_time_s
        late_s += watching.monitor.cost_s + watching.monitor.delay_s
        return ClassCost(
            *(each.kind, each.every_s, expected, noticed),
            *(late_s, self._again_s, self._stop_lost_s, cost_s),
        )

    def _corrupting(self, each: ClassRate) -> ClassCost:
        monitors = self._plan.corruption_monitors
        shares = first_noticed(each.kind, [m.monitor for m in monitors])
        expected, noticed = self._scenario.duration_s * each.rate_per_s, sum(shares)
        if noticed <= 0.0:
            return ClassCost(each.kind, each.every_s, expected, 0.0, None, None, None, 0.0)
        step_s = self._scenario.step_time_s
        late_s = lost_s = cost_s = 0.0
        for share, at in zip(shares, monitors, strict=True):
            lost = self._lost_s(at.interval_steps)
            late_s += share / noticed * (0.5 * at.interval_steps * step_s + _own_s(at.monitor))
            lost_s += share / noticed * lost
            cost_s += expected * share * (at.monitor.delay_s + self._again_s + lost)
        return ClassCost(
            each.kind, each.every_s, expected, noticed, late_s, self._again_s, lost_s, cost_s
        )

    def _lost_s(self, check_steps: int) -> float:
        """Work done again after a check that found the state wrong: back to the newest save before
        the last check that passed. In the mean over the checks between two saves, or all work
        since the last check where saves come more often; half the job where it begins anew."""
        interval, step_s = self._plan.interval_steps, self._scenario.step_time_s
        if interval is None or (self._plan.begins_anew and check_steps > interval):
            return 0.5 * self._scenario.duration_s
        if check_steps > interval:
            return check_steps * step_s
        return 0.5 * (interval + check_steps) * step_s

    def _monitors(self) -> Iterator[MonitorCost]:
        duration_s, step_s = self._scenario.duration_s, self._scenario.step_time_s
        for at in self._plan.monitors:
            monitor, checks = at.monitor, duration_s / (at.interval_steps * step_s)
            alarms = duration_s * monitor.false_per_s + checks * monitor.false_per_check
            lost_s = self._stop_lost_s
            if not monitor.is_for_stragglers:
                lost_s = self._lost_s(at.interval_steps) + monitor.delay_s
            alarms_s = alarms * (self._again_s + lost_s)
            yield MonitorCost(monitor.name, checks * monitor.cost_s, alarms, alarms_s)


def _own_s(monitor: Monitor) -> float:
    return monitor.cost_s + monitor.delay_s
