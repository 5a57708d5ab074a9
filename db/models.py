"""The schema as SQLAlchemy models: for `load`, `check` and the migrations' tests, not for advice.

Names that people read (a1-sync, ft2, matilda) are the primary keys. Units are in the column
names. Constraints refuse what makes no sense on SQLite and on PostgreSQL alike, so that no
program that writes here can store half a truth; each constraint is named after its rule.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import (
    REAL,
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.records import (
    Arrivals,
    Cadence,
    CalibrationPath,
    CalibrationQuantity,
    CampaignStatus,
    CellStatus,
    Detector,
    DispersionKind,
    DrillResult,
    Evidence,
    FailureDomain,
    FailureScope,
    FaultOutcome,
    FitModel,
    MissingReason,
    PairStatus,
    Phase,
    PointOutcome,
    Quantity,
    RecoveryWay,
    RunOutcome,
    RunQuantity,
    RunValidity,
    SamplePurpose,
    TransferPath,
    ValidationRole,
    Way,
)

# Quoted, because PostgreSQL would otherwise keep and show each limit with all its 309 digits;
# both databases turn it into a float, since it stands beside a float column.
_LARGEST = "1.7e308"

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

# SQLite's STRICT tables know INTEGER, REAL and TEXT only, and PostgreSQL's REAL has 4 bytes.
Count = Annotated[int, mapped_column(BigInteger().with_variant(Integer(), "sqlite"))]
Real = Annotated[float, mapped_column(Double().with_variant(REAL(), "sqlite"))]
Key = Annotated[str, mapped_column(Text, primary_key=True)]
Ordinal = Annotated[
    int, mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
]


def ref(column: str) -> Any:
    """A text column that refers to `table.column`; nothing cascades, so no evidence is lost."""
    return mapped_column(Text, ForeignKey(column))


def key_ref(column: str) -> Any:
    """The same, as a part of the primary key."""
    return mapped_column(Text, ForeignKey(column), primary_key=True)


def rule(name: str, condition: str) -> CheckConstraint:
    """A CHECK that is called ck_<table>_<name>."""
    return CheckConstraint(condition, name=name)


def one_of(column: str, codes: type[StrEnum]) -> CheckConstraint:
    """The column holds one of the enumeration's codes."""
    listed = ", ".join(f"'{code}'" for code in codes)
    return rule(f"{column}_known", f"{column} IN ({listed})")


def finite(column: str) -> CheckConstraint:
    """Neither NaN nor infinite. (SQLite turns NaN into NULL before a CHECK can see it.)"""
    return rule(f"{column}_finite", f"{column} BETWEEN '-{_LARGEST}' AND '{_LARGEST}'")


def finite_from_zero(column: str) -> CheckConstraint:
    """Finite, and not negative."""
    return rule(f"{column}_from_zero", f"{column} BETWEEN 0 AND '{_LARGEST}'")


def at_least(column: str, least: int) -> CheckConstraint:
    """A whole number of at least `least`."""
    return rule(f"{column}_at_least_{least}", f"{column} >= {least}")


def positive(column: str) -> CheckConstraint:
    """Finite, and above zero."""
    return rule(f"{column}_positive", f"{column} > 0 AND {column} <= '{_LARGEST}'")


def flag(column: str) -> CheckConstraint:
    """0 or 1: SQLite has no boolean, and the same query must run on both databases."""
    return rule(f"{column}_flag", f"{column} IN (0, 1)")


def utc(column: str) -> CheckConstraint:
    """An instant in UTC to the second, as ISO 8601 text: 2026-01-31T12:00:00Z."""
    return rule(f"{column}_utc", f"{column} LIKE '____-__-__T__:__:__Z'")


def filled(*columns: str) -> Iterable[CheckConstraint]:
    """Text that is not empty."""
    return [rule(f"{column}_filled", f"{column} <> ''") for column in columns]


def table_args(*arguments: Any) -> tuple[Any, ...]:
    """Constraints (or lists of them), and a STRICT table where SQLite makes it."""
    flat: list[Any] = []
    for argument in arguments:
        flat.extend(argument if isinstance(argument, list) else [argument])
    return (*flat, {"sqlite_strict": True})


class Base(DeclarativeBase):
    """Base of every model; names each constraint, so that a migration can find it."""

    metadata = MetaData(naming_convention=NAMES)


class Evidenced:
    """The columns of one number and of where it comes from."""

    value: Mapped[Real | None]
    missing_reason: Mapped[str | None] = mapped_column(Text)
    n: Mapped[Count | None]
    dispersion: Mapped[Real | None]
    dispersion_kind: Mapped[str | None] = mapped_column(Text)
    low: Mapped[Real | None]
    high: Mapped[Real | None]
    evidence: Mapped[str] = mapped_column(Text)
    conditions: Mapped[str] = mapped_column(Text, server_default="")
    table_ref: Mapped[str] = mapped_column(Text, server_default="")


_NO_NUMBER = "value IS NULL AND low IS NULL AND dispersion IS NULL"


def evidence_rules() -> list[CheckConstraint]:
    """What holds for every evidenced number, whatever its quantity."""
    return [
        finite("value"),
        finite("low"),
        finite("high"),
        finite_from_zero("dispersion"),
        one_of("missing_reason", MissingReason),
        one_of("dispersion_kind", DispersionKind),
        one_of("evidence", Evidence),
        at_least("n", 0),
        rule("value_or_reason", "(value IS NULL) = (missing_reason IS NOT NULL)"),
        rule(
            "measured_has_n",
            f"evidence NOT IN ('measured', 'measured+analytical') OR ({_NO_NUMBER})"
            " OR (n IS NOT NULL AND n >= 1)",
        ),
        rule(
            "number_has_origin",
            f"({_NO_NUMBER}) OR source_id IS NOT NULL OR run_id IS NOT NULL",
        ),
        rule("low_with_high", "(low IS NULL) = (high IS NULL)"),
        rule("low_to_high", "low <= high"),
        rule(
            "dispersion_explained",
            "(dispersion IS NULL AND low IS NULL) OR dispersion_kind IS NOT NULL",
        ),
    ]


