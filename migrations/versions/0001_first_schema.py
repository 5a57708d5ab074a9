"""The first schema: tables, constraints and views.

Revision: 0001
Follows: nothing
"""
# ruff: noqa: E501  (the conditions are kept as the database stores them)

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite's STRICT tables know INTEGER, REAL and TEXT only; PostgreSQL's REAL has but 4 bytes.
INT64 = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL64: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")

OPERATING_POINT_VIEW = """
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

FRONTIER_VIEW = """
WITH candidates AS (
  SELECT
    p.point_id, p.cluster, p.architecture, p.workload, p.state_bytes, p.mechanism,
    p.interval_steps, o.value AS overhead_fraction, o.evidence AS overhead_evidence,
    COALESCE(e.value, r.value) AS effective_restore_s,
    CASE WHEN e.value IS NULL THEN r.evidence ELSE e.evidence END AS effective_restore_evidence
  FROM operating_points p
  JOIN mechanisms m ON m.mechanism = p.mechanism
  JOIN operating_point_values o
    ON o.point_id = p.point_id AND o.quantity = 'overhead_fraction'
  LEFT JOIN operating_point_values e
    ON e.point_id = p.point_id AND e.quantity = 'effective_restore_s'
  LEFT JOIN operating_point_values r
    ON r.point_id = p.point_id AND r.quantity = 'restore_s' AND m.cadence <> 'on_warning'
  WHERE p.outcome = 'complete'
    AND m.cadence IN ('periodic', 'every_step', 'on_warning')
    AND o.value IS NOT NULL
    AND COALESCE(e.value, r.value) IS NOT NULL
),
dominations AS (
  SELECT worse.point_id AS worse_id, better.point_id AS better_id
  FROM candidates worse
  JOIN candidates better
    ON better.cluster = worse.cluster
    AND better.architecture = worse.architecture
    AND better.workload = worse.workload
    AND better.state_bytes = worse.state_bytes
    AND better.overhead_fraction <= worse.overhead_fraction
    AND better.effective_restore_s <= worse.effective_restore_s
    AND (better.overhead_fraction < worse.overhead_fraction
      OR better.effective_restore_s < worse.effective_restore_s)
),
dominators AS (
  SELECT d.worse_id, MIN(d.better_id) AS better_id
  FROM dominations d
  WHERE d.better_id NOT IN (SELECT worse_id FROM dominations)
  GROUP BY d.worse_id
)
SELECT
  c.cluster,
  c.architecture,
  c.workload,
  c.state_bytes,
  c.point_id,
  c.mechanism,
  c.interval_steps,
  c.overhead_fraction,
  c.overhead_evidence,
  c.effective_restore_s,
  c.effective_restore_evidence,
  CASE WHEN d.better_id IS NULL THEN 0 ELSE 1 END AS is_dominated,
  d.better_id AS dominated_by
FROM candidates c
LEFT JOIN dominators d ON d.worse_id = c.point_id
"""

COVERAGE_VIEW = """
WITH held AS (
  SELECT
    p.cluster, p.architecture, p.mechanism,
    COUNT(DISTINCT p.point_id) AS points,
    SUM(CASE WHEN v.value IS NOT NULL AND v.evidence IN ('measured', 'measured+analytical')
      THEN 1 ELSE 0 END) AS measured_values,
    SUM(CASE WHEN v.value IS NOT NULL THEN 1 ELSE 0 END) AS held_values,
    SUM(CASE WHEN v.quantity = 'resumed_fraction' AND v.value > 0 AND v.evidence = 'measured'
      THEN 1 ELSE 0 END) AS recoveries
  FROM operating_points p
  LEFT JOIN operating_point_values v ON v.point_id = p.point_id
  GROUP BY p.cluster, p.architecture, p.mechanism
)
SELECT
  k.cluster,
  c.architecture,
  c.mechanism,
  c.status,
  c.reason,
  COALESCE(h.points, 0) AS points,
  COALESCE(h.measured_values, 0) AS measured_values,
  CASE
    WHEN h.recoveries > 0 THEN 'observed'
    WHEN h.held_values > 0 THEN 'analytical'
    ELSE 'missing'
  END AS coverage
FROM clusters k
CROSS JOIN compatibility c
LEFT JOIN held h
  ON h.cluster = k.cluster AND h.architecture = c.architecture AND h.mechanism = c.mechanism
"""

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
  CAST(NULL AS DOUBLE PRECISION),
  e.detected_s,
  e.detection_censored,
  1,
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  'measured',
  e.kind,
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

EVIDENCE_VIEW = """
SELECT
  'operating_point' AS owner,
  v.point_id AS owner_id,
  p.cluster,
  v.quantity,
  v.value,
  v.missing_reason,
  v.low,
  v.high,
  v.n,
  v.dispersion,
  v.dispersion_kind,
  v.evidence,
  v.conditions,
  v.table_ref,
  v.run_id,
  v.source_id,
  s.citation,
  s.url
