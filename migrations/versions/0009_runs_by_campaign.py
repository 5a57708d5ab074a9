"""Runs are found by their campaign: how far one is was a look at every run of the database.

Revision: 0009
Follows: 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

INDEX = "ix_runs_campaign"


def upgrade() -> None:
    op.create_index(op.f(INDEX), "runs", ["campaign"])


def downgrade() -> None:
    op.drop_index(op.f(INDEX), table_name="runs")