_SIGNED = (Quantity.OVERHEAD, Quantity.AGGREGATE_SLOWDOWN)


def quantity_rules() -> list[CheckConstraint]:
    """The range of each quantity, for the value and for both ends of its interval."""
    signed = ", ".join(f"'{quantity}'" for quantity in _SIGNED)
    ranges = {
        "sign": f"quantity IN ({signed}) OR {{0}} >= 0",
        "overhead": "quantity <> 'overhead_fraction' OR {0} > -1",
        "slowdown": "quantity <> 'aggregate_slowdown_fraction' OR {0} <= 1",
        "resumed": "quantity <> 'resumed_fraction' OR {0} <= 1",
    }
    return [
        rule(f"{column}_{name}", condition.format(column))
        for column in ("value", "low", "high")
        for name, condition in ranges.items()
    ]


class Source(Base):
    """Where numbers come from: a paper, a report, a campaign of one's own."""

    __tablename__ = "sources"
    __table_args__ = table_args(filled("source_id", "citation"))

    source_id: Mapped[Key]
    citation: Mapped[str] = mapped_column(Text)
    url: Mapped[str] = mapped_column(Text, server_default="")
    published_on: Mapped[str] = mapped_column(Text, server_default="")


class Cluster(Base):
    """Hardware that runs were made on."""

    __tablename__ = "clusters"
    __table_args__ = table_args(
        filled("cluster"),
        at_least("nodes", 1),
        at_least("ranks_per_node", 1),
        at_least("device_memory_bytes", 1),
        at_least("host_memory_bytes", 1),
    )

    cluster: Mapped[Key]
    description: Mapped[str] = mapped_column(Text, server_default="")
    nodes: Mapped[Count]
    ranks_per_node: Mapped[Count]
    device: Mapped[str] = mapped_column(Text, server_default="")
    device_memory_bytes: Mapped[Count | None]
    host_memory_bytes: Mapped[Count | None]
    interconnect: Mapped[str] = mapped_column(Text, server_default="")
    storage: Mapped[str] = mapped_column(Text, server_default="")
    source_id: Mapped[str | None] = ref("sources.source_id")


class SoftwareStack(Base):
    """Versions that a cluster ran; a newer stack supersedes an older one, never replaces it."""

    __tablename__ = "software_stacks"
    __table_args__ = table_args(
        filled("software_stack"), rule("not_its_own_successor", "superseded_by <> software_stack")
    )

    software_stack: Mapped[Key]
    cluster: Mapped[str] = ref("clusters.cluster")
    torch: Mapped[str] = mapped_column(Text, server_default="")
    cuda: Mapped[str] = mapped_column(Text, server_default="")
    nccl: Mapped[str] = mapped_column(Text, server_default="")
    python: Mapped[str] = mapped_column(Text, server_default="")
    source_id: Mapped[str | None] = ref("sources.source_id")
    # Checked at the commit, so that both stacks can arrive in any order.
    superseded_by: Mapped[str | None] = mapped_column(
        Text,
        ForeignKey("software_stacks.software_stack", deferrable=True, initially="DEFERRED"),
    )


class Architecture(Base):
    """A way to train in parallel (A1 to A7)."""

    __tablename__ = "architectures"
    __table_args__ = table_args(filled("architecture", "name"))

    architecture: Mapped[Key]
    name: Mapped[str] = mapped_column(Text)
    description: Mapped[str] = mapped_column(Text, server_default="")


class ArchitectureCapability(Base):
    """One thing that an architecture can do; what it lacks is simply not here."""

    __tablename__ = "architecture_capabilities"
    __table_args__ = table_args(filled("capability"))

    architecture: Mapped[str] = key_ref("architectures.architecture")
    capability: Mapped[Key]


class Mechanism(Base):
    """A way to tolerate faults (FT1 to FT9), described by what it does."""

    __tablename__ = "mechanisms"
    __table_args__ = table_args(
        filled("mechanism", "name"),
        one_of("cadence", Cadence),
        one_of("save_path", TransferPath),
        one_of("persist_path", TransferPath),
        one_of("restore_path", TransferPath),
        at_least("default_replicas", 0),
        at_least("host_copies_per_replica", 0),
        at_least("device_copies_per_replica", 0),
    )

    mechanism: Mapped[Key]
    name: Mapped[str] = mapped_column(Text)
    family: Mapped[str] = mapped_column(Text, server_default="")
    description: Mapped[str] = mapped_column(Text, server_default="")
    cadence: Mapped[str] = mapped_column(Text)
    save_path: Mapped[str] = mapped_column(Text)
    persist_path: Mapped[str] = mapped_column(Text)
    restore_path: Mapped[str] = mapped_column(Text)
    default_replicas: Mapped[Count]
    host_copies_per_replica: Mapped[Count]
    device_copies_per_replica: Mapped[Count]


class Compatibility(Base):
    """Whether a mechanism works under an architecture, and why not."""

    __tablename__ = "compatibility"
    __table_args__ = table_args(
        one_of("status", PairStatus), rule("reason_given", "status = 'viable' OR reason <> ''")
    )

    architecture: Mapped[str] = key_ref("architectures.architecture")
    mechanism: Mapped[str] = key_ref("mechanisms.mechanism")
    status: Mapped[str] = mapped_column(Text)
    reason: Mapped[str] = mapped_column(Text, server_default="")


