"""What a run record becomes in the tables. Pure: a record in, rows as dictionaries out."""

from collections.abc import Iterator
from typing import Any

from db.records import (
    MEASURED_SOURCE,
    CampaignStatus,
    DispersionKind,
    MissingReason,
    RunOutcome,
    RunQuantity,
)
from db.run_record import FaultPart, Record, RecordFile, WindowPart

Row = dict[str, Any]

HALTING = frozenset({RunOutcome.HALTED, RunOutcome.HANG})
"""Outcomes after which nobody trains any more: the throughput after the fault is 0."""


def source_id(cluster: str) -> str:
    """The source of everything that is measured on a cluster by this program."""
    return f"{MEASURED_SOURCE}{cluster}"


def software_stack(record: Record) -> str:
    return f"{record.cluster.cluster}/torch-{record.environment.torch}"


def source_row(record: Record) -> Row:
    cluster = record.cluster.cluster
    return {
        "source_id": source_id(cluster),
        "citation": f"Measured on {cluster} by FailBench Advisor (advisor measure)",
        "published_on": record.campaign.created_at[:10],
    }


def cluster_row(record: Record) -> Row:
    return {**record.cluster.model_dump(), "source_id": source_id(record.cluster.cluster)}


def stack_row(record: Record) -> Row:
    environment = record.environment
    return {
        "software_stack": software_stack(record),
        "cluster": record.cluster.cluster,
        "torch": environment.torch,
        "cuda": environment.cuda,
        "nccl": environment.nccl,
        "python": environment.python,
        "source_id": source_id(record.cluster.cluster),
    }


def workload_row(record: Record) -> Row:
    cell = record.cell
    return {
        "workload": cell.workload,
        "name": cell.workload_name,
        "optimizer": cell.optimizer,
        "batch_per_rank": cell.batch_per_rank,
        "description": "",
        "source_id": source_id(record.cluster.cluster),
    }


def campaign_row(record: Record, status: CampaignStatus) -> Row:
    return {
        **record.campaign.model_dump(),
        "cluster": record.cluster.cluster,
        "software_stack": software_stack(record),
        "status": str(status),
    }


def run_row(file: RecordFile) -> Row:
    record, cell = file.record, file.record.cell
    same = (
        *("architecture", "mechanism", "workload", "trace", "seed", "world_size"),
        *("interval_steps", "replicas", "lead_s", "profile", "device", "backend"),
        *("group_timeout_s", "round_limit_s", "spacing_s", "dropped_steps"),
    )
    return {
        **{name: getattr(cell, name) for name in same},
        "run_id": record.run_id,
        "campaign": record.campaign.campaign,
        "cluster": record.cluster.cluster,
        "software_stack": software_stack(record),
        "detector": str(cell.detector),
        "steps_planned": cell.steps,
        "state_bytes": record.state_bytes,
        "steps_completed": record.steps_completed,
        "validity": str(record.validity),
        "validity_reason": "; ".join(record.validity_reasons),
        "outcome": str(record.outcome),
        "started_at": record.started_at,
        "wall_s": record.wall_s,
        "training_started_s": record.training_started_s,
        "ranks_before": record.before.ranks if record.before else None,
        "ranks_after": _ranks_after(record),
        "host": record.environment.host,
        "package_version": record.environment.package_version,
        "source_commit": record.environment.commit,
        "note": "; ".join(record.notes),
        "record_sha256": file.sha256,
    }


def _ranks_after(record: Record) -> int | None:
    if record.after is not None:
        return record.after.ranks
    return 0 if record.outcome in HALTING else None


def fault_rows(record: Record) -> list[Row]:
    return [
        {
            "run_id": record.run_id,
            "ordinal": fault.ordinal,
            "kind": fault.kind,
            "rank": fault.rank,
            "step": fault.step,
            "at_s": fault.at_s,
            "lead_s": fault.lead_s,
            "fired": int(fault.fired),
            "first_detected_s": fault.first_detected_s,
            "detected_s": fault.detected_s,
            "detection_censored": int(fault.censored),
            "outcome": str(fault.outcome),
        }
        for fault in record.faults
    ]


