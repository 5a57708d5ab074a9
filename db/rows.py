"""What one row of each kind may hold, in the units of its file. See `db.kinds` for the files.

pydantic collects every error of a row at once. The rules repeat those of the tables, because a
person who mistyped a cell needs better words than a constraint's name.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from db.records import (
    Arrivals,
    Cadence,
    CalibrationPath,
    DispersionKind,
    Evidence,
    FitModel,
    MissingReason,
    PairStatus,
    PointOutcome,
    SamplePurpose,
    TransferPath,
    ValidationRole,
)
from db.text import is_text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_LARGEST = Decimal("1e290")
_LARGEST_COUNT = 2**63 - 1


def _storable(text: str) -> str:
    """Both databases must take it: no control characters but line breaks, no lone surrogates."""
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    if not is_text(text):
        raise ValueError("is not valid Unicode")
    return text


Text = Annotated[str, StringConstraints(max_length=4000), AfterValidator(_storable)]
FilledText = Annotated[Text, StringConstraints(min_length=1)]
Id = Annotated[str, StringConstraints(pattern=r"^\S{1,200}$"), AfterValidator(_storable)]
Date = Annotated[str, StringConstraints(pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")]
Whole = Annotated[int, Field(ge=0, le=_LARGEST_COUNT)]
FromOne = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]
Number = Annotated[Decimal, Field(ge=-_LARGEST, le=_LARGEST)]
FromZero = Annotated[Decimal, Field(ge=0, le=_LARGEST)]
Positive = Annotated[Decimal, Field(gt=0, le=_LARGEST)]
OverheadPercent = Annotated[Decimal, Field(gt=-100, le=_LARGEST)]
SlowdownPercent = Annotated[Decimal, Field(ge=-_LARGEST, le=100)]
SharePercent = Annotated[Decimal, Field(ge=0, le=100)]

N = TypeVar("N", bound=Decimal)


class Row(BaseModel):
    """Base of every kind of row: unknown columns are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _no_booleans(cls, values: Any) -> Any:
        # JSON's true would otherwise pass as the number 1.
        flags = [name for name, value in dict(values).items() if isinstance(value, bool)]
        if flags:
            raise ValueError(f"{', '.join(flags)}: true and false are not values of any column")
        return values


class SourceRow(Row):
    source_id: Id
    citation: FilledText
    url: Text = ""
    published_on: Date = ""


class ClusterRow(Row):
    cluster: Id
    description: Text = ""
    nodes: FromOne
    ranks_per_node: FromOne
    device: Text = ""
    device_memory_bytes: Positive | None = None
    host_memory_bytes: Positive | None = None
    interconnect: Text = ""
    storage: Text = ""
    source_id: Id | None = None


class SoftwareStackRow(Row):
    software_stack: Id
    cluster: Id
    torch: Text = ""
    cuda: Text = ""
    nccl: Text = ""
    python: Text = ""
    source_id: Id | None = None
    superseded_by: Id | None = None


class ArchitectureRow(Row):
    architecture: Id
    name: FilledText
    description: Text = ""
    capabilities: Text = ""


class MechanismRow(Row):
    mechanism: Id
    name: FilledText
    family: Text = ""
    description: Text = ""
    cadence: Cadence
    save_path: TransferPath
    persist_path: TransferPath
    restore_path: TransferPath
    default_replicas: Whole
    host_copies_per_replica: Whole
    device_copies_per_replica: Whole


class CompatibilityRow(Row):
    architecture: Id
    mechanism: Id
    status: PairStatus
    reason: Text = ""

    @model_validator(mode="after")
    def _reason_given(self) -> Self:
        if self.status is not PairStatus.VIABLE and not self.reason:
            raise ValueError(f"a pair that is {self.status} needs a reason")
        return self


class WorkloadRow(Row):
    workload: Id
    name: FilledText
    optimizer: Text = ""
    batch_per_rank: FromOne | None = None
    description: Text = ""
    source_id: Id | None = None


class OperatingPointRow(Row):
    point_id: Id
    cluster: Id
    software_stack: Id | None = None
    architecture: Id
    mechanism: Id
    workload: Id
    state_bytes: Positive
    interval_steps: FromOne | None = None
    replicas: Whole | None = None
    lead_s: FromZero | None = None
    trace: FilledText | None = None
    storage: FilledText | None = None
    group_timeout_s: Positive | None = None
    world_size: FromOne | None = None
    outcome: PointOutcome
    note: Text = ""


class EvidencedRow(Row, Generic[N]):
    """One number and where it comes from; `N` bounds the number in the unit of its file."""

    value: N | None = None
    missing_reason: MissingReason | None = None
    n: Whole | None = None
    dispersion: FromZero | None = None
    dispersion_kind: DispersionKind | None = None
    low: N | None = None
    high: N | None = None
    evidence: Evidence
    conditions: Text = ""
    source_id: Id | None = None
    table_ref: Text = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [*self._value_problems(), *self._spread_problems()]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _value_problems(self) -> list[str]:
        numbers = [x for x in (self.value, self.low, self.dispersion) if x is not None]
        problems = []
        if (self.value is None) == (self.missing_reason is None):
            problems.append("give either a value or a missing_reason")
        if numbers and self.source_id is None:
            problems.append("a number needs a source_id")
        measured = self.evidence in (Evidence.MEASURED, Evidence.MEASURED_ANALYTICAL)
        if numbers and measured and not self.n:
            problems.append(f"a number that is {self.evidence} needs n >= 1")
        return problems

    def _spread_problems(self) -> list[str]:
        problems = []
        if (self.low is None) != (self.high is None):
            problems.append("low and high go together")
        elif self.low is not None and self.high is not None and self.low > self.high:
            problems.append("low is above high")
        spread = self.dispersion is not None or self.low is not None
        if spread and self.dispersion_kind is None:
            problems.append("dispersion, low and high need a dispersion_kind")
        return problems


