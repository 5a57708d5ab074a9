"""Validations: what was predicted for a scenario, and what live runs of it took.

Revision: 0006
Follows: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

VALIDATION_VIEW = """
SELECT
  v.validation,
  v.name,
  v.cluster,
  v.created_at,
  v.architecture,
  v.mtbf_s,
  v.arrivals,
  v.seed,
  r.mechanism,
  r.role,
  r.interval_steps,
  r.evidence,
  r.outcome,
  r.failures,
  r.predicted_s,
  r.observed_s,
  CASE WHEN r.observed_s IS NOT NULL THEN r.predicted_s / r.observed_s - 1 END AS error_fraction,
  CASE WHEN r.observed_s > v.covered_s THEN 1 ELSE 0 END AS outlasted_faults,
  r.run_id
FROM validations v
JOIN validation_runs r ON r.validation = v.validation
"""


def create_validations() -> None:
    table = "validations"
    op.create_table(
        table,
        sa.Column("validation", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("scenario", sa.Text(), nullable=False),
        sa.Column("mtbf_s", REAL64, nullable=False),
        sa.Column("step_time_s", REAL64, nullable=False),
        sa.Column("steps", INT64, nullable=False),
        sa.Column("arrivals", sa.Text(), nullable=False),
        sa.Column("shape", REAL64, nullable=False),
        sa.Column("seed", INT64, nullable=False),
        sa.Column("covered_s", REAL64, nullable=False),
        sa.Column("advisor_version", sa.Text(), nullable=False),
        sa.Column("data_version", sa.Text(), server_default="", nullable=False),
        *(
            check(table, f"{column}_filled", f"{column} <> ''")
            for column in ("validation", "name", "scenario", "advisor_version")
        ),
        check(table, "created_at_utc", "created_at LIKE '____-__-__T__:__:__Z'"),
        *(
            check(table, f"{column}_positive", f"{column} > 0 AND {column} <= '1.7e308'")
            for column in ("mtbf_s", "step_time_s", "shape", "covered_s")
        ),
        check(table, "steps_at_least_1", "steps >= 1"),
        check(table, "arrivals_known", "arrivals IN ('poisson', 'weibull')"),
        check(table, "poisson_has_shape_1", "arrivals <> 'poisson' OR shape = 1"),
        check(table, "seed_at_least_0", "seed >= 0"),
        sa.ForeignKeyConstraint(
            ["cluster"], ["clusters.cluster"], name=op.f(f"fk_{table}_cluster")
        ),
        sa.ForeignKeyConstraint(
            ["architecture"],
            ["architectures.architecture"],
            name=op.f(f"fk_{table}_architecture"),
        ),
        sa.PrimaryKeyConstraint("validation", name=op.f(f"pk_{table}")),
        sqlite_strict=True,
    )
    op.create_index(op.f(f"ix_{table}_cluster"), table, ["cluster"])


def create_validation_runs() -> None:
    table = "validation_runs"
    op.create_table(
        table,
        sa.Column("validation", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("interval_steps", INT64),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("predicted_s", REAL64),
        sa.Column("failures_expected", REAL64),
        sa.Column("observed_s", REAL64),
        sa.Column("failures", INT64),
        sa.Column("outcome", sa.Text(), server_default="", nullable=False),
        check(table, "run_id_filled", "run_id <> ''"),
        check(table, "role_known", "role IN ('selected', 'runner_up', 'candidate', 'reference')"),
        check(table, "interval_steps_at_least_1", "interval_steps >= 1"),
        *(
            check(table, f"{column}_positive", f"{column} > 0 AND {column} <= '1.7e308'")
            for column in ("predicted_s", "observed_s")
        ),
        check(
            table,
            "failures_expected_from_zero",
            "failures_expected BETWEEN 0 AND '1.7e308'",
        ),
        check(table, "failures_at_least_0", "failures >= 0"),
        sa.ForeignKeyConstraint(
            ["validation"], ["validations.validation"], name=op.f(f"fk_{table}_validation")
        ),
        sa.ForeignKeyConstraint(
            ["mechanism"], ["mechanisms.mechanism"], name=op.f(f"fk_{table}_mechanism")
        ),
        sa.PrimaryKeyConstraint("validation", "mechanism", name=op.f(f"pk_{table}")),
        sqlite_strict=True,
    )
    op.create_index(op.f(f"ix_{table}_run_id"), table, ["run_id"])


def check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def upgrade() -> None:
    """Predictions are kept before the runs that try them."""
    create_validations()
    create_validation_runs()
    op.execute(f"CREATE VIEW validation_view AS {VALIDATION_VIEW}")


def downgrade() -> None:
    """The validations are lost; their runs stay."""
    op.execute("DROP VIEW validation_view")
    for table, column in (("validation_runs", "run_id"), ("validations", "cluster")):
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
        op.drop_table(table)
