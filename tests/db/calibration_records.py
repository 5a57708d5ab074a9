"""Valid calibration records for tests, as the measuring side writes them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.db import run_records

SESSION = "20261130-061500-ab12cd34"
LINES: Mapping[str, tuple[float, float, int]] = {
    "storage_write": (2e-3, 1.25e-9, 1),
    "storage_read": (1e-3, 8e-10, 1),
    "host_copy": (1e-5, 1.5e-10, 1),
    "peer": (1e-3, 7e-10, 2),
    "deserialise": (1e-3, 1.25e-10, 1),
}
"""Latency (s), s per byte, and processes."""
SIZES = (1_000_000, 4_000_000, 16_000_000)
RESTORED_S = 0.0125


def record(**changes: Any) -> dict[str, Any]:
    """A calibration whose samples lie on the lines, with one real restore of 8 MB.

    `changes` set any other key by its path, two underscores for a dot: `cluster__nodes=2`.
    """
    run = run_records.record()
    samples = [
        {
            "path": path,
            "size_bytes": size,
            "processes": processes,
            "purpose": "fit",
            "duration_s": latency_s + s_per_byte * size,
        }
        for path, (latency_s, s_per_byte, processes) in LINES.items()
        for size in SIZES
        for _ in range(2)
    ]
    start = {"path": "process_start", "size_bytes": None, "processes": 1, "purpose": "fit"}
    samples += [{**start, "duration_s": 0.02}, {**start, "duration_s": 0.03}]
    samples.append(
        {
            "path": "restore_storage",
            "size_bytes": 8_000_000,
            "processes": 1,
            "purpose": "check",
            "duration_s": RESTORED_S,
        }
    )
    made: dict[str, Any] = {
        "record": "failbench-calibration",
        "version": 1,
        "session": SESSION,
        "command": "advisor calibrate --cluster=mybox",
        "seed": 7,
        "quick": True,
        "started_at": "2026-11-30T06:15:00Z",
        "wall_s": 4.5,
        "cluster": run["cluster"],
        "environment": run["environment"],
        "paths": [
            {"path": path, "conditions": f"how {path} was measured"}
            for path in (*LINES, "process_start", "restore_storage")
        ],
        "skipped": [{"path": "host_to_device", "reason": "no GPU"}],
        "notes": [],
        "samples": samples,
    }
    for path, value in changes.items():
        *outer, key = path.split("__")
        part = made
        for name in outer:
            part = part[name]
        part[key] = value
    return made


def write(folder: Path, made: Mapping[str, Any]) -> Path:
    """Writes a record where a calibration leaves it."""
    path = folder / f"calibration-{made['session']}" / "calibration.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made), encoding="utf-8")
    return path
