"""Views for people who read the database with SQL; each is described in docs/sql.md.

One SELECT each, that SQLite and PostgreSQL both understand. A migration that changes a view
keeps its own copy of the text, because an old migration must do tomorrow what it does today.
"""
# ruff: noqa: S608  (put together from literals of this file only)

from collections.abc import Mapping

from db.records import Quantity

# Quantity: the stem of its `_evidence` column.
_STEMS: Mapping[Quantity, str] = {
    Quantity.OVERHEAD: "overhead",
    Quantity.SAVE: "save",
    Quantity.RESTORE: "restore",
    Quantity.EFFECTIVE_RESTORE: "effective_restore",
    Quantity.LOST_STEPS: "lost_steps",
    Quantity.THROUGHPUT: "throughput",
    Quantity.POST_FAILURE_THROUGHPUT: "post_failure_throughput",
    Quantity.AGGREGATE_SLOWDOWN: "aggregate_slowdown",
    Quantity.DETECTION: "detection",
    Quantity.RECOVERY: "recovery",
    Quantity.RESUMED: "resumed",
}


def _pivot(quantity: Quantity, stem: str) -> str:
    chosen = f"CASE WHEN v.quantity = '{quantity}' THEN v."
    return (
        f"    MAX({chosen}value END) AS {quantity},\n"
        f"    MAX({chosen}evidence END) AS {stem}_evidence"
    )


_WIDE = ",\n".join(_pivot(quantity, stem) for quantity, stem in _STEMS.items())
_WIDE_NAMES = ",\n".join(
    f"  w.{quantity},\n  w.{stem}_evidence" for quantity, stem in _STEMS.items()
)

OPERATING_POINT_VIEW = f"""
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
  p.nodes,
  p.failure_domain,
  p.outcome,
  CASE WHEN w.throughput_evidence = 'measured' AND w.samples_per_s_per_rank > 0
    THEN k.batch_per_rank / w.samples_per_s_per_rank END AS step_time_s,
{_WIDE_NAMES},
  p.note
FROM operating_points p
JOIN mechanisms m ON m.mechanism = p.mechanism
JOIN workloads k ON k.workload = p.workload
LEFT JOIN (
  SELECT
    v.point_id,
{_WIDE}
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
  r.group_timeout_s,
  e.detected_s,
  e.detection_censored,
  1,
  CAST(NULL AS DOUBLE PRECISION),
  CAST(NULL AS TEXT),
  'measured',
  e.kind || COALESCE(', detector ' || r.detector, ''),
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

EXPOSURE_VIEW = """
SELECT
  p.cluster,
  p.architecture,
  p.mechanism,
  p.workload,
  p.software_stack,
  p.trace,
  p.group_timeout_s,
  p.world_size,
  (SELECT MIN(u.detector) FROM runs u WHERE u.point_id = p.point_id) AS detector,
  (SELECT MIN(u.backend) FROM runs u WHERE u.point_id = p.point_id) AS backend,
  a.n,
  b.value AS samples_per_s_per_rank,
  d.value AS detection_s,
  CASE WHEN s.value > 0 THEN 0 WHEN s.value = 0 THEN 1 END AS halts,
  s.value AS resumed_fraction,
  a.value AS post_failure_samples_per_s_per_rank,
  l.value AS aggregate_slowdown_fraction,
  a.evidence,
  a.table_ref,
  p.point_id
FROM operating_points p
JOIN mechanisms m ON m.mechanism = p.mechanism
JOIN operating_point_values a
  ON a.point_id = p.point_id AND a.quantity = 'post_failure_samples_per_s_per_rank'
LEFT JOIN operating_point_values b
  ON b.point_id = p.point_id AND b.quantity = 'samples_per_s_per_rank'
LEFT JOIN operating_point_values d
  ON d.point_id = p.point_id AND d.quantity = 'detection_s'
LEFT JOIN operating_point_values s
  ON s.point_id = p.point_id AND s.quantity = 'resumed_fraction'
