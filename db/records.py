"""What the database holds, as plain frozen dataclasses: the only types that `db` hands upwards.

Times are seconds, sizes bytes, fractions plain numbers (0.0048 is 0.48 %). A value that does not
exist (infinite, not run, ...) is None and says why in `missing_reason`; it is never 0, NaN or inf.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any


class Evidence(StrEnum):
    """Where one number comes from (paper, section V-H and Tables VII-XI)."""

    MEASURED = "measured"
    ANALYTICAL = "analytical"
    MEASURED_ANALYTICAL = "measured+analytical"
    DESIGN_VALUE = "design_value"
    LOWER_BOUND = "lower_bound"
    EXTRAPOLATED = "extrapolated"
    DERIVED = "derived"


class MissingReason(StrEnum):
    """Why a value is None."""

    INFINITE = "infinite"
    NOT_RUN = "not_run"
    UNDEFINED = "undefined"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    NOT_PUBLISHED = "not_published"


class DispersionKind(StrEnum):
    """What `dispersion`, or `low` and `high`, mean."""

    CI95_HALF_WIDTH = "ci95_half_width"
    HALF_RANGE = "half_range"
    RANGE = "range"


class PairStatus(StrEnum):
    """Compatibility of an (architecture, mechanism) pair (paper, Table II)."""

    VIABLE = "viable"
    DEGENERATE = "degenerate"
    INFEASIBLE = "infeasible"


class PointOutcome(StrEnum):
    """How the runs behind an operating point ended."""

    COMPLETE = "complete"
    DEADLOCK = "deadlock"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


class Cadence(StrEnum):
    """When a mechanism does its work."""

    PERIODIC = "periodic"
    EVERY_STEP = "every_step"
    ON_WARNING = "on_warning"
    AFTER_FAILURE = "after_failure"
    NEVER = "never"


class TransferPath(StrEnum):
    """The path that carries state when a mechanism saves, persists or restores it."""

    STORAGE_WRITE = "storage_write"
    STORAGE_READ = "storage_read"
    HOST_COPY = "host_copy"
    HOST_DEVICE = "host_device"
    PEER = "peer"
    NONE = "none"


class CampaignStatus(StrEnum):
    """Where a campaign stands; `stale` means that it was interrupted, or its heartbeat stopped: it
    can be gone on with."""

    PENDING = "pending"
    RUNNING = "running"
    STALE = "stale"
    FAILED = "failed"
    COMPLETE = "complete"


class CellStatus(StrEnum):
    """Where a planned cell stands; `stale` means that whoever ran it stopped before its end."""

    PENDING = "pending"
    RUNNING = "running"
    STALE = "stale"
    FAILED = "failed"
    COMPLETE = "complete"


MEASURED_SOURCE = "measured/"
"""How the id of a source begins that is a campaign of this program, and no publication."""


class RunValidity(StrEnum):
    """Whether a run may be used as evidence; `invalid` says why."""

    VALID = "valid"
    INVALID = "invalid"


class RunOutcome(StrEnum):
    """What a whole run showed; `invalid` says that it shows nothing."""

    COMPLETED = "completed"
    HALTED = "halted"
    GRACEFUL = "graceful"
    RECOVERED = "recovered"
    RESTARTED = "restarted-from-zero"
    HANG = "hang"
    INFEASIBLE = "infeasible"
    INVALID = "invalid"


class Detector(StrEnum):
    """Who tells the ranks of a run that one of them is lost."""

    GROUP_TIMEOUT = "group-timeout"
    SUPERVISOR = "supervisor"


class Way(StrEnum):
    """How a run was to be brought back after a loss."""

    SPARE = "spare"
    SMALLER = "smaller"
    RESTART = "restart"


class FailureDomain(StrEnum):
    """The largest that the faults of a run on several nodes took at once."""

    RANK = "rank"
    NODE = "node"


class RecoveryWay(StrEnum):
    """How one recovery brought training back: a way, or what came of it."""

    SPARE = "spare"
    STARTED = "started"
    SMALLER = "smaller"
    GROWN = "grown"
    RESTART = "restart"


class FaultOutcome(StrEnum):
    """What became of the training after one fault."""

    RECOVERED = "recovered"
    DEGRADED = "degraded"
    HALTED = "halted"
    COORDINATOR_LOST = "coordinator_lost"
    NOT_FIRED = "not_fired"


class Phase(StrEnum):
    """One timed part of a recovery, in the order in which they happen."""

    DETECT = "detect"
    STOP = "stop"
    ELECT = "elect"
    REBUILD = "rebuild"
    INITIALISE = "initialise"
    RESTORE = "restore"
    CHECK = "check"
    RESUME = "resume"


class CalibrationQuantity(StrEnum):
    """What a calibration measured; the name carries the unit."""

    DURATION = "duration_s"
    BANDWIDTH = "bandwidth_bytes_per_s"


class CalibrationPath(StrEnum):
    """What a calibration of our own times: bytes on a path, a group, a start, or a real restore."""

    STORAGE_WRITE = "storage_write"
    STORAGE_READ = "storage_read"
    HOST_COPY = "host_copy"
    HOST_TO_DEVICE = "host_to_device"
    DEVICE_TO_HOST = "device_to_host"
    PEER = "peer"
    SERIALISE = "serialise"
    DESERIALISE = "deserialise"
    VERIFY = "verify"
    GROUP_FORMATION = "group_formation"
    PROCESS_START = "process_start"
    RESTORE_STORAGE = "restore_storage"
    RESTORE_OWN = "restore_own"
    RESTORE_PEER = "restore_peer"


class SamplePurpose(StrEnum):
    """What a sample of a calibration is for: its fits, or a check of what they predict."""

    FIT = "fit"
    CHECK = "check"


class FitModel(StrEnum):
    """What the durations of a path follow: bytes, ranks, or nothing (a mean)."""

    BYTES = "bytes"
    RANKS = "ranks"
    MEAN = "mean"


class Quantity(StrEnum):
    """Every quantity that an operating point can hold; the name carries the unit."""

    OVERHEAD = "overhead_fraction"
    SAVE = "save_s"
    RESTORE = "restore_s"
    EFFECTIVE_RESTORE = "effective_restore_s"
    LOST_STEPS = "lost_steps"
    THROUGHPUT = "samples_per_s_per_rank"
    POST_FAILURE_THROUGHPUT = "post_failure_samples_per_s_per_rank"
    AGGREGATE_SLOWDOWN = "aggregate_slowdown_fraction"
    DETECTION = "detection_s"
    RECOVERY = "recovery_s"
    RESUMED = "resumed_fraction"


class Arrivals(StrEnum):
    """How failures follow each other: memoryless, or with a shape of their own."""

    POISSON = "poisson"
    WEIBULL = "weibull"


class FailureScope(StrEnum):
    """What a rate of failures is a rate of. Rates of different scopes are never put together."""

    NODE = "node"
    """Failures of nodes, whether or not a job was there."""
    JOB = "job"
    """Unexpected interruptions of jobs."""
    ALL = "all-interruptions"
    """Every interruption, the planned ones too."""


class ValidationRole(StrEnum):
    """What a run of a validation is there for."""

    SELECTED = "selected"
    """The mechanism that was recommended."""
    RUNNER_UP = "runner_up"
    CANDIDATE = "candidate"
    """Another one that was admitted."""
    REFERENCE = "reference"
    """No mechanism: what it would have been without."""


class DrillResult(StrEnum):
    """What became of a drill."""

    PLANNED = "planned"
    PASSED = "passed"
    FAILED = "failed"


class RunQuantity(StrEnum):
    """Every quantity that one run can hold; the name carries the unit."""

    STEP = "step_s"
    THROUGHPUT = "samples_per_s_per_rank"
    POST_FAILURE_STEP = "post_failure_step_s"
    POST_FAILURE_THROUGHPUT = "post_failure_samples_per_s_per_rank"
    AGGREGATE_SLOWDOWN = "aggregate_slowdown_fraction"
    FIRST_DETECTION = "first_detection_s"
    DETECTION = "detection_s"
    GROUP_FORMATION = "group_formation_s"
    PEAK_MEMORY = "peak_memory_bytes"
    FIRST_LOSS = "first_loss"
    LOSS_BEFORE_FAULT = "loss_before_fault"
    FINAL_LOSS = "final_loss"
    SAVE_FOREGROUND = "save_foreground_s"
    SAVE_BACKGROUND = "save_background_s"
    OVERHEAD = "overhead_fraction"
    OVERLAP = "overlap_factor"
    EMERGENCY = "emergency_s"
    EMERGENCY_SAVE = "emergency_save_s"
    RESTORE = "restore_s"
    RECOVERY = "recovery_s"
    RECOVERY_TOTAL = "recovery_total_s"
    LOST_STEPS = "lost_steps"
    PRODUCTIVE = "productive_s"
    SAVING = "saving_s"
    DETECTING = "detecting_s"
    RECOVERING = "recovering_s"
    LOST = "lost_s"
    SHARED_MEMORY = "shared_memory_bytes"


@dataclass(frozen=True, slots=True)
class EvidencedValue:
    """One number with all that is known of where it comes from."""

    value: float | None
    evidence: Evidence
    missing_reason: MissingReason | None = None
    n: int | None = None
    dispersion: float | None = None
    dispersion_kind: DispersionKind | None = None
    low: float | None = None
    high: float | None = None
    conditions: str = ""
    source_id: str | None = None
    run_id: str | None = None
    table_ref: str = ""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What one mechanism costs on one architecture under stated conditions."""

    point_id: str
    cluster: str
    architecture: str
    mechanism: str
    workload: str
    state_bytes: int
    software_stack: str | None = None
    batch_per_rank: int | None = None
    interval_steps: int | None = None
    replicas: int | None = None
    lead_s: float | None = None
    trace: str | None = None
    storage: str | None = None
    group_timeout_s: float | None = None
    world_size: int | None = None
    outcome: PointOutcome = PointOutcome.COMPLETE
    note: str = ""
    values: Mapping[Quantity, EvidencedValue] = field(default_factory=dict)
    superseded_by: str | None = None
    """The newest software stack, where the point was measured under an older one."""
    nodes: int | None = None
    """None: all ranks were on one node, or the source does not say."""
    failure_domain: str | None = None
    """The largest that its faults took at once; None as for `nodes`, or there was no fault."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A training architecture and what it is capable of (names as in measure/interfaces)."""

    architecture_id: str
    name: str
    description: str
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A fault-tolerance mechanism, described by what it does rather than by its name.

    `save_path` is what a save puts on the critical path, `persist_path` what goes on behind it,
    `restore_path` what a restore waits for. Copies are of one rank's state, per replica.
    """

    mechanism_id: str
    name: str
    family: str
    description: str
    cadence: Cadence
    save_path: TransferPath
    persist_path: TransferPath
    restore_path: TransferPath
    default_replicas: int
    host_copies_per_replica: int
    device_copies_per_replica: int


@dataclass(frozen=True, slots=True)
class Compatibility:
    architecture: str
    mechanism: str
    status: PairStatus
    reason: str


@dataclass(frozen=True, slots=True)
class Cluster:
    cluster: str
    description: str
    nodes: int
    ranks_per_node: int
    device: str
    device_memory_bytes: int | None
    host_memory_bytes: int | None
    interconnect: str
    storage: str
    source_id: str | None = None


@dataclass(frozen=True, slots=True)
class SoftwareStack:
    """The versions that a cluster ran, and the stack that took their place, if one did."""

    software_stack: str
    cluster: str
    torch: str
    cuda: str
    nccl: str
    python: str
    source_id: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A standalone measurement of one transfer path of a cluster (paper, Table III and text).

    `quantity` is `duration_s` (then `size_bytes` is set) or `bandwidth_bytes_per_s`.
    """

    calibration_id: str
    cluster: str
    path: TransferPath
    quantity: str
    size_bytes: int | None
    value: EvidencedValue


