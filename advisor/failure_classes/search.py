"""The best plan of every mechanism: interval, monitors with theirs, kept saves. Pure.

Every subset of the monitors is tried, in every order of intervals, with the settings of grid.py,
then again near to the best. Formulas and what is not searched: docs/failure_classes.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from math import inf

import numpy as np

from advisor.candidates import conditions_of
from advisor.exact_time import FLAT_WASTE
from advisor.failure_classes.grid import Steps, settings_beside, settings_between
from advisor.failure_classes.pricing import Price, Settings, price
from advisor.failure_classes.stated import Monitor, Stated
from advisor.optimizer import CostModel, interval_bounds
from advisor.recommendation import Candidate, EvidenceCode, Excluded, Recommendation
from advisor.scenario import RANGES, Scenario
from advisor.units import format_percent

USUAL_KEPT = 3
"""Saves that may be kept where nobody says how many."""
MOST_TOGETHER = 3
"""Monitors of corruptions in one plan."""
LONGEST_S = RANGES["duration_s"][1]
"""A job that takes longer practically never ends."""
_REFINED = 3
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SetMonitor:
    """A monitor as a plan sets it."""

    monitor: Monitor
    interval_steps: int

    @property
    def name(self) -> str:
        return self.monitor.name


@dataclass(frozen=True, slots=True)
class Plan:
    """One mechanism with one set of monitors, at their best settings. Times in seconds.

    `right_s` is the expected time until a right result, a wrong one being found out at the end.
    """

    candidate: Candidate
    interval_steps: int | None
    monitors: tuple[SetMonitor, ...]
    kept: int
    begins_anew: bool
    """Whether a wrong state that is noticed costs the whole job: nothing proved good is kept."""
    expected_completion_s: float
    right_s: float
    wrong_probability: float
    overhead: float

    @property
    def mechanism(self) -> str:
        return self.candidate.mechanism

    @property
    def evidence(self) -> EvidenceCode:
        """Plans with classes or monitors are computed; nothing like them was run."""
        return EvidenceCode.EXTRAPOLATED

    @property
    def corruption_monitors(self) -> tuple[SetMonitor, ...]:
        return tuple(each for each in self.monitors if not each.monitor.is_for_stragglers)

    @property
    def straggler_monitor(self) -> SetMonitor | None:
        return next((each for each in self.monitors if each.monitor.is_for_stragglers), None)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan may have at most."""

    wrong: float = 1.0
    kept: int = USUAL_KEPT


@dataclass(frozen=True, slots=True)
class Plans:
    """The best plan of each mechanism, soonest first, and others with the same mechanism."""

    scenario: Scenario
    stated: Stated
    limits: Limits
    choices: tuple[Plan, ...]
    others: tuple[Plan, ...]
    """Each mechanism with every other set of monitors, at its best."""
    left_out: tuple[Excluded, ...]

    @property
    def best(self) -> Plan | None:
        return self.choices[0] if self.choices else None

    def others_of(self, plan: Plan) -> tuple[Plan, ...]:
        return tuple(each for each in self.others if each.mechanism == plan.mechanism)


def plan(
    recommendation: Recommendation, stated: Stated, limits: Limits, ranks_per_node: int
) -> Plans:
    """Every candidate of the recommendation with its best monitors."""
    scenario = recommendation.scenario
    choices: list[Plan] = []
    others: list[Plan] = []
    left_out = list(recommendation.excluded)
    for candidate in recommendation.candidates:
        if candidate.model is None or candidate.native is not None:
            reason = "the job goes on by itself after a loss, outside the formula"
            left_out.append(Excluded(candidate.mechanism, reason))
            continue
        kept = _most_kept(scenario, candidate, limits.kept, ranks_per_node)
        found = sorted(
            _Search(scenario, candidate, candidate.model, stated, limits.wrong, kept).plans(),
            key=_order,
        )
        if found:
            best = _simplest(found)
            choices.append(best)
            others.extend(each for each in found if each is not best)
        else:
            left_out.append(Excluded(candidate.mechanism, _why_not(stated, limits)))
    ordered = tuple(sorted(choices, key=_order))
    return Plans(scenario, stated, limits, ordered, tuple(others), tuple(left_out))


