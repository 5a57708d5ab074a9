"""A block of jobs side by side: one step takes each to its next failure or false alarm.

Between two events a job goes through what is left of its phases in their order (detection, waiting
for a spare, recovery, the save after a false alarm), then along its timeline.
"""

from copy import copy
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from advisor.errors import UserError
from advisor.simulation.events import Events, Flags, Source
from advisor.simulation.process import Process
from advisor.simulation.timeline import Timeline
from advisor.simulation.times import Seconds

PHASES = ("detection", "waiting", "recovery", "emergency")
MOST_EVENTS = 300_000
"""A block of which a job has met so many is given up: it does not get on."""
_CONSERVED = 1e-9


class NoEndError(UserError):
    """Jobs do not get on, so that their simulation has no end."""


@dataclass(frozen=True, slots=True)
class Block:
    """How long each job of a block took, and on what; the parts add up to `total_s`.

    Work is the job's own with its overhead, saves those that it would make without failures; both
    are the same in all jobs. Work and saves that have to be made again are `lost_s`. A job that had
    got further was put back to its beginning `from_beginning` times. Together the jobs met `events`
    failures and false alarms.
    """

    total_s: Seconds
    failures: Seconds
    from_beginning: Seconds
    work_s: float
    saves_s: float
    detection_s: Seconds
    waiting_s: Seconds
    recovery_s: Seconds
    emergency_s: Seconds
    lost_s: Seconds
    events: int

    def conservation_error(self) -> float:
        """The largest relative difference between the parts' sum and the clock."""
        parts = (self.detection_s, self.waiting_s, self.recovery_s, self.emergency_s, self.lost_s)
        together_s = self.work_s + self.saves_s + sum(parts)
        return float(np.max(np.abs(together_s / self.total_s - 1.0)))


class _Jobs:
    """The running jobs as columns: of each phase what is left and what it took so far."""

    def __init__(self, count: int, has_warnings: bool, spares: int | None) -> None:
        def column() -> Seconds:
            return np.zeros(count)

        self.clock_s = column()
        self.position_s = column()
        self.failures = column()
        self.from_beginning = column()
        self.lost_s = column()
        self.left = {name: column() for name in PHASES}
        self.spent = {name: column() for name in PHASES}
        self.kind = np.zeros(count, dtype=np.intp)
        self.emergency_at_s = column() if has_warnings else None
        self.place = np.arange(count)
        # One column more than there are spares: for the node that fails.
        self.ready_s = None if spares is None else np.zeros((count, spares + 1))
        if self.ready_s is not None:
            self.ready_s[:, -1] = np.inf
        self.replaced_s = None if spares is None else column()

    def only(self, rows: Flags) -> "_Jobs":
        """A copy of some jobs."""
        some = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(some, name, {key: column[rows] for key, column in value.items()})
            elif value is not None:
                setattr(some, name, value[rows])
        return some

    def put(self, rows: Flags, some: "_Jobs") -> None:
        """Writes back what became of a copy."""
        for name, value in vars(self).items():
            changed = getattr(some, name)
            if isinstance(value, dict):
                for key, column in value.items():
                    column[rows] = changed[key]
            elif value is not None:
                value[rows] = changed


@dataclass(slots=True)
class _Results:
    """What became of the jobs, in their first order."""

    count: int
    total_s: Seconds = field(init=False)
    failures: Seconds = field(init=False)
    from_beginning: Seconds = field(init=False)
    lost_s: Seconds = field(init=False)
    spent: dict[str, Seconds] = field(init=False)

    def __post_init__(self) -> None:
        self.total_s, self.failures = np.zeros(self.count), np.zeros(self.count)
        self.from_beginning, self.lost_s = np.zeros(self.count), np.zeros(self.count)
        self.spent = {name: np.zeros(self.count) for name in PHASES}

    def take(self, jobs: _Jobs, ended: Flags, total_s: Seconds) -> None:
        at = jobs.place[ended]
        self.total_s[at] = total_s
        self.failures[at] = jobs.failures[ended]
        self.from_beginning[at] = jobs.from_beginning[ended]
        self.lost_s[at] = jobs.lost_s[ended]
        for name, column in self.spent.items():
            column[at] = jobs.spent[name][ended]


def simulate_block(process: Process, source: Source, count: int, most_events: float = inf) -> Block:
    """Runs `count` jobs to their ends.

    Raises NoEndError if one does not get there, or if they have not before they met more than
    `most_events` failures and false alarms together.
    """
    return _Engine(process, source, count).run(most_events)