LEFT JOIN operating_point_values l
  ON l.point_id = p.point_id AND l.quantity = 'aggregate_slowdown_fraction'
WHERE m.cadence = 'never'
"""

_NUMBER = """  {0}.value,
  {0}.missing_reason,
  {0}.low,
  {0}.high,
  {0}.n,
  {0}.dispersion,
  {0}.dispersion_kind,
  {0}.evidence,
  {0}.conditions,
  {0}.table_ref,
  {0}.run_id,
  {0}.source_id,
  s.citation,
  s.url"""

EVIDENCE_VIEW = f"""
SELECT
  'operating_point' AS owner,
  v.point_id AS owner_id,
  p.cluster,
  v.quantity,
{_NUMBER.format("v")}
FROM operating_point_values v
JOIN operating_points p ON p.point_id = v.point_id
LEFT JOIN sources s ON s.source_id = v.source_id
UNION ALL
SELECT
  'calibration',
  c.calibration_id,
  c.cluster,
  c.quantity,
{_NUMBER.format("c")}
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

CALIBRATION_FIT_VIEW = """
SELECT
  s.cluster,
  f.path,
  f.processes,
  f.model,
  f.n,
  f.outliers,
  f.spread_fraction,
  f.latency_s,
  f.latency_s_low,
  f.latency_s_high,
  CASE WHEN f.s_per_byte > 0 THEN 1.0 / f.s_per_byte END AS bytes_per_s,
  CASE WHEN f.s_per_byte_high > 0 THEN 1.0 / f.s_per_byte_high END AS bytes_per_s_low,
  CASE WHEN f.s_per_byte_low > 0 THEN 1.0 / f.s_per_byte_low END AS bytes_per_s_high,
  f.s_per_rank,
  f.s_per_rank_low,
  f.s_per_rank_high,
  f.smallest_bytes,
  f.largest_bytes,
  f.conditions,
  CASE WHEN EXISTS (
    SELECT 1
    FROM calibration_fits g
    JOIN calibration_sessions t ON t.session = g.session
    WHERE t.cluster = s.cluster AND g.path = f.path AND g.processes = f.processes
      AND (t.started_at > s.started_at
        OR (t.started_at = s.started_at AND t.session > s.session))
  ) THEN 0 ELSE 1 END AS is_newest,
  s.started_at,
  s.software_stack,
  s.source_id,
  f.session
FROM calibration_fits f
JOIN calibration_sessions s ON s.session = f.session
"""

CALIBRATION_CHECK_VIEW = """
SELECT
  t.cluster,
  s.path,
  s.size_bytes,
  s.processes,
  s.duration_s AS measured_s,
  c.predicted_s,
  c.predicted_s / s.duration_s - 1 AS error_fraction,
  c.conditions,
  t.started_at,
  c.session,
  c.ordinal
FROM calibration_checks c
JOIN calibration_samples s ON s.session = c.session AND s.ordinal = c.ordinal
JOIN calibration_sessions t ON t.session = c.session
"""

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
  CASE WHEN r.predicted_s IS NOT NULL THEN COALESCE(r.step_time_s, v.step_time_s) END
    AS step_time_s,
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

VIEWS: Mapping[str, str] = {
    "operating_point_view": OPERATING_POINT_VIEW,
    "frontier_view": FRONTIER_VIEW,
    "coverage_view": COVERAGE_VIEW,
    "detection_view": DETECTION_VIEW,
    "recovery_view": RECOVERY_VIEW,
    "exposure_view": EXPOSURE_VIEW,
    "evidence_view": EVIDENCE_VIEW,
    "calibration_fit_view": CALIBRATION_FIT_VIEW,
    "calibration_check_view": CALIBRATION_CHECK_VIEW,
    "validation_view": VALIDATION_VIEW,
    "drill_view": DRILL_VIEW,
    "detector_view": DETECTOR_VIEW,
}
"""Name and SELECT of each view, in the order in which to create them."""
