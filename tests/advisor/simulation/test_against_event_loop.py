"""Every simulated job against a plain loop over the same events, one by one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advisor.simulation.engine import simulate_block
from advisor.simulation.events import Events, Flags, RandomSource
from advisor.simulation.process import Bursts, Kind, Process, Spares, Tier, Warnings
from advisor.simulation.times import Constant, Empirical, Exponential, Lognormal, Seconds, Weibull
from tests.advisor.simulation.event_loop import Event, Job

_JOBS = 60

_SAVES = (Tier(100.0, 4.0, 10.0),)
_TWO = (Tier(50.0, 1.0, 2.0, survives=0), Tier(200.0, 9.0, 20.0, survives=1))
_THREE = (
    Tier(50.0, 1.0, 2.0, survives=0),
    Tier(200.0, 9.0, 20.0, survives=1),
    Tier(600.0, 30.0, 60.0, survives=2),
)
_KINDS = (Kind(0.7, 0), Kind(0.2, 1, nodes=2), Kind(0.1, 2, nodes=3))
_PLAIN = Process(3030.0, Exponential(400.0), _SAVES, detection_s=15.0, regroup_s=5.0, overhead=0.01)
_WARNED = Warnings(0.6, Lognormal(20.0, 1.0), 8.0, 6.0)
_PROCESSES = {
    "plain": _PLAIN,
    "whole-intervals": replace(_PLAIN, work_s=3000.0, overhead=0.0),
    "one-interval": replace(_PLAIN, work_s=90.0),
    "no-costs": Process(3000.0, Exponential(400.0), (Tier(100.0, 0.0, 0.0),)),
    "no-tier": replace(_PLAIN, tiers=(), work_s=500.0),
    "every-moment": replace(_PLAIN, tiers=(Tier(0.0, 0.0, 12.0),)),
    "weibull": replace(_PLAIN, arrivals=Weibull(400.0, 0.6)),
    "lognormal": replace(_PLAIN, arrivals=Lognormal(400.0, 1.2)),
    "empirical": replace(_PLAIN, arrivals=Empirical((30.0, 200.0, 250.0, 1100.0))),
    "regular": replace(_PLAIN, arrivals=Constant(333.3)),
    "two-tiers": replace(_PLAIN, tiers=_TWO, kinds=(Kind(0.7), Kind(0.3, 1))),
    "three-tiers": replace(_PLAIN, tiers=_THREE, kinds=_KINDS),
    "nothing-survives": replace(_PLAIN, tiers=_TWO, kinds=_KINDS, work_s=1000.0),
    "bursts": replace(_PLAIN, tiers=_THREE, kinds=_KINDS, bursts=Bursts(0.4, 3, Exponential(20.0))),
    "warned": replace(_PLAIN, tiers=_TWO, kinds=(Kind(0.7), Kind(0.3, 1)), warnings=_WARNED),
    "all-warned": replace(
        _PLAIN, tiers=(), warnings=Warnings(1.0, Constant(60.0), 8.0, 6.0), work_s=2000.0
    ),
    "free-emergency-saves": replace(_PLAIN, warnings=Warnings(0.5, Constant(1.0), 0.0, 6.0)),
    "false-alarms": replace(
        _PLAIN, tiers=_THREE, kinds=_KINDS, warnings=replace(_WARNED, false_alarms=Weibull(90.0, 2))
    ),
    "spares": replace(_PLAIN, spares=Spares(2, Constant(700.0))),
    "no-spares": replace(_PLAIN, spares=Spares(0, Constant(700.0))),
    "software-failures": replace(
        _PLAIN,
        tiers=_TWO,
        kinds=(Kind(0.6, 0, nodes=0), Kind(0.4, 1, nodes=2)),
        spares=Spares(1, Constant(700.0)),
    ),
    "no-node-is-ever-lost": replace(
        _PLAIN, kinds=(Kind(1.0, 0, nodes=0),), spares=Spares(0, Constant(700.0))
    ),
    "destroyed-emergency-saves": replace(
        _PLAIN,
        tiers=_TWO,
        kinds=(Kind(0.7), Kind(0.3, 1)),
        warnings=replace(_WARNED, survives=0),
    ),
    "emergency-saves-alone": replace(
        _PLAIN,
        tiers=(),
        kinds=(Kind(0.8, 1), Kind(0.2, 2, nodes=2)),
        warnings=Warnings(0.8, Lognormal(20.0, 1.0), 8.0, 6.0, Exponential(500.0), 10.0, 1),
        work_s=1500.0,
    ),
    "everything": Process(
        4000.0,
        Weibull(350.0, 0.7),
        _THREE,
        detection_s=12.0,
        regroup_s=4.0,
        overhead=0.02,
        kinds=_KINDS,
        bursts=Bursts(0.3, 2, Exponential(15.0)),
        warnings=replace(_WARNED, false_alarms=Exponential(300.0)),
        spares=Spares(3, Constant(500.0)),
    ),
}
_PROCESSES["everything-more-fragile"] = replace(
    _PROCESSES["everything"],
    kinds=(Kind(0.5, 0, nodes=0), Kind(0.3, 1), Kind(0.2, 2, nodes=2)),
    warnings=replace(_WARNED, false_alarms=Exponential(300.0), needs_s=15.0, survives=1),
)


class Recorded(RandomSource):
    """Draws as ever, and keeps what each job met."""

    def __init__(self, process: Process, seed: int, count: int) -> None:
        super().__init__(process, np.random.default_rng(seed), count)
        self.events: list[list[Event]] = [[] for _ in range(count)]
        self._process_of = process
        self._ids = np.arange(count)

    def following(self) -> Events:
        found = super().following()
        repair_s = self._process_of.spares.repair.mean_s if self._process_of.spares else 0.0
        for row, job in enumerate(self._ids):
            kind = 0 if found.kind is None else int(found.kind[row])
            self.events[job].append(
                Event(
                    float(found.gap_s[row]),
                    kind,
                    False if found.is_saved is None else bool(found.is_saved[row]),
                    False if found.is_alarm is None else bool(found.is_alarm[row]),
                    (repair_s,) * self._process_of.kinds[kind].nodes,
                )
            )
        return found

    def keep(self, running: Flags) -> None:
        super().keep(running)
        self._ids = self._ids[running]


@pytest.mark.parametrize("name", _PROCESSES)
def test_job_by_job(name: str) -> None:
    process = _PROCESSES[name]
    source = Recorded(process, 20261130, _JOBS)
    block = simulate_block(process, source, _JOBS)
    jobs = [Job(process) for _ in range(_JOBS)]
    total_s = [job.run(events) for job, events in zip(jobs, source.events, strict=True)]
    same(block.total_s, total_s)
    same(block.failures, [job.failures for job in jobs])
    # Each job ends before the last event that was drawn for it.
    assert block.events == sum(len(events) - 1 for events in source.events)
    same(block.from_beginning, [job.from_beginning for job in jobs])
    for phase in ("detection", "waiting", "recovery", "emergency"):
        same(getattr(block, f"{phase}_s"), [job.spent_s[phase] for job in jobs])
    kept_s = block.work_s + block.saves_s
    same(block.lost_s, [job.trained_s - kept_s for job in jobs])
    assert block.conservation_error() <= 1e-9


def same(found: Seconds, expected: list[float] | list[int]) -> None:
    assert found == pytest.approx(np.array(expected, dtype=float), rel=1e-9, abs=1e-6)


def test_the_cases_meet_what_they_are_about() -> None:
    """Each feature leaves a trace: else the comparison would show nothing."""

    def block_of(name: str) -> tuple[float, ...]:
        process = _PROCESSES[name]
        block = simulate_block(process, RandomSource(process, np.random.default_rng(1), 200), 200)
        parts = (block.waiting_s, block.emergency_s, block.lost_s, block.failures)
        return tuple(float(part.mean()) for part in parts)

    waiting_s, emergency_s, lost_s, failures = block_of("everything")
    assert min(waiting_s, emergency_s, lost_s, failures) > 1.0
    assert block_of("plain")[:2] == (0.0, 0.0)
    assert block_of("every-moment")[2] == 0.0
    assert block_of("all-warned")[2] < block_of("no-tier")[2]
    assert block_of("false-alarms")[1] > block_of("warned")[1]
    assert block_of("bursts")[3] > 1.5 * block_of("three-tiers")[3]
    assert block_of("no-spares")[0] > block_of("spares")[0] > 0.0
    assert block_of("no-node-is-ever-lost")[0] == 0.0 < block_of("software-failures")[0]
    assert block_of("destroyed-emergency-saves")[2] > 1.1 * block_of("warned")[2]


def test_who_begins_again() -> None:
    def times(process: Process) -> float:
        source = RandomSource(process, np.random.default_rng(1), 200)
        return float(simulate_block(process, source, 200).from_beginning.mean())

    assert times(_PROCESSES["every-moment"]) == 0.0
    # Without a tier each failure of a job that has trained puts it back, but in a recovery.
    alone = _PROCESSES["no-tier"]
    source = RandomSource(alone, np.random.default_rng(1), 200)
    block = simulate_block(alone, source, 200)
    assert 0.9 * block.failures.sum() < block.from_beginning.sum() <= block.failures.sum()
    # What an emergency save does not survive, and nothing else holds, begins again.
    fragile = _PROCESSES["emergency-saves-alone"]
    assert fragile.warnings is not None
    lasting = replace(fragile, warnings=replace(fragile.warnings, survives=2))
    assert times(fragile) > times(lasting) + 0.3 > 0.3


@pytest.mark.parametrize("seed", range(60))
def test_any_stack_job_by_job(seed: int) -> None:
    """Tiers, kinds, warnings, bursts and spares as they come, at intervals that no float is."""
    process = _any_process(seed)
    source = Recorded(process, seed, 8)
    block = simulate_block(process, source, 8)
    jobs = [Job(process) for _ in range(8)]
    same(block.total_s, [job.run(e) for job, e in zip(jobs, source.events, strict=True)])
    same(block.from_beginning, [job.from_beginning for job in jobs])
    for phase in ("detection", "waiting", "recovery", "emergency"):
        same(getattr(block, f"{phase}_s"), [job.spent_s[phase] for job in jobs])


def _any_process(seed: int) -> Process:
    draw = np.random.default_rng(seed)

    def one_of(*choices: Any) -> Any:
        return choices[int(draw.integers(len(choices)))]

    tiers, interval_s, survives = [], one_of(20.0, 33.3, 113.7, draw.uniform(20.0, 150.0)), 0
    for _ in range(int(draw.integers(4))):
        survives += int(draw.integers(3))
        tiers.append(Tier(interval_s, one_of(0.0, 1.0, 7.5), one_of(0.0, 5.0, 40.0), survives))
        interval_s *= int(draw.integers(1, 5))
    warnings = Warnings(
        coverage=one_of(0.3, 0.8, 1.0),
        lead=one_of(Constant(30.0), Lognormal(20.0, 1.0)),
        save_s=one_of(0.0, 4.0, 15.0),
        restore_s=one_of(0.0, 9.0),
        false_alarms=one_of(None, Exponential(150.0)),
        needs_s=one_of(0.0, 10.0),
        survives=int(draw.integers(4)),
    )
    return Process(
        work_s=one_of(300.0, 900.0, 2000.0),
        arrivals=one_of(Exponential(400.0), Weibull(400.0, 0.6), Lognormal(500.0, 1.0)),
        tiers=tuple(tiers),
        detection_s=one_of(0.0, 15.0),
        regroup_s=one_of(0.0, 5.0),
        overhead=one_of(0.0, 0.05),
        kinds=one_of(
            (Kind(),),
            (Kind(0.6, 0, nodes=0), Kind(0.3, 1), Kind(0.1, 2, nodes=2)),
            (Kind(0.5, 1), Kind(0.5, 3, nodes=3)),
        ),
        bursts=one_of(None, Bursts(0.3, 2, Exponential(15.0))),
        warnings=one_of(None, warnings),
        spares=one_of(None, Spares(int(draw.integers(3)), Constant(300.0))),
    )
