"""The decision worked out a second time, from the CSV files, by hand-sized arithmetic.

Written from the paper's Eq. (5), `data/README.md`, `docs/equation_5.md` and
`docs/decisions/0003-extrapolation.md`; never from the code that it checks. No array library, no
database: the figures are computed one mechanism at a time, in the order in which a reader would.

What the documents leave open was taken from answers, and is marked "Inferred:". So is the order in
which reasons are looked for, where several would exclude a mechanism.
"""

import csv
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

SAME = 0.02
SIZE_LIMIT = 4.0
STEP_LIMIT = 10.0
RATE_LIMIT = 20.0
SHORTER_INTERVAL_LIMIT = 10.0
DEFAULT_DURATION_S = 30 * 86400.0
DEFAULT_REGROUP_S = 5.0
EDGE = 1e-9

Row = dict[str, str]


class Why(StrEnum):
    """The kind of reason for which a mechanism is not offered."""

    NOT_ASKED = "not asked for"
    INCOMPATIBLE = "degenerate or infeasible"
    NOTHING_PRESERVED = "halts and preserves nothing"
    NO_WARNING = "no warning"
    COVERAGE = "warnings do not cover every failure"
    LEAD = "warning too short for the save"
    SEVERAL_FAILURES = "never seen to resume after several failures"
    UNOBSERVED = "recovery never observed"
    BROKE_OFF = "broke off at the nearest size that was tried"
    NO_DATA = "no data"
    LONGER_THAN_JOB = "interval longer than the job"
    MEMORY = "copies do not fit"
    RESTORE = "restore over its limit"
    OVERHEAD = "overhead over its limit"
    PAUSE = "pause over its limit"


@dataclass(frozen=True)
class Inputs:
    """One scenario, in seconds, bytes and fractions. None: not stated."""

    architecture: str
    state_bytes: int
    mtbf_s: float
    step_time_s: float | None = None
    duration_s: float | None = None
    interval: int | str = "auto"
    mechanisms: tuple[str, ...] | None = None
    max_overhead: float | None = None
    max_restore_s: float | None = None
    max_pause_s: float | None = None
    warning_lead_s: float | None = None
    warning_coverage: float | None = None
    several_failures: bool = False
    detection_s: float | None = None
    regroup_s: float | None = None
    init_s: float | None = None
    storage_write: float | None = None
    storage_read: float | None = None
    host_memory_bytes: int | None = None
    calibrated: bool = False


@dataclass(frozen=True)
class Offer:
    """A candidate. Native degradation has neither restore nor expected time."""

    mechanism: str
    interval: int | None
    evidence: str
    overhead: float
    restore_s: float | None
    expected_s: float | None
    lost_s: float | None
    pause_s: float


@dataclass(frozen=True)
class Crossing:
    """At `mtbf_s` the two take equally long, intervals held; None: they never do."""

    other: str
    mtbf_s: float | None
    faster_below: str


@dataclass
class Answer:
    """What the product should say.

    `on_edge`: a limit is met to within rounding, so that either side would be right.
    """

    offers: list[Offer] = field(default_factory=list)
    refused: dict[str, Why] = field(default_factory=dict)
    frontier: set[str] = field(default_factory=set)
    crossings: list[Crossing] = field(default_factory=list)
    on_edge: bool = False

    @property
    def selected(self) -> Offer | None:
        return self.offers[0] if self.offers else None


@dataclass(frozen=True)
class Point:
    """An operating point of a fault-free steady state, in SI units; None: not published."""

    architecture: str
    mechanism: str
    workload: str
    state_bytes: float
    interval: int | None
    outcome: str
    overhead: float | None
    save_s: float | None
    save_spread_s: float
    restore_s: float | None


@dataclass(frozen=True)
class Prediction:
    """Overhead of an interval of one step, what bounds the interval, restore, and the evidence."""

    overhead_at_one_step: float
    fixed_interval: int | None
    measured_interval: int | None
    shortest: int
    restore_s: float
    save_s: float
    save_with_spread_s: float
    evidence: str


