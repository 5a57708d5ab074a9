"""The joint search: every combination with its intervals, timeout and spares, soonest first.

Rules and formulas: docs/tuning.md, price.py, spares.py. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from advisor.exact_time import FLAT_WASTE
from advisor.recommendation import EvidenceCode, Excluded
from advisor.scenario import RANGES, Scenario
from advisor.simulation.composed import over_memory
from advisor.tuning.circumstances import (
    BEYOND_TIMEOUT_S,
    STEPS_OF_SILENCE,
    Circumstances,
    Objective,
    alarms_per_s,
    timeouts_of,
)
from advisor.tuning.load import load_of
from advisor.tuning.price import Numbers, Priced, price, whole_s
from advisor.tuning.spares import waiting_shares
from advisor.tuning.tiers import Combination, Tier, Tiers, combinations_of, tiers_of
from db.records import ClusterEvidence

DAY_S = 86400.0
LONGEST_S = RANGES["duration_s"][1]
"""A job that takes longer practically never ends."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One tier as it is to be set."""

    mechanism: str
    replicas: int
    interval_steps: int | None
    interval_s: float | None


@dataclass(frozen=True, slots=True)
class TimeoutPrice:
    """What the same combination and spares give with another timeout."""

    timeout_s: float
    expected_completion_s: float
    false_alarms_per_day: float


@dataclass(frozen=True, slots=True)
class SparesPrice:
    """What the same combination gives with another number of spares, at its own timeout."""

    spares: int
    expected_completion_s: float
    node_hours: float
    waiting_fraction: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A combination at its best settings. Times in seconds; `timeout_s` and `spares` None where not
    searched."""

    combination: Combination = field(repr=False)
    settings: tuple[Setting, ...]
    timeout_s: float | None
    flat_timeouts_s: tuple[float, float] | None
    """Timeouts from which to which the time is less than 0.2 % above the least; the longest of them
    is the one that is set."""
    spares: int | None
    expected_completion_s: float
    overhead: float
    false_alarms_per_day: float
    waiting_fraction: float
    restarts_per_day: float
    """Failures that nothing here survives: the job starts from the beginning."""
    node_hours: float | None
    evidence: EvidenceCode
    timeouts: tuple[TimeoutPrice, ...]
    by_spares: tuple[SparesPrice, ...]
    at_stated_s: float | None
    """What the job takes with the timeout that gives the scenario's detection; None where not
    searched, or where no timeout is as short."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.combination.names

    @property
    def host_bytes_per_rank(self) -> int:
        return self.combination.host_bytes_per_rank

    @property
    def is_superseded(self) -> bool:
        return self.combination.is_superseded


@dataclass(frozen=True, slots=True)
class Tuned:
    """All combinations at their best, the best first, and what could not be part of one."""

    scenario: Scenario
    circumstances: Circumstances
    choices: tuple[Choice, ...]
    tiers: Tiers
    left_out: tuple[Excluded, ...]
    """Combinations that memory or a limit rules out."""

    @property
    def best(self) -> Choice | None:
        return self.choices[0] if self.choices else None

    @property
    def best_single(self) -> Choice | None:
        """The best with one mechanism alone."""
        return next((c for c in self.choices if len(c.names) == 1), None)


def tune(evidence: ClusterEvidence, scenario: Scenario, told: Circumstances) -> Tuned:
    """Every combination at its best settings. Raises UserError for circumstances that cannot be."""
    # A pause depends on the timeout: that limit is looked at with each of them.
    asked = scenario if told.hiccups is None else replace(scenario, max_pause_s=None)
    tiers = tiers_of(evidence, asked, told)
    grid = None if told.hiccups is None else timeouts_of(scenario)
    waiting = waiting_shares(told, scenario.mtbf_s)
    choices, left_out = [], []
    for combination in combinations_of(tiers, told.most_tiers):
        reason = over_memory(scenario, evidence.cluster.ranks_per_node, combination.parts)
        if reason is None:
            search = _Search(scenario, told, combination, grid, waiting)
            choice = search.choice()
            if choice is not None:
                choices.append(choice)
                continue
            reason = search.why_not()
        left_out.append(Excluded(combination.label, reason))
    ordered = sorted(choices, key=lambda each: _order(told, each))
    return Tuned(scenario, told, tuple(_simplest(told, ordered)), tiers, tuple(left_out))