@dataclass(frozen=True, slots=True)
class FittedNumber:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """What a path of a cluster takes: latency + bytes or ranks times their share (seconds).

    `processes` use the path at once, and bytes are those of one of them; 0 where their number is
    what varies (`ranks`). A `mean` is all latency. `spread_fraction` is that of one sample.
    """

    session: str
    started_at: str
    path: CalibrationPath
    processes: int
    model: FitModel
    n: int
    outliers: int
    spread_fraction: float
    latency_s: FittedNumber
    s_per_byte: FittedNumber | None
    s_per_rank: FittedNumber | None
    smallest_bytes: int | None
    largest_bytes: int | None
    conditions: str
    source_id: str | None

    def duration_s(self, size_bytes: float) -> float:
        """What these bytes take (s); of a path that moves none, the latency."""
        return (
            self.latency_s.value + (self.s_per_byte.value if self.s_per_byte else 0.0) * size_bytes
        )


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """One measured duration (s), in the order in which they were measured."""

    path: CalibrationPath
    size_bytes: int | None
    processes: int
    purpose: SamplePurpose
    duration_s: float


@dataclass(frozen=True, slots=True)
class CalibrationCheck:
    """A real restore (sample number `ordinal`), what the fits said that it would take (s), and how
    it was made."""

    ordinal: int
    predicted_s: float
    conditions: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    source_id: str
    citation: str
    url: str
    published_on: str


