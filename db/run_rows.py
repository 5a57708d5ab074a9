"""What a run record becomes in the tables. Pure: a record in, rows as dictionaries out."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from db.records import (
    MEASURED_SOURCE,
    CampaignStatus,
    DispersionKind,
    MissingReason,
    Phase,
    RunOutcome,
    RunQuantity,
)
from db.run_record import (
    CampaignPart,
    ClusterPart,
    EnvironmentPart,
    FaultPart,
    MonitoringPart,
    Record,
    RecordFile,
    RecoveryPart,
    StepPart,
    WindowPart,
)

Row = dict[str, Any]

HALTING = frozenset({RunOutcome.HALTED, RunOutcome.HANG})
"""Outcomes after which nobody trains any more: the throughput after the fault is 0."""


_SLOWNESS = frozenset({"straggler"})
_CORRUPTIONS = frozenset(
    {
        *("skipped-update", "partial-restore", "wrong-rng"),
        *("flip-parameter", "flip-gradient", "flip-buffer"),
    }
)
"""The kinds of fault that the monitor `stragglers` is there to see, and those of all others."""


class Surrounded(Protocol):
    """A record, or the plan of a campaign: both say where runs are made, and for which command."""

    @property
    def campaign(self) -> CampaignPart:
        """The command that started them."""

    @property
    def cluster(self) -> ClusterPart:
        """The hardware."""

    @property
    def environment(self) -> EnvironmentPart:
        """The software."""


def source_id(cluster: str) -> str:
    """The source of everything that is measured on a cluster by this program."""
    return f"{MEASURED_SOURCE}{cluster}"


def software_stack(cluster: str, environment: EnvironmentPart) -> str:
    """The id of the versions that a record was made with, unless others have it already
    (db/stack_store.py)."""
    return f"{cluster}/torch-{environment.torch}"


def source_row(record: Surrounded) -> Row:
    return measured_source(record.cluster.cluster, record.campaign.created_at)


def measured_source(cluster: str, first_at: str) -> Row:
    """The source of what this program measures on a cluster, from its first measurement on."""
    return {
        "source_id": source_id(cluster),
        "citation": f"Measured on {cluster} by FailBench Advisor (advisor measure)",
        "published_on": first_at[:10],
    }


def measured_stack(cluster: str, environment: EnvironmentPart) -> Row:
    """The versions that a record was made with."""
    return {
        "software_stack": software_stack(cluster, environment),
        "cluster": cluster,
        "torch": environment.torch,
        "cuda": environment.cuda,
        "nccl": environment.nccl,
        "python": environment.python,
        "source_id": source_id(cluster),
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


def campaign_row(record: Surrounded, status: CampaignStatus, stack: str) -> Row:
    return {
        **record.campaign.model_dump(),
        "cluster": record.cluster.cluster,
        "software_stack": stack,
        "status": str(status),
    }


def run_row(file: RecordFile, stack: str) -> Row:
    """The row in `runs`; `stack` is the id of the software stack (db/stack_store.py)."""
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
        "software_stack": stack,
        "detector": str(cell.detector),
        "steps_planned": cell.steps,
        "state_bytes": record.state_bytes,
        "steps_completed": record.steps_completed,
        "validity": str(record.validity),
        "validity_reason": "; ".join(record.validity_reasons),
        "outcome": str(record.outcome),
        "way": None if cell.way is None else str(cell.way),
        "equivalent": int(record.equivalent),
        "infeasible_reason": _storable(record.infeasible_reason),
        **_nodes(record),
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


def _nodes(record: Record) -> Row:
    """How many, and what was lost at once; NULL where all ranks were on one."""
    found = record.nodes
    domain = found.failure_domain if found else None
    return {
        "nodes": len(found.members) if found else None,
        "failure_domain": None if domain is None else str(domain),
    }


def _storable(said: str | None) -> str | None:
    """What a program said, without the one character that PostgreSQL takes in no text."""
    return None if said is None else said.replace("\x00", "\ufffd")


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


def recovery_rows(record: Record) -> list[Row]:
    names = ("generation", "source", "step", "lost_steps", "lost_s", "world_size", "total_s")
    return [
        {
            "run_id": record.run_id,
            "way": str(recovery.way),
            **{name: getattr(recovery, name) for name in names},
        }
        for recovery in record.recoveries
    ]


def save_rows(record: Record) -> list[Row]:
    return [
        {
            "run_id": record.run_id,
            "path": saves.path,
            "count": saves.count,
            "skipped": saves.skipped,
            "failed": saves.failed,
            "foreground_s": _mean(saves.foreground_s),
            "background_s": _mean(saves.background_s),
            "bytes_per_save": saves.bytes_per_save,
        }
        for saves in record.saves
    ]


def monitor_rows(record: Record) -> list[Row]:
    names = (
        *("monitor", "interval_steps", "checks", "s_per_step", "waited_s_per_step"),
        *("overhead_fraction", "false_alarms"),
    )
    return [
        {
            "run_id": record.run_id,
            **{name: getattr(monitoring, name) for name in names},
            **_findings(record, monitoring),
        }
        for monitoring in record.monitoring
    ]


def _findings(record: Record, monitoring: MonitoringPart) -> Row:
    """Of the faults that the monitor is there to see; its first answer says how long it took."""
    sees = _SLOWNESS if monitoring.monitor == "stragglers" else _CORRUPTIONS
    struck = {fault.ordinal for fault in record.faults if fault.fired and fault.kind in sees}
    answers = [each for each in monitoring.suspicions if each.fault in struck]
    first = min(answers, key=lambda each: each.at_s, default=None)
    return {
        "struck": len(struck),
        "noticed": len({each.fault for each in answers}),
        "right_rank": len({each.fault for each in answers if each.right_rank}),
        "after_s": first.after_s if first else None,
        "after_steps": first.after_steps if first else None,
    }


def emergency_rows(record: Record) -> list[Row]:
    return [
        {
            "run_id": record.run_id,
            "ordinal": ordinal,
            "fault_ordinal": each.fault,
            "lead_s": each.lead_s,
            "took_s": each.took_s,
            "save_s": each.save_s,
            "bytes": each.bytes,
            "within_lead": int(each.within_lead),
        }
        for ordinal, each in enumerate(record.emergency)
    ]


def _mean(summary: StepPart | None) -> float | None:
    return None if summary is None else summary.mean


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
    yield from _save_values(record)
    yield from _overhead_values(record)
    yield from _emergency_values(record)
    yield from _recovery_values(record)
    yield from _time_values(record)


def _save_values(record: Record) -> Iterator[Row]:
    """Of one save; where a mechanism has several tiers, of one in each of them."""
    shown = [saves for saves in record.saves if saves.count]
    for quantity, parts in (
        (RunQuantity.SAVE_FOREGROUND, [saves.foreground_s for saves in shown]),
        (RunQuantity.SAVE_BACKGROUND, [saves.background_s for saves in shown]),
    ):
        known = [part for part in parts if part is not None]
        if len(known) == 1:
            yield _summarised(quantity, known[0])
        elif known:
            yield _value(quantity, sum(part.mean for part in known), MissingReason.FAILED)
    if record.shared_memory_bytes is not None:
        yield _value(RunQuantity.SHARED_MEMORY, record.shared_memory_bytes, MissingReason.UNDEFINED)


def _overhead_values(record: Record) -> Iterator[Row]:
    found = record.overhead
    if found is None:
        return
    yield {
        **_value(RunQuantity.OVERHEAD, found.fraction, MissingReason.FAILED),
        "n": found.pairs,
        **_spread(None if found.low is None else ((found.high or 0.0) - found.low) / 2),
    }
    if found.overlap_factor is not None:
        yield _value(RunQuantity.OVERLAP, found.overlap_factor, MissingReason.UNDEFINED)


def _emergency_values(record: Record) -> Iterator[Row]:
    """Means over the warnings that were answered in full; none of a run without a warning."""
    if not record.emergency:
        return
    took = [each.took_s for each in record.emergency if each.took_s is not None]
    saves = [each.save_s for each in record.emergency if each.save_s is not None]
    yield _averaged(RunQuantity.EMERGENCY, took)
    yield _averaged(RunQuantity.EMERGENCY_SAVE, saves)


def _recovery_values(record: Record) -> Iterator[Row]:
    """For each recovery that answered a fault and led back to training; a group that grows again
    afterwards answers none, and what that takes is part of the loss that made it smaller. What
    answers a suspicion behind which there was no fault is none of all this."""
    answering = [each for each in record.recoveries if each.faults or not each.why]
    found = [each for each in answering if each.total_s is not None]
    answers = sum(bool(each.faults) for each in found)
    if not answers:
        return
    for quantity, parts in (
        (RunQuantity.RESTORE, [each.phase_s(Phase.RESTORE) or 0.0 for each in found]),
        (RunQuantity.RECOVERY, [_without_detection(each) for each in found]),
        (RunQuantity.RECOVERY_TOTAL, [each.total_s or 0.0 for each in found]),
        (RunQuantity.LOST_STEPS, [float(each.lost_steps) for each in found]),
    ):
        value = _value(quantity, sum(parts) / answers, MissingReason.FAILED)
        yield {**value, "n": answers}


def _without_detection(recovery: RecoveryPart) -> float:
    """T_rec of the paper; Eq. (5) counts the detection by itself."""
    return max(0.0, (recovery.total_s or 0.0) - (recovery.phase_s(Phase.DETECT) or 0.0))


def _time_values(record: Record) -> Iterator[Row]:
    if record.times is None:
        return
    for quantity, value_s in (
        (RunQuantity.PRODUCTIVE, record.times.productive_s),
        (RunQuantity.SAVING, record.times.save_s),
        (RunQuantity.DETECTING, record.times.detect_s),
        (RunQuantity.RECOVERING, record.times.recover_s),
        (RunQuantity.LOST, record.times.lost_s),
    ):
        yield _value(quantity, value_s, MissingReason.UNDEFINED)


def _averaged(quantity: RunQuantity, values: Sequence[float]) -> Row:
    mean = sum(values) / len(values) if values else None
    return {**_value(quantity, mean, MissingReason.FAILED), "n": len(values) or None}


def _summarised(quantity: RunQuantity, part: StepPart) -> Row:
    return {
        **_value(quantity, part.mean, MissingReason.FAILED),
        "n": part.n,
        **_spread(part.ci95_half_width),
    }


def _spread(half_width: float | None) -> Row:
    kind = None if half_width is None else str(DispersionKind.CI95_HALF_WIDTH)
    return {"dispersion": half_width, "dispersion_kind": kind}


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
    yield _summarised(step, window.step_s)
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
