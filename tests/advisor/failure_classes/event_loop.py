"""A job under failures of several classes as a plain loop over its events.

Written apart from advisor/failure_classes/: nothing of it is used here. One job at a time, one
event after the other; a state is what it went wrong by, and a save is a copy of it.
"""

from dataclasses import dataclass, field
from math import exp, inf
from random import Random
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class Stopping:
    """Failures that stop the job: how often (1/s), detection and recovery (s)."""

    rate: float
    detection: float
    recovery: float


@dataclass(frozen=True, slots=True)
class Corrupting:
    """States that go wrong, by second of work, and the share that each monitor misses."""

    rate: float
    misses: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Checking:
    """A monitor: work between two checks, cost, delay, false alarms by second and by check."""

    every: float
    cost: float
    delay: float = 0.0
    false_per_s: float = 0.0
    false_per_check: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """`interval` None: there is one state only, the newest, which a stop does not lose."""

    duration: float
    interval: float | None
    stall: float
    recovery: float
    stopping: tuple[Stopping, ...]
    corrupting: tuple[Corrupting, ...] = ()
    checking: tuple[Checking, ...] = ()
    kept: int = 1


@dataclass(slots=True)
class State:
    """Work done, the monitors that would see that it is wrong, and whether it went wrong unseen."""

    at: float = 0.0
    seen_by: frozenset[int] = frozenset()
    is_silent: bool = False


