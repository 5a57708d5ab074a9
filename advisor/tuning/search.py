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
from advisor.tuning.circumstances import (
    BEYOND_TIMEOUT_S,
    Circumstances,
    Objective,
    alarms_per_s,
    timeouts_of,
)
from advisor.tuning.load import load_of
from advisor.tuning.price import Numbers, Priced, price, with_restarts_s, with_waits_s
from advisor.tuning.spares import waiting_shares
from advisor.tuning.tiers import Combination, Tier, Tiers, combinations_of, tiers_of
from advisor.units import format_bytes
from db.records import ClusterEvidence

_NO_END = "no interval and timeout keep the limits, or the job practically never ends"


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
    """What the same combination gives with another number of spares, at its best timeout."""

    spares: int
    expected_completion_s: float
    node_hours: float
    waiting_fraction: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A combination at its best settings. Times in seconds; `timeout_s` and `spares` None where not
    searched. `gains` says what each choice beside the plain one is worth (s)."""

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
    """Failures that no tier survives: the job starts from the beginning."""
    node_hours: float | None
    host_bytes_per_rank: int
    evidence: EvidenceCode
    timeouts: tuple[TimeoutPrice, ...]
    by_spares: tuple[SparesPrice, ...]
    at_stated_s: float | None
    """What the job takes with the timeout that gives the scenario's detection; None where not
    searched, or where no timeout is as short."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.combination.names


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


def tune(evidence: ClusterEvidence, scenario: Scenario, circumstances: Circumstances) -> Tuned:
    """Every combination at its best settings. Raises UserError for circumstances that cannot be."""
    most_replicas = circumstances.most_replicas or circumstances.losses.most_at_once
    searched = circumstances.hiccups is not None
    # A pause depends on the timeout: that limit is looked at with each of them.
    asked = replace(scenario, max_pause_s=None) if searched else scenario
    tiers = tiers_of(evidence, asked, most_replicas)
    grid = _grid(scenario, circumstances)
    waiting = _waiting(scenario, circumstances)
    choices, left_out = [], []
    for combination in combinations_of(tiers, circumstances.most_tiers):
        reason = _over_memory(evidence, scenario, combination)
        if reason:
            left_out.append(Excluded(" + ".join(combination.names), reason))
            continue
        choice = _choice(scenario, circumstances, combination, grid, waiting)
        if choice is None:
            left_out.append(Excluded(" + ".join(combination.names), _NO_END))
        else:
            choices.append(choice)
    ordered = sorted(choices, key=lambda each: _order(circumstances, each))
    ranked = tuple(_simplest(circumstances, ordered))
    return Tuned(scenario, circumstances, ranked, tiers, tuple(left_out))


def _grid(scenario: Scenario, circumstances: Circumstances) -> Numbers | None:
    return None if circumstances.hiccups is None else timeouts_of(scenario)


def _waiting(scenario: Scenario, circumstances: Circumstances) -> NDArray[np.float64]:
    """The share of the time that the job waits for a spare, by the number of spares."""
    if circumstances.repairs is None:
        return np.zeros(1)
    return waiting_shares(
        circumstances.repairs, circumstances.losses, scenario.mtbf_s, circumstances.most_spares
    )


def _over_memory(
    evidence: ClusterEvidence, scenario: Scenario, combination: Combination
) -> str | None:
    available, ranks = scenario.host_memory_bytes, evidence.cluster.ranks_per_node
    needed = ranks * combination.host_bytes_per_rank
    if available is None or needed <= available:
        return None
    return (
        f"together they need {format_bytes(needed)} of host memory a node ({ranks} ranks), and "
        f"there are {format_bytes(available)}"
    )


def _choice(
    scenario: Scenario,
    circumstances: Circumstances,
    combination: Combination,
    grid: Numbers | None,
    waiting: NDArray[np.float64],
) -> Choice | None:
    """The combination at its best; None where none is possible or it practically never ends."""
    load = load_of(scenario, circumstances, combination, grid)
    limit = inf if scenario.max_overhead is None else scenario.max_overhead
    priced = price(load, limit)
    allowed = _within_pause(scenario, circumstances, combination, grid)
    times_s = np.array(
        [
            np.where(allowed, with_waits_s(with_restarts_s(priced.time_s, load), q), inf)
            for q in waiting
        ]
    )
    best = times_s.argmin(axis=1)
    least_s = times_s[np.arange(len(waiting)), best]
    if not least_s.min() <= RANGES["duration_s"][1]:
        return None
    node_hours = _node_hours(circumstances, least_s)
    spares = _fewest(least_s if circumstances.objective is Objective.TIME else node_hours)
    low, high = _flat(times_s[spares], int(best[spares]))
    # Of timeouts that are as good, the longest raises the fewest false alarms.
    at = high
    expected_s = float(times_s[spares, at])
    per_day = 86400.0
    alarms = alarms_per_s(circumstances, grid)
    return Choice(
        combination=combination,
        settings=_settings(scenario, combination, priced, at),
        timeout_s=None if grid is None else float(grid[at]),
        flat_timeouts_s=None if grid is None else (float(grid[low]), float(grid[high])),
        spares=None if circumstances.repairs is None else spares,
        expected_completion_s=expected_s,
        overhead=float(priced.overhead[at]),
        false_alarms_per_day=float(alarms[at]) * per_day,
        waiting_fraction=float(waiting[spares]),
        restarts_per_day=float(load.restarts_per_s[at]) * per_day,
        node_hours=_node_hours_of(circumstances, spares, expected_s),
        host_bytes_per_rank=combination.host_bytes_per_rank,
        evidence=_evidence(combination),
        timeouts=() if grid is None else tuple(_timeouts(grid, times_s[spares], alarms)),
        by_spares=()
        if circumstances.repairs is None
        else tuple(
            SparesPrice(n, float(least_s[n]), float(node_hours[n]), float(waiting[n]))
            for n in range(len(waiting))
            if np.isfinite(least_s[n])
        ),
        at_stated_s=None
        if grid is None
        else _at_stated(scenario, circumstances, combination, limit, float(waiting[spares])),
    )


