"""Campaigns that survive: their plans, and every planned cell as a row.

Revision: 0005
Follows: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def create_campaign_plans() -> None:
    op.create_table(
        "campaign_plans",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("order_seed", INT64),
        sa.Column("target_fraction", REAL64),
        sa.Column("least_seeds", INT64),
        sa.Column("most_seeds", INT64),
        sa.Column("term", INT64, nullable=False),
        sa.Column("host", sa.Text()),
        sa.Column("pid", INT64),
        sa.Column("process", sa.Text()),
        sa.Column("boot_id", sa.Text()),
        check("campaign_plans", "folder_filled", "folder <> ''"),
        check("campaign_plans", "order_seed_at_least_0", "order_seed >= 0"),
        check(
            "campaign_plans",
            "target_fraction_positive",
            "target_fraction > 0 AND target_fraction <= '1.7e308'",
        ),
        check("campaign_plans", "least_seeds_at_least_1", "least_seeds >= 1"),
        check("campaign_plans", "most_seeds_at_least_1", "most_seeds >= 1"),
        check("campaign_plans", "term_at_least_0", "term >= 0"),
        check("campaign_plans", "pid_at_least_1", "pid >= 1"),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.campaign"], name=op.f("fk_campaign_plans_campaign")
        ),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_campaign_plans")),
        sqlite_strict=True,
    )


def create_campaign_cells() -> None:
    op.create_table(
        "campaign_cells",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("trace", sa.Text()),
        sa.Column("seed", INT64, nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempts", INT64, nullable=False),
        sa.Column("host", sa.Text()),
        sa.Column("pid", INT64),
        sa.Column("boot_id", sa.Text()),
        sa.Column("heartbeat_at", sa.Text()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("wall_s", REAL64),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        check("campaign_cells", "run_id_filled", "run_id <> ''"),
        check("campaign_cells", "parameters_filled", "parameters <> ''"),
        check("campaign_cells", "ordinal_at_least_1", "ordinal >= 1"),
        check(
            "campaign_cells",
            "status_known",
            "status IN ('pending', 'running', 'stale', 'failed', 'complete')",
        ),
        check("campaign_cells", "attempts_at_least_0", "attempts >= 0"),
        check("campaign_cells", "pid_at_least_1", "pid >= 1"),
        check("campaign_cells", "heartbeat_at_utc", "heartbeat_at LIKE '____-__-__T__:__:__Z'"),
        check("campaign_cells", "started_at_utc", "started_at LIKE '____-__-__T__:__:__Z'"),
        check("campaign_cells", "finished_at_utc", "finished_at LIKE '____-__-__T__:__:__Z'"),
        check("campaign_cells", "wall_s_from_zero", "wall_s BETWEEN 0 AND '1.7e308'"),
        check("campaign_cells", "failed_says_why", "status <> 'failed' OR reason <> ''"),
        check(
            "campaign_cells",
            "running_has_runner",
            "status <> 'running' OR (pid IS NOT NULL AND attempts >= 1)",
        ),
        check(
            "campaign_cells",
            "finished_has_end",
            "(status IN ('failed', 'complete')) = (finished_at IS NOT NULL)",
        ),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaign_plans.campaign"], name=op.f("fk_campaign_cells_campaign")
        ),
        sa.PrimaryKeyConstraint("campaign", "ordinal", name=op.f("pk_campaign_cells")),
        sa.UniqueConstraint("run_id", name=op.f("uq_campaign_cells_run_id")),
        sqlite_strict=True,
    )


def upgrade() -> None:
    """Campaigns of before have no plan: nothing of them was left to run."""
    create_campaign_plans()
    create_campaign_cells()


def downgrade() -> None:
    """The plans are lost; campaigns and runs stay."""
    op.drop_table("campaign_cells")
    op.drop_table("campaign_plans")


def check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))