@dataclass(frozen=True, slots=True)
class ValidatedRun:
    """One candidate of a validation. Times in seconds, of the whole job.

    `step_time_s` is the one that it was predicted with, measured just before it ran; None where
    nothing was predicted. `planned_step_time_s` is the one of the whole validation, by which was
    decided what to try.

    `observed_s` None: it did not run yet, or did not finish its training (`outcome` says which).
    """

    validation: str
    name: str
    created_at: str
    architecture: str
    scenario: str
    mtbf_s: float
    planned_step_time_s: float
    step_time_s: float | None
    steps: int
    arrivals: Arrivals
    shape: float
    seed: int
    covered_s: float
    mechanism: str
    role: ValidationRole
    interval_steps: int | None
    evidence: str
    predicted_s: float | None
    failures_expected: float | None
    observed_s: float | None
    failures: int | None
    outcome: str
    run_id: str

    @property
    def error_fraction(self) -> float | None:
        """Predicted / observed - 1; None without both."""
        if self.predicted_s is None or self.observed_s is None:
            return None
        return self.predicted_s / self.observed_s - 1.0

    @property
    def outlasted_faults(self) -> bool:
        """Whether it trained for longer than failures had been drawn for."""
        return self.observed_s is not None and self.observed_s > self.covered_s