def detection_rows(record: Record) -> list[Row]:
    return [
        {"run_id": record.run_id, "fault_ordinal": fault.ordinal, **seen.model_dump()}
        for fault in record.faults
        for seen in fault.detections
    ]


def phase_rows(record: Record) -> list[Row]:
    """In the order of the record, which is the order in which they happened."""
    return [
        {
            "run_id": record.run_id,
            "fault_ordinal": phase.fault,
            "ordinal": ordinal,
            "phase": str(phase.phase),
            "duration_s": phase.duration_s,
        }
        for ordinal, phase in enumerate(record.phases)
    ]


def value_rows(record: Record) -> list[Row]:
    """Every quantity that has a meaning for this run; NULL with a reason where it has no value."""
    return [{"run_id": record.run_id, **value} for value in _values(record)]


def _values(record: Record) -> Iterator[Row]:
    unknown = _why_unknown(record)
    yield from _window_values(record.before, RunQuantity.STEP, RunQuantity.THROUGHPUT, unknown)
    yield _value(RunQuantity.GROUP_FORMATION, record.groups_s, unknown)
    yield _value(RunQuantity.PEAK_MEMORY, record.peak_memory_bytes, unknown)
    # Not every architecture has a rank that sees a loss.
    yield _value(RunQuantity.FIRST_LOSS, record.loss.first, MissingReason.UNDEFINED)
    yield _value(RunQuantity.FINAL_LOSS, record.loss.last, MissingReason.UNDEFINED)
    fault = first_fault(record)
    if fault is not None:
        yield from _fault_values(record, fault)


def _why_unknown(record: Record) -> MissingReason:
    infeasible = record.outcome is RunOutcome.INFEASIBLE
    return MissingReason.INFEASIBLE if infeasible else MissingReason.FAILED


def first_fault(record: Record) -> FaultPart | None:
    """The fault that fired first, from which detection is counted; None if none fired."""
    fired = [fault for fault in record.faults if fault.fired]
    return min(fired, key=lambda fault: (fault.at_s, fault.ordinal), default=None)


def _fault_values(record: Record, fault: FaultPart) -> Iterator[Row]:
    unknown = _why_unknown(record)
    if record.after is None and record.outcome in HALTING:
        yield _value(RunQuantity.POST_FAILURE_STEP, None, MissingReason.UNDEFINED)
        yield _value(RunQuantity.POST_FAILURE_THROUGHPUT, 0.0, unknown)
    else:
        yield from _window_values(
            record.after,
            RunQuantity.POST_FAILURE_STEP,
            RunQuantity.POST_FAILURE_THROUGHPUT,
            unknown,
        )
    yield _value(RunQuantity.AGGREGATE_SLOWDOWN, record.aggregate_slowdown_fraction, unknown)
    yield _value(RunQuantity.FIRST_DETECTION, fault.first_detected_s, MissingReason.FAILED)
    # The deadline of a censored detection is no value: it stays in `fault_events`.
    detected_s = None if fault.censored else fault.detected_s
    yield _value(RunQuantity.DETECTION, detected_s, MissingReason.FAILED)
    yield _value(RunQuantity.LOSS_BEFORE_FAULT, record.loss.before_fault, MissingReason.UNDEFINED)


def _window_values(
    window: WindowPart | None,
    step: RunQuantity,
    throughput: RunQuantity,
    unknown: MissingReason,
) -> Iterator[Row]:
    if window is None:
        yield _value(step, None, unknown)
        yield _value(throughput, None, unknown)
        return
    spread = window.step_s.ci95_half_width
    yield {
        **_value(step, window.step_s.mean, unknown),
        "n": window.step_s.n,
        "dispersion": spread,
        "dispersion_kind": None if spread is None else str(DispersionKind.CI95_HALF_WIDTH),
    }
    yield {
        **_value(throughput, window.samples_per_s_per_rank, unknown),
        "n": window.step_s.n,
    }


def _value(quantity: RunQuantity, value: float | None, reason: MissingReason) -> Row:
    return {
        "quantity": str(quantity),
        "value": None if value is None else float(value),
        "missing_reason": str(reason) if value is None else None,
        "n": None,
        "dispersion": None,
        "dispersion_kind": None,
    }