class _Search:
    """One combination: its time with each timeout (columns) and number of spares (rows)."""

    def __init__(
        self,
        scenario: Scenario,
        told: Circumstances,
        combination: Combination,
        grid: Numbers | None,
        waiting: Numbers,
    ) -> None:
        self._scenario, self._told, self._combination = scenario, told, combination
        self._grid, self._waiting = grid, waiting
        self._limit = inf if scenario.max_overhead is None else scenario.max_overhead
        self._load = load_of(scenario, told, combination, grid)
        self._priced = price(self._load, self._limit)
        self._allowed = _allowed(scenario, told, combination, grid)

    def choice(self) -> Choice | None:
        """The best settings; None where none is possible or the job practically never ends."""
        told, grid, combination = self._told, self._grid, self._combination
        rows = self._times_s()
        flat = [_flat(row) for row in rows]
        # Of timeouts that are as good, the longest raises the fewest false alarms.
        times_s = np.array([row[high] for row, (_, high) in zip(rows, flat, strict=True)])
        if not times_s.min() <= LONGEST_S:
            return None
        node_hours = _node_hours(told, times_s)
        spares = _fewest(times_s if told.objective is Objective.TIME else node_hours)
        low, at = flat[spares]
        alarms = alarms_per_s(told, grid)
        searched = told.repair_s is not None
        return Choice(
            combination=combination,
            settings=_settings(self._scenario, combination, self._priced, at),
            timeout_s=None if grid is None else float(grid[at]),
            flat_timeouts_s=None if grid is None else (float(grid[low]), float(grid[at])),
            spares=spares if searched else None,
            expected_completion_s=float(times_s[spares]),
            overhead=float(self._priced.overhead[at]),
            false_alarms_per_day=float(alarms[at]) * DAY_S,
            waiting_fraction=float(self._waiting[spares]),
            restarts_per_day=float(self._load.restarts_per_s[at]) * DAY_S,
            node_hours=float(node_hours[spares]) if searched else None,
            evidence=combination.evidence if told.is_plain else EvidenceCode.EXTRAPOLATED,
            timeouts=() if grid is None else tuple(_timeouts(grid, rows[spares], alarms)),
            by_spares=tuple(self._by_spares(times_s, node_hours)) if searched else (),
            at_stated_s=None if grid is None else self._at_stated_s(grid, spares),
        )

    def why_not(self) -> str:
        """Why there is no choice, in words."""
        if not np.isfinite(self._priced.time_s).any():
            return "no interval keeps the limits"
        if not self._allowed.any():
            return "no timeout keeps the limit on a pause"
        if self._load.restarts_per_s.max() > 0.0:
            return "the job practically never ends: nothing here survives some of the failures"
        return "the job practically never ends"

    def _times_s(self) -> Numbers:
        rows = [whole_s(self._priced.time_s, self._load, float(q)) for q in self._waiting]
        return np.where(self._allowed, np.array(rows), inf)

    def _by_spares(self, times_s: Numbers, node_hours: Numbers) -> Iterator[SparesPrice]:
        for n, (time_s, hours) in enumerate(zip(times_s, node_hours, strict=True)):
            if time_s <= LONGEST_S:
                yield SparesPrice(n, float(time_s), float(hours), float(self._waiting[n]))

    def _at_stated_s(self, grid: Numbers, spares: int) -> float | None:
        """The expected time with the timeout that gives the scenario's detection; None: no timeout
        is as short, or the job practically never ends."""
        stated = np.array([self._scenario.detection_s - BEYOND_TIMEOUT_S])
        if stated[0] < grid[0]:
            return None
        load = load_of(self._scenario, self._told, self._combination, stated)
        time_s = whole_s(price(load, self._limit).time_s, load, float(self._waiting[spares]))
        return float(time_s[0]) if time_s[0] <= LONGEST_S else None


