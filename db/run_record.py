"""Reads run records, the files by which the measuring harness hands over what it saw.

One record is one JSON object in one file, `record.json`, of one run. What it may hold is also in
data/schemas/run-record-1.schema.json, which is made from the models below.
"""

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from db.errors import InvalidDataError, UnreadableError
from db.records import (
    Detector,
    FailureDomain,
    FaultOutcome,
    Phase,
    RecoveryWay,
    RunOutcome,
    RunValidity,
    Way,
)
from db.rows import FilledText, FromOne, Id, Text, Whole

RECORD = "failbench-run"
VERSION = 1
INTERRUPTED = "interrupted"
"""The reason of a run that its harness was told to end: it did not run to its end."""
LARGEST_FILE_BYTES = 20_000_000
MOST_SERIES_POINTS = 2_000
_LARGEST = 1e290
_MOST_ITEMS = 10_000

Number = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
FromZero = Annotated[float, Field(ge=0, le=_LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=_LARGEST, allow_inf_nan=False)]
Utc = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", max_length=20)
]
# What a library said when it failed: kept as it is, since no column takes it.
Said = Annotated[str, StringConstraints(max_length=100_000)]
Slowdown = Annotated[float, Field(ge=-_LARGEST, le=1, allow_inf_nan=False)]


_Words = Annotated[tuple[FilledText, ...], Field(strict=False, max_length=1000)]