@dataclass(frozen=True, slots=True)
class Drilled:
    """One drill that was tried on a cluster, and what it showed.

    `expected` are the run outcomes that would do, `reason` why it failed. Without a run that could
    be stored, `outcome` and `wall_s` (seconds) are None, and `tried_at` is when it was planned.
    """

    drill: str
    architecture: str
    mechanism: str
    run_id: str
    campaign: str
    tried_at: str
    result: DrillResult
    reason: str
    expected: tuple[str, ...]
    outcome: str | None
    wall_s: float | None
    deadline_s: float


@dataclass(frozen=True, slots=True)
class StruckRun:
    """A valid run that a fault struck, or that was a drill.

    `sources` are the tiers that its recoveries restored from, in their order ('' where training
    began anew); `lost_steps` is the most that one of them lost, None without any. `detection_s`
    None: nobody noticed, or nobody can say when.
    """

    run_id: str
    architecture: str
    mechanism: str
    trace: str | None
    outcome: str
    started_at: str
    detection_s: float | None
    sources: tuple[str, ...]
    lost_steps: int | None
    is_drill: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Which operating points were read of a cluster that has very many (db/excerpt.py).

    `read` of the `held` ones that count on these architectures, those nearest to the state size
    (B); of other architectures none.
    """

    architectures: tuple[str, ...]
    state_bytes: int
    held: int
    read: int


@dataclass(frozen=True, eq=False)
class ClusterEvidence:
    """All that one database knows of one cluster; what the decision core reads.

    Immutable, and compared by identity, so that what is computed from it can be kept beside it.
    """

    cluster: Cluster
    architectures: Mapping[str, Architecture]
    mechanisms: Mapping[str, Mechanism]
    compatibility: Mapping[tuple[str, str], Compatibility]
    points: tuple[OperatingPoint, ...]
    calibrations: tuple[Calibration, ...]
    sources: Mapping[str, Source]
    fits: tuple[CalibrationFit, ...] = ()
    """Of all the calibrations that were made on the cluster, oldest first."""
    validations: tuple[ValidatedRun, ...] = ()
    """What was predicted there, and what live runs of it took; oldest first."""
    stacks: Mapping[str, SoftwareStack] = field(default_factory=dict)
    """The software stacks of the cluster, by name."""
    set_aside: tuple[OperatingPoint, ...] = ()
    """Points of superseded software stacks in whose place newer ones stand (db/stacks.py); no
    answer is given from them."""
    excerpt: Excerpt | None = None
    """What was read, where that is not all; None is everything."""
    gone_back_to: tuple[tuple[str, str], ...] = ()
    """Superseded software stacks that were measured last, each with the one marked as newer."""
    drills: tuple[Drilled, ...] = ()
    """The drills that were tried there, oldest first."""

    @cached_property
    def points_by_pair(self) -> Mapping[tuple[str, str], tuple[OperatingPoint, ...]]:
        """The points of each (architecture, mechanism), in their order."""
        found: dict[tuple[str, str], list[OperatingPoint]] = {}
        for point in self.points:
            found.setdefault((point.architecture, point.mechanism), []).append(point)
        return {pair: tuple(points) for pair, points in found.items()}

    @cached_property
    def kept(self) -> dict[tuple[str, tuple[object, ...]], Any]:
        """What others computed from this evidence, kept for as long as it lives."""
        return {}

    def points_of(self, architecture: str, mechanism: str) -> tuple[OperatingPoint, ...]:
        """The points of one pair; none where it was not measured."""
        return self.points_by_pair.get((architecture, mechanism), ())

    def with_pair(
        self, architecture: str, mechanism: str, points: Mapping[str, OperatingPoint]
    ) -> "ClusterEvidence":
        """The same evidence, of one pair with these points only, by id, each in the place of the
        one that has its id now. What was computed of it is not kept."""
        pair = (architecture, mechanism)
        left_out = {p.point_id for p in self.points_of(*pair)} - points.keys()
        listed = (p for p in self.points if p.point_id not in left_out)
        other = replace(self, points=tuple(points.get(p.point_id, p) for p in listed))
        # The other pairs are as they were: nothing looks at all points again.
        of_pair = (points[p.point_id] for p in self.points_of(*pair) if p.point_id in points)
        by_pair = {**self.points_by_pair, pair: tuple(of_pair)}
        other.__dict__["points_by_pair"] = {key: held for key, held in by_pair.items() if held}
        return other


@dataclass(frozen=True, slots=True)
class TextValue:
    """A number that a source states in its text, outside its tables; `unit` as printed there."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    meaning: str
    evidence: Evidence
    source_id: str
    table_ref: str