def _allowed(
    scenario: Scenario, told: Circumstances, combination: Combination, grid: Numbers | None
) -> NDArray[np.bool_]:
    """At which timeouts no save is taken for a loss, and a failure's longest pause keeps the limit.

    A healthy rank is silent for a step and what is saved in it.
    """
    if grid is None:
        return np.ones(1, dtype=np.bool_)
    silent_s = STEPS_OF_SILENCE * scenario.step_time_s
    silent_s += sum(tier.part.stall_s for tier in combination.tiers)
    restores_s = [tier.part.restore_s for tier in combination.tiers]
    if combination.emergency is not None:
        silent_s += combination.emergency.emergency.save_s
        restores_s.append(combination.emergency.spent_s)
    allowed = grid >= silent_s
    if scenario.max_pause_s is None:
        return np.asarray(allowed)
    detection_s = grid + BEYOND_TIMEOUT_S
    if told.silent == 0.0:
        detection_s = np.minimum(detection_s, scenario.detection_s)
    longest_s = detection_s + max(restores_s) + scenario.regroup_s + scenario.init_s
    return np.asarray(allowed & (longest_s <= scenario.max_pause_s * (1.0 + 1e-12)))


def _node_hours(told: Circumstances, times_s: Numbers) -> Numbers:
    """By the number of spares."""
    found: Numbers = (told.nodes + np.arange(len(times_s))) * times_s / 3600.0
    return found


def _fewest(costs: Numbers) -> int:
    """The fewest spares that cost less than 0.2 % more than the best number."""
    return int(np.flatnonzero(costs <= costs.min() * (1.0 + FLAT_WASTE))[0])


def _flat(times_s: Numbers) -> tuple[int, int]:
    """From where to where the times are less than 0.2 % above the least."""
    low = high = int(times_s.argmin())
    is_flat = times_s <= times_s[low] * (1.0 + FLAT_WASTE)
    while low > 0 and is_flat[low - 1]:
        low -= 1
    while high < len(times_s) - 1 and is_flat[high + 1]:
        high += 1
    return low, high


def _timeouts(grid: Numbers, times_s: Numbers, alarms: Numbers) -> Iterator[TimeoutPrice]:
    for timeout, time_s, rate in zip(grid, times_s, alarms, strict=True):
        if time_s <= LONGEST_S:
            yield TimeoutPrice(float(timeout), float(time_s), float(rate) * DAY_S)


def _settings(
    scenario: Scenario, combination: Combination, priced: Priced, at: int
) -> tuple[Setting, ...]:
    steps = iter(int(row[at]) for row in priced.interval_steps)
    return tuple(
        _setting(scenario, tier, next(steps) if tier.is_periodic else None)
        for tier in combination.tiers
    )


def _setting(scenario: Scenario, tier: Tier, interval: int | None) -> Setting:
    interval_s = None if interval is None else interval * scenario.step_time_s
    return Setting(tier.part.mechanism, tier.part.replicas, interval, interval_s)


def _order(told: Circumstances, choice: Choice) -> tuple[float, int, tuple[str, ...]]:
    return _cost(told, choice), len(choice.names), choice.names


def _cost(told: Circumstances, choice: Choice) -> float:
    if told.objective is Objective.NODE_HOURS and choice.node_hours is not None:
        return choice.node_hours
    return choice.expected_completion_s


def _simplest(told: Circumstances, ordered: Sequence[Choice]) -> Iterable[Choice]:
    """Of those that are equal to the best, one with the fewest mechanisms comes first."""
    if not ordered:
        return ordered
    enough = _cost(told, ordered[0]) * (1.0 + FLAT_WASTE)
    equal = [each for each in ordered if _cost(told, each) <= enough]
    first = min(equal, key=lambda each: len(each.names))
    return [first, *(each for each in ordered if each is not first)]
