"""Pools runs that differ in seed only into the numbers of an operating point. Pure.

A mean over n runs stands with the half width of its 95 % confidence interval, by Student's t; one
run alone has none. What did not end in time has no value, and is never averaged as if it had.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from math import sqrt
from urllib.parse import quote

from db.records import (
    DispersionKind,
    Evidence,
    EvidencedValue,
    MissingReason,
    PointOutcome,
    Quantity,
    RunOutcome,
    RunQuantity,
)

# Two-sided 95 % quantiles of Student's t for 1, 2, 3, ... degrees of freedom.
_T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
# From 31 degrees of freedom on: the quantile of the next smaller entry, which is never too small.
_T_95_BEYOND = ((120, 1.980), (60, 2.000), (40, 2.021), (31, 2.042))

_RESUMED = frozenset({RunOutcome.GRACEFUL, RunOutcome.RECOVERED})
_HALTED = frozenset({RunOutcome.HALTED, RunOutcome.HANG})
_LONGEST_ID = 200
_WAYS = {
    "spare": "with spares in place",
    "smaller": "as a smaller group",
    "restart": "by a restart of all processes",
}


def t_quantile_95(degrees_of_freedom: int) -> float:
    """Student's t for a two-sided interval of 95 %; at most 1 % too large, never too small."""
    if degrees_of_freedom <= len(_T_95):
        return _T_95[degrees_of_freedom - 1]
    return next(t for least, t in _T_95_BEYOND if degrees_of_freedom >= least)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n numbers; `half_width` of its 95 % confidence interval from n = 2 on."""

    value: float
    n: int
    half_width: float | None


def mean_of(values: Sequence[float]) -> Mean | None:
    """None of no numbers."""
    n = len(values)
    if n == 0:
        return None
    mean = sum(values) / n
    if n == 1:
        return Mean(mean, 1, None)
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return Mean(mean, n, t_quantile_95(n - 1) * sqrt(variance / n))


@dataclass(frozen=True, slots=True)
class PointKey:
    """What runs must have in common to be pooled: everything but the seed."""

    cluster: str
    software_stack: str | None
    architecture: str
    mechanism: str
    workload: str
    profile: str
    device: str
    backend: str
    world_size: int
    trace: str | None
    interval_steps: int | None
    replicas: int | None
    way: str | None
    lead_s: float | None
    group_timeout_s: float
    round_limit_s: float
    detector: str
    nodes: int | None = None
    failure_domain: str | None = None

    @property
    def undisturbed(self) -> "PointKey":
        """What a failure-free run has in common with this one: faults, and what only they meet,
        cost nothing while none strikes."""
        return replace(
            self,
            trace=None,
            way=None,
            lead_s=None,
            group_timeout_s=0.0,
            round_limit_s=0.0,
            detector="",
            failure_domain=None,
        )

    @property
    def point_id(self) -> str:
        """The id of the operating point, made from every part of the key."""
        stack = (self.software_stack or "").removeprefix(f"{self.cluster}/")
        parts = [
            *(self.cluster, self.architecture, self.mechanism, self.workload, self.profile),
            quote(self.trace or "no-fault", safe="").lower(),
            *(f"w{self.world_size}", f"t{self.group_timeout_s:g}", f"round{self.round_limit_s:g}"),
            *([f"i{self.interval_steps}"] if self.interval_steps is not None else []),
            *([f"r{self.replicas}"] if self.replicas is not None else []),
            *([f"{self.way}"] if self.way is not None else []),
            *([f"lead{self.lead_s:g}"] if self.lead_s is not None else []),
            *([f"n{self.nodes}"] if self.nodes is not None else []),
            *([f"lost-{self.failure_domain}"] if self.failure_domain is not None else []),
            *(self.detector, f"{self.device}-{self.backend}", stack),
        ]
        name = "/".join(part for part in parts if part)
        if len(name) <= _LONGEST_ID:
            return name
        digest = sha256(name.encode()).hexdigest()[:16]
        return f"{name[: _LONGEST_ID - len(digest) - 1]}~{digest}"

    @property
    def conditions(self) -> str:
        """Those conditions that no column of an operating point holds, in words."""
        way = "" if self.way is None else f", recovery {_WAYS.get(self.way, self.way)}"
        nodes = "" if self.nodes is None else f", {self.nodes} nodes"
        domain = "" if self.failure_domain is None else f", a {self.failure_domain} lost at once"
        return (
            f"{self.backend}, detector {self.detector}, group timeout {self.group_timeout_s:g} s, "
            f"round limit {self.round_limit_s:g} s, profile {self.profile}{way}{nodes}{domain}"
        )


KEY_FIELDS = tuple(field.name for field in fields(PointKey))


@dataclass(frozen=True, slots=True)
class PooledRun:
    """One valid run. `values` has a None where the run should have a number but has not.

    `deadline_s` is set where the fault was not detected before it.
    """

    run_id: str
    key: PointKey
    outcome: RunOutcome
    state_bytes: int | None
    values: Mapping[RunQuantity, float | None]
    deadline_s: float | None = None
    overhead_half_width: float | None = None
    """Of the 95 % interval over the run's own pairs of blocks with and without the mechanism."""

    @property
    def is_faulted(self) -> bool:
        """Whether a fault struck: what it did is a quantity of the run."""
        return RunQuantity.POST_FAILURE_THROUGHPUT in self.values