class RefusalError(Exception):
    """A mechanism is not offered."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


def ratio(a: float, b: float) -> float:
    """How many times apart, the larger over the smaller."""
    return max(a, b) / min(a, b)


class Transfer:
    """seconds = latency + bytes / bandwidth through measured transfers.

    Inferred: relative errors weigh alike (weights 1 / seconds^2); one size alone, or a fit with a
    negative latency, leaves a line through the origin.
    """

    def __init__(self, measured: Sequence[tuple[float, float]]) -> None:
        self.sizes = [size for size, _ in measured]
        weights = [1 / seconds**2 for _, seconds in measured]
        total = math.fsum(weights)
        mean_x = math.fsum(w * x for w, (x, _) in zip(weights, measured, strict=True)) / total
        mean_y = math.fsum(w * y for w, (_, y) in zip(weights, measured, strict=True)) / total
        spread = math.fsum(
            w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, measured, strict=True)
        )
        self.latency, self.per_byte = 0.0, 0.0
        if len(set(self.sizes)) > 1:
            self.per_byte = (
                math.fsum(
                    w * (x - mean_x) * (y - mean_y)
                    for w, (x, y) in zip(weights, measured, strict=True)
                )
                / spread
            )
            self.latency = mean_y - self.per_byte * mean_x
        if len(set(self.sizes)) == 1 or self.latency < 0:
            self.latency = 0.0
            self.per_byte = math.fsum(
                w * x * y for w, (x, y) in zip(weights, measured, strict=True)
            ) / math.fsum(w * x * x for w, (x, _) in zip(weights, measured, strict=True))

    def __call__(self, size: float) -> float:
        return self.latency + self.per_byte * size

    def spans(self, size: float) -> bool:
        return len(set(self.sizes)) > 1 and min(self.sizes) <= size <= max(self.sizes)


class Paper:
    """The shipped CSV files of one cluster, in SI units."""

    def __init__(self, folder: Path, cluster: str = "matilda-8xv100") -> None:
        self._folder = folder
        machine = next(r for r in self._rows("clusters") if r["cluster"] == cluster)
        self.ranks_per_node = int(machine["ranks_per_node"])
        self.host_memory_bytes = float(machine["host_memory_gb"]) * 1e9
        self.capabilities = {
            r["architecture"]: frozenset(r["capabilities"].split())
            for r in self._rows("architectures")
        }
        self.mechanisms = {r["mechanism"]: r for r in self._rows("mechanisms")}
        self.status = {
            (r["architecture"], r["mechanism"]): r["status"] for r in self._rows("compatibility")
        }
        self._batch = {
            r["workload"]: float(r["batch_per_rank"])
            for r in self._rows("workloads")
            if r["batch_per_rank"]
        }
        self._conditions = {
            r["point_id"]: r for r in self._rows("operating_points") if r["cluster"] == cluster
        }
        self._overhead = self._values("overheads", "overhead_percent", 0.01)
        self._save = self._values("saves", "save_ms", 1e-3)
        self._save_spread = self._values("saves", "dispersion_ms", 1e-3)
        self._restore = self._values("restores", "restore_ms", 1e-3)
        self._throughput = self._values("throughputs", "throughput_samples_per_s_per_rank", 1.0)
        self._detection = self._values("detections", "detection_s", 1.0)
        self._recovery = self._values("recoveries", "recovery_ms", 1e-3)
        self._resumed = self._values("resumed_runs", "resumed_percent", 0.01)
        self.points = [self._point(name) for name, row in self._conditions.items() if _pure(row)]
        self.calibrations: dict[str, list[tuple[float, float]]] = {}
        self.bandwidth: dict[str, float] = {}
        for row in self._rows("calibrations"):
            if row["cluster"] != cluster or row["provenance"] != "measured" or not row["value"]:
                continue
            if row["quantity"] == "bandwidth":
                self.bandwidth[row["path"]] = float(row["value"]) * 1e9
            else:
                self.calibrations.setdefault(row["path"], []).append(
                    (float(row["size_mb"]) * 1e6, float(row["value"]) * 1e-3)
                )

    def _rows(self, name: str) -> list[Row]:
        with (self._folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _values(self, name: str, column: str, unit: float) -> dict[str, float]:
        return {
            r["point_id"]: float(r[column]) * unit
            for r in self._rows(name)
            if r[column] and r["point_id"] in self._conditions
        }

    def _point(self, name: str) -> Point:
        row = self._conditions[name]
        return Point(
            row["architecture"],
            row["mechanism"],
            row["workload"],
            float(row["state_mb"]) * 1e6,
            int(row["interval_steps"]) if row["interval_steps"] else None,
            row["outcome"],
            self._overhead.get(name),
            self._save.get(name),
            self._save_spread.get(name, 0.0),
            self._restore.get(name),
        )

    def continues(self, architecture: str) -> bool:
        return "continues_after_loss" in self.capabilities[architecture]

    def alike(self, architecture: str) -> list[str]:
        """The others with the same capabilities."""
        mine = self.capabilities[architecture]
        return [a for a, c in self.capabilities.items() if c == mine and a != architecture]

    def step_time(self, architecture: str, workload: str) -> float | None:
        """Batch over throughput of the run without a mechanism (Table V)."""
        for name, row in self._conditions.items():
            if (row["architecture"], row["workload"]) == (architecture, workload):
                throughput = self._throughput.get(name)
                if throughput and workload in self._batch:
                    return self._batch[workload] / throughput
        return None

    def default_step_time(self, architecture: str) -> float:
        """Of the one workload of the architecture whose throughput was published."""
        workloads = {r["workload"] for r in self._conditions.values()}
        known = [self.step_time(architecture, w) for w in sorted(workloads)]
        (step,) = [t for t in known if t is not None]
        return step

    def default_detection(self, architecture: str) -> float:
        """Of the run without a mechanism at the default group timeout (Table V)."""
        (found,) = [
            value
            for name, value in self._detection.items()
            if self._conditions[name]["architecture"] == architecture
            and not self._conditions[name]["group_timeout_s"]
        ]
        return found

    def several(self, architecture: str, mechanism: str | None) -> list[tuple[float, float | None]]:
        """Share of runs that resumed under F2 and F3, and their recovery where one is printed."""
        return [
            (self._resumed[name], self._recovery.get(name))
            for name, row in self._conditions.items()
            if row["architecture"] == architecture
            and row["trace"] in ("F2", "F3")
            and mechanism in (None, row["mechanism"])
            and name in self._resumed
        ]

    def saves(self, mechanism: str) -> Transfer:
        """Through every save that the cluster measured for the mechanism."""
        return Transfer(
            [
                (p.state_bytes, p.save_s)
                for p in self.points
                if p.mechanism == mechanism and p.save_s is not None
            ]
        )


def _pure(row: Row) -> bool:
    """Neither a repeat under several failures nor at another group timeout."""
    return row["trace"] not in ("F2", "F3") and not row["group_timeout_s"]


class Oracle:
    """Answers one scenario after another from the paper's numbers."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper

    def answer(self, inputs: Inputs) -> Answer:
        return _Question(self.paper, inputs).answer()

    def crossing(self, inputs: Inputs, a: Offer, b: Offer) -> Crossing:
        return _Question(self.paper, inputs).crossing(a, b)


