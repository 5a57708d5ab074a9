"""Drills: faults that mechanisms were to survive, each with the run that tried it.

Revision: 0012
Follows: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

TABLE = "drills"

DRILL_VIEW = """
SELECT
  g.cluster,
  d.mechanism,
  d.drill,
  d.architecture,
  d.result,
  d.reason,
  d.expected,
  r.outcome,
  COALESCE(r.started_at, d.planned_at) AS tried_at,
  r.wall_s,
  d.deadline_s,
  d.most_lost_steps,
  (SELECT MAX(v.lost_steps) FROM run_recoveries v WHERE v.run_id = d.run_id) AS lost_steps,
  d.noticed_by,
  d.campaign,
  d.run_id
FROM drills d
JOIN campaigns g ON g.campaign = d.campaign
LEFT JOIN runs r ON r.run_id = d.run_id
"""


def upgrade() -> None:
    """What is expected is kept before the runs that try it."""
    op.create_table(
        TABLE,
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("drill", sa.Text(), nullable=False),
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("planned_at", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("most_lost_steps", INT64),
        sa.Column("noticed_by", sa.Text()),
        sa.Column("deadline_s", REAL64, nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        *(
            check(f"{column}_filled", f"{column} <> ''")
            for column in ("run_id", "drill", "expected", "noticed_by")
        ),
        check("planned_at_utc", "planned_at LIKE '____-__-__T__:__:__Z'"),
        check("most_lost_steps_at_least_0", "most_lost_steps >= 0"),
        check("deadline_s_positive", "deadline_s > 0 AND deadline_s <= '1.7e308'"),
        check("result_known", "result IN ('planned', 'passed', 'failed')"),
        check("failed_says_why", "(result = 'failed') = (reason <> '')"),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.campaign"], name=op.f(f"fk_{TABLE}_campaign")
        ),
        sa.ForeignKeyConstraint(
            ["architecture"],
            ["architectures.architecture"],
            name=op.f(f"fk_{TABLE}_architecture"),
        ),
        sa.ForeignKeyConstraint(
            ["mechanism"], ["mechanisms.mechanism"], name=op.f(f"fk_{TABLE}_mechanism")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f(f"pk_{TABLE}")),
        sqlite_strict=True,
    )
    op.create_index(op.f(f"ix_{TABLE}_campaign"), TABLE, ["campaign"])
    op.execute(f"CREATE VIEW drill_view AS {DRILL_VIEW}")


def check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{TABLE}_{name}"))


def downgrade() -> None:
    """The marks are lost; the runs behind them stay."""
    op.execute("DROP VIEW drill_view")
    op.drop_index(op.f(f"ix_{TABLE}_campaign"), TABLE)
    op.drop_table(TABLE)
