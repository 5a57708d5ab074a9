"""Runs on several nodes: how many, and what was lost at once; operating points say both.

Revision: 0010
Follows: 0009
"""
# ruff: noqa: E501  (the view is kept as it was)

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STRICT = {"sqlite_strict": True}

TABLES = ("runs", "operating_points")
CHECKS = {
    "nodes_at_least_2": "nodes >= 2",
    "failure_domain_known": "failure_domain IN ('rank', 'node')",
}

_BEFORE = """
SELECT
  p.point_id,
  p.cluster,
  p.software_stack,
  p.architecture,
  p.mechanism,
  m.family,
  m.cadence,
  p.workload,
  k.batch_per_rank,
  p.state_bytes,
  p.interval_steps,
  p.replicas,
  p.lead_s,
  p.trace,
  p.storage,
  p.group_timeout_s,
  p.world_size,
  p.outcome,
  CASE WHEN w.throughput_evidence = 'measured' AND w.samples_per_s_per_rank > 0
    THEN k.batch_per_rank / w.samples_per_s_per_rank END AS step_time_s,
  w.overhead_fraction,
  w.overhead_evidence,
  w.save_s,
  w.save_evidence,
  w.restore_s,
  w.restore_evidence,
  w.effective_restore_s,
  w.effective_restore_evidence,
  w.lost_steps,
  w.lost_steps_evidence,
  w.samples_per_s_per_rank,
  w.throughput_evidence,
  w.post_failure_samples_per_s_per_rank,
  w.post_failure_throughput_evidence,
  w.aggregate_slowdown_fraction,
  w.aggregate_slowdown_evidence,
  w.detection_s,
  w.detection_evidence,
  w.recovery_s,
  w.recovery_evidence,
  w.resumed_fraction,
  w.resumed_evidence,
  p.note
FROM operating_points p
JOIN mechanisms m ON m.mechanism = p.mechanism
JOIN workloads k ON k.workload = p.workload
LEFT JOIN (
  SELECT
    v.point_id,
    MAX(CASE WHEN v.quantity = 'overhead_fraction' THEN v.value END) AS overhead_fraction,
    MAX(CASE WHEN v.quantity = 'overhead_fraction' THEN v.evidence END) AS overhead_evidence,
    MAX(CASE WHEN v.quantity = 'save_s' THEN v.value END) AS save_s,
    MAX(CASE WHEN v.quantity = 'save_s' THEN v.evidence END) AS save_evidence,
    MAX(CASE WHEN v.quantity = 'restore_s' THEN v.value END) AS restore_s,
    MAX(CASE WHEN v.quantity = 'restore_s' THEN v.evidence END) AS restore_evidence,
    MAX(CASE WHEN v.quantity = 'effective_restore_s' THEN v.value END) AS effective_restore_s,
    MAX(CASE WHEN v.quantity = 'effective_restore_s' THEN v.evidence END) AS effective_restore_evidence,
    MAX(CASE WHEN v.quantity = 'lost_steps' THEN v.value END) AS lost_steps,
    MAX(CASE WHEN v.quantity = 'lost_steps' THEN v.evidence END) AS lost_steps_evidence,
    MAX(CASE WHEN v.quantity = 'samples_per_s_per_rank' THEN v.value END) AS samples_per_s_per_rank,
    MAX(CASE WHEN v.quantity = 'samples_per_s_per_rank' THEN v.evidence END) AS throughput_evidence,
    MAX(CASE WHEN v.quantity = 'post_failure_samples_per_s_per_rank' THEN v.value END) AS post_failure_samples_per_s_per_rank,
    MAX(CASE WHEN v.quantity = 'post_failure_samples_per_s_per_rank' THEN v.evidence END) AS post_failure_throughput_evidence,
    MAX(CASE WHEN v.quantity = 'aggregate_slowdown_fraction' THEN v.value END) AS aggregate_slowdown_fraction,
    MAX(CASE WHEN v.quantity = 'aggregate_slowdown_fraction' THEN v.evidence END) AS aggregate_slowdown_evidence,
    MAX(CASE WHEN v.quantity = 'detection_s' THEN v.value END) AS detection_s,
    MAX(CASE WHEN v.quantity = 'detection_s' THEN v.evidence END) AS detection_evidence,
    MAX(CASE WHEN v.quantity = 'recovery_s' THEN v.value END) AS recovery_s,
    MAX(CASE WHEN v.quantity = 'recovery_s' THEN v.evidence END) AS recovery_evidence,
    MAX(CASE WHEN v.quantity = 'resumed_fraction' THEN v.value END) AS resumed_fraction,
    MAX(CASE WHEN v.quantity = 'resumed_fraction' THEN v.evidence END) AS resumed_evidence
  FROM operating_point_values v
  GROUP BY v.point_id
) w ON w.point_id = p.point_id
"""
_AFTER = _BEFORE.replace("  p.world_size,\n", "  p.world_size,\n  p.nodes,\n  p.failure_domain,\n")


def upgrade() -> None:
    """All that is there was measured on one node, which is NULL."""
    with other_views("operating_point_view"):
        for table in TABLES:
            with op.batch_alter_table(table, table_kwargs=STRICT) as batch:
                batch.add_column(sa.Column("nodes", INT64))
                batch.add_column(sa.Column("failure_domain", sa.Text()))
                for name, condition in CHECKS.items():
                    batch.create_check_constraint(op.f(f"ck_{table}_{name}"), condition)
    op.execute(f"CREATE VIEW operating_point_view AS {_AFTER}")


def downgrade() -> None:
    """Which runs were on several nodes is lost, but for their records."""
    with other_views("operating_point_view"):
        for table in TABLES:
            with op.batch_alter_table(table, table_kwargs=STRICT) as batch:
                for name in CHECKS:
                    batch.drop_constraint(op.f(f"ck_{table}_{name}"), type_="check")
                batch.drop_column("failure_domain")
                batch.drop_column("nodes")
    op.execute(f"CREATE VIEW operating_point_view AS {_BEFORE}")


@contextmanager
def other_views(changed: str) -> Iterator[None]:
    """Drops the view that changes for good; on SQLite, where a table that is made anew must be in
    no view, all others too for as long as this lasts."""
    op.execute(f"DROP VIEW {changed}")
    connection = op.get_bind()
    stored = "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
    is_sqlite = connection.dialect.name == "sqlite"
    views = connection.exec_driver_sql(stored).all() if is_sqlite else []
    for name, _ in views:
        op.execute(f"DROP VIEW {name}")
    yield
    for _, select in views:
        connection.exec_driver_sql(select)