class _Search:
    """One mechanism with every set of monitors."""

    def __init__(
        self,
        scenario: Scenario,
        candidate: Candidate,
        model: CostModel,
        stated: Stated,
        most_wrong: float,
        kept: int,
    ) -> None:
        self._scenario, self._candidate, self._model = scenario, candidate, model
        self._stated, self._most_wrong, self._kept = stated, most_wrong, kept
        self._conditions = conditions_of(scenario)
        low, high = interval_bounds(model, self._conditions)
        self._low, self._high = float(low), float(high)

    def plans(self) -> Iterator[Plan]:
        """The best one of every set of monitors that keeps the limits."""
        useful = [m for m in self._stated.monitors if self._has_something_to_watch(m)]
        watching = [each for each in useful if each.is_for_stragglers]
        checking = [each for each in useful if not each.is_for_stragglers]
        most = MOST_TOGETHER if self._model.is_periodic else 1
        for straggler in (None, *watching):
            for count in range(min(most, len(checking)) + 1):
                for chosen in combinations(checking, count):
                    found = self._best(chosen, straggler)
                    if found is not None:
                        yield found

    def _has_something_to_watch(self, monitor: Monitor) -> bool:
        kinds = {each.kind for each in self._stated.classes}
        return any(kind in kinds and monitor.miss[kind] < 1.0 for kind in monitor.watches)

    def _best(self, chosen: Sequence[Monitor], straggler: Monitor | None) -> Plan | None:
        orders = list(self._orders(chosen))
        found = (self._of_order(order, is_rare, straggler) for order, is_rare in orders)
        plans = sorted((each for each in found if each is not None), key=_order)
        return min(_equal(plans), key=lambda each: each.kept) if plans else None

    def _orders(self, chosen: Sequence[Monitor]) -> Iterator[tuple[tuple[Monitor, ...], bool]]:
        """Monitors by rising interval, and whether the last checks more rarely than saves come."""
        for order in permutations(chosen):
            yield order, False
            if order and self._model.is_periodic:
                yield order, True

    def _of_order(
        self, order: tuple[Monitor, ...], is_rare: bool, straggler: Monitor | None
    ) -> Plan | None:
        fixed = self._fixed(order, is_rare)
        longest = max([self._high, *(float(each) for each in fixed if each is not None)])
        rows, best = settings_between(fixed, longest), None
        straggler_steps = self._first_straggler_steps(straggler)
        for _ in range(_REFINED):
            best_row = self._lowest(rows, order, is_rare, straggler, straggler_steps)
            if best_row is None:
                break
            best = best_row
            straggler_steps = self._straggler_steps(best, order, is_rare, straggler)
            rows = settings_beside(fixed, longest, best)
        if best is None:
            return None
        settings = self._settings([np.array([b]) for b in best], order, is_rare)
        return self._plan(self._watched(settings, straggler, straggler_steps))

    def _fixed(self, order: Sequence[Monitor], is_rare: bool) -> list[int | None]:
        """What is given of the intervals, in their order; the save's stands last or second to
        last."""
        given = [each.interval_steps for each in order]
        if not self._model.is_periodic:
            return given or [1]
        asked = self._scenario.interval
        at = len(given) - 1 if is_rare else len(given)
        own = asked if isinstance(asked, int) else self._model.interval_steps
        given.insert(at, own)
        return given

    def _lowest(
        self,
        rows: tuple[Steps, ...],
        order: tuple[Monitor, ...],
        is_rare: bool,
        straggler: Monitor | None,
        straggler_steps: float,
    ) -> list[float] | None:
        """The row with the least time until a right result; None where none keeps the limits."""
        if not rows or rows[0].size == 0:
            return None
        settings = self._watched(self._settings(rows, order, is_rare), straggler, straggler_steps)
        found = self._price(settings)
        costs = np.where(self._allowed(settings, found), found.right_s, inf)
        costs = np.broadcast_to(costs, rows[0].shape)
        at = int(np.argmin(costs))
        return [float(row[at]) for row in rows] if costs[at] <= LONGEST_S else None

    def _allowed(self, settings: Settings, found: Price) -> Steps:
        limit = self._scenario.max_overhead
        allowed = np.asarray(found.wrong <= self._most_wrong * (1.0 + _ROUNDING))
        if limit is not None:
            allowed = allowed & (found.overhead <= limit * (1.0 + _ROUNDING))
        if self._model.is_periodic and not self._is_given:
            steps = np.asarray(settings.interval_steps)
            allowed = allowed & (steps >= self._low) & (steps <= self._high)
        return np.asarray(allowed)

    @property
    def _is_given(self) -> bool:
        is_asked = isinstance(self._scenario.interval, int)
        return is_asked or self._model.interval_steps is not None

    def _settings(
        self, rows: Sequence[Steps], order: tuple[Monitor, ...], is_rare: bool
    ) -> Settings:
        if not self._model.is_periodic:
            checks = tuple(rows[: len(order)])
            return Settings(
                interval_steps=np.ones_like(rows[0]), monitors=order, check_steps=checks
            )
        at = len(rows) - 2 if is_rare else len(rows) - 1
        checks = tuple(row for index, row in enumerate(rows) if index != at)
        saves = np.maximum(np.round(rows[-1] / rows[at]), 1.0)
        return Settings(
            interval_steps=rows[at],
            monitors=order,
            check_steps=checks,
            is_last_rare=is_rare,
            kept=np.minimum(saves, float(self._kept)),
        )

    def _watched(
        self, settings: Settings, straggler: Monitor | None, straggler_steps: float
    ) -> Settings:
        return replace(settings, straggler_monitor=straggler, straggler_steps=straggler_steps)

    def _price(self, settings: Settings) -> Price:
        return price(self._model, self._conditions, self._stated, settings)

    def _first_straggler_steps(self, straggler: Monitor | None) -> float:
        if straggler is None or straggler.interval_steps is None:
            return 1.0
        return float(straggler.interval_steps)

    def _straggler_steps(
        self,
        best: Sequence[float],
        order: tuple[Monitor, ...],
        is_rare: bool,
        straggler: Monitor | None,
    ) -> float:
        """The best interval of the straggler monitor, all else held: that of the lowest time."""
        if straggler is None or straggler.interval_steps is not None:
            return self._first_straggler_steps(straggler)
        steps = np.unique(np.round(np.geomspace(1.0, max(self._high, 1.0), 400)))
        rows = [np.full_like(steps, each) for each in best]
        settings = self._settings(rows, order, is_rare)
        watched = replace(settings, straggler_monitor=straggler, straggler_steps=steps)
        found = self._price(watched)
        costs = np.where(self._allowed(watched, found), found.right_s, inf)
        return float(steps[int(np.argmin(costs))])

    def _plan(self, settings: Settings) -> Plan | None:
        """The one setting, priced. None where it does not keep the limits or never ends."""
        found = self._price(settings)
        right_s = float(np.squeeze(found.right_s))
        if not (right_s <= LONGEST_S and bool(np.all(self._allowed(settings, found)))):
            return None
        monitors = [
            SetMonitor(monitor, int(np.squeeze(steps)))
            for monitor, steps in zip(settings.monitors, settings.check_steps, strict=True)
        ]
        if settings.straggler_monitor is not None:
            steps = int(np.squeeze(settings.straggler_steps))
            monitors.append(SetMonitor(settings.straggler_monitor, steps))
        interval = int(np.squeeze(settings.interval_steps)) if self._model.is_periodic else None
        kept = int(np.squeeze(settings.kept)) if self._model.is_periodic else 1
        called_for = 1
        if settings.is_last_rare and interval is not None:
            called_for = round(float(np.squeeze(settings.check_steps[-1])) / interval)
        anew = bool(settings.monitors) and (not self._model.is_periodic or kept < called_for)
        return Plan(
            candidate=self._candidate,
            interval_steps=interval,
            monitors=tuple(monitors),
            kept=kept,
            begins_anew=anew,
            expected_completion_s=float(np.squeeze(found.time_s)),
            right_s=right_s,
            wrong_probability=float(np.squeeze(found.wrong)),
            overhead=float(np.squeeze(found.overhead)),
        )


def _order(plan: Plan) -> tuple[float, int, str]:
    return plan.right_s, len(plan.monitors), plan.mechanism


def _simplest(found: Sequence[Plan]) -> Plan:
    """Of plans that are equal to the best, the one with the fewest monitors."""
    return min(_equal(found), key=lambda each: len(each.monitors))


def _equal(found: Sequence[Plan]) -> list[Plan]:
    """Those within 0.2 % of the best, which comes first."""
    enough = found[0].right_s * (1.0 + FLAT_WASTE)
    return [each for each in found if each.right_s <= enough]


def _most_kept(scenario: Scenario, candidate: Candidate, most: int, ranks_per_node: int) -> int:
    """How many saves fit: those in host memory take their room there for each."""
    each_bytes = candidate.host_memory_bytes_per_rank * ranks_per_node
    if not each_bytes or scenario.host_memory_bytes is None:
        return most
    return max(min(most, scenario.host_memory_bytes // each_bytes), 1)


def _why_not(stated: Stated, limits: Limits) -> str:
    if limits.wrong < 1.0 and stated.corrupting:
        return (
            "no plan within the limits keeps the chance of a wrong result at or below "
            f"{format_percent(limits.wrong)}"
        )
    return "no plan keeps the limits, or the job practically never ends"
