"""What the monitors of runs did: what they cost, what they noticed, and false alarms.

Revision: 0013
Follows: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

TABLE = "run_monitors"
COUNTS = ("checks", "noticed", "right_rank", "false_alarms", "after_steps")
TIMES = ("s_per_step", "waited_s_per_step", "overhead_fraction", "after_s")

DETECTOR_VIEW = """
SELECT
  r.cluster,
  r.architecture,
  r.workload,
  r.world_size,
  m.monitor,
  m.interval_steps,
  COUNT(*) AS runs,
  CAST(SUM(m.checks) AS BIGINT) AS checks,
  AVG(m.s_per_step) AS s_per_step,
  AVG(m.waited_s_per_step) AS waited_s_per_step,
  AVG(m.overhead_fraction) AS overhead_fraction,
  CAST(SUM(m.struck) AS BIGINT) AS struck,
  CAST(SUM(m.noticed) AS BIGINT) AS noticed,
  CAST(SUM(m.right_rank) AS BIGINT) AS right_rank,
  CAST(SUM(m.false_alarms) AS BIGINT) AS false_alarms,
  AVG(m.after_s) AS after_s,
  AVG(CAST(m.after_steps AS DOUBLE PRECISION)) AS after_steps,
  MAX(m.after_steps) AS most_after_steps
FROM run_monitors m
JOIN runs r ON r.run_id = m.run_id
WHERE r.validity = 'valid'
GROUP BY r.cluster, r.architecture, r.workload, r.world_size, m.monitor, m.interval_steps
"""


def upgrade() -> None:
    """Runs that are there get their rows by `advisor db rebuild`, from their records."""
    op.create_table(
        TABLE,
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("monitor", sa.Text(), nullable=False),
        sa.Column("interval_steps", INT64, nullable=False),
        sa.Column("checks", INT64, nullable=False),
        sa.Column("s_per_step", REAL64),
        sa.Column("waited_s_per_step", REAL64),
        sa.Column("overhead_fraction", REAL64),
        sa.Column("struck", INT64, nullable=False),
        sa.Column("noticed", INT64, nullable=False),
        sa.Column("right_rank", INT64, nullable=False),
        sa.Column("false_alarms", INT64, nullable=False),
        sa.Column("after_s", REAL64),
        sa.Column("after_steps", INT64),
        check("monitor_filled", "monitor <> ''"),
        check("interval_steps_at_least_1", "interval_steps >= 1"),
        check("noticed_of_struck", "noticed <= struck"),
        *(check(f"{column}_at_least_0", f"{column} >= 0") for column in COUNTS),
        *(check(f"{column}_from_zero", f"{column} BETWEEN 0 AND '1.7e308'") for column in TIMES),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f(f"fk_{TABLE}_run_id")),
        sa.PrimaryKeyConstraint("run_id", "monitor", name=op.f(f"pk_{TABLE}")),
        sqlite_strict=True,
    )
    op.execute(f"CREATE VIEW detector_view AS {DETECTOR_VIEW}")


def check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{TABLE}_{name}"))


def downgrade() -> None:
    """Records keep what is dropped."""
    op.execute("DROP VIEW detector_view")
    op.drop_table(TABLE)