@dataclass(slots=True)
class Running:
    """One job on its way."""

    job: Job
    random: Random
    clock: float = 0.0
    next_stop: float = 0.0
    state: State = field(default_factory=State)
    saves: list[State] = field(default_factory=list)
    passed: list[float] = field(default_factory=list)
    wrong_found: int = 0

    def run(self) -> tuple[float, bool]:
        """Its completion time, and whether its result is wrong."""
        self.passed = [0.0] * len(self.job.checking)
        self._draw_stop()
        while not self._reach(self._next_mark()):
            pass
        return self.clock, self.state.is_silent

    def _next_mark(self) -> float:
        marks = [each.every for each in self.job.checking]
        marks += [] if self.job.interval is None else [self.job.interval]
        later = [(self.state.at // every + 1.0) * every for every in marks]
        return min([*later, self.job.duration])

    def _reach(self, mark: float) -> bool:
        """Works up to the mark, with all that is due there. Whether the job is at its end."""
        work = mark - self.state.at
        if work > 0.0:
            if not self._spend(work):
                return False
            self.state = self._after_work(mark, work)
        due = [i for i, each in enumerate(self.job.checking) if mark % each.every == 0.0]
        for index in due:
            if self.passed[index] < mark and not self._check(index):
                return False
        interval = self.job.interval
        if interval is not None and mark % interval == 0.0 and self._last_save() < mark:
            if not self._spend(self.job.stall):
                return False
            self.saves.append(self.state)
            del self.saves[: -self.job.kept]
        if mark < self.job.duration:
            return False
        for index in range(len(self.job.checking)):
            if self.passed[index] < mark and not self._check(index):
                return False
        return True

    def _last_save(self) -> float:
        return self.saves[-1].at if self.saves else 0.0

    def _after_work(self, mark: float, work: float) -> State:
        seen_by, is_silent = set(self.state.seen_by), self.state.is_silent
        for each in self.job.corrupting:
            left = work - self.random.expovariate(each.rate)
            while left > 0.0:
                seeing = [i for i, miss in enumerate(each.misses) if self.random.random() >= miss]
                seen_by |= set(seeing)
                is_silent = is_silent or not seeing
                left -= self.random.expovariate(each.rate)
        return State(mark, frozenset(seen_by), is_silent)

    def _check(self, index: int) -> bool:
        """Whether the check ends and finds nothing."""
        each = self.job.checking[index]
        if not self._spend(each.cost):
            return False
        since = self.state.at - self.passed[index]
        clean = exp(-each.false_per_s * since - each.false_per_check)
        if index not in self.state.seen_by and self.random.random() < clean:
            self.passed[index] = self.state.at
            return True
        self.wrong_found += 1
        self.clock += each.delay
        self._draw_stop()
        self._recover(self.job.recovery)
        proved = [save for save in self.saves if save.at <= self.passed[index]]
        self._go_back(proved[-1] if proved else State())
        self.saves = proved
        return False

    def _go_back(self, state: State) -> None:
        self.state = state
        self.passed = [min(each, state.at) for each in self.passed]

    def _spend(self, seconds: float) -> bool:
        """Whether they pass; if not, the job has recovered from what stopped it."""
        while self.clock + seconds > self.next_stop:
            seconds -= self.next_stop - self.clock
            self.clock = self.next_stop
            self._recover(self._detect())
            if self.job.interval is not None:
                self._go_back(self.saves[-1] if self.saves else State())
                return False
        self.clock += seconds
        return True

    def _detect(self) -> float:
        """Which failure it was: its detection passes; the time that its recovery takes."""
        rates = [each.rate for each in self.job.stopping]
        (which,) = self.random.choices(self.job.stopping, rates)
        self.clock += which.detection
        self._draw_stop()
        return which.recovery

    def _recover(self, recovery: float) -> None:
        while self.clock + recovery > self.next_stop:
            self.clock = self.next_stop
            recovery = self._detect()
        self.clock += recovery

    def _draw_stop(self) -> None:
        rate = sum(each.rate for each in self.job.stopping)
        self.next_stop = self.clock + (self.random.expovariate(rate) if rate > 0.0 else inf)


@dataclass(frozen=True, slots=True)
class Simulated:
    """Mean time (s) with its standard error, share of wrong results, wrong states found a job."""

    mean: float
    error: float
    wrong: float
    found: float


def simulate(job: Job, jobs: int, seed: int) -> Simulated:
    """So many jobs, each with failures of its own."""
    random = Random(seed)
    times, wrong, found = [], 0, 0
    for _ in range(jobs):
        running = Running(job, random)
        time, is_wrong = running.run()
        times.append(time)
        wrong += is_wrong
        found += running.wrong_found
    return Simulated(fmean(times), stdev(times) / jobs**0.5, wrong / jobs, found / jobs)


@dataclass(frozen=True, slots=True)
class SlowedJob:
    """Stragglers: one comes at `rate` in healthy work, makes work `factor` times as long for an
    exponential time of mean `length`, and is seen at the next check but for a share `miss`."""

    duration: float
    interval: float
    stall: float
    recovery: float
    crash_rate: float
    rate: float
    factor: float
    length: float
    every: float | None = None
    cost: float = 0.0
    delay: float = 0.0
    miss: float = 0.0


def simulate_slowed(job: SlowedJob, jobs: int, seed: int) -> Simulated:
    random = Random(seed)
    times = [_slowed_time(job, random) for _ in range(jobs)]
    return Simulated(fmean(times), stdev(times) / jobs**0.5, 0.0, 0.0)


def _slowed_time(job: SlowedJob, random: Random) -> float:
    clock = at = saved = 0.0
    healthy_left, slow_left, is_seen = random.expovariate(job.rate), 0.0, False
    crash = random.expovariate(job.crash_rate)
    while at < job.duration:
        marks = [job.interval] + ([job.every] if job.every else [])
        mark = min([*((at // each + 1.0) * each for each in marks), job.duration])
        if slow_left > 0.0:
            passes = min((mark - at) * job.factor, slow_left)
            done = mark - at if passes == (mark - at) * job.factor else passes / job.factor
        else:
            passes = done = min(mark - at, healthy_left)
        at_mark = at + done >= mark * (1.0 - 1e-12)
        checks = at_mark and job.every is not None and mark % job.every == 0.0
        saves = at_mark and mark % job.interval == 0.0
        spent = passes + (job.cost if checks else 0.0) + (job.stall if saves else 0.0)
        if clock + spent > crash:
            clock, at = crash + job.recovery, saved
            crash = clock + random.expovariate(job.crash_rate)
            continue
        clock, at = clock + spent, mark if at_mark else at + done
        if slow_left > 0.0:
            slow_left -= passes
        else:
            healthy_left -= passes
            if healthy_left <= 0.0:
                healthy_left, slow_left = (
                    random.expovariate(job.rate),
                    random.expovariate(1.0 / job.length),
                )
                is_seen = random.random() >= job.miss
                continue
        if checks and slow_left > 0.0 and is_seen:
            clock, at, slow_left = clock + job.delay + job.recovery, saved, 0.0
            continue
        if saves:
            saved = at
    return clock
