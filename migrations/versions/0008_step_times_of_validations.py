"""Validations measure the step time before each of their runs.

Revision: 0008
Follows: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
STRICT = {"sqlite_strict": True}

TABLE = "validation_runs"
CHECK = f"ck_{TABLE}_step_time_s_positive"

_BEFORE = """
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
_AFTER = _BEFORE.replace(
    "  r.interval_steps,\n",
    "  r.interval_steps,\n"
    "  CASE WHEN r.predicted_s IS NOT NULL THEN COALESCE(r.step_time_s, v.step_time_s) END\n"
    "    AS step_time_s,\n",
)


def upgrade() -> None:
    """Older runs were predicted with the step time of their validation."""
    op.execute("DROP VIEW validation_view")
    with op.batch_alter_table(TABLE, table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("step_time_s", REAL64))
        batch.create_check_constraint(op.f(CHECK), "step_time_s > 0 AND step_time_s <= '1.7e308'")
    op.execute(f"CREATE VIEW validation_view AS {_AFTER}")


def downgrade() -> None:
    """What each run's own step time was is lost."""
    op.execute("DROP VIEW validation_view")
    with op.batch_alter_table(TABLE, table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f(CHECK), type_="check")
        batch.drop_column("step_time_s")
    op.execute(f"CREATE VIEW validation_view AS {_BEFORE}")