class Part(BaseModel):
    """Base of every part of a record: unknown keys and converted types are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CampaignPart(Part):
    campaign: Id
    command: FilledText
    seed: Whole
    created_at: Utc


class ClusterPart(Part):
    cluster: Id
    description: Text
    nodes: FromOne
    ranks_per_node: FromOne
    device: Text
    device_memory_bytes: FromOne | None
    host_memory_bytes: FromOne | None
    interconnect: Text
    storage: Text


class EnvironmentPart(Part):
    host: Text
    kernel: Text
    python: Text
    torch: Id
    cuda: Text
    nccl: Text
    cpu: Text
    cores: FromOne
    threads_per_rank: FromOne
    rank_scheduling: Text = ""
    package_version: Text
    commit: Text


class CellPart(Part):
    architecture: Id
    mechanism: Id
    trace: FilledText | None
    profile: Literal["smoke", "cpu", "paper"]
    workload: Id
    workload_name: FilledText
    optimizer: Text
    batch_per_rank: FromOne
    seed: Whole
    world_size: FromOne
    steps: FromOne
    dropped_steps: Whole
    group_timeout_s: Positive
    detector: Annotated[Detector, Field(strict=False)]
    round_limit_s: Positive
    spacing_s: FromZero | None
    interval_steps: FromOne | None
    replicas: Whole | None
    way: Annotated[Way | None, Field(strict=False)] = None
    lead_s: FromZero | None
    device: Literal["cpu", "cuda"]
    backend: Literal["gloo", "nccl"]


class RankPart(Part):
    rank: Whole
    end: Literal["finished", "killed", "hung", "raised", "stopped"]
    exit_code: int | None
    steps: Whole
    peak_memory_bytes: Whole | None
    state_bytes: Whole | None
    error: Said
    where: Text = ""


class AtTime(Part):
    time_s: FromZero


class AtStep(Part):
    step: Whole


class AfterFirst(Part):
    after_s: FromZero


class AtPhase(Part):
    phase: Literal["starting", "forming-groups", "noticing", "electing", "restoring", "checking"]


class DetectionPart(Part):
    rank: Whole
    after_s: FromZero
    how: Literal[
        "connection closed", "group timeout", "supervisor", "time limit", "raised", "monitor"
    ]


class FaultPart(Part):
    ordinal: Whole
    kind: Literal[
        "crash",
        "hang",
        "exception",
        "node-crash",
        "partition",
        "coordinator-loss",
        "store-loss",
        "straggler",
        "skipped-update",
        "wrong-rng",
        "partial-restore",
        "flip-parameter",
        "flip-gradient",
        "flip-buffer",
        "flip-replica",
        "full-storage",
        "slow-storage",
        "corrupt-shard",
        "missing-shard",
        "corrupt-manifest",
    ]
    rank: Whole
    planned: AtTime | AtStep | AfterFirst | AtPhase
    lead_s: FromZero | None
    fired: bool
    at_s: FromZero
    step: Whole | None
    detections: Annotated[tuple[DetectionPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    first_detected_s: FromZero | None
    detected_s: FromZero | None
    censored: bool
    outcome: Annotated[FaultOutcome, Field(strict=False)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [*self._firing_problems(), *self._time_problems()]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _firing_problems(self) -> list[str]:
        problems = []
        if self.fired == (self.outcome is FaultOutcome.NOT_FIRED):
            problems.append("a fault that has not fired, and no other, has the outcome not_fired")
        seen = self.detections or self.detected_s is not None or self.first_detected_s is not None
        if not self.fired and (seen or self.censored):
            problems.append("a fault that has not fired cannot be detected")
        return problems

    def _time_problems(self) -> list[str]:
        problems = []
        if self.censored and self.detected_s is None:
            problems.append("a censored detection needs detected_s, the deadline")
        first, last = self.first_detected_s, self.detected_s
        if first is not None and last is not None and first > last:
            problems.append("first_detected_s is after detected_s")
        if _repeated(each.rank for each in self.detections):
            problems.append("a rank detects a fault once")
        return problems


class PhasePart(Part):
    fault: Whole
    phase: Annotated[Phase, Field(strict=False)]
    duration_s: FromZero


class PassedPart(Part):
    interface: FilledText
    sent_bytes: Whole
    received_bytes: Whole


class NodePart(Part):
    node: Whole
    host: Text
    address: Text
    ranks: Annotated[tuple[Whole, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    lost: Literal["node-crash", "partition"] | None
    lost_s: FromZero | None
    interface: Text
    recovery_interface: Text
    interface_chosen: bool
    passed: Annotated[tuple[PassedPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    replica_bytes_sent: Whole
    replica_bytes_fetched: Whole


class NodesPart(Part):
    """Where the ranks of a run were, if on several nodes."""

    failure_domain: Annotated[FailureDomain | None, Field(strict=False)]
    node_losses_survived: Whole | None
    members: Annotated[
        tuple[NodePart, ...], Field(strict=False, min_length=2, max_length=_MOST_ITEMS)
    ]


class SuspicionPart(Part):
    """What a monitor found, once for all ranks, beside the fault that it answers."""

    at_s: FromZero
    step: Whole
    proved_step: Whole
    ranks: Annotated[tuple[Whole, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    why: Said
    kind: Literal["divergence", "corruption", "not-finite", "loss-spike", "straggler"]
    severity: Literal["stop", "report"]
    fault: Whole | None
    after_s: FromZero | None
    after_steps: Whole | None
    right_rank: bool | None


class MonitoringPart(Part):
    """What one monitor of a run did, and what it cost."""

    monitor: Id
    interval_steps: FromOne
    checks: Whole
    s_per_step: FromZero | None
    waited_s_per_step: FromZero | None
    overhead_fraction: FromZero | None
    suspicions: Annotated[tuple[SuspicionPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    false_alarms: Whole


class StepPart(Part):
    n: FromOne
    median: FromZero
    mean: FromZero
    p95: FromZero
    ci95_half_width: FromZero | None


class WindowPart(Part):
    from_s: FromZero
    to_s: FromZero
    ranks: FromOne
    steps: Whole
    step_s: StepPart
    samples_per_s_per_rank: FromZero


class LossPart(Part):
    first: Number | None
    before_fault: Number | None
    last: Number | None


class SavePart(Part):
    path: FilledText
    count: Whole
    skipped: Whole
    failed: Whole
    foreground_s: StepPart | None
    background_s: StepPart | None
    bytes_per_save: FromZero | None


class OverheadPart(Part):
    fraction: Annotated[float, Field(gt=-1, le=_LARGEST, allow_inf_nan=False)]
    low: Number | None
    high: Number | None
    pairs: FromOne
    baseline_step_s: FromZero
    overlap_factor: Number | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high belong together")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low is above high")
        return self


class EmergencyPart(Part):
    fault: Whole | None
    lead_s: FromZero
    took_s: FromZero | None
    save_s: FromZero | None
    bytes: Whole | None
    within_lead: bool


_PhaseTime = Annotated[tuple[Annotated[Phase, Field(strict=False)], FromZero], Field(strict=False)]


class RecoveryPart(Part):
    generation: Whole
    way: Annotated[RecoveryWay, Field(strict=False)]
    source: Text
    step: Whole
    lost_steps: Whole
    lost_s: FromZero
    world_size: FromOne
    faults: Annotated[tuple[Whole, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    # The suspicion that it answers; older records, and recoveries from losses, have none.
    why: Said = ""
    total_s: FromZero | None
    phases: Annotated[tuple[_PhaseTime, ...], Field(strict=False, max_length=_MOST_ITEMS)]

    def phase_s(self, phase: Phase) -> float | None:
        """The seconds of one phase; None if it was not reached."""
        found = [seconds for name, seconds in self.phases if name is phase]
        return sum(found) if found else None


class IncidentPart(Part):
    incident: Whole
    generation: Whole
    at_s: FromZero
    step: Whole
    proved_step: Whole
    monitors: _Words
    kinds: _Words
    suspects: Annotated[tuple[Whole, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    scope: Literal["report", "retry", "rebuild", "rollback", "halt"]
    not_after: Whole | None
    restored_step: Whole | None
    quarantined: Annotated[tuple[Whole, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    why: Said
    folder: Text
    not_kept: Said
    count: FromOne


class TimesPart(Part):
    productive_s: FromZero
    save_s: FromZero
    detect_s: FromZero
    recover_s: FromZero
    lost_s: FromZero
    wall_s: FromZero


_Instants = Annotated[tuple[FromZero, ...], Field(strict=False, max_length=MOST_SERIES_POINTS)]


class SeriesPart(Part):
    t_s: _Instants
    step: Annotated[tuple[Whole, ...], Field(strict=False, max_length=MOST_SERIES_POINTS)]
    step_s: _Instants
    loss: Annotated[tuple[Number | None, ...], Field(strict=False, max_length=MOST_SERIES_POINTS)]
    samples_per_s: _Instants

    @model_validator(mode="after")
    def _equally_long(self) -> Self:
        lengths = {len(getattr(self, name)) for name in type(self).model_fields}
        if len(lengths) > 1:
            raise ValueError("its lists are not equally long")
        return self


class Record(Part):
    """One run, as its file holds it; times are seconds since the run began."""

    record: Literal["failbench-run"]
    version: Literal[1]
    run_id: Id
    campaign: CampaignPart
    cluster: ClusterPart
    environment: EnvironmentPart
    cell: CellPart
    schedule: dict[str, Any]
    started_at: Utc
    wall_s: FromZero
    training_started_s: FromZero | None
    groups_s: FromZero | None
    outcome: Annotated[RunOutcome, Field(strict=False)]
    validity: Annotated[RunValidity, Field(strict=False)]
    validity_reasons: _Words
    notes: _Words
    state_bytes: FromOne | None
    steps_completed: Whole
    ranks: Annotated[tuple[RankPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    faults: Annotated[tuple[FaultPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    phases: Annotated[tuple[PhasePart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    before: WindowPart | None
    after: WindowPart | None
    aggregate_slowdown_fraction: Slowdown | None
    loss: LossPart
    peak_memory_bytes: Whole | None
    series: SeriesPart
    # What follows is in every record since mechanisms are measured; older ones lack it.
    infeasible_reason: Said | None = None
    equivalent: bool = True
    saves: Annotated[tuple[SavePart, ...], Field(strict=False, max_length=_MOST_ITEMS)] = ()
    overhead: OverheadPart | None = None
    emergency: Annotated[
        tuple[EmergencyPart, ...], Field(strict=False, max_length=_MOST_ITEMS)
    ] = ()
    recoveries: Annotated[
        tuple[RecoveryPart, ...], Field(strict=False, max_length=_MOST_ITEMS)
    ] = ()
    lineage: Annotated[tuple[dict[str, Any], ...], Field(strict=False, max_length=_MOST_ITEMS)] = ()
    times: TimesPart | None = None
    shared_memory_bytes: Whole | None = None
    nodes: NodesPart | None = None
    monitoring: Annotated[
        tuple[MonitoringPart, ...], Field(strict=False, max_length=_MOST_ITEMS)
    ] = ()
    incidents: Annotated[tuple[IncidentPart, ...], Field(strict=False, max_length=_MOST_ITEMS)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [
            *self._validity_problems(),
            *self._reference_problems(),
            *self._mechanism_problems(),
        ]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _mechanism_problems(self) -> list[str]:
        problems = []
        if self.infeasible_reason is not None and self.outcome is not RunOutcome.INFEASIBLE:
            problems.append("infeasible_reason needs the outcome infeasible")
        if _repeated(each.path for each in self.saves):
            problems.append("a path of saves is listed twice")
        if _repeated(each.generation for each in self.recoveries):
            problems.append("a generation is recovered once")
        named = {fault for each in self.recoveries for fault in each.faults}
        named |= {each.fault for each in self.emergency if each.fault is not None}
        if any(fault >= len(self.faults) for fault in named):
            problems.append("a recovery or an emergency save refers to a fault that is not there")
        return problems + self._monitoring_problems()

    def _monitoring_problems(self) -> list[str]:
        problems = []
        if _repeated(each.monitor for each in self.monitoring):
            problems.append("a monitor is listed twice")
        answered = {found.fault for each in self.monitoring for found in each.suspicions} - {None}
        if any(fault is not None and fault >= len(self.faults) for fault in answered):
            problems.append("a suspicion refers to a fault that is not there")
        return problems

    def _validity_problems(self) -> list[str]:
        valid = self.validity is RunValidity.VALID
        problems = []
        if valid == bool(self.validity_reasons):
            problems.append("validity_reasons say why a run is invalid, and nothing else")
        if valid and self.outcome is RunOutcome.INVALID:
            problems.append("the outcome invalid needs the validity invalid")
        return problems

    def _reference_problems(self) -> list[str]:
        problems = []
        if [fault.ordinal for fault in self.faults] != list(range(len(self.faults))):
            problems.append("the ordinals of faults are not 0, 1, 2, ...")
        if any(phase.fault >= len(self.faults) for phase in self.phases):
            problems.append("a phase refers to a fault that is not there")
        ranks = [each.rank for each in self.ranks]
        # A process that took a dead rank's place has a number of its own, beyond the world size.
        struck = [fault.rank for fault in self.faults]
        if any(rank >= self.cell.world_size for rank in struck):
            problems.append(f"a rank is not below the world size of {self.cell.world_size}")
        seen = {each.rank for fault in self.faults for each in fault.detections}
        if ranks and not seen | set(struck) <= set(ranks):
            problems.append("a fault names a rank that is not among the ranks")
        if _repeated(ranks):
            problems.append("a rank is listed twice")
        return problems


def _repeated(values: Any) -> bool:
    return any(count > 1 for count in Counter(values).values())


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A valid record with the text that it was read from, and that text's digest."""

    path: Path
    record: Record
    text: str
    sha256: str


