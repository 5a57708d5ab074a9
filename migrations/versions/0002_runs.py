"""Runs of the measuring harness: outcomes, quantities, detections, and the records themselves.

Revision: 0002
Follows: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

DETECTION_VIEW_0001 = """
SELECT
  'operating_point' AS origin,
  p.cluster,
  p.architecture,
  p.mechanism,
  p.trace,
  p.group_timeout_s,
  v.value AS detection_s,
  0 AS censored,
  v.n,
  v.dispersion AS dispersion_s,
  v.dispersion_kind,
  v.evidence,
  v.conditions,
  p.point_id,
  CAST(NULL AS TEXT) AS run_id,
  CAST(NULL AS BIGINT) AS fault_ordinal
FROM operating_point_values v
JOIN operating_points p ON p.point_id = v.point_id
WHERE v.quantity = 'detection_s'
UNION ALL
SELECT
  'run',
  r.cluster,
  r.architecture,
  r.mechanism,
  r.trace,
  CAST(NULL AS DOUBLE PRECISION),
  e.detected_s,
  e.detection_censored,
  1,
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  'measured',
  e.kind,
  CAST(NULL AS TEXT),
  e.run_id,
  e.ordinal
FROM fault_events e
JOIN runs r ON r.run_id = e.run_id
WHERE e.fired = 1 AND r.validity = 'valid'
"""

DETECTION_VIEW = """
SELECT
  'operating_point' AS origin,
  p.cluster,
  p.architecture,
  p.mechanism,
  p.trace,
  p.group_timeout_s,
  v.value AS detection_s,
  0 AS censored,
  v.n,
  v.dispersion AS dispersion_s,
  v.dispersion_kind,
  v.evidence,
  v.conditions,
  p.point_id,
  CAST(NULL AS TEXT) AS run_id,
  CAST(NULL AS BIGINT) AS fault_ordinal
FROM operating_point_values v
JOIN operating_points p ON p.point_id = v.point_id
WHERE v.quantity = 'detection_s'
UNION ALL
SELECT
  'run',
  r.cluster,
  r.architecture,
  r.mechanism,
  r.trace,
  r.group_timeout_s,
  e.detected_s,
  e.detection_censored,
  1,
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  'measured',
  e.kind || COALESCE(', detector ' || r.detector, ''),
  CAST(NULL AS TEXT),
  e.run_id,
  e.ordinal
FROM fault_events e
JOIN runs r ON r.run_id = e.run_id
WHERE e.fired = 1 AND r.validity = 'valid'
"""

RECOVERY_VIEW = """
SELECT
  'operating_point' AS origin,
  p.cluster,
  p.architecture,
  p.mechanism,
  p.trace,
  v.value AS recovery_s,
  v.missing_reason,
  v.low AS low_s,
  v.high AS high_s,
  v.n,
  v.dispersion AS dispersion_s,
  v.dispersion_kind,
  v.evidence,
  s.value AS resumed_fraction,
  p.point_id,
  CAST(NULL AS TEXT) AS run_id,
  CAST(NULL AS BIGINT) AS fault_ordinal,
  CAST(NULL AS TEXT) AS fault_outcome
FROM operating_point_values v
JOIN operating_points p ON p.point_id = v.point_id
LEFT JOIN operating_point_values s
  ON s.point_id = v.point_id AND s.quantity = 'resumed_fraction'
WHERE v.quantity = 'recovery_s'
UNION ALL
SELECT
  'run',
  r.cluster,
  r.architecture,
  r.mechanism,
  r.trace,
  SUM(f.duration_s),
  CAST(NULL AS TEXT),
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS DOUBLE PRECISION),
  1,
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  'measured',
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  e.run_id,
  e.ordinal,
  e.outcome
FROM fault_events e
JOIN runs r ON r.run_id = e.run_id
JOIN recovery_phases f ON f.run_id = e.run_id AND f.fault_ordinal = e.ordinal
WHERE r.validity = 'valid'
GROUP BY r.cluster, r.architecture, r.mechanism, r.trace, e.run_id, e.ordinal, e.outcome
"""

EXPOSURE_VIEW = """
SELECT
  p.cluster,
  p.architecture,
  p.mechanism,
  p.workload,
  p.software_stack,
  p.trace,
  p.group_timeout_s,
  p.world_size,
  (SELECT MIN(u.detector) FROM runs u WHERE u.point_id = p.point_id) AS detector,
  (SELECT MIN(u.backend) FROM runs u WHERE u.point_id = p.point_id) AS backend,
  a.n,
  b.value AS samples_per_s_per_rank,
  d.value AS detection_s,
  CASE WHEN s.value > 0 THEN 0 WHEN s.value = 0 THEN 1 END AS halts,
  s.value AS resumed_fraction,
  a.value AS post_failure_samples_per_s_per_rank,
  l.value AS aggregate_slowdown_fraction,
  a.evidence,
  a.table_ref,
  p.point_id