@dataclass(frozen=True, slots=True)
class PooledPoint:
    """An operating point with its numbers, and the runs that they are from."""

    key: PointKey
    state_bytes: int
    outcome: PointOutcome
    note: str
    values: Mapping[Quantity, EvidencedValue]
    run_ids: tuple[str, ...]


def pool(runs: Iterable[PooledRun]) -> list[PooledPoint]:
    """One point for each key, in order of id; none where nobody saw the size of the state."""
    by_key: dict[PointKey, list[PooledRun]] = {}
    alternated: dict[PointKey, list[PooledRun]] = {}
    for run in runs:
        by_key.setdefault(run.key, []).append(run)
        if run.values.get(RunQuantity.OVERHEAD) is not None:
            alternated.setdefault(run.key.undisturbed, []).append(run)
    points = [
        _point(key, found, alternated.get(key.undisturbed, ())) for key, found in by_key.items()
    ]
    return sorted((p for p in points if p is not None), key=lambda point: point.key.point_id)


def _point(
    key: PointKey, runs: Sequence[PooledRun], alternated: Sequence[PooledRun]
) -> PooledPoint | None:
    sizes = [run.state_bytes for run in runs if run.state_bytes is not None]
    if not sizes:
        return None
    values = {Quantity.THROUGHPUT: _throughput(runs)}
    faulted = [run for run in runs if run.is_faulted]
    if faulted:
        values |= {
            Quantity.POST_FAILURE_THROUGHPUT: _after(faulted),
            Quantity.AGGREGATE_SLOWDOWN: _slowdown(faulted),
            Quantity.DETECTION: _detection(faulted),
            Quantity.RESUMED: _resumed(faulted),
        }
    values |= dict(_mechanism_values(key, runs))
    if alternated:
        values[Quantity.OVERHEAD] = _overhead(alternated)
        if _present(alternated, RunQuantity.SAVE_FOREGROUND):
            values[Quantity.SAVE] = _save(alternated)
    outcomes = sorted(str(run.outcome) for run in runs)
    counted = ", ".join(f"{outcomes.count(name)} {name}" for name in dict.fromkeys(outcomes))
    return PooledPoint(
        key=key,
        state_bytes=max(sizes),
        outcome=_outcome(runs),
        note=f"Measured: {counted}",
        values=values,
        run_ids=tuple(sorted(run.run_id for run in runs)),
    )


def _outcome(runs: Sequence[PooledRun]) -> PointOutcome:
    """Complete as soon as one run gave its throughput, even if all halted at the fault."""
    if _present(runs, RunQuantity.THROUGHPUT):
        return PointOutcome.COMPLETE
    outcomes = {run.outcome for run in runs}
    if outcomes == {RunOutcome.INFEASIBLE}:
        return PointOutcome.INFEASIBLE
    return PointOutcome.DEADLOCK if RunOutcome.HANG in outcomes else PointOutcome.FAILED


def _throughput(runs: Sequence[PooledRun]) -> EvidencedValue:
    """The steady state, before the fault where there was one."""
    return _measured(runs, RunQuantity.THROUGHPUT, "before the fault, if any")


def _after(runs: Sequence[PooledRun]) -> EvidencedValue:
    halted = sum(run.outcome in _HALTED for run in runs)
    quantity = RunQuantity.POST_FAILURE_THROUGHPUT
    if halted == len(_present(runs, quantity)) > 0:
        # Zero by what halting means: the spread of zeros would say nothing.
        return EvidencedValue(0.0, Evidence.MEASURED, n=halted, conditions="halted")
    return _measured(runs, quantity, _halted_words(halted, runs))


def _slowdown(runs: Sequence[PooledRun]) -> EvidencedValue:
    halted = sum(run.outcome in _HALTED for run in runs)
    quantity = RunQuantity.AGGREGATE_SLOWDOWN
    if halted == len(_present(runs, quantity)) > 0:
        return EvidencedValue(1.0, Evidence.MEASURED, n=halted, conditions="halted")
    return _measured(runs, quantity, _halted_words(halted, runs))


def _halted_words(halted: int, runs: Sequence[PooledRun]) -> str:
    if halted == 0:
        return "continued"
    return f"{halted} of {len(runs)} runs halted, and count as standing still"


