"""Failure estimates: what logs said of how often a cluster fails, under names.

Revision: 0007
Follows: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

TABLE = "failure_estimates"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("log_format", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("counted", sa.Text(), nullable=False),
        sa.Column("coalesce_s", REAL64, nullable=False),
        sa.Column("nodes", REAL64),
        sa.Column("failures", INT64, nullable=False),
        sa.Column("at_risk_s", REAL64, nullable=False),
        sa.Column("mtbf_s", REAL64),
        sa.Column("low_s", REAL64, nullable=False),
        sa.Column("high_s", REAL64),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("advisor_version", sa.Text(), nullable=False),
        *(
            check(f"{column}_filled", f"{column} <> ''")
            for column in ("name", "log_format", "counted", "document", "advisor_version")
        ),
        check("created_at_utc", "created_at LIKE '____-__-__T__:__:__Z'"),
        check("scope_known", "scope IN ('node', 'job', 'all-interruptions')"),
        check("coalesce_s_from_zero", "coalesce_s BETWEEN 0 AND '1.7e308'"),
        check("failures_at_least_0", "failures >= 0"),
        *(
            check(f"{column}_positive", f"{column} > 0 AND {column} <= '1.7e308'")
            for column in ("nodes", "at_risk_s", "mtbf_s", "low_s", "high_s")
        ),
        check("no_failure_no_mtbf", "(failures = 0) = (mtbf_s IS NULL)"),
        check("no_failure_no_limit", "(failures = 0) = (high_s IS NULL)"),
        check("low_to_high", "low_s <= high_s"),
        sa.PrimaryKeyConstraint("name", name=op.f(f"pk_{TABLE}")),
        sqlite_strict=True,
    )


def check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{TABLE}_{name}"))


def downgrade() -> None:
    """What was saved of logs is lost; the logs themselves were never here."""
    op.drop_table(TABLE)
