"""Valid run records for tests, as the measuring harness writes them; in this one place."""

import json
from pathlib import Path
from typing import Any

CLUSTER = "mybox"
CAMPAIGN = "20261129-221500-ab12cd34"


def record(
    architecture: str = "a2",
    trace: str | None = "F1",
    seed: int = 0,
    outcome: str | None = None,
    rate: float = 40.0,
    after_rate: float | None = None,
    detected_s: float | None = 10.25,
    censored: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """A run with no fault (`trace` None), with one that halts it, or with one that it survives.

    `changes` set any other key by its path, two underscores for a dot: `cell__profile="smoke"`.
    """
    goes_on = after_rate is not None
    if outcome is None:
        outcome = "completed" if trace is None else "graceful" if goes_on else "halted"
    name = f"{CAMPAIGN}/{architecture}-ft9-{trace or 'none'}-s{seed}".lower()
    made: dict[str, Any] = {
        "record": "failbench-run",
        "version": 1,
        "run_id": name,
        "campaign": {
            "campaign": CAMPAIGN,
            "command": "advisor measure --architecture all",
            "seed": 0,
            "created_at": "2026-11-29T22:15:00Z",
        },
        "cluster": {
            "cluster": CLUSTER,
            "description": "A machine for tests",
            "nodes": 1,
            "ranks_per_node": 8,
            "device": "cpu",
            "device_memory_bytes": None,
            "host_memory_bytes": 16_000_000_000,
            "interconnect": "loopback",
            "storage": "ext4",
        },
        "environment": {
            "host": "node1",
            "kernel": "6.1.0",
            "python": "3.11.2",
            "torch": "2.13.0+cpu",
            "cuda": "",
            "nccl": "",
            "cpu": "A CPU",
            "cores": 2,
            "threads_per_rank": 1,
            "rank_scheduling": "batch",
            "package_version": "0.1.0",
            "commit": "",
        },
        "cell": {
            "architecture": architecture,
            "mechanism": "ft9",
            "trace": trace,
            "profile": "cpu",
            "workload": "resnet50-cpu",
            "workload_name": "A small ResNet on synthetic data",
            "optimizer": "SGD with momentum 0.9, fp32",
            "batch_per_rank": 8,
            "seed": seed,
            "world_size": 8,
            "steps": 300,
            "dropped_steps": 10,
            "group_timeout_s": 10.0,
            "detector": "group-timeout",
            "round_limit_s": 5.0,
            "spacing_s": 3.0,
            "interval_steps": None,
            "replicas": None,
            "lead_s": None,
            "device": "cpu",
            "backend": "gloo",
        },
        "schedule": {"faults": []},
        "started_at": f"2026-11-29T22:{15 + seed:02}:00Z",
        "wall_s": 21.5,
        "training_started_s": 1.5,
        "groups_s": 0.25,
        "outcome": outcome,
        "validity": "valid",
        "validity_reasons": [],
        "notes": [],
        "state_bytes": 2_000_000,
        "steps_completed": 300 if trace is None else 20,
        "ranks": [_rank(rank, trace, goes_on) for rank in range(8)],
        "faults": [] if trace is None else [_fault(detected_s, censored, goes_on)],
        "phases": [],
        "before": _window(1.6, 5.5, 8, rate),
        "after": None if after_rate is None else _window(5.7, 20.0, 7, after_rate),
        "aggregate_slowdown_fraction": _slowdown(trace, rate, after_rate),
        "loss": {"first": 2.3, "before_fault": 2.1, "last": 1.9},
        "peak_memory_bytes": 300_000_000,
        "series": {
            "t_s": [1.6, 1.8],
            "step": [1, 2],
            "step_s": [0.2, 0.2],
            "loss": [2.3, None],
            "samples_per_s": [320.0, 320.0],
        },
    }
    if made["faults"] and not censored and detected_s is not None:
        made["phases"] = [{"fault": 0, "phase": "detect", "duration_s": detected_s}]
    for path, value in changes.items():
        put(made, path.replace("__", "."), value)
    return made


def monitoring(**changes: Any) -> dict[str, Any]:
    """What a monitor of a run did: one suspicion, which `changes` set."""
    suspicion = {
        "at_s": 3.5,
        "step": 30,
        "proved_step": 20,
        "ranks": [2],
        "why": "parameters: rank 2 differs from the 7 others that hold the same",
        "kind": "divergence",
        "severity": "stop",
        "fault": 0,
        "after_s": 0.5,
        "after_steps": 5,
        "right_rank": True,
    }
    return {
        "monitor": "digest",
        "interval_steps": 10,
        "checks": 3,
        "s_per_step": 0.001,
        "waited_s_per_step": 0.0005,
        "overhead_fraction": 0.02,
        "suspicions": [{**suspicion, **changes}],
        "false_alarms": 0,
    }


def mechanism_record(
    mechanism: str = "ft1",
    architecture: str = "a2",
    trace: str | None = "F1",
    seed: int = 0,
    rate: float = 40.0,
    way: str | None = "spare",
    restore_s: float = 0.25,
    overhead: float = 0.02,
    **changes: Any,
) -> dict[str, Any]:
    """A run with a mechanism: alternated without a fault, or struck, and then brought back."""
    struck = trace is not None
    made = record(
        architecture,
        trace,
        seed,
        outcome="recovered" if struck else "completed",
        rate=rate,
        after_rate=rate if struck else None,
        detected_s=0.5,
    )
    campaign, name = made["campaign"]["campaign"], trace or "none"
    made["run_id"] = f"{campaign}/{architecture}-{mechanism}-{name}-s{seed}".lower()
    made["cell"] |= {
        "mechanism": mechanism,
        "interval_steps": None if mechanism == "ft4" else 10,
        "replicas": 0,
        "way": way,
        "lead_s": 2.0 if mechanism == "ft4" and struck else None,
    }
    made |= {**NEW_FIELDS, "saves": [_saves("storage")], "times": _times(struck)}
    made["shared_memory_bytes"] = 4_000_000
    if struck:
        made["after"]["ranks"] = 8
        made["steps_completed"] = 300
        made["faults"][0]["outcome"] = "recovered"
        made["recoveries"] = [_recovery(restore_s)]
        phases = made["recoveries"][0]["phases"]
        made["phases"] = [{"fault": 0, "phase": p, "duration_s": s} for p, s in phases]
        made["lineage"] = [_generation(0, "", 0), _generation(1, "spare", 10)]
    elif mechanism != "ft4":
        made["overhead"] = {
            "fraction": overhead,
            "low": overhead - 0.01,
            "high": overhead + 0.01,
            "pairs": 12,
            "baseline_step_s": 0.2,
            "overlap_factor": 0.75,
        }
    if mechanism == "ft4":
        made["saves"] = []
    if mechanism == "ft4" and struck:
        made["emergency"] = [
            {
                "fault": 0,
                "lead_s": 2.0,
                "took_s": 0.75,
                "save_s": 0.5,
                "bytes": 2_000_000,
                "within_lead": True,
            }
        ]
    for path, value in changes.items():
        put(made, path.replace("__", "."), value)
    return made


def infeasible(
    architecture: str = "a6", mechanism: str = "ft2", trace: str = "F1", seed: int = 0
) -> dict[str, Any]:
    """A run that was tried where the mechanism cannot work, and said why."""
    made = mechanism_record(mechanism, architecture, trace, seed)
    return made | {
        **NEW_FIELDS,
        "outcome": "infeasible",
        "infeasible_reason": "no group of all ranks to replicate over",
        "state_bytes": None,
        "before": None,
        "after": None,
        "training_started_s": None,
        "groups_s": None,
        "aggregate_slowdown_fraction": None,
        "steps_completed": 0,
        "ranks": [],
        "faults": [],
        "phases": [],
        "times": None,
    }


NEW_FIELDS: dict[str, Any] = {
    "infeasible_reason": None,
    "equivalent": True,
    "saves": [],
    "overhead": None,
    "emergency": [],
    "recoveries": [],
    "lineage": [],
    "times": None,
    "shared_memory_bytes": None,
}
"""Of a run in which no mechanism did anything."""


def _saves(path: str) -> dict[str, Any]:
    foreground = {"n": 30, "median": 0.1, "mean": 0.125, "p95": 0.2, "ci95_half_width": 0.01}
    return {
        "path": path,
        "count": 30,
        "skipped": 1,
        "failed": 0,
        "foreground_s": foreground,
        "background_s": None,
        "bytes_per_save": 2_000_000.0,
    }


def _recovery(restore_s: float) -> dict[str, Any]:
    phases: list[list[Any]] = [
        *(["detect", 0.5], ["stop", 0.125], ["elect", 0.125], ["rebuild", 0.25]),
        *(["initialise", 0.125], ["restore", restore_s], ["check", 0.125], ["resume", 0.25]),
    ]
    return {
        "generation": 1,
        "way": "spare",
        "source": "storage",
        "step": 10,
        "lost_steps": 10,
        "lost_s": 2.0,
        "world_size": 8,
        "faults": [0],
        "total_s": sum(float(seconds) for _, seconds in phases),
        "phases": phases,
    }


def _times(struck: bool) -> dict[str, float]:
    lost = {"detect_s": 0.5, "recover_s": 1.25, "lost_s": 2.0}
    calm = dict.fromkeys(lost, 0.0)
    times = {"save_s": 3.75, **(lost if struck else calm), "wall_s": 21.5}
    return {"productive_s": 21.5 - sum(times[name] for name in ("save_s", *lost)), **times}


def _generation(number: int, way: str, step: int) -> dict[str, Any]:
    return {
        "generation": number,
        "way": way,
        "world_size": 8,
        "members": [{"slot": rank, "place": rank, "rank": rank} for rank in range(8)],
        "global_batch": 64,
        "step": step,
        "source": "storage" if number else "",
        "lost_steps": step,
        "equivalent": True,
        "written_at": "2026-11-29T22:15:04.000+00:00",
    }


def invalid(made: dict[str, Any], reason: str = "the machine was busy") -> dict[str, Any]:
    """The same run, not to be used as evidence."""
    return {**made, "outcome": "invalid", "validity": "invalid", "validity_reasons": [reason]}


def of_kind(kind: str, made: dict[str, Any]) -> dict[str, Any]:
    """The same run, all of whose faults were of this kind."""
    return {**made, "faults": [{**fault, "kind": kind} for fault in made["faults"]]}


def put(made: dict[str, Any], path: str, value: Any) -> None:
    """Sets the key at a path such as `faults.0.rank`."""
    *way, last = path.split(".")
    part: Any = made
    for key in way:
        part = part[int(key) if isinstance(part, list) else key]
    part[int(last) if isinstance(part, list) else last] = value


def planned(cells: int, **job: Any) -> dict[str, Any]:
    """The harness's plan of so many cells that differ in their seed, each with this job."""
    made = record()
    return {
        "surroundings": {name: made[name] for name in ("campaign", "cluster", "environment")},
        "order_seed": 5,
        "cells": [
            {
                "run_id": f"{CAMPAIGN}/a2-ft9-f1-s{seed}",
                "architecture": "a2",
                "mechanism": "ft9",
                "trace": "F1",
                "seed": seed,
                "batch_per_rank": 8,
                "job": job,
            }
            for seed in range(cells)
        ],
    }


def write(folder: Path, *records: dict[str, Any]) -> list[Path]:
    """Writes each to <folder>/<run id>/record.json, as the harness does."""
    paths = []
    for made in records:
        path = folder / str(made["run_id"]) / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def _rank(rank: int, trace: str | None, goes_on: bool) -> dict[str, Any]:
    victim = trace is not None and rank == 3
    return {
        "rank": rank,
        "end": "killed" if victim else "finished" if goes_on or trace is None else "raised",
        "exit_code": -9 if victim else 0,
        "steps": 20,
        "peak_memory_bytes": 300_000_000,
        "state_bytes": 2_000_000,
        "error": "",
    }


def _fault(detected_s: float | None, censored: bool, goes_on: bool) -> dict[str, Any]:
    first_s = None if censored or detected_s is None else detected_s / 2
    seen = [] if first_s is None else [(2, first_s, "connection closed")]
    if detected_s is not None and not censored:
        seen.append((5, detected_s, "group timeout"))
    return {
        "ordinal": 0,
        "kind": "crash",
        "rank": 3,
        "planned": {"time_s": 4.0},
        "lead_s": None,
        "fired": True,
        "at_s": 5.5,
        "step": 20,
        "detections": [{"rank": rank, "after_s": s, "how": how} for rank, s, how in seen],
        "first_detected_s": first_s,
        "detected_s": detected_s,
        "censored": censored,
        "outcome": "degraded" if goes_on else "halted",
    }


def _window(from_s: float, to_s: float, ranks: int, rate: float) -> dict[str, Any]:
    step_s = 8 / rate
    return {
        "from_s": from_s,
        "to_s": to_s,
        "ranks": ranks,
        "steps": 18,
        "step_s": {
            "n": 18,
            "median": step_s,
            "mean": step_s,
            "p95": step_s,
            "ci95_half_width": 0.001,
        },
        "samples_per_s_per_rank": rate,
    }


def _slowdown(trace: str | None, rate: float, after_rate: float | None) -> float | None:
    if trace is None:
        return None
    return 1.0 if after_rate is None else 1.0 - after_rate * 7 / (rate * 8)


def nodes_part(lost: str | None = "node-crash", domain: str | None = "node") -> dict[str, Any]:
    """Eight ranks on two nodes, the second of which was lost."""
    return {
        "failure_domain": domain,
        "node_losses_survived": 1,
        "members": [_node(0, None), _node(1, lost)],
    }


def _node(number: int, lost: str | None) -> dict[str, Any]:
    return {
        "node": number,
        "host": f"node{number}",
        "address": f"10.0.0.{number + 1}",
        "ranks": [4 * number + rank for rank in range(4)],
        "lost": lost,
        "lost_s": 5.5 if lost else None,
        "interface": "eth0",
        "recovery_interface": "eth1",
        "interface_chosen": True,
        "passed": [{"interface": "eth0", "sent_bytes": 1_000_000, "received_bytes": 900_000}],
        "replica_bytes_sent": 300_000,
        "replica_bytes_fetched": 100_000,
    }