def _detection(runs: Sequence[PooledRun]) -> EvidencedValue:
    """Until the last rank that had to act knew. Deadlines that passed are no detections."""
    deadlines = [run.deadline_s for run in runs if run.deadline_s is not None]
    words = ["until the last rank knew"]
    first = mean_of(_present(runs, RunQuantity.FIRST_DETECTION))
    if first is not None:
        words.append(f"the first after {first.value:.3g} s")
    if deadlines:
        words.append(
            f"not detected within {min(deadlines):g} s in {len(deadlines)} of {len(runs)} runs, "
            "which are left out: the true time is longer"
        )
    return _measured(runs, RunQuantity.DETECTION, "; ".join(words))


def _resumed(runs: Sequence[PooledRun]) -> EvidencedValue:
    resumed = sum(run.outcome in _RESUMED for run in runs)
    return EvidencedValue(
        resumed / len(runs),
        Evidence.MEASURED,
        n=len(runs),
        conditions=f"training went on in {resumed} of {len(runs)} runs",
    )


def _overhead(runs: Sequence[PooledRun]) -> EvidencedValue:
    """One run has an interval too: that of its own pairs of blocks."""
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    words = f"from {count} without a fault, steps with and without the mechanism in turn"
    found = _measured(runs, RunQuantity.OVERHEAD, words)
    half_width = runs[0].overhead_half_width
    if len(runs) > 1 or half_width is None:
        return found
    return replace(
        found,
        dispersion=half_width,
        dispersion_kind=DispersionKind.CI95_HALF_WIDTH,
        conditions=f"{words}; the interval is of the pairs of one run",
    )


def _save(runs: Sequence[PooledRun]) -> EvidencedValue:
    """Of runs without a fault: the first save after a recovery takes longer than later ones."""
    return _measured(
        runs, RunQuantity.SAVE_FOREGROUND, "what training waits for, in runs without a fault"
    )


def _mechanism_values(
    key: PointKey, runs: Sequence[PooledRun]
) -> Iterator[tuple[Quantity, EvidencedValue]]:
    """What a mechanism's saves and recoveries took, as far as the runs have any."""
    on_warning = key.interval_steps is None and _present(runs, RunQuantity.EMERGENCY_SAVE)
    if on_warning:
        words = "zero by design: nothing is done without a warning, not a measured difference"
        yield Quantity.OVERHEAD, EvidencedValue(0.0, Evidence.DESIGN_VALUE, conditions=words)
        yield Quantity.SAVE, _measured(runs, RunQuantity.EMERGENCY_SAVE, _emergency_words(runs))
        if _effective_restores(runs):
            words = "emergency save and restore"
            yield Quantity.EFFECTIVE_RESTORE, _mean_value(_effective_restores(runs), words)
    elif _present(runs, RunQuantity.SAVE_FOREGROUND):
        words = "what training waits for"
        yield Quantity.SAVE, _measured(runs, RunQuantity.SAVE_FOREGROUND, words)
    recovered = len(_present(runs, RunQuantity.RECOVERY))
    if not recovered:
        return
    among = f"in {recovered} of {len(runs)} runs"
    for quantity, of_run, words in (
        (Quantity.RESTORE, RunQuantity.RESTORE, "the phase restore of a recovery"),
        (Quantity.RECOVERY, RunQuantity.RECOVERY, "from the detection to the next complete step"),
        (Quantity.LOST_STEPS, RunQuantity.LOST_STEPS, "steps made again; the fault's step is set"),
    ):
        yield quantity, _measured(runs, of_run, f"{words}; {among}")


def _emergency_words(runs: Sequence[PooledRun]) -> str:
    took = mean_of(_present(runs, RunQuantity.EMERGENCY))
    words = "emergency save"
    return words if took is None else f"{words}, done {took.value:.3g} s after the warning"


def _effective_restores(runs: Sequence[PooledRun]) -> list[float]:
    pairs = (
        (run.values.get(RunQuantity.EMERGENCY_SAVE), run.values.get(RunQuantity.RESTORE))
        for run in runs
    )
    return [save + restore for save, restore in pairs if save is not None and restore is not None]


def _present(runs: Iterable[PooledRun], quantity: RunQuantity) -> list[float]:
    found = (run.values.get(quantity) for run in runs)
    return [value for value in found if value is not None]


def _measured(runs: Sequence[PooledRun], quantity: RunQuantity, words: str) -> EvidencedValue:
    present = _present(runs, quantity)
    if present:
        return _mean_value(present, words)
    infeasible = all(run.outcome is RunOutcome.INFEASIBLE for run in runs)
    return EvidencedValue(
        None,
        Evidence.MEASURED,
        missing_reason=MissingReason.INFEASIBLE if infeasible else MissingReason.FAILED,
        n=len(runs),
        conditions=words,
    )


def _mean_value(values: Sequence[float], words: str) -> EvidencedValue:
    """The mean of at least one number."""
    mean = mean_of(values)
    assert mean is not None
    return EvidencedValue(
        mean.value,
        Evidence.MEASURED,
        n=mean.n,
        dispersion=mean.half_width,
        dispersion_kind=DispersionKind.CI95_HALF_WIDTH if mean.half_width is not None else None,
        conditions=words,
    )