FROM operating_point_values v
JOIN operating_points p ON p.point_id = v.point_id
LEFT JOIN sources s ON s.source_id = v.source_id
UNION ALL
SELECT
  'calibration',
  c.calibration_id,
  c.cluster,
  c.quantity,
  c.value,
  c.missing_reason,
  c.low,
  c.high,
  c.n,
  c.dispersion,
  c.dispersion_kind,
  c.evidence,
  c.conditions,
  c.table_ref,
  c.run_id,
  c.source_id,
  s.citation,
  s.url
FROM calibrations c
LEFT JOIN sources s ON s.source_id = c.source_id
UNION ALL
SELECT
  'text',
  t.name,
  CAST(NULL AS TEXT),
  t.unit,
  t.value,
  CAST(NULL AS TEXT),
  t.low,
  t.high,
  CAST(NULL AS BIGINT),
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  t.evidence,
  t.meaning,
  t.table_ref,
  CAST(NULL AS TEXT),
  t.source_id,
  s.citation,
  s.url
FROM text_values t
LEFT JOIN sources s ON s.source_id = t.source_id
"""


def create_architectures() -> None:
    op.create_table(
        "architectures",
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("architecture <> ''", name=op.f("ck_architectures_architecture_filled")),
        sa.CheckConstraint("name <> ''", name=op.f("ck_architectures_name_filled")),
        sa.PrimaryKeyConstraint("architecture", name=op.f("pk_architectures")),
        sqlite_strict=True,
    )


def create_mechanisms() -> None:
    op.create_table(
        "mechanisms",
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("cadence", sa.Text(), nullable=False),
        sa.Column("save_path", sa.Text(), nullable=False),
        sa.Column("persist_path", sa.Text(), nullable=False),
        sa.Column("restore_path", sa.Text(), nullable=False),
        sa.Column("default_replicas", INT64, nullable=False),
        sa.Column("host_copies_per_replica", INT64, nullable=False),
        sa.Column("device_copies_per_replica", INT64, nullable=False),
        sa.CheckConstraint(
            "cadence IN ('periodic', 'every_step', 'on_warning', 'after_failure', 'never')",
            name=op.f("ck_mechanisms_cadence_known"),
        ),
        sa.CheckConstraint("mechanism <> ''", name=op.f("ck_mechanisms_mechanism_filled")),
        sa.CheckConstraint("name <> ''", name=op.f("ck_mechanisms_name_filled")),
        sa.CheckConstraint(
            "persist_path IN ('storage_write', 'storage_read', 'host_copy', 'host_device', 'peer', 'none')",
            name=op.f("ck_mechanisms_persist_path_known"),
        ),
        sa.CheckConstraint(
            "restore_path IN ('storage_write', 'storage_read', 'host_copy', 'host_device', 'peer', 'none')",
            name=op.f("ck_mechanisms_restore_path_known"),
        ),
        sa.CheckConstraint(
            "save_path IN ('storage_write', 'storage_read', 'host_copy', 'host_device', 'peer', 'none')",
            name=op.f("ck_mechanisms_save_path_known"),
        ),
        sa.CheckConstraint(
            "default_replicas >= 0", name=op.f("ck_mechanisms_default_replicas_at_least_0")
        ),
        sa.CheckConstraint(
            "device_copies_per_replica >= 0",
            name=op.f("ck_mechanisms_device_copies_per_replica_at_least_0"),
        ),
        sa.CheckConstraint(
            "host_copies_per_replica >= 0",
            name=op.f("ck_mechanisms_host_copies_per_replica_at_least_0"),
        ),
        sa.PrimaryKeyConstraint("mechanism", name=op.f("pk_mechanisms")),
        sqlite_strict=True,
    )


def create_scenarios() -> None:
    op.create_table(
        "scenarios",
        sa.Column("scenario_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("inputs_sha256", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "created_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_scenarios_created_at_utc")
        ),
        sa.CheckConstraint("inputs <> ''", name=op.f("ck_scenarios_inputs_filled")),
        sa.CheckConstraint("scenario_id <> ''", name=op.f("ck_scenarios_scenario_id_filled")),
        sa.CheckConstraint(
            "length(inputs_sha256) = 64", name=op.f("ck_scenarios_inputs_sha256_length")
        ),
        sa.PrimaryKeyConstraint("scenario_id", name=op.f("pk_scenarios")),
        sqlite_strict=True,
    )


def create_sources() -> None:
    op.create_table(
        "sources",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), server_default="", nullable=False),
        sa.Column("published_on", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("citation <> ''", name=op.f("ck_sources_citation_filled")),
        sa.CheckConstraint("source_id <> ''", name=op.f("ck_sources_source_id_filled")),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_sources")),
        sqlite_strict=True,
    )


def create_architecture_capabilities() -> None:
    op.create_table(
        "architecture_capabilities",
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("capability", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "capability <> ''", name=op.f("ck_architecture_capabilities_capability_filled")
        ),
        sa.ForeignKeyConstraint(
            ["architecture"],
            ["architectures.architecture"],
            name=op.f("fk_architecture_capabilities_architecture"),
        ),
        sa.PrimaryKeyConstraint(
            "architecture", "capability", name=op.f("pk_architecture_capabilities")
        ),
        sqlite_strict=True,
    )


def create_clusters() -> None:
    op.create_table(
        "clusters",
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("nodes", INT64, nullable=False),
        sa.Column("ranks_per_node", INT64, nullable=False),
        sa.Column("device", sa.Text(), server_default="", nullable=False),
        sa.Column("device_memory_bytes", INT64),
        sa.Column("host_memory_bytes", INT64),
        sa.Column("interconnect", sa.Text(), server_default="", nullable=False),
        sa.Column("storage", sa.Text(), server_default="", nullable=False),
        sa.Column("source_id", sa.Text()),
        sa.CheckConstraint("cluster <> ''", name=op.f("ck_clusters_cluster_filled")),
        sa.CheckConstraint(
            "device_memory_bytes >= 1", name=op.f("ck_clusters_device_memory_bytes_at_least_1")
        ),
        sa.CheckConstraint(
            "host_memory_bytes >= 1", name=op.f("ck_clusters_host_memory_bytes_at_least_1")
        ),
        sa.CheckConstraint("nodes >= 1", name=op.f("ck_clusters_nodes_at_least_1")),
        sa.CheckConstraint(
            "ranks_per_node >= 1", name=op.f("ck_clusters_ranks_per_node_at_least_1")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_clusters_source_id")
        ),
        sa.PrimaryKeyConstraint("cluster", name=op.f("pk_clusters")),
        sqlite_strict=True,
    )


def create_compatibility() -> None:
    op.create_table(
        "compatibility",
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "status = 'viable' OR reason <> ''", name=op.f("ck_compatibility_reason_given")
        ),
        sa.CheckConstraint(
            "status IN ('viable', 'degenerate', 'infeasible')",
            name=op.f("ck_compatibility_status_known"),
        ),
        sa.ForeignKeyConstraint(
            ["architecture"],
            ["architectures.architecture"],
            name=op.f("fk_compatibility_architecture"),
        ),
        sa.ForeignKeyConstraint(
            ["mechanism"], ["mechanisms.mechanism"], name=op.f("fk_compatibility_mechanism")
        ),
        sa.PrimaryKeyConstraint("architecture", "mechanism", name=op.f("pk_compatibility")),
        sqlite_strict=True,
    )


def create_published_counts() -> None:
    op.create_table(
        "published_counts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("count", INT64, nullable=False),
        sa.Column("table_ref", sa.Text(), server_default="", nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("name <> ''", name=op.f("ck_published_counts_name_filled")),
        sa.CheckConstraint("count >= 0", name=op.f("ck_published_counts_count_at_least_0")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_published_counts_source_id")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_published_counts")),
        sqlite_strict=True,
    )


def create_published_selections() -> None:
    op.create_table(
        "published_selections",
        sa.Column("row_id", sa.Text(), nullable=False),
        sa.Column("architecture_class", sa.Text(), nullable=False),
        sa.Column("architectures", sa.Text(), server_default="", nullable=False),
        sa.Column("state_label", sa.Text(), server_default="", nullable=False),
        sa.Column("failure_regime", sa.Text(), server_default="", nullable=False),
        sa.Column("binding_constraint", sa.Text(), server_default="", nullable=False),
        sa.Column("selected_mechanism", sa.Text()),
        sa.Column("interval_steps", INT64),
        sa.Column("overhead_label", sa.Text(), server_default="", nullable=False),
        sa.Column("latency_label", sa.Text(), server_default="", nullable=False),
        sa.Column("evidence", sa.Text(), server_default="", nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.CheckConstraint("row_id <> ''", name=op.f("ck_published_selections_row_id_filled")),
        sa.CheckConstraint(
            "interval_steps >= 1", name=op.f("ck_published_selections_interval_steps_at_least_1")
        ),
        sa.ForeignKeyConstraint(
            ["selected_mechanism"],
            ["mechanisms.mechanism"],
            name=op.f("fk_published_selections_selected_mechanism"),
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_published_selections_source_id")
        ),
        sa.PrimaryKeyConstraint("row_id", name=op.f("pk_published_selections")),
        sqlite_strict=True,
    )


def create_recommendations() -> None:
    op.create_table(
        "recommendations",
        sa.Column("recommendation_id", sa.Text(), nullable=False),
        sa.Column("scenario_id", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("advisor_version", sa.Text(), nullable=False),
        sa.Column("schema_revision", sa.Text(), nullable=False),
        sa.Column("data_version", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "advisor_version <> ''", name=op.f("ck_recommendations_advisor_version_filled")
        ),
        sa.CheckConstraint(
            "created_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_recommendations_created_at_utc")
        ),
        sa.CheckConstraint(
            "recommendation_id <> ''", name=op.f("ck_recommendations_recommendation_id_filled")
        ),
        sa.CheckConstraint("result <> ''", name=op.f("ck_recommendations_result_filled")),
        sa.CheckConstraint(
            "schema_revision <> ''", name=op.f("ck_recommendations_schema_revision_filled")
        ),
        sa.ForeignKeyConstraint(
            ["scenario_id"], ["scenarios.scenario_id"], name=op.f("fk_recommendations_scenario_id")
        ),
        sa.PrimaryKeyConstraint("recommendation_id", name=op.f("pk_recommendations")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_recommendations_scenario_id"), "recommendations", ["scenario_id"], unique=False
    )


def create_text_values() -> None:
    op.create_table(
        "text_values",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", REAL64),
        sa.Column("low", REAL64),
        sa.Column("high", REAL64),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("meaning", sa.Text(), server_default="", nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("table_ref", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "evidence IN ('measured', 'analytical', 'measured+analytical', 'design_value', 'lower_bound', 'extrapolated', 'derived')",
            name=op.f("ck_text_values_evidence_known"),
        ),
        sa.CheckConstraint(
            "high BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_text_values_high_finite")
        ),
        sa.CheckConstraint(
            "low BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_text_values_low_finite")
        ),
        sa.CheckConstraint("name <> ''", name=op.f("ck_text_values_name_filled")),
        sa.CheckConstraint("unit <> ''", name=op.f("ck_text_values_unit_filled")),
        sa.CheckConstraint(
            "value BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_text_values_value_finite")
        ),
        sa.CheckConstraint("low <= high", name=op.f("ck_text_values_low_to_high")),
        sa.CheckConstraint(
            "value IS NOT NULL OR low IS NOT NULL OR high IS NOT NULL",
            name=op.f("ck_text_values_holds_a_number"),
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_text_values_source_id")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_text_values")),
        sqlite_strict=True,
    )


def create_workloads() -> None:
    op.create_table(
        "workloads",
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("optimizer", sa.Text(), server_default="", nullable=False),
        sa.Column("batch_per_rank", INT64),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("source_id", sa.Text()),
        sa.CheckConstraint("name <> ''", name=op.f("ck_workloads_name_filled")),
        sa.CheckConstraint("workload <> ''", name=op.f("ck_workloads_workload_filled")),
        sa.CheckConstraint(
            "batch_per_rank >= 1", name=op.f("ck_workloads_batch_per_rank_at_least_1")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_workloads_source_id")
        ),
        sa.PrimaryKeyConstraint("workload", name=op.f("pk_workloads")),
        sqlite_strict=True,
    )


def create_recommendation_points() -> None:
    op.create_table(
        "recommendation_points",
        sa.Column("recommendation_id", sa.Text(), nullable=False),
        sa.Column("point_id", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.CheckConstraint("point_id <> ''", name=op.f("ck_recommendation_points_point_id_filled")),
        sa.CheckConstraint("snapshot <> ''", name=op.f("ck_recommendation_points_snapshot_filled")),
        sa.ForeignKeyConstraint(
            ["recommendation_id"],
            ["recommendations.recommendation_id"],
            name=op.f("fk_recommendation_points_recommendation_id"),
        ),
        sa.PrimaryKeyConstraint(
            "recommendation_id", "point_id", name=op.f("pk_recommendation_points")
        ),
        sqlite_strict=True,
    )


def create_software_stacks() -> None:
    op.create_table(
        "software_stacks",
        sa.Column("software_stack", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("torch", sa.Text(), server_default="", nullable=False),
        sa.Column("cuda", sa.Text(), server_default="", nullable=False),
        sa.Column("nccl", sa.Text(), server_default="", nullable=False),
        sa.Column("python", sa.Text(), server_default="", nullable=False),
        sa.Column("source_id", sa.Text()),
        sa.Column("superseded_by", sa.Text()),
        sa.CheckConstraint(
            "software_stack <> ''", name=op.f("ck_software_stacks_software_stack_filled")
        ),
        sa.CheckConstraint(
            "superseded_by <> software_stack", name=op.f("ck_software_stacks_not_its_own_successor")
        ),
        sa.ForeignKeyConstraint(
            ["cluster"], ["clusters.cluster"], name=op.f("fk_software_stacks_cluster")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_software_stacks_source_id")
        ),
        sa.ForeignKeyConstraint(
            ["superseded_by"],
            ["software_stacks.software_stack"],
            name=op.f("fk_software_stacks_superseded_by"),
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.PrimaryKeyConstraint("software_stack", name=op.f("pk_software_stacks")),
        sqlite_strict=True,
    )


def create_campaigns() -> None:
    op.create_table(
        "campaigns",
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("software_stack", sa.Text()),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("seed", INT64, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("heartbeat_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("campaign <> ''", name=op.f("ck_campaigns_campaign_filled")),
        sa.CheckConstraint("command <> ''", name=op.f("ck_campaigns_command_filled")),
        sa.CheckConstraint(
            "created_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_campaigns_created_at_utc")
        ),
        sa.CheckConstraint(
            "finished_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_campaigns_finished_at_utc")
        ),
        sa.CheckConstraint(
            "heartbeat_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_campaigns_heartbeat_at_utc")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'running', 'stale', 'failed', 'complete')",
            name=op.f("ck_campaigns_status_known"),
        ),
        sa.ForeignKeyConstraint(
            ["cluster"], ["clusters.cluster"], name=op.f("fk_campaigns_cluster")
        ),
        sa.ForeignKeyConstraint(
            ["software_stack"],
            ["software_stacks.software_stack"],
            name=op.f("fk_campaigns_software_stack"),
        ),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_campaigns")),
        sqlite_strict=True,
    )


def create_operating_points() -> None:
    op.create_table(
        "operating_points",
        sa.Column("point_id", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("software_stack", sa.Text()),
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("state_bytes", INT64, nullable=False),
        sa.Column("interval_steps", INT64),
        sa.Column("replicas", INT64),
        sa.Column("lead_s", REAL64),
        sa.Column("trace", sa.Text()),
        sa.Column("storage", sa.Text()),
        sa.Column("group_timeout_s", REAL64),
        sa.Column("world_size", INT64),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "group_timeout_s > 0 AND group_timeout_s <= '1.7e308'",
            name=op.f("ck_operating_points_group_timeout_s_positive"),
        ),
        sa.CheckConstraint(
            "lead_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_operating_points_lead_s_from_zero")
        ),
        sa.CheckConstraint(
            "outcome IN ('complete', 'deadlock', 'infeasible', 'failed')",
            name=op.f("ck_operating_points_outcome_known"),
        ),
        sa.CheckConstraint("point_id <> ''", name=op.f("ck_operating_points_point_id_filled")),
        sa.CheckConstraint(
            "interval_steps >= 1", name=op.f("ck_operating_points_interval_steps_at_least_1")
        ),
        sa.CheckConstraint("replicas >= 0", name=op.f("ck_operating_points_replicas_at_least_0")),
        sa.CheckConstraint(
            "state_bytes >= 1", name=op.f("ck_operating_points_state_bytes_at_least_1")
        ),
        sa.CheckConstraint(
            "world_size >= 1", name=op.f("ck_operating_points_world_size_at_least_1")
        ),
        sa.ForeignKeyConstraint(
            ["architecture"],
            ["architectures.architecture"],
            name=op.f("fk_operating_points_architecture"),
        ),
        sa.ForeignKeyConstraint(
            ["cluster"], ["clusters.cluster"], name=op.f("fk_operating_points_cluster")
        ),
        sa.ForeignKeyConstraint(
            ["mechanism"], ["mechanisms.mechanism"], name=op.f("fk_operating_points_mechanism")
        ),
        sa.ForeignKeyConstraint(
            ["software_stack"],
            ["software_stacks.software_stack"],
            name=op.f("fk_operating_points_software_stack"),
        ),
        sa.ForeignKeyConstraint(
            ["workload"], ["workloads.workload"], name=op.f("fk_operating_points_workload")
        ),
        sa.PrimaryKeyConstraint("point_id", name=op.f("pk_operating_points")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_operating_points_cluster"), "operating_points", ["cluster"], unique=False
    )


def create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("software_stack", sa.Text()),
        sa.Column("architecture", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("trace", sa.Text()),
        sa.Column("seed", INT64, nullable=False),
        sa.Column("world_size", INT64, nullable=False),
        sa.Column("state_bytes", INT64, nullable=False),
        sa.Column("interval_steps", INT64),
        sa.Column("replicas", INT64),
        sa.Column("lead_s", REAL64),
        sa.Column("steps_completed", INT64),
        sa.Column("validity", sa.Text(), nullable=False),
        sa.Column("validity_reason", sa.Text(), server_default="", nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("wall_s", REAL64, nullable=False),
        sa.Column("record_sha256", sa.Text(), nullable=False),
        sa.CheckConstraint("lead_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_runs_lead_s_from_zero")),
        sa.CheckConstraint("run_id <> ''", name=op.f("ck_runs_run_id_filled")),
        sa.CheckConstraint(
            "started_at LIKE '____-__-__T__:__:__Z'", name=op.f("ck_runs_started_at_utc")
        ),
        sa.CheckConstraint(
            "validity = 'valid' OR validity_reason <> ''", name=op.f("ck_runs_invalid_says_why")
        ),
        sa.CheckConstraint("validity IN ('valid', 'invalid')", name=op.f("ck_runs_validity_known")),
        sa.CheckConstraint("wall_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_runs_wall_s_from_zero")),
        sa.CheckConstraint("interval_steps >= 1", name=op.f("ck_runs_interval_steps_at_least_1")),
        sa.CheckConstraint("length(record_sha256) = 64", name=op.f("ck_runs_record_sha256_length")),
        sa.CheckConstraint("replicas >= 0", name=op.f("ck_runs_replicas_at_least_0")),
        sa.CheckConstraint("state_bytes >= 1", name=op.f("ck_runs_state_bytes_at_least_1")),
        sa.CheckConstraint("steps_completed >= 0", name=op.f("ck_runs_steps_completed_at_least_0")),
        sa.CheckConstraint("world_size >= 1", name=op.f("ck_runs_world_size_at_least_1")),
        sa.ForeignKeyConstraint(
            ["architecture"], ["architectures.architecture"], name=op.f("fk_runs_architecture")
        ),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.campaign"], name=op.f("fk_runs_campaign")
        ),
        sa.ForeignKeyConstraint(["cluster"], ["clusters.cluster"], name=op.f("fk_runs_cluster")),
        sa.ForeignKeyConstraint(
            ["mechanism"], ["mechanisms.mechanism"], name=op.f("fk_runs_mechanism")
        ),
        sa.ForeignKeyConstraint(
            ["software_stack"],
            ["software_stacks.software_stack"],
            name=op.f("fk_runs_software_stack"),
        ),
        sa.ForeignKeyConstraint(
            ["workload"], ["workloads.workload"], name=op.f("fk_runs_workload")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
        sa.UniqueConstraint("record_sha256", name=op.f("uq_runs_record_sha256")),
        sqlite_strict=True,
    )


def create_calibrations() -> None:
    op.create_table(
        "calibrations",
        sa.Column("calibration_id", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("size_bytes", INT64),
        sa.Column("source_id", sa.Text()),
        sa.Column("run_id", sa.Text()),
        sa.Column("value", REAL64),
        sa.Column("missing_reason", sa.Text()),
        sa.Column("n", INT64),
        sa.Column("dispersion", REAL64),
        sa.Column("dispersion_kind", sa.Text()),
        sa.Column("low", REAL64),
        sa.Column("high", REAL64),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("conditions", sa.Text(), server_default="", nullable=False),
        sa.Column("table_ref", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "calibration_id <> ''", name=op.f("ck_calibrations_calibration_id_filled")
        ),
        sa.CheckConstraint(
            "dispersion BETWEEN 0 AND '1.7e308'", name=op.f("ck_calibrations_dispersion_from_zero")
        ),
        sa.CheckConstraint(
            "dispersion_kind IN ('ci95_half_width', 'half_range', 'range')",
            name=op.f("ck_calibrations_dispersion_kind_known"),
        ),
        sa.CheckConstraint(
            "evidence IN ('measured', 'analytical', 'measured+analytical', 'design_value', 'lower_bound', 'extrapolated', 'derived')",
            name=op.f("ck_calibrations_evidence_known"),
        ),
        sa.CheckConstraint(
            "evidence NOT IN ('measured', 'measured+analytical') OR (value IS NULL AND low IS NULL AND dispersion IS NULL) OR (n IS NOT NULL AND n >= 1)",
            name=op.f("ck_calibrations_measured_has_n"),
        ),
        sa.CheckConstraint(
            "high BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_calibrations_high_finite")
        ),
        sa.CheckConstraint(
            "low BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_calibrations_low_finite")
        ),
        sa.CheckConstraint(
            "missing_reason IN ('infinite', 'not_run', 'undefined', 'infeasible', 'failed', 'not_published')",
            name=op.f("ck_calibrations_missing_reason_known"),
        ),
        sa.CheckConstraint(
            "path IN ('storage_write', 'storage_read', 'host_copy', 'host_device', 'peer', 'none')",
            name=op.f("ck_calibrations_path_known"),
        ),
        sa.CheckConstraint(
            "quantity <> 'duration_s' OR size_bytes IS NOT NULL",
            name=op.f("ck_calibrations_duration_has_size"),
        ),
        sa.CheckConstraint(
            "quantity IN ('duration_s', 'bandwidth_bytes_per_s')",
            name=op.f("ck_calibrations_quantity_known"),
        ),
        sa.CheckConstraint(
            "value > 0 AND value <= '1.7e308'", name=op.f("ck_calibrations_value_positive")
        ),
        sa.CheckConstraint(
            "value BETWEEN '-1.7e308' AND '1.7e308'", name=op.f("ck_calibrations_value_finite")
        ),
        sa.CheckConstraint(
            "(dispersion IS NULL AND low IS NULL) OR dispersion_kind IS NOT NULL",
            name=op.f("ck_calibrations_dispersion_explained"),
        ),
        sa.CheckConstraint(
            "(low IS NULL) = (high IS NULL)", name=op.f("ck_calibrations_low_with_high")
        ),
        sa.CheckConstraint(
            "(value IS NULL AND low IS NULL AND dispersion IS NULL) OR source_id IS NOT NULL OR run_id IS NOT NULL",
            name=op.f("ck_calibrations_number_has_origin"),
        ),
        sa.CheckConstraint(
            "(value IS NULL) = (missing_reason IS NOT NULL)",
            name=op.f("ck_calibrations_value_or_reason"),
        ),
        sa.CheckConstraint("low <= high", name=op.f("ck_calibrations_low_to_high")),
        sa.CheckConstraint("low > 0", name=op.f("ck_calibrations_low_positive")),
        sa.CheckConstraint("n >= 0", name=op.f("ck_calibrations_n_at_least_0")),
        sa.CheckConstraint("size_bytes >= 1", name=op.f("ck_calibrations_size_bytes_at_least_1")),
        sa.ForeignKeyConstraint(
            ["cluster"], ["clusters.cluster"], name=op.f("fk_calibrations_cluster")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_calibrations_run_id")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_calibrations_source_id")
        ),
        sa.PrimaryKeyConstraint("calibration_id", name=op.f("pk_calibrations")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_calibrations_cluster"), "calibrations", ["cluster"], unique=False)


def create_fault_events() -> None:
    op.create_table(
        "fault_events",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("rank", INT64, nullable=False),
        sa.Column("step", INT64),
        sa.Column("at_s", REAL64, nullable=False),
        sa.Column("lead_s", REAL64),
        sa.Column("fired", INT64, nullable=False),
        sa.Column("detected_s", REAL64),
        sa.Column("detection_censored", INT64, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(fired = 0) = (outcome = 'not_fired')", name=op.f("ck_fault_events_fired_has_outcome")
        ),
        sa.CheckConstraint(
            "at_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_fault_events_at_s_from_zero")
        ),
        sa.CheckConstraint(
            "detected_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_fault_events_detected_s_from_zero")
        ),
        sa.CheckConstraint("kind <> ''", name=op.f("ck_fault_events_kind_filled")),
        sa.CheckConstraint(
            "lead_s BETWEEN 0 AND '1.7e308'", name=op.f("ck_fault_events_lead_s_from_zero")
        ),
        sa.CheckConstraint(
            "outcome IN ('recovered', 'degraded', 'halted', 'coordinator_lost', 'not_fired')",
            name=op.f("ck_fault_events_outcome_known"),
        ),
        sa.CheckConstraint(
            "detection_censored = 0 OR detected_s IS NOT NULL",
            name=op.f("ck_fault_events_censored_has_deadline"),
        ),
        sa.CheckConstraint(
            "detection_censored IN (0, 1)", name=op.f("ck_fault_events_detection_censored_flag")
        ),
        sa.CheckConstraint(
            "fired = 1 OR detected_s IS NULL", name=op.f("ck_fault_events_unfired_is_undetected")
        ),
        sa.CheckConstraint("fired IN (0, 1)", name=op.f("ck_fault_events_fired_flag")),
        sa.CheckConstraint("ordinal >= 0", name=op.f("ck_fault_events_ordinal_at_least_0")),
        sa.CheckConstraint("rank >= 0", name=op.f("ck_fault_events_rank_at_least_0")),
        sa.CheckConstraint("step >= 0", name=op.f("ck_fault_events_step_at_least_0")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_fault_events_run_id")),
        sa.PrimaryKeyConstraint("run_id", "ordinal", name=op.f("pk_fault_events")),
        sqlite_strict=True,
    )


def create_operating_point_values() -> None:
    op.create_table(
        "operating_point_values",
        sa.Column("point_id", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text()),
        sa.Column("run_id", sa.Text()),
        sa.Column("value", REAL64),
        sa.Column("missing_reason", sa.Text()),
        sa.Column("n", INT64),
        sa.Column("dispersion", REAL64),
        sa.Column("dispersion_kind", sa.Text()),
        sa.Column("low", REAL64),
        sa.Column("high", REAL64),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("conditions", sa.Text(), server_default="", nullable=False),
        sa.Column("table_ref", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "dispersion BETWEEN 0 AND '1.7e308'",
            name=op.f("ck_operating_point_values_dispersion_from_zero"),
        ),
        sa.CheckConstraint(
            "dispersion_kind IN ('ci95_half_width', 'half_range', 'range')",
            name=op.f("ck_operating_point_values_dispersion_kind_known"),
        ),
        sa.CheckConstraint(
            "evidence IN ('measured', 'analytical', 'measured+analytical', 'design_value', 'lower_bound', 'extrapolated', 'derived')",
            name=op.f("ck_operating_point_values_evidence_known"),
        ),
        sa.CheckConstraint(
            "evidence NOT IN ('measured', 'measured+analytical') OR (value IS NULL AND low IS NULL AND dispersion IS NULL) OR (n IS NOT NULL AND n >= 1)",
            name=op.f("ck_operating_point_values_measured_has_n"),
        ),
        sa.CheckConstraint(
            "high BETWEEN '-1.7e308' AND '1.7e308'",
            name=op.f("ck_operating_point_values_high_finite"),
        ),
        sa.CheckConstraint(
            "low BETWEEN '-1.7e308' AND '1.7e308'",
            name=op.f("ck_operating_point_values_low_finite"),
        ),
        sa.CheckConstraint(
            "missing_reason IN ('infinite', 'not_run', 'undefined', 'infeasible', 'failed', 'not_published')",
            name=op.f("ck_operating_point_values_missing_reason_known"),
        ),
        sa.CheckConstraint(
            "quantity <> 'aggregate_slowdown_fraction' OR high <= 1",
            name=op.f("ck_operating_point_values_high_slowdown"),
        ),
        sa.CheckConstraint(
            "quantity <> 'aggregate_slowdown_fraction' OR low <= 1",
            name=op.f("ck_operating_point_values_low_slowdown"),
        ),
        sa.CheckConstraint(
            "quantity <> 'aggregate_slowdown_fraction' OR value <= 1",
            name=op.f("ck_operating_point_values_value_slowdown"),
        ),
        sa.CheckConstraint(
            "quantity <> 'overhead_fraction' OR high > -1",
            name=op.f("ck_operating_point_values_high_overhead"),
        ),
        sa.CheckConstraint(
            "quantity <> 'overhead_fraction' OR low > -1",
            name=op.f("ck_operating_point_values_low_overhead"),
        ),
        sa.CheckConstraint(
            "quantity <> 'overhead_fraction' OR value > -1",
            name=op.f("ck_operating_point_values_value_overhead"),
        ),
        sa.CheckConstraint(
            "quantity <> 'resumed_fraction' OR high <= 1",
            name=op.f("ck_operating_point_values_high_resumed"),
        ),
        sa.CheckConstraint(
            "quantity <> 'resumed_fraction' OR low <= 1",
            name=op.f("ck_operating_point_values_low_resumed"),
        ),
        sa.CheckConstraint(
            "quantity <> 'resumed_fraction' OR value <= 1",
            name=op.f("ck_operating_point_values_value_resumed"),
        ),
        sa.CheckConstraint(
            "quantity IN ('overhead_fraction', 'aggregate_slowdown_fraction') OR high >= 0",
            name=op.f("ck_operating_point_values_high_sign"),
        ),
        sa.CheckConstraint(
            "quantity IN ('overhead_fraction', 'aggregate_slowdown_fraction') OR low >= 0",
            name=op.f("ck_operating_point_values_low_sign"),
        ),
        sa.CheckConstraint(
            "quantity IN ('overhead_fraction', 'aggregate_slowdown_fraction') OR value >= 0",
            name=op.f("ck_operating_point_values_value_sign"),
        ),
        sa.CheckConstraint(
            "quantity IN ('overhead_fraction', 'save_s', 'restore_s', 'effective_restore_s', 'lost_steps', 'samples_per_s_per_rank', 'post_failure_samples_per_s_per_rank', 'aggregate_slowdown_fraction', 'detection_s', 'recovery_s', 'resumed_fraction')",
            name=op.f("ck_operating_point_values_quantity_known"),
        ),
        sa.CheckConstraint(
            "value BETWEEN '-1.7e308' AND '1.7e308'",
            name=op.f("ck_operating_point_values_value_finite"),
        ),
        sa.CheckConstraint(
            "(dispersion IS NULL AND low IS NULL) OR dispersion_kind IS NOT NULL",
            name=op.f("ck_operating_point_values_dispersion_explained"),
        ),
        sa.CheckConstraint(
            "(low IS NULL) = (high IS NULL)", name=op.f("ck_operating_point_values_low_with_high")
        ),
        sa.CheckConstraint(
            "(value IS NULL AND low IS NULL AND dispersion IS NULL) OR source_id IS NOT NULL OR run_id IS NOT NULL",
            name=op.f("ck_operating_point_values_number_has_origin"),
        ),
        sa.CheckConstraint(
            "(value IS NULL) = (missing_reason IS NOT NULL)",
            name=op.f("ck_operating_point_values_value_or_reason"),
        ),
        sa.CheckConstraint("low <= high", name=op.f("ck_operating_point_values_low_to_high")),
        sa.CheckConstraint("n >= 0", name=op.f("ck_operating_point_values_n_at_least_0")),
        sa.ForeignKeyConstraint(
            ["point_id"],
            ["operating_points.point_id"],
            name=op.f("fk_operating_point_values_point_id"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_operating_point_values_run_id")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.source_id"], name=op.f("fk_operating_point_values_source_id")
        ),
        sa.PrimaryKeyConstraint("point_id", "quantity", name=op.f("pk_operating_point_values")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_operating_point_values_source_id"),
        "operating_point_values",
        ["source_id"],
        unique=False,
    )


def create_recovery_phases() -> None:
    op.create_table(
        "recovery_phases",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("fault_ordinal", INT64, nullable=False),
        sa.Column("ordinal", INT64, nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("duration_s", REAL64, nullable=False),
        sa.CheckConstraint(
            "duration_s BETWEEN 0 AND '1.7e308'",
            name=op.f("ck_recovery_phases_duration_s_from_zero"),
        ),
        sa.CheckConstraint(
            "phase IN ('detect', 'stop', 'elect', 'rebuild', 'initialise', 'restore', 'check', 'resume')",
            name=op.f("ck_recovery_phases_phase_known"),
        ),
        sa.CheckConstraint("ordinal >= 0", name=op.f("ck_recovery_phases_ordinal_at_least_0")),
        sa.ForeignKeyConstraint(
            ["run_id", "fault_ordinal"],
            ["fault_events.run_id", "fault_events.ordinal"],
            name=op.f("fk_recovery_phases_run_id"),
        ),
        sa.PrimaryKeyConstraint(
            "run_id", "fault_ordinal", "ordinal", name=op.f("pk_recovery_phases")
        ),
        sqlite_strict=True,
    )


# The order of creation: what is referred to comes first.
TABLES = (
    create_architectures,
    create_mechanisms,
    create_scenarios,
    create_sources,
    create_architecture_capabilities,
    create_clusters,
    create_compatibility,
    create_published_counts,
    create_published_selections,
    create_recommendations,
    create_text_values,
    create_workloads,
    create_recommendation_points,
    create_software_stacks,
    create_campaigns,
    create_operating_points,
    create_runs,
    create_calibrations,
    create_fault_events,
    create_operating_point_values,
    create_recovery_phases,
)
VIEWS = {
    "operating_point_view": OPERATING_POINT_VIEW,
    "frontier_view": FRONTIER_VIEW,
    "coverage_view": COVERAGE_VIEW,
    "detection_view": DETECTION_VIEW,
    "recovery_view": RECOVERY_VIEW,
    "evidence_view": EVIDENCE_VIEW,
}


def upgrade() -> None:
    """Makes every table and view."""
    for create_table in TABLES:
        create_table()
    for name, select in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {select}")


def downgrade() -> None:
    """Drops them all, with everything that they hold."""
    for name in reversed(VIEWS):
        op.execute(f"DROP VIEW {name}")
    for create_table in reversed(TABLES):
        op.drop_table(create_table.__name__.removeprefix("create_"))