def read_record(path: Path) -> RecordFile:
    """Reads one file. Raises InvalidDataError: one line with path, field and what is wrong."""
    text, digest = read_text(path)
    return RecordFile(path, parse_record(text, str(path)), text, digest)


def read_text(path: Path) -> tuple[str, str]:
    """A record's text, and the digest of its bytes. Raises InvalidDataError."""
    content = _content(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{path}: not UTF-8 text (byte {error.start})") from error
    return text, _sha256(content)


def _content(path: Path) -> bytes:
    """The file's bytes; at most LARGEST_FILE_BYTES are read, whatever its size claims to be."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE_BYTES:
        raise InvalidDataError(f"{path}: larger than {LARGEST_FILE_BYTES // 10**6} MB")
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parse_record(text: str, name: str) -> Record:
    """The record in a text; `name` is how messages call it. Raises InvalidDataError."""
    return parse_as(Record, "run record", (RECORD, VERSION), text, name)


P = TypeVar("P", bound=Part)


def parse_as(model: type[P], what: str, kind: tuple[str, int], text: str, name: str) -> P:
    """The same for any kind of record, which its keys `record` and `version` tell."""
    try:
        found = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(f"{name}: not a JSON record: {_one_line(str(error))}") from error
    if not isinstance(found, dict) or found.get("record") != kind[0]:
        raise InvalidDataError(f"{name}: not a {what}: its key `record` is not {kind[0]!r}")
    version = found.get("version")
    if version != kind[1] or isinstance(version, bool):
        raise InvalidDataError(f"{name}: version {version!r:.80} is unknown; known is {kind[1]}")
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise InvalidDataError(_explained(name, error.errors())) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    """JSON may write 1e999, which Python reads as infinity."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is larger than any number")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice would otherwise hide its first value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"key {repeated[:80]!r} is there twice")
    return found


def _explained(name: str, errors: list[ErrorDetails]) -> str:
    """The first problem by its field, and how many more there are."""
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        message = "is missing"
    elif first["type"] == "extra_forbidden":
        message = "is unknown"
    elif first["type"] != "value_error":
        message += f", not {str(first['input'])[:80]!r}"
    more = f" (and {len(errors) - 1} more problems)" if len(errors) > 1 else ""
    return _one_line(f"{name}: {field + ': ' if field else ''}{message}{more}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