class Workload(Base):
    """What was trained."""

    __tablename__ = "workloads"
    __table_args__ = table_args(filled("workload", "name"), at_least("batch_per_rank", 1))

    workload: Mapped[Key]
    name: Mapped[str] = mapped_column(Text)
    optimizer: Mapped[str] = mapped_column(Text, server_default="")
    batch_per_rank: Mapped[Count | None]
    description: Mapped[str] = mapped_column(Text, server_default="")
    source_id: Mapped[str | None] = ref("sources.source_id")


class Campaign(Base):
    """A set of runs that one command started."""

    __tablename__ = "campaigns"
    __table_args__ = table_args(
        filled("campaign", "command"),
        one_of("status", CampaignStatus),
        utc("created_at"),
        utc("heartbeat_at"),
        utc("finished_at"),
    )

    campaign: Mapped[Key]
    cluster: Mapped[str] = ref("clusters.cluster")
    software_stack: Mapped[str | None] = ref("software_stacks.software_stack")
    command: Mapped[str] = mapped_column(Text)
    seed: Mapped[Count]
    status: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(Text)
    heartbeat_at: Mapped[str | None] = mapped_column(Text)
    finished_at: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")


class CampaignPlan(Base):
    """How a campaign is run, and by which controller: the process that plans, stores and marks.

    `term` counts controllers: whoever takes a campaign over raises it, and who finds another term
    than its own has lost the campaign. `host` and what follows are NULL where nobody runs it.
    """

    __tablename__ = "campaign_plans"
    __table_args__ = table_args(
        filled("folder"),
        at_least("order_seed", 0),
        positive("target_fraction"),
        at_least("least_seeds", 1),
        at_least("most_seeds", 1),
        at_least("term", 0),
        at_least("pid", 1),
    )

    campaign: Mapped[str] = key_ref("campaigns.campaign")
    folder: Mapped[str] = mapped_column(Text)
    # NULL: in the order in which the cells were asked for.
    order_seed: Mapped[Count | None]
    # NULL: each tuple has as many runs as were asked for.
    target_fraction: Mapped[Real | None]
    least_seeds: Mapped[Count | None]
    most_seeds: Mapped[Count | None]
    term: Mapped[Count]
    host: Mapped[str | None] = mapped_column(Text)
    pid: Mapped[Count | None]
    process: Mapped[str | None] = mapped_column(Text)
    boot_id: Mapped[str | None] = mapped_column(Text)


class CampaignCell(Base):
    """One planned run of a campaign, there before it runs; `parameters` is the cell as JSON.

    A cell is `complete` once its run is stored as valid evidence, `failed` where it ended
    otherwise.
    """

    __tablename__ = "campaign_cells"
    __table_args__ = table_args(
        filled("run_id", "parameters"),
        at_least("ordinal", 1),
        one_of("status", CellStatus),
        at_least("attempts", 0),
        at_least("pid", 1),
        utc("heartbeat_at"),
        utc("started_at"),
        utc("finished_at"),
        finite_from_zero("wall_s"),
        rule("failed_says_why", "status <> 'failed' OR reason <> ''"),
        rule("running_has_runner", "status <> 'running' OR (pid IS NOT NULL AND attempts >= 1)"),
        rule(
            "finished_has_end",
            "(status IN ('failed', 'complete')) = (finished_at IS NOT NULL)",
        ),
    )

    campaign: Mapped[str] = key_ref("campaign_plans.campaign")
    ordinal: Mapped[Ordinal]
    run_id: Mapped[str] = mapped_column(Text, unique=True)
    architecture: Mapped[str] = mapped_column(Text)
    mechanism: Mapped[str] = mapped_column(Text)
    trace: Mapped[str | None] = mapped_column(Text)
    seed: Mapped[Count]
    parameters: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text)
    attempts: Mapped[Count]
    host: Mapped[str | None] = mapped_column(Text)
    pid: Mapped[Count | None]
    boot_id: Mapped[str | None] = mapped_column(Text)
    heartbeat_at: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[str | None] = mapped_column(Text)
    finished_at: Mapped[str | None] = mapped_column(Text)
    wall_s: Mapped[Real | None]
    reason: Mapped[str] = mapped_column(Text, server_default="")