@dataclass(frozen=True, slots=True)
class PublishedCount:
    """How many tuples a source says that it covers, to hold our own count against."""

    name: str
    count: int
    table_ref: str
    source_id: str
    note: str


@dataclass(frozen=True, slots=True)
class PublishedSelection:
    """One row of a source's decision table (paper, Table XII), to hold our answer against."""

    row_id: str
    architecture_class: str
    architectures: str
    state_label: str
    failure_regime: str
    binding_constraint: str
    selected_mechanism: str | None
    interval_steps: int | None
    overhead_label: str
    latency_label: str
    evidence: str
    source_id: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs. What schema 0001 did not know of a run is None.

    `values` has a None for a number that the run should have but has not; a detection that was
    given up has its deadline in `censored_at_s`.
    """

    run_id: str
    campaign: str
    cluster: str
    software_stack: str | None
    architecture: str
    mechanism: str
    workload: str
    trace: str | None
    seed: int
    world_size: int
    state_bytes: int | None
    interval_steps: int | None
    replicas: int | None
    way: str | None
    profile: str | None
    device: str | None
    backend: str | None
    detector: Detector | None
    group_timeout_s: float | None
    outcome: RunOutcome | None
    infeasible_reason: str | None
    equivalent: bool | None
    validity: RunValidity
    validity_reason: str
    steps_planned: int | None
    steps_completed: int | None
    ranks_before: int | None
    ranks_after: int | None
    started_at: str
    wall_s: float
    note: str
    point_id: str | None
    censored_at_s: float | None
    values: Mapping[RunQuantity, float | None]


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a lost worker does to an architecture without a mechanism (paper, Table V).

    `halts` is None where nobody knows; `backend` and `detector` are known of measured runs only.
    """

    point_id: str
    architecture: str
    mechanism: str
    workload: str
    trace: str | None
    world_size: int | None
    group_timeout_s: float | None
    backend: str | None
    detector: str | None
    n: int | None
    halts: bool | None
    throughput: EvidencedValue | None
    detection: EvidencedValue | None
    post_failure_throughput: EvidencedValue
    aggregate_slowdown: EvidencedValue | None
    resumed: EvidencedValue | None
    superseded_by: str | None = None
    """The software stack that is newer than the one that this was measured under."""


@dataclass(frozen=True, slots=True)
class FailureEstimate:
    """What a log said of how often jobs or nodes fail, under a name; times in seconds."""

    name: str
    created_at: str
    log_format: str
    scope: FailureScope
    counted: str
    """Which interruptions were failures: infra, infra+abort or all."""
    nodes: float | None
    """The size that the MTBF is for; None where the log does not say any."""
    failures: int
    at_risk_s: float
    mtbf_s: float | None
    """None without a failure, as `high_s`: `low_s` is a bound then."""
    low_s: float
    high_s: float | None


@dataclass(frozen=True, slots=True)
class RecommendationSummary:
    """One line of the list of saved recommendations."""

    recommendation_id: str
    scenario_id: str
    scenario_name: str
    cluster: str
    created_at: str
    advisor_version: str


@dataclass(frozen=True, slots=True)
class SavedRecommendation:
    """A recommendation as it was given: nothing in it changes when the evidence does.

    `inputs`, `result` and `points` (point id to snapshot) are the JSON objects that were saved.
    """

    summary: RecommendationSummary
    inputs_sha256: str
    schema_revision: str
    data_version: str
    inputs: Mapping[str, object]
    result: Mapping[str, object]
    points: Mapping[str, Mapping[str, object]]