FROM operating_points p
JOIN mechanisms m ON m.mechanism = p.mechanism
JOIN operating_point_values a
  ON a.point_id = p.point_id AND a.quantity = 'post_failure_samples_per_s_per_rank'
LEFT JOIN operating_point_values b
  ON b.point_id = p.point_id AND b.quantity = 'samples_per_s_per_rank'
LEFT JOIN operating_point_values d
  ON d.point_id = p.point_id AND d.quantity = 'detection_s'
LEFT JOIN operating_point_values s
  ON s.point_id = p.point_id AND s.quantity = 'resumed_fraction'
LEFT JOIN operating_point_values l
  ON l.point_id = p.point_id AND l.quantity = 'aggregate_slowdown_fraction'
WHERE m.cadence = 'never'
"""

RUN_COLUMNS = (
    ("outcome", sa.Text()),
    ("profile", sa.Text()),
    ("device", sa.Text()),
    ("backend", sa.Text()),
    ("detector", sa.Text()),
    ("group_timeout_s", REAL64),
    ("round_limit_s", REAL64),
    ("spacing_s", REAL64),
    ("steps_planned", INT64),
    ("dropped_steps", INT64),
    ("training_started_s", REAL64),
    ("ranks_before", INT64),
    ("ranks_after", INT64),
    ("host", sa.Text()),
    ("package_version", sa.Text()),
    ("source_commit", sa.Text()),
    ("point_id", sa.Text()),
)
RUN_CHECKS = {
    "ck_runs_outcome_known": "outcome IN ('completed', 'halted', 'graceful', 'recovered', "
    "'restarted-from-zero', 'hang', 'infeasible', 'invalid')",
    "ck_runs_invalid_outcome": "outcome <> 'invalid' OR validity = 'invalid'",
    "ck_runs_detector_known": "detector IN ('group-timeout', 'supervisor')",
    "ck_runs_group_timeout_s_positive": "group_timeout_s > 0 AND group_timeout_s <= '1.7e308'",
    "ck_runs_round_limit_s_positive": "round_limit_s > 0 AND round_limit_s <= '1.7e308'",
    "ck_runs_spacing_s_from_zero": "spacing_s BETWEEN 0 AND '1.7e308'",
    "ck_runs_training_started_s_from_zero": "training_started_s BETWEEN 0 AND '1.7e308'",
    "ck_runs_steps_planned_at_least_1": "steps_planned >= 1",
    "ck_runs_dropped_steps_at_least_0": "dropped_steps >= 0",
    "ck_runs_ranks_before_at_least_1": "ranks_before >= 1",
    "ck_runs_ranks_after_at_least_0": "ranks_after >= 0",
}
FAULT_CHECKS = {
    "ck_fault_events_first_detected_s_from_zero": "first_detected_s BETWEEN 0 AND '1.7e308'",
    "ck_fault_events_unfired_has_no_first": "fired = 1 OR first_detected_s IS NULL",
    "ck_fault_events_first_before_last": "first_detected_s <= detected_s",
}
STRICT = {"sqlite_strict": True}


def create_run_values() -> None:
    op.create_table(
        "run_values",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("value", REAL64),
        sa.Column("missing_reason", sa.Text()),
        sa.Column("n", INT64),
        sa.Column("dispersion", REAL64),
        sa.Column("dispersion_kind", sa.Text()),
        sa.CheckConstraint(
            "quantity IN ('step_s', 'samples_per_s_per_rank', 'post_failure_step_s', "
            "'post_failure_samples_per_s_per_rank', 'aggregate_slowdown_fraction', "
            "'first_detection_s', 'detection_s', 'group_formation_s', 'peak_memory_bytes', "
            "'first_loss', 'loss_before_fault', 'final_loss')",
            name=op.f("ck_run_values_quantity_known"),
        ),
        sa.CheckConstraint(
            "missing_reason IN ('infinite', 'not_run', 'undefined', 'infeasible', 'failed', "
            "'not_published')",
            name=op.f("ck_run_values_missing_reason_known"),
        ),
        sa.CheckConstraint(
            "dispersion_kind IN ('ci95_half_width', 'half_range', 'range')",
            name=op.f("ck_run_values_dispersion_kind_known"),
        ),
        sa.CheckConstraint(
            "value BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_run_values_value_finite")
        ),
        sa.CheckConstraint(
            "dispersion BETWEEN 0 AND '1.7e308'", name=op.f("ck_run_values_dispersion_from_zero")
        ),
        sa.CheckConstraint("n >= 0", name=op.f("ck_run_values_n_at_least_0")),
        sa.CheckConstraint(
            "(value IS NULL) = (missing_reason IS NOT NULL)",
            name=op.f("ck_run_values_value_or_reason"),
        ),
        sa.CheckConstraint(
            "dispersion IS NULL OR dispersion_kind IS NOT NULL",
            name=op.f("ck_run_values_dispersion_explained"),
        ),
        sa.CheckConstraint(
            "quantity <> 'aggregate_slowdown_fraction' OR value <= 1",
            name=op.f("ck_run_values_value_slowdown"),
        ),
        sa.CheckConstraint(
            "quantity IN ('aggregate_slowdown_fraction', 'first_loss', 'loss_before_fault', "
            "'final_loss') OR value >= 0",
            name=op.f("ck_run_values_value_sign"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_run_values_run_id")),
        sa.PrimaryKeyConstraint("run_id", "quantity", name=op.f("pk_run_values")),
        sqlite_strict=True,
    )


def create_run_records() -> None:
    op.create_table(
        "run_records",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.CheckConstraint("record <> ''", name=op.f("ck_run_records_record_filled")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_run_records_run_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_records")),
        sqlite_strict=True,
    )


def create_detections() -> None:
    op.create_table(
        "detections",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("fault_ordinal", INT64, nullable=False),
        sa.Column("rank", INT64, nullable=False),
        sa.Column("after_s", REAL64, nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.CheckConstraint("rank >= 0", name=op.f("ck_detections_rank_at_least_0")),
        sa.CheckConstraint(
            "after_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_detections_after_s_from_zero")
        ),
        sa.CheckConstraint("how <> ''", name=op.f("ck_detections_how_filled")),
        sa.ForeignKeyConstraint(
            ["run_id", "fault_ordinal"],
            ["fault_events.run_id", "fault_events.ordinal"],
            name=op.f("fk_detections_run_id"),
        ),
        sa.PrimaryKeyConstraint("run_id", "fault_ordinal", "rank", name=op.f("pk_detections")),
        sqlite_strict=True,
    )


def upgrade() -> None:
    """Runs say what they showed, under which conditions, with their numbers and their record."""
    drop_views("detection_view", "recovery_view")
    with op.batch_alter_table("runs", table_kwargs=STRICT) as batch:
        batch.alter_column("state_bytes", existing_type=INT64, nullable=True)
        for name, type_ in RUN_COLUMNS:
            batch.add_column(sa.Column(name, type_))
        batch.add_column(sa.Column("note", sa.Text(), server_default="", nullable=False))
        for name, condition in RUN_CHECKS.items():
            batch.create_check_constraint(op.f(name), condition)
        batch.create_foreign_key(
            op.f("fk_runs_point_id"), "operating_points", ["point_id"], ["point_id"]
        )
    op.create_index(op.f("ix_runs_cluster"), "runs", ["cluster"], unique=False)
    op.create_index(op.f("ix_runs_point_id"), "runs", ["point_id"], unique=False)
    with op.batch_alter_table("fault_events", table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("first_detected_s", REAL64))
        for name, condition in FAULT_CHECKS.items():
            batch.create_check_constraint(op.f(name), condition)
    create_run_values()
    create_run_records()
    create_detections()
    create_view("detection_view", DETECTION_VIEW)
    create_view("recovery_view", RECOVERY_VIEW)
    create_view("exposure_view", EXPOSURE_VIEW)


def downgrade() -> None:
    """The new columns and tables are lost, and runs whose state size is not known."""
    drop_views("exposure_view", "recovery_view", "detection_view")
    op.drop_table("detections")
    op.drop_table("run_records")
    op.drop_table("run_values")
    with op.batch_alter_table("fault_events", table_kwargs=STRICT) as batch:
        for name in FAULT_CHECKS:
            batch.drop_constraint(op.f(name), type_="check")
        batch.drop_column("first_detected_s")
    delete_runs_without_state()
    op.drop_index(op.f("ix_runs_cluster"), "runs")
    op.drop_index(op.f("ix_runs_point_id"), "runs")
    with op.batch_alter_table("runs", table_kwargs=STRICT) as batch:
        for name in RUN_CHECKS:
            batch.drop_constraint(op.f(name), type_="check")
        batch.drop_constraint(op.f("fk_runs_point_id"), type_="foreignkey")
        for name, _ in (*RUN_COLUMNS, ("note", sa.Text())):
            batch.drop_column(name)
        batch.alter_column("state_bytes", existing_type=INT64, nullable=False)
    create_view("detection_view", DETECTION_VIEW_0001)
    create_view("recovery_view", RECOVERY_VIEW)


def delete_runs_without_state() -> None:
    """Schema 0001 cannot hold them; whatever refers to them goes first."""
    # Literals of this file only; nothing of a user's is put into the text.
    gone = "IN (SELECT run_id FROM runs WHERE state_bytes IS NULL)"
    op.execute(f"DELETE FROM recovery_phases WHERE run_id {gone}")  # noqa: S608
    op.execute(f"DELETE FROM fault_events WHERE run_id {gone}")  # noqa: S608
    op.execute("DELETE FROM runs WHERE state_bytes IS NULL")


def create_view(name: str, select: str) -> None:
    op.execute(f"CREATE VIEW {name} AS {select}")


def drop_views(*names: str) -> None:
    for name in names:
        op.execute(f"DROP VIEW {name}")