class ValueRow(EvidencedRow[N], Generic[N]):
    """One quantity of one operating point."""

    point_id: Id


class CalibrationRow(EvidencedRow[Positive]):
    """A duration in ms of moving `size_mb`, or a bandwidth in GB/s."""

    calibration_id: Id
    cluster: Id
    path: TransferPath
    quantity: Annotated[str, StringConstraints(pattern=r"^(duration|bandwidth)$")]
    size_bytes: Positive | None = None
    unit: Annotated[str, StringConstraints(pattern=r"^(ms|GB/s)$")]

    @model_validator(mode="after")
    def _unit_fits(self) -> Self:
        unit = "ms" if self.quantity == "duration" else "GB/s"
        if self.unit != unit:
            raise ValueError(f"a {self.quantity} has the unit {unit}, not {self.unit}")
        if self.quantity == "duration" and self.size_bytes is None:
            raise ValueError("a duration needs a size_mb")
        return self


Utc = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
LongText = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_storable)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class CalibrationSessionRow(Row):
    """One calibration that this program made."""

    session: Id
    cluster: Id
    software_stack: Id | None = None
    source_id: Id | None = None
    command: FilledText
    seed: Whole
    is_quick: Annotated[int, Field(ge=0, le=1)]
    started_at: Utc
    wall_s: FromZero
    environment: LongText
    record_sha256: Sha256
    note: Text = ""


class CalibrationSampleRow(Row):
    """One measured duration."""

    session: Id
    ordinal: Whole
    path: CalibrationPath
    size_bytes: FromOne | None = None
    processes: FromOne
    purpose: SamplePurpose
    duration_s: Positive


class CalibrationFitRow(Row):
    """What one path takes: latency + share x bytes or ranks, each with its 95 % interval."""

    session: Id
    path: CalibrationPath
    processes: Whole
    model: FitModel
    n: Annotated[int, Field(ge=2, le=_LARGEST_COUNT)]
    outliers: Whole
    spread_fraction: FromZero
    latency_s: FromZero
    latency_s_low: FromZero
    latency_s_high: FromZero
    s_per_byte: FromZero | None = None
    s_per_byte_low: FromZero | None = None
    s_per_byte_high: FromZero | None = None
    s_per_rank: FromZero | None = None
    s_per_rank_low: FromZero | None = None
    s_per_rank_high: FromZero | None = None
    smallest_bytes: FromOne | None = None
    largest_bytes: FromOne | None = None
    conditions: Text = ""

    @model_validator(mode="after")
    def _fits_its_model(self) -> Self:
        for name, model in (("s_per_byte", FitModel.BYTES), ("s_per_rank", FitModel.RANKS)):
            given = [getattr(self, f"{name}{end}") is not None for end in ("", "_low", "_high")]
            if given != [self.model is model] * 3:
                raise ValueError(f"a fit of {model} has {name} with both its ends, no other has")
        return self


class CalibrationCheckRow(Row):
    """What the fits said of a sample that they had not seen."""

    session: Id
    ordinal: Whole
    predicted_s: Positive
    conditions: Text = ""


class ValidationRow(Row):
    """A scenario that was run live, and how its failures were drawn."""

    validation: Id
    name: FilledText
    cluster: Id
    created_at: Utc
    architecture: Id
    scenario: LongText
    mtbf_s: Positive
    step_time_s: Positive
    steps: FromOne
    arrivals: Arrivals
    shape: Positive
    seed: Whole
    covered_s: Positive
    advisor_version: FilledText
    data_version: Text = ""


class ValidationRunRow(Row):
    """One candidate: what was predicted, and what it took."""

    validation: Id
    mechanism: Id
    run_id: FilledText
    role: ValidationRole
    interval_steps: FromOne | None = None
    evidence: Text = ""
    predicted_s: Positive | None = None
    failures_expected: FromZero | None = None
    observed_s: Positive | None = None
    failures: Whole | None = None
    outcome: Text = ""


class TextValueRow(Row):
    name: Id
    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    unit: FilledText
    meaning: Text = ""
    evidence: Evidence
    source_id: Id
    table_ref: Text = ""

    @model_validator(mode="after")
    def _holds_a_number(self) -> Self:
        if self.value is None and self.low is None and self.high is None:
            raise ValueError("give a value, or low and high")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low is above high")
        return self


class PublishedCountRow(Row):
    name: Id
    count: Whole
    table_ref: Text = ""
    source_id: Id
    note: Text = ""


class PublishedSelectionRow(Row):
    row_id: Id
    architecture_class: FilledText
    architectures: Text = ""
    state_label: Text = ""
    failure_regime: Text = ""
    binding_constraint: Text = ""
    selected_mechanism: Id | None = None
    interval_steps: FromOne | None = None
    overhead_label: Text = ""
    latency_label: Text = ""
    evidence: Text = ""
    source_id: Id