class Run(Base):
    """One training run, from its record; the digest makes a second ingest a no-op."""

    __tablename__ = "runs"
    __table_args__ = table_args(
        filled("run_id"),
        one_of("validity", RunValidity),
        rule("invalid_says_why", "validity = 'valid' OR validity_reason <> ''"),
        at_least("world_size", 1),
        at_least("state_bytes", 1),
        at_least("interval_steps", 1),
        at_least("replicas", 0),
        at_least("steps_completed", 0),
        at_least("nodes", 2),
        one_of("failure_domain", FailureDomain),
        finite_from_zero("lead_s"),
        finite_from_zero("wall_s"),
        utc("started_at"),
        rule("record_sha256_length", "length(record_sha256) = 64"),
        one_of("outcome", RunOutcome),
        rule("invalid_outcome", "outcome <> 'invalid' OR validity = 'invalid'"),
        one_of("detector", Detector),
        positive("group_timeout_s"),
        positive("round_limit_s"),
        finite_from_zero("spacing_s"),
        finite_from_zero("training_started_s"),
        at_least("steps_planned", 1),
        at_least("dropped_steps", 0),
        at_least("ranks_before", 1),
        at_least("ranks_after", 0),
        one_of("way", Way),
        flag("equivalent"),
        rule("infeasible_reason_outcome", "infeasible_reason IS NULL OR outcome = 'infeasible'"),
        Index(None, "cluster"),
        Index(None, "point_id"),
        Index(None, "campaign"),
    )

    run_id: Mapped[Key]
    campaign: Mapped[str] = ref("campaigns.campaign")
    cluster: Mapped[str] = ref("clusters.cluster")
    software_stack: Mapped[str | None] = ref("software_stacks.software_stack")
    architecture: Mapped[str] = ref("architectures.architecture")
    mechanism: Mapped[str] = ref("mechanisms.mechanism")
    workload: Mapped[str] = ref("workloads.workload")
    trace: Mapped[str | None] = mapped_column(Text)
    seed: Mapped[Count]
    world_size: Mapped[Count]
    # NULL: the run died before any rank had built its part.
    state_bytes: Mapped[Count | None]
    interval_steps: Mapped[Count | None]
    replicas: Mapped[Count | None]
    lead_s: Mapped[Real | None]
    steps_completed: Mapped[Count | None]
    validity: Mapped[str] = mapped_column(Text)
    validity_reason: Mapped[str] = mapped_column(Text, server_default="")
    started_at: Mapped[str] = mapped_column(Text)
    wall_s: Mapped[Real]
    record_sha256: Mapped[str] = mapped_column(Text, unique=True)
    # NULL in what follows: not known of a run that was stored under schema 0001, or of this run.
    outcome: Mapped[str | None] = mapped_column(Text)
    profile: Mapped[str | None] = mapped_column(Text)
    device: Mapped[str | None] = mapped_column(Text)
    backend: Mapped[str | None] = mapped_column(Text)
    detector: Mapped[str | None] = mapped_column(Text)
    group_timeout_s: Mapped[Real | None]
    round_limit_s: Mapped[Real | None]
    spacing_s: Mapped[Real | None]
    steps_planned: Mapped[Count | None]
    dropped_steps: Mapped[Count | None]
    training_started_s: Mapped[Real | None]
    ranks_before: Mapped[Count | None]
    ranks_after: Mapped[Count | None]
    host: Mapped[str | None] = mapped_column(Text)
    package_version: Mapped[str | None] = mapped_column(Text)
    source_commit: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")
    # The operating point that the run was pooled into, once it was (`db.harvest`).
    point_id: Mapped[str | None] = ref("operating_points.point_id")
    # NULL in what follows: also of a run that was stored under schema 0002.
    way: Mapped[str | None] = mapped_column(Text)
    equivalent: Mapped[Count | None]
    infeasible_reason: Mapped[str | None] = mapped_column(Text)
    # NULL: all ranks were on one node.
    nodes: Mapped[Count | None]
    failure_domain: Mapped[str | None] = mapped_column(Text)


