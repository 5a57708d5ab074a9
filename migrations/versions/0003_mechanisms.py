"""Runs of mechanisms: ways, recoveries, saves, emergency saves, and where the time went.

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

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
    ("way", sa.Text()),
    ("equivalent", INT64),
    ("infeasible_reason", sa.Text()),
)
RUN_CHECKS = {
    "ck_runs_way_known": "way IN ('spare', 'smaller', 'restart')",
    "ck_runs_equivalent_flag": "equivalent IN (0, 1)",
    "ck_runs_infeasible_reason_outcome": "infeasible_reason IS NULL OR outcome = 'infeasible'",
}

QUANTITIES_0002 = (
    *("step_s", "samples_per_s_per_rank", "post_failure_step_s"),
    *("post_failure_samples_per_s_per_rank", "aggregate_slowdown_fraction"),
    *("first_detection_s", "detection_s", "group_formation_s", "peak_memory_bytes"),
    *("first_loss", "loss_before_fault", "final_loss"),
)
QUANTITIES = (
    *QUANTITIES_0002,
    *("save_foreground_s", "save_background_s", "overhead_fraction", "overlap_factor"),
    *("emergency_s", "emergency_save_s", "restore_s", "recovery_s", "recovery_total_s"),
    *("lost_steps", "productive_s", "saving_s", "detecting_s", "recovering_s", "lost_s"),
    "shared_memory_bytes",
)
SIGN_0002 = (
    "quantity IN ('aggregate_slowdown_fraction', 'first_loss', 'loss_before_fault', "
    "'final_loss') OR value >= 0"
)
SIGN = (
    "quantity IN ('aggregate_slowdown_fraction', 'first_loss', 'loss_before_fault', "
    "'final_loss', 'overhead_fraction', 'overlap_factor') OR value >= 0"
)
OVERHEAD = "quantity <> 'overhead_fraction' OR value > -1"
STRICT = {"sqlite_strict": True}


def create_run_recoveries() -> None:
    op.create_table(
        "run_recoveries",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("generation", INT64, nullable=False),
        sa.Column("way", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), server_default="", nullable=False),
        sa.Column("step", INT64, nullable=False),
        sa.Column("lost_steps", INT64, nullable=False),
        sa.Column("lost_s", REAL64, nullable=False),
        sa.Column("world_size", INT64, nullable=False),
        sa.Column("total_s", REAL64),
        check("run_recoveries", "generation_at_least_0", "generation >= 0"),
        check(
            "run_recoveries",
            "way_known",
            "way IN ('spare', 'started', 'smaller', 'grown', 'restart')",
        ),
        check("run_recoveries", "step_at_least_0", "step >= 0"),
        check("run_recoveries", "lost_steps_at_least_0", "lost_steps >= 0"),
        check("run_recoveries", "lost_s_from_zero", "lost_s BETWEEN 0 AND '1.7e308'"),
        check("run_recoveries", "world_size_at_least_1", "world_size >= 1"),
        check("run_recoveries", "total_s_from_zero", "total_s BETWEEN 0 AND '1.7e308'"),
        of_run("run_recoveries"),
        sa.PrimaryKeyConstraint("run_id", "generation", name=op.f("pk_run_recoveries")),
        sqlite_strict=True,
    )


def create_run_saves() -> None:
    op.create_table(
        "run_saves",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("count", INT64, nullable=False),
        sa.Column("skipped", INT64, nullable=False),
        sa.Column("failed", INT64, nullable=False),
        sa.Column("foreground_s", REAL64),
        sa.Column("background_s", REAL64),
        sa.Column("bytes_per_save", REAL64),
        check("run_saves", "path_filled", "path <> ''"),
        check("run_saves", "count_at_least_0", "count >= 0"),
        check("run_saves", "skipped_at_least_0", "skipped >= 0"),
        check("run_saves", "failed_at_least_0", "failed >= 0"),
        check("run_saves", "foreground_s_from_zero", "foreground_s BETWEEN 0 AND '1.7e308'"),
        check("run_saves", "background_s_from_zero", "background_s BETWEEN 0 AND '1.7e308'"),
        check("run_saves", "bytes_per_save_from_zero", "bytes_per_save BETWEEN 0 AND '1.7e308'"),
        of_run("run_saves"),
        sa.PrimaryKeyConstraint("run_id", "path", name=op.f("pk_run_saves")),
        sqlite_strict=True,
    )


def create_emergency_saves() -> None:
    op.create_table(
        "emergency_saves",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("fault_ordinal", INT64),
        sa.Column("lead_s", REAL64, nullable=False),
        sa.Column("took_s", REAL64),
        sa.Column("save_s", REAL64),
        sa.Column("bytes", INT64),
        sa.Column("within_lead", INT64, nullable=False),
        check("emergency_saves", "ordinal_at_least_0", "ordinal >= 0"),
        check("emergency_saves", "fault_ordinal_at_least_0", "fault_ordinal >= 0"),
        check("emergency_saves", "lead_s_from_zero", "lead_s BETWEEN 0 AND '1.7e308'"),
        check("emergency_saves", "took_s_from_zero", "took_s BETWEEN 0 AND '1.7e308'"),
        check("emergency_saves", "save_s_from_zero", "save_s BETWEEN 0 AND '1.7e308'"),
        check("emergency_saves", "bytes_at_least_0", "bytes >= 0"),
        check("emergency_saves", "within_lead_flag", "within_lead IN (0, 1)"),
        of_run("emergency_saves"),
        sa.PrimaryKeyConstraint("run_id", "ordinal", name=op.f("pk_emergency_saves")),
        sqlite_strict=True,
    )


def upgrade() -> None:
    """Runs say how they were to be brought back, and what a mechanism cost and gave them."""
    drop_views("exposure_view", "recovery_view", "detection_view")
    with op.batch_alter_table("runs", table_kwargs=STRICT) as batch:
        for name, type_ in RUN_COLUMNS:
            batch.add_column(sa.Column(name, type_))
        for name, condition in RUN_CHECKS.items():
            batch.create_check_constraint(op.f(name), condition)
    with op.batch_alter_table("run_values", table_kwargs=STRICT) as batch:
        replace_checks(batch, QUANTITIES, SIGN)
        batch.create_check_constraint(op.f("ck_run_values_value_overhead"), OVERHEAD)
    create_run_recoveries()
    create_run_saves()
    create_emergency_saves()
    create_views()


def downgrade() -> None:
    """The new columns, tables and quantities are lost; the runs stay."""
    drop_views("exposure_view", "recovery_view", "detection_view")
    op.drop_table("emergency_saves")
    op.drop_table("run_saves")
    op.drop_table("run_recoveries")
    # Literals of this file only; nothing of a user's is put into the text.
    op.execute(f"DELETE FROM run_values WHERE NOT ({listed(QUANTITIES_0002)})")  # noqa: S608
    with op.batch_alter_table("run_values", table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f("ck_run_values_value_overhead"), type_="check")
        replace_checks(batch, QUANTITIES_0002, SIGN_0002)
    with op.batch_alter_table("runs", table_kwargs=STRICT) as batch:
        for name in RUN_CHECKS:
            batch.drop_constraint(op.f(name), type_="check")
        for name, _ in RUN_COLUMNS:
            batch.drop_column(name)
    create_views()


def replace_checks(batch: BatchOperations, quantities: tuple[str, ...], sign: str) -> None:
    for name, condition in (("quantity_known", listed(quantities)), ("value_sign", sign)):
        batch.drop_constraint(op.f(f"ck_run_values_{name}"), type_="check")
        batch.create_check_constraint(op.f(f"ck_run_values_{name}"), condition)


def listed(quantities: tuple[str, ...]) -> str:
    return "quantity IN (" + ", ".join(f"'{quantity}'" for quantity in quantities) + ")"


def check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def of_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f(f"fk_{table}_run_id"))


def create_views() -> None:
    create_view("detection_view", DETECTION_VIEW)
    create_view("recovery_view", RECOVERY_VIEW)
    create_view("exposure_view", EXPOSURE_VIEW)


def create_view(name: str, select: str) -> None:
    op.execute(f"CREATE VIEW {name} AS {select}")


def drop_views(*names: str) -> None:
    for name in names:
        op.execute(f"DROP VIEW {name}")
