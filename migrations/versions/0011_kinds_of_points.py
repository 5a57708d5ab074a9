"""Points are found by their kind and state size: a question about a cluster that has very many
reads those near to it only, without a look at every other one.

Revision: 0011
Follows: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INDEX = "ix_operating_points_kind"
COLUMNS = [
    "cluster",
    "architecture",
    "mechanism",
    "workload",
    "trace",
    "software_stack",
    "outcome",
    "interval_steps",
    "state_bytes",
    "point_id",
]


def upgrade() -> None:
    op.create_index(op.f(INDEX), "operating_points", COLUMNS)


def downgrade() -> None:
    op.drop_index(op.f(INDEX), table_name="operating_points")