class _Question:
    """One scenario. Every comparison with a limit goes through `_within`, which notes edges."""

    def __init__(self, paper: Paper, inputs: Inputs) -> None:
        self.paper = paper
        self.inputs = inputs
        self.on_edge = False
        self.step_s = _given(inputs.step_time_s, paper.default_step_time(inputs.architecture))
        self.duration_s = _given(inputs.duration_s, DEFAULT_DURATION_S)
        self.detection_s = _given(inputs.detection_s, paper.default_detection(inputs.architecture))
        self.regroup_s = _given(inputs.regroup_s, DEFAULT_REGROUP_S)
        self.init_s = _given(inputs.init_s, 0.0)
        self.write = _given(inputs.storage_write, paper.bandwidth["storage_write"])
        self.read = _given(inputs.storage_read, paper.bandwidth["storage_read"])
        self.memory = _given(inputs.host_memory_bytes, paper.host_memory_bytes)

    # -- the answer ------------------------------------------------------------------------------

    def answer(self) -> Answer:
        result = Answer()
        for mechanism in self.paper.mechanisms:
            try:
                result.offers.append(self._offer(mechanism))
            except RefusalError as refusal:
                result.refused[mechanism] = refusal.why
        # Native degradation comes first; then Eq. (5) decides.
        result.offers.sort(key=lambda o: -1.0 if o.expected_s is None else o.expected_s)
        result.frontier = self._frontier(result.offers)
        best = result.selected
        if best is not None and best.expected_s is not None:
            result.crossings = [self.crossing(best, other) for other in result.offers[1:]]
        result.on_edge = self.on_edge
        return result

    def _offer(self, mechanism: str) -> Offer:
        # Inferred: the order of the reasons.
        inputs, paper = self.inputs, self.paper
        row = paper.mechanisms[mechanism]
        cadence = row["cadence"]
        if inputs.mechanisms is not None and mechanism not in inputs.mechanisms:
            raise RefusalError(Why.NOT_ASKED)
        if paper.status[inputs.architecture, mechanism] != "viable":
            raise RefusalError(Why.INCOMPATIBLE)
        if cadence == "never":
            return self._native(mechanism)
        if cadence == "on_warning" and not (
            inputs.warning_lead_s and _given(inputs.warning_coverage, 1.0) > 0
        ):
            raise RefusalError(Why.NO_WARNING)
        if cadence == "on_warning" and _given(inputs.warning_coverage, 1.0) < 1:
            raise RefusalError(Why.COVERAGE)
        if inputs.several_failures:
            shares = [share for share, _ in paper.several(inputs.architecture, mechanism)]
            if not shares or min(shares) < 1:
                raise RefusalError(Why.SEVERAL_FAILURES)
        if cadence == "after_failure":
            raise RefusalError(Why.UNOBSERVED)
        prediction = self._predict(mechanism)
        if cadence == "on_warning" and not self._within(
            prediction.save_with_spread_s, _given(inputs.warning_lead_s, 0.0)
        ):
            raise RefusalError(Why.LEAD)
        pause_s = self.detection_s + prediction.restore_s + self.regroup_s + self.init_s
        interval = self._interval(prediction, cadence, pause_s)
        overhead = prediction.overhead_at_one_step / interval if interval else 0.0
        copies = float(row["default_replicas"]) * float(row["host_copies_per_replica"])
        if not self._within(copies * inputs.state_bytes * paper.ranks_per_node, self.memory):
            raise RefusalError(Why.MEMORY)
        if inputs.max_restore_s is not None and not self._within(
            prediction.restore_s, inputs.max_restore_s
        ):
            raise RefusalError(Why.RESTORE)
        if inputs.max_pause_s is not None and not self._within(pause_s, inputs.max_pause_s):
            raise RefusalError(Why.PAUSE)
        if inputs.max_overhead is not None and not self._within(overhead, inputs.max_overhead):
            raise RefusalError(Why.OVERHEAD)
        lost_s = 0.5 * interval * self.step_s if interval else 0.0
        evidence = prediction.evidence
        if interval and interval != prediction.measured_interval:
            evidence = "E"
        expected_s = self._expected(overhead, pause_s + lost_s)
        return Offer(
            mechanism,
            interval,
            evidence,
            overhead,
            prediction.restore_s,
            expected_s,
            lost_s,
            pause_s,
        )

    def _expected(self, overhead: float, per_failure_s: float) -> float:
        """Eq. (5)."""
        run = self.duration_s * (1 + overhead)
        failures = run / self.inputs.mtbf_s
        return run + failures * per_failure_s

    def crossing(self, a: Offer, b: Offer) -> Crossing:
        """Where (1 + Oa)(M + Ca) = (1 + Ob)(M + Cb), intervals held."""
        assert a.lost_s is not None
        assert b.lost_s is not None
        cost_a, cost_b = a.pause_s + a.lost_s, b.pause_s + b.lost_s
        top = (1 + b.overhead) * cost_b - (1 + a.overhead) * cost_a
        bottom = a.overhead - b.overhead
        # The smaller overhead wins at long MTBF, the other one below the crossing.
        leaner, other = (a, b) if bottom <= 0 else (b, a)
        if bottom and top / bottom > 0:
            return Crossing(b.mechanism, top / bottom, other.mechanism)
        if not bottom and cost_b < cost_a:
            leaner = b
        return Crossing(b.mechanism, None, leaner.mechanism)

    # -- native degradation ----------------------------------------------------------------------

    def _native(self, mechanism: str) -> Offer:
        inputs, paper = self.inputs, self.paper
        if not paper.continues(inputs.architecture):
            raise RefusalError(Why.NOTHING_PRESERVED)
        if inputs.several_failures:
            seen = paper.several(inputs.architecture, None)
            latencies = [r for share, r in seen if share == 1 and r is not None]
            if not latencies:
                raise RefusalError(Why.NO_DATA)
            pause_s, evidence = max(latencies), "E"
        else:
            pause_s, evidence = self.detection_s, "D"
        if inputs.max_pause_s is not None and not self._within(pause_s, inputs.max_pause_s):
            raise RefusalError(Why.PAUSE)
        return Offer(mechanism, None, evidence, 0.0, None, None, None, pause_s)

    # -- prediction ------------------------------------------------------------------------------

    def _predict(self, mechanism: str) -> Prediction:
        inputs, paper = self.inputs, self.paper
        row = paper.mechanisms[mechanism]
        evidence = "M"
        tried = [p for p in paper.points if p.mechanism == mechanism]
        mine = [p for p in tried if p.architecture == inputs.architecture]
        if not any(self._holds(p, row) for p in mine):
            like = paper.alike(inputs.architecture)
            mine = [p for p in tried if p.architecture in like]
            evidence = "E"
        else:
            like = [inputs.architecture, *paper.alike(inputs.architecture)]
        usable = [p for p in mine if self._holds(p, row)]
        if not usable:
            raise RefusalError(Why.NO_DATA)
        point = min(usable, key=lambda p: ratio(p.state_bytes, inputs.state_bytes))
        distance = ratio(point.state_bytes, inputs.state_bytes)
        broken = [
            ratio(p.state_bytes, inputs.state_bytes)
            for p in tried
            if p.architecture in like and p.outcome in ("deadlock", "failed")
        ]
        if broken and not self._within(distance, min(broken)):
            raise RefusalError(Why.BROKE_OFF)
        assert point.overhead is not None
        overhead, restore_s = point.overhead, point.restore_s
        save_s, spread_s = point.save_s or 0.0, point.save_spread_s

        if not self._same(inputs.state_bytes, point.state_bytes):
            evidence = "E"
            transfer = paper.saves(mechanism)
            if not transfer.spans(inputs.state_bytes) and not self._within(distance, SIZE_LIMIT):
                raise RefusalError(Why.NO_DATA)
            factor = transfer(inputs.state_bytes) / transfer(point.state_bytes)
            overhead, save_s, spread_s = overhead * factor, save_s * factor, spread_s * factor
            if restore_s is not None:
                # A published restore is bytes over a rate (section V-G).
                restore_s *= inputs.state_bytes / point.state_bytes
        if inputs.calibrated:
            restore_s, fitted = self._calibrated(row["restore_path"])
            evidence = "E" if fitted else evidence
        assert restore_s is not None

        measured_step = paper.step_time(point.architecture, point.workload)
        if row["cadence"] != "on_warning" and measured_step is None:
            # Unpublished: the scenario's step has to be near the architecture's known one.
            known = paper.default_step_time(point.architecture)
            if not self._within(ratio(self.step_s, known), STEP_LIMIT):
                raise RefusalError(Why.NO_DATA)
        if point.architecture != inputs.architecture:
            slower = self._path_ratio(row["save_path"], point)
            overhead, save_s, spread_s = overhead * slower, save_s * slower, spread_s * slower
        rescaled = (
            row["cadence"] != "on_warning"
            and measured_step is not None
            and not self._same(self.step_s, measured_step)
        )
        if rescaled and measured_step is not None:
            evidence = "E"
            if not self._within(ratio(self.step_s, measured_step), STEP_LIMIT):
                raise RefusalError(Why.NO_DATA)
            overhead *= measured_step / self.step_s

        for path, rate, measured in (
            (row["save_path"], self.write, paper.bandwidth["storage_write"]),
            (row["restore_path"], self.read, paper.bandwidth["storage_read"]),
        ):
            if not path.startswith("storage") or self._same(rate, measured):
                continue
            evidence = "E"
            if not self._within(ratio(rate, measured), RATE_LIMIT):
                raise RefusalError(Why.NO_DATA)
            if path == "storage_write":
                overhead *= measured / rate
            else:
                restore_s *= measured / rate

        shortest = 1
        if row["cadence"] == "periodic":
            assert point.interval is not None
            # Ten times shorter in seconds.
            scale = measured_step / self.step_s if rescaled and measured_step else 1.0
            least_steps = point.interval * scale / SHORTER_INTERVAL_LIMIT
            self.on_edge |= scale != 1 and _whole(least_steps)
            shortest = max(math.ceil(least_steps), 1)
            if row["persist_path"] == "storage_write":
                # Inferred: the limit of 20 times does not apply to the write behind.
                background = inputs.state_bytes / self.write / self.step_s
                self.on_edge |= _whole(background)
                shortest = max(shortest, math.ceil(background))
        if row["cadence"] == "on_warning":
            restore_s += save_s
        return Prediction(
            overhead * (point.interval or 0),
            1 if row["cadence"] == "every_step" else None,
            point.interval,
            shortest,
            restore_s,
            save_s,
            save_s + spread_s,
            evidence,
        )

    def _holds(self, point: Point, row: Row) -> bool:
        """Whether the point can be used; an overhead without a step time only at its own size."""
        if not _usable(point, row):
            return False
        return (
            row["cadence"] == "on_warning"
            or self._same(self.inputs.state_bytes, point.state_bytes)
            or self.paper.step_time(point.architecture, point.workload) is not None
        )

    def _path_ratio(self, path: str, point: Point) -> float:
        """Save here over save there, of the first mechanism that was measured on both."""
        for other, row in self.paper.mechanisms.items():
            if row["save_path"] != path:
                continue
            here, there = (
                min(
                    (
                        p
                        for p in self.paper.points
                        if p.architecture == a
                        and p.mechanism == other
                        and p.outcome == "complete"
                        and p.save_s
                    ),
                    key=lambda p: ratio(p.state_bytes, point.state_bytes),
                    default=None,
                )
                for a in (self.inputs.architecture, point.architecture)
            )
            if here and there and ratio(here.state_bytes, there.state_bytes) <= 1 + SAME:
                assert here.save_s
                assert there.save_s
                return here.save_s / there.save_s
        return 1.0

    def _calibrated(self, path: str) -> tuple[float, bool]:
        """Within 2 % of a calibrated size its time; between two, on the line through them; beyond
        them in proportion to the nearest, up to the limit."""
        measured, wanted = sorted(self.paper.calibrations[path]), self.inputs.state_bytes
        for size, seconds in measured:
            if self._same(wanted, size):
                return seconds, False
        for (low, early), (high, late) in itertools.pairwise(measured):
            if low < wanted < high:
                return early + (wanted - low) / (high - low) * (late - early), True
        size, seconds = min(measured, key=lambda m: ratio(m[0], wanted))
        if not self._within(ratio(size, wanted), SIZE_LIMIT):
            raise RefusalError(Why.NO_DATA)
        return seconds * wanted / size, True

    # -- interval --------------------------------------------------------------------------------

    def _interval(self, prediction: Prediction, cadence: str, pause_s: float) -> int | None:
        if cadence == "on_warning":
            return None
        if prediction.fixed_interval is not None:
            return prediction.fixed_interval
        wanted, steps = self.inputs.interval, self.duration_s / self.step_s
        longest = max(math.floor(steps), 1)
        if wanted == "auto":
            best = self._best(prediction, pause_s, longest)
            self.on_edge |= best >= longest - 1 and _whole(steps)
            return best
        interval = prediction.measured_interval if wanted == "measured" else int(wanted)
        assert interval is not None
        self.on_edge |= abs(interval - longest) <= 1 and _whole(steps)
        if interval < prediction.shortest:
            raise RefusalError(Why.NO_DATA)
        if interval > longest:
            raise RefusalError(Why.LONGER_THAN_JOB)
        return interval

    def _best(self, prediction: Prediction, pause_s: float, longest: int) -> int:
        """The whole number of steps with the least Eq. (5) time between its bounds."""
        if prediction.shortest > longest:
            raise RefusalError(Why.NO_DATA)
        low = prediction.shortest
        cap = self.inputs.max_overhead
        if cap:
            keep = prediction.overhead_at_one_step / cap
            self.on_edge |= _whole(keep)
            low = max(low, math.ceil(keep))
        if low >= longest:
            return longest  # and its overhead is over the limit
        stall, mtbf = prediction.overhead_at_one_step, self.inputs.mtbf_s

        def varying(interval: int) -> float:
            # Eq. (5) per T0, less the parts that no interval changes: those would drown the rest.
            return stall / interval * (1 + pause_s / mtbf) + 0.5 * interval * self.step_s / mtbf

        return least(varying, low, longest)

    # -- small things ----------------------------------------------------------------------------

    def _frontier(self, offers: Iterable[Offer]) -> set[str]:
        """Who is beaten on neither overhead nor restore; equals stay together."""
        placed = [(o.mechanism, o.overhead, o.restore_s) for o in offers if o.restore_s is not None]
        for _, overhead, restore in placed:
            for _, overhead_2, restore_2 in placed:
                self.on_edge |= overhead != overhead_2 and _close(overhead, overhead_2)
                self.on_edge |= restore != restore_2 and _close(restore, restore_2)
        return {
            name
            for name, o, r in placed
            if not any(o2 <= o and r2 <= r and (o2 < o or r2 < r) for _, o2, r2 in placed)
        }

    def _within(self, value: float, limit: float) -> bool:
        self.on_edge |= _close(value, limit) and value != limit
        return value <= limit

    def _same(self, value: float, measured: float) -> bool:
        difference = abs(value - measured) / measured
        self.on_edge |= _close(difference, SAME)
        return difference <= SAME


def least(cost: Callable[[int], float], low: int, high: int) -> int:
    """Where a convex cost is least: ternary search, then every whole number around it."""
    left, right = low, high
    while right - left > 300:
        a = left + (right - left) // 3
        b = right - (right - left) // 3
        if cost(a) <= cost(b):
            right = b
        else:
            left = a
    candidates = range(max(low, left - 50), min(high, right + 50) + 1)
    best = min(candidates, key=cost)
    # Convex: falling before, rising after, looked at far and near.
    for far in (low, (low + best) // 2, (best + high) // 2, high):
        assert cost(best) <= cost(far)
    return best


def _usable(point: Point, row: Row) -> bool:
    """It has what a prediction needs: an overhead, and for a save on warning its time."""
    return (
        point.outcome == "complete"
        and point.overhead is not None
        and (row["cadence"] != "on_warning" or point.save_s is not None)
    )


def _given(value: float | None, default: float) -> float:
    return default if value is None else value


def _whole(value: float) -> bool:
    """So near a whole number that rounding decides between it and the next."""
    return abs(value - round(value)) < 1e-13 * value


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= EDGE * max(abs(a), abs(b))