def _within_pause(
    scenario: Scenario, circumstances: Circumstances, combination: Combination, grid: Numbers | None
) -> NDArray[np.bool_]:
    """At which timeouts a failure's longest pause keeps the limit."""
    if grid is None:
        return np.ones(1, dtype=np.bool_)
    if scenario.max_pause_s is None:
        return np.ones(len(grid), dtype=np.bool_)
    restores_s = [tier.model.restore_s for tier in combination.tiers]
    if combination.emergency is not None:
        restores_s.append(combination.emergency.save_s + combination.emergency.restore_s)
    detection_s = np.zeros_like(grid)
    if circumstances.silent > 0.0:
        detection_s = grid + BEYOND_TIMEOUT_S
    if circumstances.silent < 1.0:
        detection_s = np.maximum(detection_s, scenario.detection_s)
    longest_s = detection_s + max(restores_s) + scenario.regroup_s + scenario.init_s
    return np.asarray(longest_s <= scenario.max_pause_s * (1.0 + 1e-12))


def _at_stated(
    scenario: Scenario,
    circumstances: Circumstances,
    combination: Combination,
    limit: float,
    waiting: float,
) -> float | None:
    """The expected time (s) with the timeout that gives the scenario's detection; None: no timeout
    is as short, or the job practically never ends."""
    stated = np.array([scenario.detection_s - BEYOND_TIMEOUT_S])
    if stated[0] < timeouts_of(scenario)[0]:
        return None
    load = load_of(scenario, circumstances, combination, stated)
    time_s = with_waits_s(with_restarts_s(price(load, limit).time_s, load), waiting)
    return float(time_s[0]) if time_s[0] <= RANGES["duration_s"][1] else None


def _node_hours(circumstances: Circumstances, times_s: Numbers) -> Numbers:
    """By the number of spares; zeros where these are not searched."""
    if circumstances.repairs is None:
        return np.zeros_like(times_s)
    spares = np.arange(len(times_s))
    found: Numbers = (circumstances.repairs.nodes + spares) * times_s / 3600.0
    return found


def _node_hours_of(circumstances: Circumstances, spares: int, time_s: float) -> float | None:
    if circumstances.repairs is None:
        return None
    return (circumstances.repairs.nodes + spares) * time_s / 3600.0


def _fewest(costs: Numbers) -> int:
    """The fewest spares that cost less than 0.2 % more than the best number."""
    return int(np.flatnonzero(costs <= costs.min() * (1.0 + FLAT_WASTE))[0])


def _flat(times_s: Numbers, at: int) -> tuple[int, int]:
    """From where to where the times are less than 0.2 % above the one at `at`, the least."""
    is_flat = times_s <= times_s[at] * (1.0 + FLAT_WASTE)
    low = high = at
    while low > 0 and is_flat[low - 1]:
        low -= 1
    while high < len(times_s) - 1 and is_flat[high + 1]:
        high += 1
    return low, high


def _timeouts(grid: Numbers, times_s: Numbers, alarms: Numbers) -> Iterator[TimeoutPrice]:
    for timeout, time_s, rate in zip(grid, times_s, alarms, strict=True):
        if time_s <= RANGES["duration_s"][1]:
            yield TimeoutPrice(float(timeout), float(time_s), float(rate) * 86400.0)


def _settings(
    scenario: Scenario, combination: Combination, priced: Priced, at: int
) -> tuple[Setting, ...]:
    periodic = [tier for tier in combination.tiers if tier.model.is_periodic]
    steps = {id(tier): int(priced.interval_steps[i, at]) for i, tier in enumerate(periodic)}
    return tuple(_setting(scenario, tier, steps.get(id(tier))) for tier in combination.tiers)


def _setting(scenario: Scenario, tier: Tier, interval: int | None) -> Setting:
    interval_s = None if interval is None else interval * scenario.step_time_s
    return Setting(tier.mechanism, tier.replicas, interval, interval_s)


def _evidence(combination: Combination) -> EvidenceCode:
    """Measured only where a single mechanism is, at its own interval: combinations are computed."""
    parts: Sequence[EvidenceCode] = [tier.evidence for tier in combination.tiers]
    if combination.emergency is not None:
        parts = [*parts, combination.emergency.evidence]
    return parts[0] if len(parts) == 1 else EvidenceCode.EXTRAPOLATED


def _order(circumstances: Circumstances, choice: Choice) -> tuple[float, int, tuple[str, ...]]:
    return _cost(circumstances, choice), len(choice.names), choice.names


def _cost(circumstances: Circumstances, choice: Choice) -> float:
    if circumstances.objective is Objective.NODE_HOURS and choice.node_hours is not None:
        return choice.node_hours
    return choice.expected_completion_s


def _simplest(circumstances: Circumstances, ordered: Sequence[Choice]) -> Iterable[Choice]:
    """Of those that are equal to the best, one with the fewest mechanisms comes first."""
    if not ordered:
        return ordered
    enough = _cost(circumstances, ordered[0]) * (1.0 + FLAT_WASTE)
    equal = [each for each in ordered if _cost(circumstances, each) <= enough]
    first = min(equal, key=lambda each: len(each.names))
    return [first, *(each for each in ordered if each is not first)]