class RunValue(Base):
    """One quantity of one run. The dispersion is that of its steps, `n` their number."""

    __tablename__ = "run_values"
    __table_args__ = table_args(
        one_of("quantity", RunQuantity),
        one_of("missing_reason", MissingReason),
        one_of("dispersion_kind", DispersionKind),
        finite("value"),
        finite_from_zero("dispersion"),
        at_least("n", 0),
        rule("value_or_reason", "(value IS NULL) = (missing_reason IS NOT NULL)"),
        rule("dispersion_explained", "dispersion IS NULL OR dispersion_kind IS NOT NULL"),
        rule("value_slowdown", "quantity <> 'aggregate_slowdown_fraction' OR value <= 1"),
        rule(
            "value_sign",
            "quantity IN ('aggregate_slowdown_fraction', 'first_loss', 'loss_before_fault', "
            "'final_loss', 'overhead_fraction', 'overlap_factor') OR value >= 0",
        ),
        rule("value_overhead", "quantity <> 'overhead_fraction' OR value > -1"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    quantity: Mapped[Key]
    value: Mapped[Real | None]
    missing_reason: Mapped[str | None] = mapped_column(Text)
    n: Mapped[Count | None]
    dispersion: Mapped[Real | None]
    dispersion_kind: Mapped[str | None] = mapped_column(Text)


class RunRecord(Base):
    """The whole record of a run, as JSON text: what no column holds is still here."""

    __tablename__ = "run_records"
    __table_args__ = table_args(filled("record"))

    run_id: Mapped[str] = key_ref("runs.run_id")
    record: Mapped[str] = mapped_column(Text)


class FaultEvent(Base):
    """One planned fault of a run. Censored: not detected before `detected_s`, the deadline.

    `first_detected_s` is when the first survivor knew, `detected_s` when the last did.
    """

    __tablename__ = "fault_events"
    __table_args__ = table_args(
        filled("kind"),
        at_least("ordinal", 0),
        at_least("rank", 0),
        at_least("step", 0),
        finite_from_zero("at_s"),
        finite_from_zero("lead_s"),
        finite_from_zero("detected_s"),
        flag("fired"),
        flag("detection_censored"),
        one_of("outcome", FaultOutcome),
        rule("unfired_is_undetected", "fired = 1 OR detected_s IS NULL"),
        rule("fired_has_outcome", "(fired = 0) = (outcome = 'not_fired')"),
        rule("censored_has_deadline", "detection_censored = 0 OR detected_s IS NOT NULL"),
        finite_from_zero("first_detected_s"),
        rule("unfired_has_no_first", "fired = 1 OR first_detected_s IS NULL"),
        rule("first_before_last", "first_detected_s <= detected_s"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    ordinal: Mapped[Ordinal]
    kind: Mapped[str] = mapped_column(Text)
    rank: Mapped[Count]
    step: Mapped[Count | None]
    at_s: Mapped[Real]
    lead_s: Mapped[Real | None]
    fired: Mapped[Count]
    detected_s: Mapped[Real | None]
    detection_censored: Mapped[Count]
    outcome: Mapped[str] = mapped_column(Text)
    first_detected_s: Mapped[Real | None]


class Detection(Base):
    """When one rank learned of one fault, and how."""

    __tablename__ = "detections"
    __table_args__ = table_args(
        ForeignKeyConstraint(
            ["run_id", "fault_ordinal"], ["fault_events.run_id", "fault_events.ordinal"]
        ),
        at_least("rank", 0),
        finite_from_zero("after_s"),
        filled("how"),
    )

    run_id: Mapped[Key]
    fault_ordinal: Mapped[Ordinal]
    rank: Mapped[Ordinal]
    after_s: Mapped[Real]
    how: Mapped[str] = mapped_column(Text)


class RecoveryPhase(Base):
    """One timed phase of the recovery from one fault; the phases add up to its wall time."""

    __tablename__ = "recovery_phases"
    __table_args__ = table_args(
        ForeignKeyConstraint(
            ["run_id", "fault_ordinal"], ["fault_events.run_id", "fault_events.ordinal"]
        ),
        at_least("ordinal", 0),
        one_of("phase", Phase),
        finite_from_zero("duration_s"),
    )

    run_id: Mapped[Key]
    fault_ordinal: Mapped[Ordinal]
    ordinal: Mapped[Ordinal]
    phase: Mapped[str] = mapped_column(Text)
    duration_s: Mapped[Real]


class RunRecovery(Base):
    """One recovery of a run: the generation that it led to, how, and from which state.

    `source` is the tier that the state came from; empty where training began anew. `total_s` is
    from the fault to the next step that was complete everywhere; NULL if there was none.
    """

    __tablename__ = "run_recoveries"
    __table_args__ = table_args(
        at_least("generation", 0),
        one_of("way", RecoveryWay),
        at_least("step", 0),
        at_least("lost_steps", 0),
        finite_from_zero("lost_s"),
        at_least("world_size", 1),
        finite_from_zero("total_s"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    generation: Mapped[Ordinal]
    way: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text, server_default="")
    step: Mapped[Count]
    lost_steps: Mapped[Count]
    lost_s: Mapped[Real]
    world_size: Mapped[Count]
    total_s: Mapped[Real | None]


class RunSave(Base):
    """The saves of a run over one path, as means: training waits for the foreground only."""

    __tablename__ = "run_saves"
    __table_args__ = table_args(
        filled("path"),
        at_least("count", 0),
        at_least("skipped", 0),
        at_least("failed", 0),
        finite_from_zero("foreground_s"),
        finite_from_zero("background_s"),
        finite_from_zero("bytes_per_save"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    path: Mapped[Key]
    count: Mapped[Count]
    skipped: Mapped[Count]
    failed: Mapped[Count]
    foreground_s: Mapped[Real | None]
    background_s: Mapped[Real | None]
    bytes_per_save: Mapped[Real | None]


class RunMonitor(Base):
    """What one monitor of a run did, and what it cost; a run without rows had none.

    `struck` counts the faults that it is there to see, `noticed` those of them that it answered,
    `right_rank` those whose victim alone it named; `after_s` and `after_steps` are from the fault
    until its first suspicion of one.
    """

    __tablename__ = "run_monitors"
    __table_args__ = table_args(
        filled("monitor"),
        at_least("interval_steps", 1),
        at_least("checks", 0),
        at_least("noticed", 0),
        at_least("right_rank", 0),
        at_least("false_alarms", 0),
        at_least("after_steps", 0),
        rule("noticed_of_struck", "noticed <= struck"),
        finite_from_zero("s_per_step"),
        finite_from_zero("waited_s_per_step"),
        finite_from_zero("overhead_fraction"),
        finite_from_zero("after_s"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    monitor: Mapped[Key]
    interval_steps: Mapped[Count]
    checks: Mapped[Count]
    s_per_step: Mapped[Real | None]
    waited_s_per_step: Mapped[Real | None]
    overhead_fraction: Mapped[Real | None]
    struck: Mapped[Count]
    noticed: Mapped[Count]
    right_rank: Mapped[Count]
    false_alarms: Mapped[Count]
    after_s: Mapped[Real | None]
    after_steps: Mapped[Count | None]


class EmergencySave(Base):
    """One warning of a run, and whether what it asked to be saved was saved in time.

    `took_s` is from the warning until all was saved, NULL if it never was; `save_s` the save alone.
    """

    __tablename__ = "emergency_saves"
    __table_args__ = table_args(
        at_least("ordinal", 0),
        at_least("fault_ordinal", 0),
        finite_from_zero("lead_s"),
        finite_from_zero("took_s"),
        finite_from_zero("save_s"),
        at_least("bytes", 0),
        flag("within_lead"),
    )

    run_id: Mapped[str] = key_ref("runs.run_id")
    ordinal: Mapped[Ordinal]
    fault_ordinal: Mapped[Count | None]
    lead_s: Mapped[Real]
    took_s: Mapped[Real | None]
    save_s: Mapped[Real | None]
    bytes: Mapped[Count | None]
    within_lead: Mapped[Count]


class Calibration(Evidenced, Base):
    """A standalone measurement of one transfer path of a cluster."""

    __tablename__ = "calibrations"
    __table_args__ = table_args(
        filled("calibration_id"),
        one_of("path", TransferPath),
        one_of("quantity", CalibrationQuantity),
        at_least("size_bytes", 1),
        positive("value"),
        rule("low_positive", "low > 0"),
        rule("duration_has_size", "quantity <> 'duration_s' OR size_bytes IS NOT NULL"),
        evidence_rules(),
        Index(None, "cluster"),
    )

    calibration_id: Mapped[Key]
    cluster: Mapped[str] = ref("clusters.cluster")
    path: Mapped[str] = mapped_column(Text)
    quantity: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[Count | None]
    source_id: Mapped[str | None] = ref("sources.source_id")
    run_id: Mapped[str | None] = ref("runs.run_id")


class CalibrationSession(Base):
    """One calibration of a cluster, made by this program: `advisor calibrate`."""

    __tablename__ = "calibration_sessions"
    __table_args__ = table_args(
        filled("session", "command", "environment"),
        at_least("seed", 0),
        flag("is_quick"),
        utc("started_at"),
        finite_from_zero("wall_s"),
        rule("record_sha256_length", "length(record_sha256) = 64"),
        Index(None, "cluster"),
    )

    session: Mapped[Key]
    cluster: Mapped[str] = ref("clusters.cluster")
    software_stack: Mapped[str | None] = ref("software_stacks.software_stack")
    source_id: Mapped[str | None] = ref("sources.source_id")
    command: Mapped[str] = mapped_column(Text)
    seed: Mapped[Count]
    is_quick: Mapped[Count]
    started_at: Mapped[str] = mapped_column(Text)
    wall_s: Mapped[Real]
    # Host, processor, kernel, package and commit, as JSON.
    environment: Mapped[str] = mapped_column(Text)
    record_sha256: Mapped[str] = mapped_column(Text, unique=True)
    note: Mapped[str] = mapped_column(Text, server_default="")


# What moves no bytes has no size; everything else has one.
_SIZED = "(path IN ('group_formation', 'process_start')) = (size_bytes IS NULL)"


class CalibrationSample(Base):
    """One measured duration of a calibration; `ordinal` is the order in which they were taken.

    `processes` took part at once, and `size_bytes` is of one of them.
    """

    __tablename__ = "calibration_samples"
    __table_args__ = table_args(
        at_least("ordinal", 0),
        one_of("path", CalibrationPath),
        at_least("size_bytes", 1),
        rule("moved_has_size", _SIZED),
        at_least("processes", 1),
        one_of("purpose", SamplePurpose),
        positive("duration_s"),
    )

    session: Mapped[str] = key_ref("calibration_sessions.session")
    ordinal: Mapped[Ordinal]
    path: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[Count | None]
    processes: Mapped[Count]
    purpose: Mapped[str] = mapped_column(Text)
    duration_s: Mapped[Real]


def _interval(name: str) -> list[CheckConstraint]:
    """A coefficient that is not negative, inside its 95 % interval."""
    low, high = f"{name}_low", f"{name}_high"
    return [
        *(finite_from_zero(column) for column in (name, low, high)),
        rule(f"{name}_inside", f"{low} <= {name} AND {name} <= {high}"),
    ]


def _all_or_none(name: str) -> CheckConstraint:
    """A coefficient has both ends of its interval, or is not there with neither."""
    low, high = f"{name}_low", f"{name}_high"
    return rule(f"{name}_whole", f"({name} IS NULL) = ({low} IS NULL OR {high} IS NULL)")


class CalibrationFit(Base):
    """What one path takes, fitted to a calibration's samples: latency + share x bytes or ranks."""

    __tablename__ = "calibration_fits"
    __table_args__ = table_args(
        one_of("path", CalibrationPath),
        at_least("processes", 0),
        one_of("model", FitModel),
        at_least("n", 2),
        at_least("outliers", 0),
        finite_from_zero("spread_fraction"),
        _interval("latency_s"),
        _interval("s_per_byte"),
        _interval("s_per_rank"),
        _all_or_none("s_per_byte"),
        _all_or_none("s_per_rank"),
        rule("bytes_model", "(model = 'bytes') = (s_per_byte IS NOT NULL)"),
        rule("ranks_model", "(model = 'ranks') = (s_per_rank IS NOT NULL)"),
        rule("bytes_has_sizes", "(model = 'bytes') = (smallest_bytes IS NOT NULL)"),
        rule("sizes_in_order", "smallest_bytes <= largest_bytes"),
        rule("sizes_whole", "(smallest_bytes IS NULL) = (largest_bytes IS NULL)"),
        at_least("smallest_bytes", 1),
    )

    session: Mapped[str] = key_ref("calibration_sessions.session")
    path: Mapped[Key]
    processes: Mapped[Ordinal]
    model: Mapped[str] = mapped_column(Text)
    n: Mapped[Count]
    outliers: Mapped[Count]
    spread_fraction: Mapped[Real]
    latency_s: Mapped[Real]
    latency_s_low: Mapped[Real]
    latency_s_high: Mapped[Real]
    s_per_byte: Mapped[Real | None]
    s_per_byte_low: Mapped[Real | None]
    s_per_byte_high: Mapped[Real | None]
    s_per_rank: Mapped[Real | None]
    s_per_rank_low: Mapped[Real | None]
    s_per_rank_high: Mapped[Real | None]
    smallest_bytes: Mapped[Count | None]
    largest_bytes: Mapped[Count | None]
    conditions: Mapped[str] = mapped_column(Text, server_default="")


class CalibrationCheck(Base):
    """What the fits of a calibration said of a sample that they had not seen."""

    __tablename__ = "calibration_checks"
    __table_args__ = table_args(
        ForeignKeyConstraint(
            ["session", "ordinal"], ["calibration_samples.session", "calibration_samples.ordinal"]
        ),
        positive("predicted_s"),
    )

    session: Mapped[Key]
    ordinal: Mapped[Ordinal]
    predicted_s: Mapped[Real]
    conditions: Mapped[str] = mapped_column(Text, server_default="")


class OperatingPoint(Base):
    """The conditions under which a mechanism's costs were taken."""

    __tablename__ = "operating_points"
    __table_args__ = table_args(
        filled("point_id"),
        at_least("state_bytes", 1),
        at_least("interval_steps", 1),
        at_least("replicas", 0),
        at_least("world_size", 1),
        at_least("nodes", 2),
        one_of("failure_domain", FailureDomain),
        finite_from_zero("lead_s"),
        positive("group_timeout_s"),
        one_of("outcome", PointOutcome),
        Index(None, "cluster"),
        # For excerpts (db/excerpt_queries.py): kinds of points, and in each the order of the sizes.
        Index(
            "ix_operating_points_kind",
            *("cluster", "architecture", "mechanism", "workload", "trace", "software_stack"),
            *("outcome", "interval_steps", "state_bytes", "point_id"),
        ),
    )

    point_id: Mapped[Key]
    cluster: Mapped[str] = ref("clusters.cluster")
    software_stack: Mapped[str | None] = ref("software_stacks.software_stack")
    architecture: Mapped[str] = ref("architectures.architecture")
    mechanism: Mapped[str] = ref("mechanisms.mechanism")
    workload: Mapped[str] = ref("workloads.workload")
    state_bytes: Mapped[Count]
    interval_steps: Mapped[Count | None]
    replicas: Mapped[Count | None]
    lead_s: Mapped[Real | None]
    trace: Mapped[str | None] = mapped_column(Text)
    storage: Mapped[str | None] = mapped_column(Text)
    group_timeout_s: Mapped[Real | None]
    world_size: Mapped[Count | None]
    outcome: Mapped[str] = mapped_column(Text)
    # NULL in both: one node.
    nodes: Mapped[Count | None]
    failure_domain: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")


class OperatingPointValue(Evidenced, Base):
    """One quantity of one operating point."""

    __tablename__ = "operating_point_values"
    __table_args__ = table_args(
        one_of("quantity", Quantity), quantity_rules(), evidence_rules(), Index(None, "source_id")
    )

    point_id: Mapped[str] = key_ref("operating_points.point_id")
    quantity: Mapped[Key]
    source_id: Mapped[str | None] = ref("sources.source_id")
    run_id: Mapped[str | None] = ref("runs.run_id")


class Validation(Base):
    """A scenario whose candidates were run live, all under the same failures.

    `arrivals` with `shape`, `mtbf_s` and `seed` are how those were drawn; `covered_s` is how far
    into training they reach. `step_time_s` was measured just before the first run.
    """

    __tablename__ = "validations"
    __table_args__ = table_args(
        filled("validation", "name", "scenario", "advisor_version"),
        utc("created_at"),
        positive("mtbf_s"),
        positive("step_time_s"),
        positive("shape"),
        positive("covered_s"),
        at_least("steps", 1),
        one_of("arrivals", Arrivals),
        rule("poisson_has_shape_1", "arrivals <> 'poisson' OR shape = 1"),
        at_least("seed", 0),
        Index(None, "cluster"),
    )

    validation: Mapped[Key]
    name: Mapped[str] = mapped_column(Text)
    cluster: Mapped[str] = ref("clusters.cluster")
    created_at: Mapped[str] = mapped_column(Text)
    architecture: Mapped[str] = ref("architectures.architecture")
    # The inputs of the recommendation, as JSON.
    scenario: Mapped[str] = mapped_column(Text)
    mtbf_s: Mapped[Real]
    step_time_s: Mapped[Real]
    steps: Mapped[Count]
    arrivals: Mapped[str] = mapped_column(Text)
    shape: Mapped[Real]
    seed: Mapped[Count]
    covered_s: Mapped[Real]
    advisor_version: Mapped[str] = mapped_column(Text)
    data_version: Mapped[str] = mapped_column(Text, server_default="")


class ValidationRun(Base):
    """One candidate of a validation: what Eq. (5) predicted before it ran, and what it took.

    `run_id` refers to nothing: predictions are stored before their runs, and a bundle has no runs.
    Until a campaign planned the run, it is the validation and the mechanism.
    `step_time_s` was measured just before the run, for its prediction; NULL beside a prediction is
    that of the validation. `observed_s` is NULL until the run ended, and where it did not finish
    its training.
    """

    __tablename__ = "validation_runs"
    __table_args__ = table_args(
        filled("run_id"),
        one_of("role", ValidationRole),
        at_least("interval_steps", 1),
        positive("step_time_s"),
        positive("predicted_s"),
        finite_from_zero("failures_expected"),
        positive("observed_s"),
        at_least("failures", 0),
        Index(None, "run_id"),
    )

    validation: Mapped[str] = key_ref("validations.validation")
    mechanism: Mapped[str] = key_ref("mechanisms.mechanism")
    run_id: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)
    interval_steps: Mapped[Count | None]
    step_time_s: Mapped[Real | None]
    # How the candidate's figures were known (M, E, D), as in a recommendation.
    evidence: Mapped[str] = mapped_column(Text)
    predicted_s: Mapped[Real | None]
    failures_expected: Mapped[Real | None]
    observed_s: Mapped[Real | None]
    failures: Mapped[Count | None]
    outcome: Mapped[str] = mapped_column(Text, server_default="")


class Drill(Base):
    """A fault that a mechanism was to survive, from before its run until it passed or failed.

    `run_id` refers to nothing: what is expected is stored before the run is. `expected` are run
    outcomes with spaces between them; the run must also lose at most `most_lost_steps`, be over by
    `deadline_s`, and be noticed by the monitor `noticed_by`, each where it is not NULL.
    """

    __tablename__ = "drills"
    __table_args__ = table_args(
        filled("run_id", "drill", "expected", "noticed_by"),
        utc("planned_at"),
        at_least("most_lost_steps", 0),
        positive("deadline_s"),
        one_of("result", DrillResult),
        rule("failed_says_why", "(result = 'failed') = (reason <> '')"),
        Index(None, "campaign"),
    )

    run_id: Mapped[Key]
    campaign: Mapped[str] = ref("campaigns.campaign")
    drill: Mapped[str] = mapped_column(Text)
    architecture: Mapped[str] = ref("architectures.architecture")
    mechanism: Mapped[str] = ref("mechanisms.mechanism")
    planned_at: Mapped[str] = mapped_column(Text)
    expected: Mapped[str] = mapped_column(Text)
    most_lost_steps: Mapped[Count | None]
    noticed_by: Mapped[str | None] = mapped_column(Text)
    deadline_s: Mapped[Real]
    result: Mapped[str] = mapped_column(Text)
    reason: Mapped[str] = mapped_column(Text, server_default="")


class FailureEstimate(Base):
    """What a log said of how often jobs or nodes fail, under a name that never changes its meaning.

    Without a failure there is no MTBF: `low_s` is a one-sided bound then. `document` is all that
    was found, as JSON; the log itself is not kept.
    """

    __tablename__ = "failure_estimates"
    __table_args__ = table_args(
        filled("name", "log_format", "counted", "document", "advisor_version"),
        utc("created_at"),
        one_of("scope", FailureScope),
        finite_from_zero("coalesce_s"),
        at_least("failures", 0),
        positive("nodes"),
        positive("at_risk_s"),
        positive("mtbf_s"),
        positive("low_s"),
        positive("high_s"),
        rule("no_failure_no_mtbf", "(failures = 0) = (mtbf_s IS NULL)"),
        rule("no_failure_no_limit", "(failures = 0) = (high_s IS NULL)"),
        rule("low_to_high", "low_s <= high_s"),
    )

    name: Mapped[Key]
    created_at: Mapped[str] = mapped_column(Text)
    log_format: Mapped[str] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(Text)
    counted: Mapped[str] = mapped_column(Text)
    coalesce_s: Mapped[Real]
    nodes: Mapped[Real | None]
    failures: Mapped[Count]
    at_risk_s: Mapped[Real]
    mtbf_s: Mapped[Real | None]
    low_s: Mapped[Real]
    high_s: Mapped[Real | None]
    document: Mapped[str] = mapped_column(Text)
    advisor_version: Mapped[str] = mapped_column(Text)


class TextValue(Base):
    """A number that a source states in its text; the unit is as printed there."""

    __tablename__ = "text_values"
    __table_args__ = table_args(
        filled("name", "unit"),
        finite("value"),
        finite("low"),
        finite("high"),
        one_of("evidence", Evidence),
        rule("low_to_high", "low <= high"),
        rule("holds_a_number", "value IS NOT NULL OR low IS NOT NULL OR high IS NOT NULL"),
    )

    name: Mapped[Key]
    value: Mapped[Real | None]
    low: Mapped[Real | None]
    high: Mapped[Real | None]
    unit: Mapped[str] = mapped_column(Text)
    meaning: Mapped[str] = mapped_column(Text, server_default="")
    evidence: Mapped[str] = mapped_column(Text)
    source_id: Mapped[str] = ref("sources.source_id")
    table_ref: Mapped[str] = mapped_column(Text, server_default="")


class PublishedCount(Base):
    """A count that a source states about its own coverage."""

    __tablename__ = "published_counts"
    __table_args__ = table_args(filled("name"), at_least("count", 0))

    name: Mapped[Key]
    count: Mapped[Count]
    table_ref: Mapped[str] = mapped_column(Text, server_default="")
    source_id: Mapped[str] = ref("sources.source_id")
    note: Mapped[str] = mapped_column(Text, server_default="")


class PublishedSelection(Base):
    """A row of a source's decision table, kept as printed, to compare our answers with."""

    __tablename__ = "published_selections"
    __table_args__ = table_args(filled("row_id"), at_least("interval_steps", 1))

    row_id: Mapped[Key]
    architecture_class: Mapped[str] = mapped_column(Text)
    architectures: Mapped[str] = mapped_column(Text, server_default="")
    state_label: Mapped[str] = mapped_column(Text, server_default="")
    failure_regime: Mapped[str] = mapped_column(Text, server_default="")
    binding_constraint: Mapped[str] = mapped_column(Text, server_default="")
    selected_mechanism: Mapped[str | None] = ref("mechanisms.mechanism")
    interval_steps: Mapped[Count | None]
    overhead_label: Mapped[str] = mapped_column(Text, server_default="")
    latency_label: Mapped[str] = mapped_column(Text, server_default="")
    evidence: Mapped[str] = mapped_column(Text, server_default="")
    source_id: Mapped[str] = ref("sources.source_id")


class Scenario(Base):
    """The question that a person asked: the inputs as canonical JSON, and their digest."""

    __tablename__ = "scenarios"
    __table_args__ = table_args(
        filled("scenario_id", "inputs"),
        utc("created_at"),
        rule("inputs_sha256_length", "length(inputs_sha256) = 64"),
    )

    scenario_id: Mapped[Key]
    name: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[str] = mapped_column(Text)
    inputs: Mapped[str] = mapped_column(Text)
    inputs_sha256: Mapped[str] = mapped_column(Text)


class Recommendation(Base):
    """The answer that was given, as JSON. `cluster` has no foreign key: the answer outlives it."""

    __tablename__ = "recommendations"
    __table_args__ = table_args(
        filled("recommendation_id", "result", "advisor_version", "schema_revision"),
        utc("created_at"),
        Index(None, "scenario_id"),
    )

    recommendation_id: Mapped[Key]
    scenario_id: Mapped[str] = ref("scenarios.scenario_id")
    cluster: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)
    advisor_version: Mapped[str] = mapped_column(Text)
    schema_revision: Mapped[str] = mapped_column(Text)
    data_version: Mapped[str] = mapped_column(Text, server_default="")


class RecommendationPoint(Base):
    """An operating point as it was when the answer was given.

    `point_id` refers to nothing on purpose: the point may change or go, the snapshot stays, and
    the recommendation can be printed again word for word.
    """

    __tablename__ = "recommendation_points"
    __table_args__ = table_args(filled("point_id", "snapshot"))

    recommendation_id: Mapped[str] = key_ref("recommendations.recommendation_id")
    point_id: Mapped[Key]
    snapshot: Mapped[str] = mapped_column(Text)
