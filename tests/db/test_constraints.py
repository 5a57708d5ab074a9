"""The schema itself refuses nonsense, on both databases, each time by the constraint named."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert
from sqlalchemy.exc import DBAPIError, IntegrityError

from db.migrate import described
from db.models import Base
from db.session import open_engine, reading, writing
from tests.db.good_rows import GOOD

INFINITY = float("inf")
NAN = float("nan")

POINT = {"value": None, "missing_reason": "not_run", "dispersion": None, "dispersion_kind": None}
# What turns the good fit of bytes into one of ranks.
RANKS = {
    "model": "ranks",
    "s_per_rank": 1.0,
    "s_per_rank_low": 0.5,
    "s_per_rank_high": 2.0,
    **dict.fromkeys(("s_per_byte", "s_per_byte_low", "s_per_byte_high")),
    **dict.fromkeys(("smallest_bytes", "largest_bytes")),
}

# Table, what to change of its good row, and the constraint that must refuse it; `a|b` where a
# value breaks both, since the databases differ in which one they name.
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("sources", {"source_id": ""}, "source_id_filled"),
    ("sources", {"citation": ""}, "citation_filled"),
    ("clusters", {"cluster": ""}, "cluster_filled"),
    ("clusters", {"nodes": 0}, "nodes_at_least_1"),
    ("clusters", {"ranks_per_node": -4}, "ranks_per_node_at_least_1"),
    ("clusters", {"device_memory_bytes": 0}, "device_memory_bytes_at_least_1"),
    ("clusters", {"host_memory_bytes": -1}, "host_memory_bytes_at_least_1"),
    ("software_stacks", {"software_stack": ""}, "software_stack_filled"),
    ("software_stacks", {"superseded_by": "tiny/torch-2.3"}, "not_its_own_successor"),
    ("architectures", {"architecture": ""}, "architecture_filled"),
    ("architectures", {"name": ""}, "name_filled"),
    ("architecture_capabilities", {"capability": ""}, "capability_filled"),
    ("mechanisms", {"mechanism": ""}, "mechanism_filled"),
    ("mechanisms", {"name": ""}, "name_filled"),
    ("mechanisms", {"cadence": "sometimes"}, "cadence_known"),
    ("mechanisms", {"save_path": "pigeon"}, "save_path_known"),
    ("mechanisms", {"persist_path": "pigeon"}, "persist_path_known"),
    ("mechanisms", {"restore_path": "pigeon"}, "restore_path_known"),
    ("mechanisms", {"default_replicas": -1}, "default_replicas_at_least_0"),
    ("mechanisms", {"host_copies_per_replica": -1}, "host_copies_per_replica_at_least_0"),
    ("mechanisms", {"device_copies_per_replica": -1}, "device_copies_per_replica_at_least_0"),
    ("compatibility", {"status": "perhaps", "reason": "who knows"}, "status_known"),
    ("compatibility", {"status": "infeasible"}, "reason_given"),
    ("workloads", {"workload": ""}, "workload_filled"),
    ("workloads", {"name": ""}, "name_filled"),
    ("workloads", {"batch_per_rank": 0}, "batch_per_rank_at_least_1"),
    ("campaigns", {"campaign": ""}, "campaign_filled"),
    ("campaigns", {"command": ""}, "command_filled"),
    ("campaigns", {"status": "sleeping"}, "status_known"),
    ("campaigns", {"created_at": "yesterday"}, "created_at_utc"),
    ("campaigns", {"heartbeat_at": "2026-01-31 12:00:00"}, "heartbeat_at_utc"),
    ("campaigns", {"finished_at": "2026-01-31T12:00:00+01:00"}, "finished_at_utc"),
    ("campaign_plans", {"folder": ""}, "folder_filled"),
    ("campaign_plans", {"order_seed": -1}, "order_seed_at_least_0"),
    ("campaign_plans", {"target_fraction": 0.0}, "target_fraction_positive"),
    ("campaign_plans", {"least_seeds": 0}, "least_seeds_at_least_1"),
    ("campaign_plans", {"most_seeds": 0}, "most_seeds_at_least_1"),
    ("campaign_plans", {"term": -1}, "term_at_least_0"),
    ("campaign_plans", {"pid": 0}, "pid_at_least_1"),
    ("campaign_cells", {"run_id": ""}, "run_id_filled"),
    ("campaign_cells", {"parameters": ""}, "parameters_filled"),
    ("campaign_cells", {"ordinal": 0}, "ordinal_at_least_1"),
    ("campaign_cells", {"status": "lost", "finished_at": None}, "status_known"),
    ("campaign_cells", {"attempts": -1}, "attempts_at_least_0"),
    ("campaign_cells", {"pid": 0}, "pid_at_least_1"),
    ("campaign_cells", {"heartbeat_at": "now"}, "heartbeat_at_utc"),
    ("campaign_cells", {"started_at": "now"}, "started_at_utc"),
    ("campaign_cells", {"finished_at": "now"}, "finished_at_utc"),
    ("campaign_cells", {"wall_s": -1.0}, "wall_s_from_zero"),
    ("campaign_cells", {"status": "failed"}, "failed_says_why"),
    (
        "campaign_cells",
        {"status": "running", "finished_at": None, "pid": None},
        "running_has_runner",
    ),
    ("campaign_cells", {"finished_at": None}, "finished_has_end"),
    ("runs", {"run_id": ""}, "run_id_filled"),
    ("runs", {"validity": "maybe", "validity_reason": "?"}, "validity_known"),
    ("runs", {"validity": "invalid"}, "invalid_says_why"),
    ("runs", {"world_size": 0}, "world_size_at_least_1"),
    ("runs", {"state_bytes": -1}, "state_bytes_at_least_1"),
    ("runs", {"interval_steps": 0}, "interval_steps_at_least_1"),
    ("runs", {"replicas": -1}, "replicas_at_least_0"),
    ("runs", {"nodes": 1}, "nodes_at_least_2"),
    ("runs", {"failure_domain": "rack"}, "failure_domain_known"),
    ("runs", {"steps_completed": -1}, "steps_completed_at_least_0"),
    ("runs", {"lead_s": -0.5}, "lead_s_from_zero"),
    ("runs", {"wall_s": INFINITY}, "wall_s_from_zero"),
    ("runs", {"wall_s": -1.0}, "wall_s_from_zero"),
    ("runs", {"started_at": ""}, "started_at_utc"),
    ("runs", {"record_sha256": "abc"}, "record_sha256_length"),
    ("runs", {"outcome": "fine"}, "outcome_known"),
    ("runs", {"outcome": "invalid"}, "invalid_outcome"),
    ("runs", {"detector": "crystal ball"}, "detector_known"),
    ("runs", {"group_timeout_s": 0.0}, "group_timeout_s_positive"),
    ("runs", {"round_limit_s": INFINITY}, "round_limit_s_positive"),
    ("runs", {"spacing_s": -1.0}, "spacing_s_from_zero"),
    ("runs", {"training_started_s": -1.0}, "training_started_s_from_zero"),
    ("runs", {"steps_planned": 0}, "steps_planned_at_least_1"),
    ("runs", {"dropped_steps": -1}, "dropped_steps_at_least_0"),
    ("runs", {"ranks_before": 0}, "ranks_before_at_least_1"),
    ("runs", {"ranks_after": -1}, "ranks_after_at_least_0"),
    ("runs", {"way": "prayer"}, "way_known"),
    ("runs", {"equivalent": 2}, "equivalent_flag"),
    ("runs", {"infeasible_reason": "too large"}, "infeasible_reason_outcome"),
    ("run_recoveries", {"generation": -1}, "generation_at_least_0"),
    ("run_recoveries", {"way": "prayer"}, "way_known"),
    ("run_recoveries", {"step": -1}, "step_at_least_0"),
    ("run_recoveries", {"lost_steps": -1}, "lost_steps_at_least_0"),
    ("run_recoveries", {"lost_s": -0.1}, "lost_s_from_zero"),
    ("run_recoveries", {"world_size": 0}, "world_size_at_least_1"),
    ("run_recoveries", {"total_s": INFINITY}, "total_s_from_zero"),
    ("run_saves", {"path": ""}, "path_filled"),
    ("run_saves", {"count": -1}, "count_at_least_0"),
    ("run_saves", {"skipped": -1}, "skipped_at_least_0"),
    ("run_saves", {"failed": -1}, "failed_at_least_0"),
    ("run_saves", {"foreground_s": -0.1}, "foreground_s_from_zero"),
    ("run_saves", {"background_s": INFINITY}, "background_s_from_zero"),
    ("run_saves", {"bytes_per_save": -1.0}, "bytes_per_save_from_zero"),
    ("run_monitors", {"monitor": ""}, "monitor_filled"),
    ("run_monitors", {"interval_steps": 0}, "interval_steps_at_least_1"),
    ("run_monitors", {"checks": -1}, "checks_at_least_0"),
    ("run_monitors", {"noticed": -1}, "noticed_at_least_0"),
    ("run_monitors", {"noticed": 3}, "noticed_of_struck"),
    ("run_monitors", {"right_rank": -1}, "right_rank_at_least_0"),
    ("run_monitors", {"false_alarms": -1}, "false_alarms_at_least_0"),
    ("run_monitors", {"after_steps": -1}, "after_steps_at_least_0"),
    ("run_monitors", {"s_per_step": -0.1}, "s_per_step_from_zero"),
    ("run_monitors", {"waited_s_per_step": -0.1}, "waited_s_per_step_from_zero"),
    ("run_monitors", {"overhead_fraction": INFINITY}, "overhead_fraction_from_zero"),
    ("run_monitors", {"after_s": -0.1}, "after_s_from_zero"),
    ("emergency_saves", {"ordinal": -1}, "ordinal_at_least_0"),
    ("emergency_saves", {"fault_ordinal": -1}, "fault_ordinal_at_least_0"),
    ("emergency_saves", {"lead_s": -0.1}, "lead_s_from_zero"),
    ("emergency_saves", {"took_s": INFINITY}, "took_s_from_zero"),
    ("emergency_saves", {"save_s": -0.1}, "save_s_from_zero"),
    ("emergency_saves", {"bytes": -1}, "bytes_at_least_0"),
    ("emergency_saves", {"within_lead": 2}, "within_lead_flag"),
    ("run_values", {"quantity": "overhead_fraction", "value": -1.0}, "value_overhead"),
    ("run_values", {"quantity": "mood"}, "quantity_known"),
    ("run_values", {"value": INFINITY}, "value_finite"),
    ("run_values", {"value": None}, "value_or_reason"),
    ("run_values", {"value": None, "missing_reason": "why"}, "missing_reason_known"),
    ("run_values", {"value": -0.5}, "value_sign"),
    (
        "run_values",
        {"quantity": "aggregate_slowdown_fraction", "value": 1.5},
        "value_slowdown",
    ),
    ("run_values", {"n": -1}, "n_at_least_0"),
    ("run_values", {"dispersion": -1.0}, "dispersion_from_zero"),
    ("run_values", {"dispersion_kind": "guess"}, "dispersion_kind_known"),
    ("run_values", {"dispersion_kind": None}, "dispersion_explained"),
    ("run_records", {"record": ""}, "record_filled"),
    ("fault_events", {"first_detected_s": -0.1}, "first_detected_s_from_zero"),
    ("fault_events", {"first_detected_s": 0.5}, "first_before_last"),
    (
        "fault_events",
        {"fired": 0, "outcome": "not_fired", "detected_s": None},
        "unfired_has_no_first",
    ),
    ("detections", {"rank": -1}, "rank_at_least_0"),
    ("detections", {"after_s": INFINITY}, "after_s_from_zero"),
    ("detections", {"how": ""}, "how_filled"),
    ("fault_events", {"kind": ""}, "kind_filled"),
    ("fault_events", {"ordinal": -1}, "ordinal_at_least_0"),
    ("fault_events", {"rank": -1}, "rank_at_least_0"),
    ("fault_events", {"step": -1}, "step_at_least_0"),
    ("fault_events", {"at_s": -30.0}, "at_s_from_zero"),
    ("fault_events", {"lead_s": INFINITY}, "lead_s_from_zero"),
    ("fault_events", {"detected_s": -0.1}, "detected_s_from_zero"),
    ("fault_events", {"fired": 2, "detected_s": None}, "fired_flag"),
    ("fault_events", {"detection_censored": -1}, "detection_censored_flag"),
    ("fault_events", {"outcome": "fine"}, "outcome_known"),
    (
        "fault_events",
        {"fired": 0, "outcome": "not_fired", "first_detected_s": None},
        "unfired_is_undetected",
    ),
    ("fault_events", {"outcome": "not_fired"}, "fired_has_outcome"),
    ("fault_events", {"detected_s": None, "detection_censored": 1}, "censored_has_deadline"),
    ("recovery_phases", {"ordinal": -1}, "ordinal_at_least_0"),
    ("recovery_phases", {"phase": "panic"}, "phase_known"),
    ("recovery_phases", {"duration_s": -0.1}, "duration_s_from_zero"),
    ("calibrations", {"calibration_id": ""}, "calibration_id_filled"),
    ("calibrations", {"path": "pigeon"}, "path_known"),
    ("calibrations", {"quantity": "speed"}, "quantity_known"),
    ("calibrations", {"size_bytes": 0}, "size_bytes_at_least_1"),
    ("calibrations", {"size_bytes": None}, "duration_has_size"),
    ("calibrations", {"value": 0.0}, "value_positive"),
    ("calibrations", {"low": 0.0, "high": 1.0}, "low_positive"),
    ("calibrations", {"low": 2.0, "high": 1.0}, "low_to_high"),
    ("calibrations", {"low": 1.0}, "low_with_high"),
    ("calibrations", {"high": 1.0}, "low_with_high"),
    ("calibrations", {"low": 1.0, "high": INFINITY}, "high_finite"),
    ("calibrations", {"low": -INFINITY, "high": 1.0}, "low_positive|low_finite"),
    ("calibrations", {"value": INFINITY}, "value_positive|value_finite"),
    ("calibrations", {"dispersion": -0.1}, "dispersion_from_zero"),
    ("calibrations", {"dispersion_kind": None}, "dispersion_explained"),
    ("calibrations", {"dispersion_kind": "stderr"}, "dispersion_kind_known"),
    ("calibrations", {"evidence": "heard"}, "evidence_known"),
    ("calibrations", {"n": -1, "evidence": "derived"}, "n_at_least_0"),
    ("calibrations", {"n": None}, "measured_has_n"),
    ("calibrations", {"n": 0}, "measured_has_n"),
    ("calibrations", {"value": None}, "value_or_reason"),
    ("calibrations", {"missing_reason": "not_run"}, "value_or_reason"),
    ("calibrations", {**POINT, "missing_reason": "lost it"}, "missing_reason_known"),
    ("calibrations", {"source_id": None}, "number_has_origin"),
    ("calibration_sessions", {"session": ""}, "session_filled"),
    ("calibration_sessions", {"command": ""}, "command_filled"),
    ("calibration_sessions", {"environment": ""}, "environment_filled"),
    ("calibration_sessions", {"seed": -1}, "seed_at_least_0"),
    ("calibration_sessions", {"is_quick": 2}, "is_quick_flag"),
    ("calibration_sessions", {"started_at": "yesterday"}, "started_at_utc"),
    ("calibration_sessions", {"wall_s": -1.0}, "wall_s_from_zero"),
    ("calibration_sessions", {"record_sha256": "abc"}, "record_sha256_length"),
    ("calibration_samples", {"ordinal": -1}, "ordinal_at_least_0"),
    ("calibration_samples", {"path": "pigeon"}, "path_known"),
    ("calibration_samples", {"size_bytes": 0}, "size_bytes_at_least_1"),
    ("calibration_samples", {"size_bytes": None}, "moved_has_size"),
    ("calibration_samples", {"path": "process_start"}, "moved_has_size"),
    ("calibration_samples", {"processes": 0}, "processes_at_least_1"),
    ("calibration_samples", {"purpose": "fun"}, "purpose_known"),
    ("calibration_samples", {"duration_s": 0.0}, "duration_s_positive"),
    ("calibration_samples", {"duration_s": INFINITY}, "duration_s_positive"),
    ("calibration_fits", {"path": "pigeon"}, "path_known"),
    ("calibration_fits", {"processes": -1}, "processes_at_least_0"),
    ("calibration_fits", {"model": "guess"}, "model_known|bytes_model|bytes_has_sizes"),
    ("calibration_fits", {"n": 1}, "n_at_least_2"),
    ("calibration_fits", {"outliers": -1}, "outliers_at_least_0"),
    ("calibration_fits", {"spread_fraction": -0.1}, "spread_fraction_from_zero"),
    ("calibration_fits", {"latency_s_low": -1.0}, "latency_s_low_from_zero"),
    ("calibration_fits", {"latency_s": -1.0}, "latency_s_from_zero|latency_s_inside"),
    ("calibration_fits", {"latency_s_high": INFINITY}, "latency_s_high_from_zero"),
    ("calibration_fits", {"latency_s": 1.0}, "latency_s_inside"),
    ("calibration_fits", {"s_per_byte_low": -1.0}, "s_per_byte_low_from_zero"),
    ("calibration_fits", {"s_per_byte": -1.0}, "s_per_byte_from_zero|s_per_byte_inside"),
    ("calibration_fits", {"s_per_byte_high": INFINITY}, "s_per_byte_high_from_zero"),
    ("calibration_fits", {"s_per_byte": 1.0}, "s_per_byte_inside"),
    ("calibration_fits", {"s_per_byte_high": None}, "s_per_byte_whole"),
    ("calibration_fits", {"s_per_byte": None}, "s_per_byte_whole|bytes_model"),
    ("calibration_fits", {**RANKS, "model": "mean"}, "ranks_model"),
    ("calibration_fits", {**RANKS, "s_per_rank": -1.0}, "s_per_rank_from_zero|s_per_rank_inside"),
    ("calibration_fits", {**RANKS, "s_per_rank_low": -1.0}, "s_per_rank_low_from_zero"),
    ("calibration_fits", {**RANKS, "s_per_rank_high": INFINITY}, "s_per_rank_high_from_zero"),
    ("calibration_fits", {**RANKS, "s_per_rank": 3.0}, "s_per_rank_inside"),
    ("calibration_fits", {**RANKS, "s_per_rank_low": None}, "s_per_rank_whole"),
    ("calibration_fits", {"model": "mean"}, "bytes_model|bytes_has_sizes"),
    ("calibration_fits", {"smallest_bytes": None}, "bytes_has_sizes|sizes_whole"),
    ("calibration_fits", {"smallest_bytes": 2 * 10**9}, "sizes_in_order"),
    ("calibration_fits", {"largest_bytes": None}, "sizes_whole"),
    ("calibration_fits", {"smallest_bytes": 0}, "smallest_bytes_at_least_1"),
    ("calibration_checks", {"predicted_s": 0.0}, "predicted_s_positive"),
    ("operating_points", {"point_id": ""}, "point_id_filled"),
    ("operating_points", {"state_bytes": 0}, "state_bytes_at_least_1"),
    ("operating_points", {"interval_steps": 0}, "interval_steps_at_least_1"),
    ("operating_points", {"replicas": -1}, "replicas_at_least_0"),
    ("operating_points", {"world_size": 0}, "world_size_at_least_1"),
    ("operating_points", {"nodes": 1}, "nodes_at_least_2"),
    ("operating_points", {"failure_domain": "rack"}, "failure_domain_known"),
    ("operating_points", {"lead_s": -2.0}, "lead_s_from_zero"),
    ("operating_points", {"lead_s": INFINITY}, "lead_s_from_zero"),
    ("operating_points", {"group_timeout_s": 0.0}, "group_timeout_s_positive"),
    ("operating_points", {"outcome": "shrug"}, "outcome_known"),
    ("operating_point_values", {"quantity": "luck"}, "quantity_known"),
    ("operating_point_values", {"value": -1.0}, "value_overhead"),
    ("operating_point_values", {"low": -1.0, "high": 0.1}, "low_overhead"),
    ("operating_point_values", {"low": -2.0, "high": -1.0}, "low_overhead|high_overhead"),
    ("operating_point_values", {"quantity": "save_s", "value": -0.1}, "value_sign"),
    ("operating_point_values", {"quantity": "save_s", "low": -0.1, "high": 1.0}, "low_sign"),
    (
        "operating_point_values",
        {"quantity": "save_s", "low": -1.0, "high": -0.1},
        "low_sign|high_sign",
    ),
    ("operating_point_values", {"quantity": "lost_steps", "value": -1.0}, "value_sign"),
    ("operating_point_values", {"quantity": "resumed_fraction", "value": 1.1}, "value_resumed"),
    (
        "operating_point_values",
        {"quantity": "resumed_fraction", "low": 0.5, "high": 1.5},
        "high_resumed",
    ),
    (
        "operating_point_values",
        {"quantity": "resumed_fraction", "low": 2.0, "high": 3.0},
        "low_resumed|high_resumed",
    ),
    (
        "operating_point_values",
        {"quantity": "aggregate_slowdown_fraction", "value": 1.5},
        "value_slowdown",
    ),
    (
        "operating_point_values",
        {"quantity": "aggregate_slowdown_fraction", "low": 0.5, "high": 1.5},
        "high_slowdown",
    ),
    (
        "operating_point_values",
        {"quantity": "aggregate_slowdown_fraction", "low": 1.5, "high": 1.6},
        "low_slowdown|high_slowdown",
    ),
    ("operating_point_values", {"value": INFINITY}, "value_finite"),
    ("operating_point_values", {"value": -INFINITY}, "value_overhead|value_finite"),
    ("operating_point_values", {"low": 0.0, "high": INFINITY}, "high_finite"),
    ("operating_point_values", {"low": -INFINITY, "high": 0.0}, "low_overhead|low_finite"),
    ("operating_point_values", {"low": 0.2, "high": 0.1}, "low_to_high"),
    ("operating_point_values", {"low": 0.1}, "low_with_high"),
    ("operating_point_values", {"dispersion": INFINITY}, "dispersion_from_zero"),
    ("operating_point_values", {"dispersion": -0.1}, "dispersion_from_zero"),
    ("operating_point_values", {"dispersion_kind": None}, "dispersion_explained"),
    ("operating_point_values", {"dispersion_kind": "stderr"}, "dispersion_kind_known"),
    ("operating_point_values", {"evidence": "heard"}, "evidence_known"),
    ("operating_point_values", {"n": -1, "evidence": "derived"}, "n_at_least_0"),
    ("operating_point_values", {"n": None}, "measured_has_n"),
    ("operating_point_values", {"n": 0, "evidence": "measured+analytical"}, "measured_has_n"),
    ("operating_point_values", {"value": None}, "value_or_reason"),
    ("operating_point_values", {"missing_reason": "infinite"}, "value_or_reason"),
    ("operating_point_values", {**POINT, "missing_reason": "lost it"}, "missing_reason_known"),
    ("operating_point_values", {"run_id": None}, "number_has_origin"),
    (
        "operating_point_values",
        {**POINT, "low": 0.1, "high": 0.2, "dispersion_kind": "range", "n": None},
        "measured_has_n",
    ),
    ("validations", {"validation": ""}, "validation_filled"),
    ("validations", {"name": ""}, "name_filled"),
    ("validations", {"scenario": ""}, "scenario_filled"),
    ("validations", {"advisor_version": ""}, "advisor_version_filled"),
    ("validations", {"created_at": "yesterday"}, "created_at_utc"),
    ("validations", {"mtbf_s": 0.0}, "mtbf_s_positive"),
    ("validations", {"step_time_s": -1.0}, "step_time_s_positive"),
    ("validations", {"arrivals": "weibull", "shape": 0.0}, "shape_positive"),
    ("validations", {"covered_s": 0.0}, "covered_s_positive"),
    ("validations", {"steps": 0}, "steps_at_least_1"),
    ("validations", {"arrivals": "daily"}, "arrivals_known"),
    ("validations", {"shape": 0.7}, "poisson_has_shape_1"),
    ("validations", {"seed": -1}, "seed_at_least_0"),
    ("validation_runs", {"run_id": ""}, "run_id_filled"),
    ("validation_runs", {"role": "hero"}, "role_known"),
    ("validation_runs", {"interval_steps": 0}, "interval_steps_at_least_1"),
    ("validation_runs", {"step_time_s": 0.0}, "step_time_s_positive"),
    ("validation_runs", {"predicted_s": 0.0}, "predicted_s_positive"),
    ("validation_runs", {"observed_s": INFINITY}, "observed_s_positive"),
    ("validation_runs", {"failures_expected": -1.0}, "failures_expected_from_zero"),
    ("validation_runs", {"failures": -1}, "failures_at_least_0"),
    ("drills", {"run_id": ""}, "run_id_filled"),
    ("drills", {"drill": ""}, "drill_filled"),
    ("drills", {"expected": ""}, "expected_filled"),
    ("drills", {"noticed_by": ""}, "noticed_by_filled"),
    ("drills", {"planned_at": "yesterday"}, "planned_at_utc"),
    ("drills", {"most_lost_steps": -1}, "most_lost_steps_at_least_0"),
    ("drills", {"deadline_s": 0.0}, "deadline_s_positive"),
    ("drills", {"deadline_s": INFINITY}, "deadline_s_positive"),
    ("drills", {"result": "maybe"}, "result_known"),
    ("drills", {"result": "failed"}, "failed_says_why"),
    ("drills", {"reason": "it halted"}, "failed_says_why"),
    ("failure_estimates", {"name": ""}, "name_filled"),
    ("failure_estimates", {"log_format": ""}, "log_format_filled"),
    ("failure_estimates", {"counted": ""}, "counted_filled"),
    ("failure_estimates", {"document": ""}, "document_filled"),
    ("failure_estimates", {"advisor_version": ""}, "advisor_version_filled"),
    ("failure_estimates", {"created_at": "yesterday"}, "created_at_utc"),
    ("failure_estimates", {"scope": "planet"}, "scope_known"),
    ("failure_estimates", {"coalesce_s": -1.0}, "coalesce_s_from_zero"),
    ("failure_estimates", {"failures": -1}, "failures_at_least_0"),
    ("failure_estimates", {"nodes": 0.0}, "nodes_positive"),
    ("failure_estimates", {"at_risk_s": 0.0}, "at_risk_s_positive"),
    ("failure_estimates", {"mtbf_s": INFINITY}, "mtbf_s_positive"),
    ("failure_estimates", {"low_s": 0.0}, "low_s_positive"),
    ("failure_estimates", {"high_s": INFINITY}, "high_s_positive"),
    ("failure_estimates", {"mtbf_s": None}, "no_failure_no_mtbf"),
    ("failure_estimates", {"high_s": None}, "no_failure_no_limit"),
    ("failure_estimates", {"low_s": 3e6}, "low_to_high"),
    ("text_values", {"name": ""}, "name_filled"),
    ("text_values", {"unit": ""}, "unit_filled"),
    ("text_values", {"evidence": "heard"}, "evidence_known"),
    ("text_values", {"low": None, "high": None}, "holds_a_number"),
    ("text_values", {"low": 11.0}, "low_to_high"),
    ("text_values", {"low": -INFINITY}, "low_finite"),
    ("text_values", {"high": INFINITY}, "high_finite"),
    ("text_values", {"value": INFINITY}, "value_finite"),
    ("published_counts", {"name": ""}, "name_filled"),
    ("published_counts", {"count": -1}, "count_at_least_0"),
    ("published_selections", {"row_id": ""}, "row_id_filled"),
    ("published_selections", {"interval_steps": 0}, "interval_steps_at_least_1"),
    ("scenarios", {"scenario_id": ""}, "scenario_id_filled"),
    ("scenarios", {"inputs": ""}, "inputs_filled"),
    ("scenarios", {"created_at": "today"}, "created_at_utc"),
    ("scenarios", {"inputs_sha256": "abc"}, "inputs_sha256_length"),
    ("recommendations", {"recommendation_id": ""}, "recommendation_id_filled"),
    ("recommendations", {"result": ""}, "result_filled"),
    ("recommendations", {"advisor_version": ""}, "advisor_version_filled"),
    ("recommendations", {"schema_revision": ""}, "schema_revision_filled"),
    ("recommendations", {"created_at": "today"}, "created_at_utc"),
    ("recommendation_points", {"point_id": ""}, "point_id_filled"),
    ("recommendation_points", {"snapshot": ""}, "snapshot_filled"),
]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = open_engine(database_url)
    yield made
    made.dispose()


def fill(connection: Connection, before: str | None = None) -> None:
    """Inserts the good rows of every table, or of those before `before`."""
    for table, row in GOOD.items():
        if table == before:
            return
        connection.execute(insert(Base.metadata.tables[table]), row)


def refusal(connection: Connection, table: str, row: dict[str, Any]) -> str | None:
    """What the database says to a row, which is taken back in any case."""
    savepoint = connection.begin_nested()
    try:
        connection.execute(insert(Base.metadata.tables[table]), row)
    except IntegrityError as error:
        return str(error.orig)
    finally:
        savepoint.rollback()
    return None


def names_one(said: str | None, table: str, constraint: str) -> bool:
    """Whether the refusal names the constraint, or one of `a|b` where a value breaks both."""
    names = (f"ck_{table}_{name}" for name in constraint.split("|"))
    return any(re.search(rf"\b{name}\b", said or "") for name in names)


def test_every_bad_row_is_refused_by_its_constraint(engine: Engine) -> None:
    """All in one database, because a database for each of them would take minutes."""
    wrong = []
    tables = list(GOOD)
    with writing(engine) as connection:
        for table, change, constraint in sorted(BAD, key=lambda bad: tables.index(bad[0])):
            with connection.begin_nested() as everything:
                fill(connection, before=table)
                said = refusal(connection, table, {**GOOD[table], **change})
                if not names_one(said, table, constraint):
                    wrong.append((table, change, constraint, said))
                everything.rollback()
    assert wrong == []


def test_good_rows_are_taken(engine: Engine) -> None:
    with writing(engine) as connection:
        fill(connection)


def test_there_is_a_good_row_for_every_table_and_column() -> None:
    assert GOOD.keys() == Base.metadata.tables.keys()
    for name, table in Base.metadata.tables.items():
        assert set(table.c.keys()) == set(GOOD[name])


def test_every_check_has_a_bad_row(engine: Engine) -> None:
    """A constraint that no row above tries to break is a constraint that nobody knows to work."""
    with reading(engine) as connection:
        named = [key for key in described(connection) if key.startswith("check ")]
    untried = []
    for key in named:
        _, constraint, _, table = key.split(" ")
        rule = constraint.removeprefix(f"ck_{table}_")
        if not any(bad[0] == table and rule in bad[2].split("|") for bad in BAD):
            untried.append(constraint)
    assert untried == []


def test_no_float_column_takes_nan(engine: Engine) -> None:
    """PostgreSQL refuses NaN by a CHECK. SQLite stores NULL for it, which is no number either."""
    with writing(engine) as connection:
        for table in GOOD:
            with connection.begin_nested() as everything:
                fill(connection, before=table)
                for column in float_columns(table):
                    row = {**GOOD[table], column: NAN}
                    if engine.dialect.name == "postgresql":
                        assert refusal(connection, table, row) is not None
                    else:
                        refusal_or_null(connection, table, row, column)
                everything.rollback()


def float_columns(table: str) -> list[str]:
    columns = Base.metadata.tables[table].columns
    return [column.name for column in columns if column.type.python_type is float]


def refusal_or_null(connection: Connection, table: str, row: dict[str, Any], column: str) -> None:
    with connection.begin_nested() as savepoint:
        try:
            connection.execute(insert(Base.metadata.tables[table]), row)
        except IntegrityError:
            savepoint.rollback()
            return
        stored = connection.exec_driver_sql(f"SELECT {column} FROM {table}").scalar()
        assert stored is None
        savepoint.rollback()


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("software_stacks", {"cluster": "nowhere"}),
        ("operating_points", {"mechanism": "magic"}),
        ("operating_point_values", {"source_id": "gossip"}),
        ("recovery_phases", {"fault_ordinal": 7}),
        ("recommendations", {"scenario_id": "zzzz"}),
    ],
)
def test_dangling_references_are_refused(
    engine: Engine, table: str, change: dict[str, Any]
) -> None:
    with writing(engine) as connection:
        fill(connection, before=table)
        assert "foreign key" in str(refusal(connection, table, {**GOOD[table], **change})).lower()


def test_a_run_record_is_ingested_once(engine: Engine) -> None:
    with writing(engine) as connection:
        fill(connection)
        again = {**GOOD["runs"], "run_id": "first/2"}
        assert "record_sha256" in str(refusal(connection, "runs", again))


def test_sqlite_tables_are_strict(sqlite_file: Any) -> None:
    engine = open_engine(str(sqlite_file))
    with pytest.raises(DBAPIError, match="cannot store TEXT value"), writing(engine) as connection:
        connection.exec_driver_sql("UPDATE clusters SET nodes = 'two'")
    engine.dispose()
