"""Campaigns for the tests and the pictures of the Campaigns page: planned, run as far as is wanted
by this process, which only pretends to train; and a calibration with real-looking scatter."""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from advisor import cli
from advisor.processes import this_process
from db.campaign_plan import read_plan
from db.campaign_store import OpenCell, Taken, beat, claim, let_go, settle, store_plan
from db.ingest import ingest
from db.records import CampaignStatus, CellStatus
from db.session import open_engine
from tests.db import calibration_records, run_records

CLUSTER = run_records.CLUSTER
CAMPAIGN = run_records.CAMPAIGN
WALL_S = 20.0
FAILED = "rank 3 ended before training began"
_ARCHITECTURES, _MECHANISMS = ("a2", "a6"), ("ft1", "ft4", "ft9")
_TRACES, _SEEDS = (None, "F1"), (0, 1)


@dataclass
class Running:
    """A campaign in the hands of this process."""

    engine: Engine
    taken: Taken
    folder: Path

    def start(self) -> OpenCell:
        """Claims the next cell."""
        cell = claim(self.engine, self.taken, this_process())
        assert cell is not None
        return cell

    def end(self, cell: OpenCell, status: CellStatus = CellStatus.COMPLETE) -> None:
        """Marks it, with a run in the database if it is complete."""
        if status is CellStatus.COMPLETE:
            self._store(cell)
        reason = "" if status is CellStatus.COMPLETE else FAILED
        assert settle(self.engine, self.taken, cell.ordinal, status, reason, WALL_S)

    def run(self, cells: int, failing: Sequence[int] = ()) -> None:
        """Runs so many cells, of which those of the numbers (from 1) fail."""
        for number in range(1, cells + 1):
            is_failing = number in failing
            self.end(self.start(), CellStatus.FAILED if is_failing else CellStatus.COMPLETE)

    def beat(self) -> None:
        """Says that this process lives."""
        beat(self.engine, self.taken)

    def let_go(self) -> CampaignStatus:
        """Gives the campaign back."""
        return let_go(self.engine, self.taken)

    def _store(self, cell: OpenCell) -> None:
        planned = cell.parameters
        about = {name: planned[name] for name in ("architecture", "trace", "seed")}
        if planned["mechanism"] == "ft9":
            made = run_records.record(**about)
        else:
            made = run_records.mechanism_record(planned["mechanism"], **about)
        made |= {"run_id": cell.run_id}
        made["campaign"] = made["campaign"] | {"campaign": self.taken.campaign}
        run_records.write(self.folder / str(cell.ordinal), made)
        assert ingest(self.engine, self.folder / str(cell.ordinal)).refused == ()


@contextmanager
def running(url: str, folder: Path, campaign: str = CAMPAIGN, **plan: Any) -> Iterator[Running]:
    """A campaign that this process runs; `plan` are keywords of `cells`."""
    engine = open_engine(url)
    try:
        made = run_records.record()
        made["campaign"]["campaign"] = campaign
        names = ("campaign", "cluster", "environment")
        event = {
            "surroundings": {name: made[name] for name in names},
            "order_seed": 5,
            "cells": list(cells(campaign, **plan)),
        }
        taken = store_plan(engine, read_plan(event, str(folder)), this_process())
        yield Running(engine, taken, folder)
    finally:
        engine.dispose()


def cells(
    campaign: str,
    architectures: Iterable[str] = _ARCHITECTURES,
    mechanisms: Iterable[str] = _MECHANISMS,
    traces: Iterable[str | None] = _TRACES,
    seeds: Iterable[int] = _SEEDS,
) -> Iterator[dict[str, Any]]:
    """The cells of a plan, as the harness says them."""
    for seed in seeds:
        for trace in traces:
            for mechanism in mechanisms:
                for architecture in architectures:
                    name = f"{architecture}-{mechanism}-{trace or 'none'}-s{seed}".lower()
                    yield {
                        "run_id": f"{campaign}/{name}",
                        "architecture": architecture,
                        "mechanism": mechanism,
                        "trace": trace,
                        "seed": seed,
                        "batch_per_rank": 8,
                        "job": {"seed": seed},
                    }


_SIZES = tuple(size * 1_000_000 for size in (1, 4, 16, 64, 256, 512))
_CHECKED = tuple(size * 1_000_000 for size in (2, 8, 32, 128))
_LINES = {
    **calibration_records.LINES,
    "serialise": (1e-3, 2e-10, 1),
    "verify": (5e-4, 1e-10, 1),
}
_PROCESSES_SHARING, _SHARED = 4, 2.5


def calibrate(url: str, folder: Path, *, check: bool = True, seed: int = 3) -> None:
    """Stores a calibration of the cluster whose samples scatter by about 5 % around known lines."""
    chance = random.Random(seed)

    def sample(path: str, size: int | None, processes: int, time_s: float) -> dict[str, Any]:
        return {
            "path": path,
            "size_bytes": size,
            "processes": processes,
            "purpose": "check" if path.startswith("restore") else "fit",
            "duration_s": time_s * chance.lognormvariate(0.0, 0.05),
        }

    samples = [
        sample(path, size, processes, latency_s + s_per_byte * size)
        for path, (latency_s, s_per_byte, processes) in _LINES.items()
        for size in _SIZES
        for _ in range(4)
    ]
    latency_s, s_per_byte, _ = _LINES["storage_write"]
    samples += [
        sample("storage_write", size, _PROCESSES_SHARING, latency_s + _SHARED * s_per_byte * size)
        for size in _SIZES
        for _ in range(4)
    ]
    samples += [
        sample("group_formation", None, ranks, 0.05 + 0.01 * ranks)
        for ranks in (2, 4, 8)
        for _ in range(4)
    ]
    samples += [sample("process_start", None, 1, 0.02) for _ in range(6)]
    if check:
        for path, times, parts in (
            ("restore_storage", 1, ("storage_read", "deserialise")),
            ("restore_own", 1, ("verify",)),
            ("restore_peer", 2, ("peer", "verify")),
        ):
            samples += [
                sample(path, size, 1, times * sum(_line_s(part, size) for part in parts))
                for size in _CHECKED
                for _ in range(2)
            ]
    names = dict.fromkeys(str(each["path"]) for each in samples)
    made = calibration_records.record(
        session=f"20261130-0615{seed:02}-ab12cd34",
        started_at=f"2026-11-30T06:15:{seed:02}Z",
        quick=False,
        wall_s=84.0,
        samples=samples,
        paths=[{"path": name, "conditions": f"how {name} was measured"} for name in names],
    )
    record = calibration_records.write(folder, made)
    assert cli.run(["calibrate", "--record", str(record), "--db", url]) == 0


def _line_s(path: str, size: int) -> float:
    latency_s, s_per_byte, _ = _LINES[path]
    return latency_s + s_per_byte * size