class _Engine:
    def __init__(self, process: Process, source: Source, count: int) -> None:
        self._process = process
        self._source = source
        self._timeline = Timeline(process)
        self._count = count
        self._events = 0
        spares = process.spares
        self._jobs = _Jobs(count, process.warnings is not None, spares.count if spares else None)
        self._results = _Results(count)
        self._phases = [
            name
            for name in PHASES
            if (name != "waiting" or spares) and (name != "emergency" or process.warnings)
        ]
        self._tiers = [process.tier_for(kind.severity) for kind in process.kinds]
        self._restores_s = np.array(
            [0.0 if tier is None else process.tiers[tier].restore_s for tier in self._tiers]
        )
        self._severities = np.array([kind.severity for kind in process.kinds])
        self._nodes = np.array([kind.nodes for kind in process.kinds])

    def run(self, most_events: float) -> Block:
        for _ in range(MOST_EVENTS):
            self._step()
            running = self._jobs.place.size
            if not running:
                return self._block()
            # Each job that still runs met one in this step.
            self._events += running
            if self._events > most_events:
                raise NoEndError(
                    f"{running:,} of {self._count:,} simulated jobs have not ended before they all "
                    f"met {most_events:,} failures and false alarms together"
                )
        raise NoEndError(
            f"{self._jobs.place.size} of {self._count} simulated jobs have not ended after "
            f"{MOST_EVENTS:,} failures: too little is done between two of them"
        )

    def _step(self) -> None:
        jobs = self._jobs
        events = self._source.following()
        up_s = self._through_phases(events.gap_s)
        reached_s = jobs.position_s + up_s
        ended = reached_s >= self._timeline.total_s
        if ended.any():
            over_s = reached_s[ended] - self._timeline.total_s
            total_s = jobs.clock_s[ended] + (events.gap_s[ended] - over_s)
            self._results.take(jobs, ended, total_s)
            running = ~ended
            self._jobs = jobs = jobs.only(running)
            self._source.keep(running)
            events = _of(events, running)
            up_s, reached_s = up_s[running], reached_s[running]
        jobs.clock_s += events.gap_s
        if events.is_alarm is None:
            self._fail(jobs, events, up_s, reached_s)
        else:
            self._alarm(events.is_alarm, reached_s)
            fails = ~events.is_alarm
            failing = jobs.only(fails)
            self._fail(failing, _of(events, fails), up_s[fails], reached_s[fails])
            jobs.put(fails, failing)

    def _through_phases(self, gap_s: Seconds) -> Seconds:
        """Spends the gap on what is left of the phases; returns the time left for training."""
        jobs, up_s = self._jobs, gap_s.copy()
        for name in self._phases:
            left = jobs.left[name]
            taken = np.minimum(up_s, left)
            up_s -= taken
            left -= taken
            jobs.spent[name] += taken
            if name == "emergency" and jobs.emergency_at_s is not None:
                # A save after a false alarm that has ended counts, and training stands there.
                done = (taken > 0.0) & (left == 0.0)
                np.copyto(jobs.emergency_at_s, jobs.position_s, where=done)
        return up_s

    def _alarm(self, is_alarm: Flags, reached_s: Seconds) -> None:
        """Jobs that train save, in vain; the others have nothing that they could save."""
        jobs, warnings = self._jobs, self._process.warnings
        assert warnings is not None
        np.copyto(jobs.position_s, reached_s, where=is_alarm)
        trains = is_alarm & (sum(jobs.left.values()) == 0.0)
        jobs.left["emergency"][trains] = warnings.save_s

    def _fail(self, jobs: _Jobs, events: Events, up_s: Seconds, reached_s: Seconds) -> None:
        process = self._process
        jobs.failures += 1.0
        if events.is_saved is not None:
            reached_s = self._emergency_saves(jobs, events.is_saved, up_s, reached_s)
        restore_s = self._fall_back(jobs, events, reached_s)
        # What is left of a detection goes on; else it begins.
        detection = jobs.left["detection"]
        np.copyto(detection, process.detection_s, where=detection == 0.0)
        if jobs.ready_s is not None:
            self._replace_nodes(jobs, events)
        jobs.left["recovery"][:] = restore_s + process.regroup_s
        if process.warnings is not None:
            jobs.left["emergency"][:] = 0.0

    def _emergency_saves(
        self, jobs: _Jobs, is_saved: Flags, up_s: Seconds, reached_s: Seconds
    ) -> Seconds:
        """The last part of the time before the failure goes into the save."""
        warnings = self._process.warnings
        assert warnings is not None
        assert jobs.emergency_at_s is not None
        saving_s = np.where(is_saved, np.minimum(up_s, warnings.save_s), 0.0)
        jobs.spent["emergency"] += saving_s
        reached_s = reached_s - saving_s
        ends = is_saved & (up_s > 0.0) & (up_s >= warnings.save_s)
        np.copyto(jobs.emergency_at_s, reached_s, where=ends)
        return reached_s

    def _fall_back(self, jobs: _Jobs, events: Events, reached_s: Seconds) -> Seconds | float:
        """Puts each job back to the newest state that survives; returns the time to restore it."""
        restore_s: Seconds | float
        if events.kind is None:
            kept_s = self._timeline.kept(reached_s, self._tiers[0])
            restore_s = float(self._restores_s[0])
        else:
            self._worst_kind(jobs, events.kind)
            kept_s = np.zeros_like(reached_s)
            for kind, tier in enumerate(self._tiers):
                of_kind = jobs.kind == kind
                kept_s[of_kind] = self._timeline.kept(reached_s[of_kind], tier)
            restore_s = self._restores_s[jobs.kind]
        warnings = self._process.warnings
        if warnings is not None and jobs.emergency_at_s is not None:
            self._destroy_emergency_saves(jobs.emergency_at_s, events.kind, warnings.survives)
            is_newer = jobs.emergency_at_s > kept_s
            kept_s = np.where(is_newer, jobs.emergency_at_s, kept_s)
            restore_s = np.where(is_newer, warnings.restore_s, restore_s)
        jobs.lost_s += reached_s - kept_s
        jobs.from_beginning += (kept_s == 0.0) & (reached_s > 0.0)
        jobs.position_s = kept_s
        return restore_s

    def _destroy_emergency_saves(
        self, emergency_at_s: Seconds, kind: NDArray[np.intp] | None, survives: int
    ) -> None:
        """Those that do not survive the failure, also one that was just made for it."""
        severity = self._severities[0 if kind is None else kind]
        np.copyto(emergency_at_s, 0.0, where=severity > survives)

    def _worst_kind(self, jobs: _Jobs, kind: NDArray[np.intp]) -> None:
        """A tier that a failure destroyed is of no use until the job has recovered from it."""
        pending = sum(jobs.left[name] for name in ("detection", "waiting", "recovery")) > 0.0
        is_worse = self._severities[jobs.kind] > self._severities[kind]
        jobs.kind = np.where(pending & is_worse, jobs.kind, kind)

    def _replace_nodes(self, jobs: _Jobs, events: Events) -> None:
        """Each lost node goes into repair, and the spare that is ready first takes its place."""
        ready_s, replaced_s = jobs.ready_s, jobs.replaced_s
        assert ready_s is not None
        assert replaced_s is not None
        kind = np.zeros(len(jobs.place), dtype=np.intp) if events.kind is None else events.kind
        lost = self._nodes[kind]
        for number in range(int(self._nodes.max())):
            rows = np.flatnonzero(lost > number)
            ready_s[rows, -1] = jobs.clock_s[rows] + self._source.repairs(len(rows))
            first = ready_s[rows].argmin(axis=1)
            replaced_s[rows] = np.maximum(replaced_s[rows], ready_s[rows, first])
            ready_s[rows, first] = ready_s[rows, -1]
            ready_s[rows, -1] = np.inf
        found_s = jobs.clock_s + jobs.left["detection"]
        jobs.left["waiting"] = np.maximum(replaced_s - found_s, 0.0)

    def _block(self) -> Block:
        results, timeline = self._results, self._timeline
        block = Block(
            total_s=results.total_s,
            failures=results.failures,
            from_beginning=results.from_beginning,
            work_s=timeline.work_s,
            saves_s=timeline.total_s - timeline.work_s,
            lost_s=results.lost_s,
            events=self._events,
            **{f"{name}_s": results.spent[name] for name in PHASES},
        )
        error = block.conservation_error()
        assert error <= _CONSERVED, f"time is not conserved: {error}"
        return block


def _of(events: Events, running: Flags) -> Events:
    return Events(
        events.gap_s[running],
        None if events.kind is None else events.kind[running],
        None if events.is_saved is None else events.is_saved[running],
        None if events.is_alarm is None else events.is_alarm[running],
    )
