"""Long campaigns of real runs: `make soak`. Each prints what it found; docs/measurements.md keeps
the figures.

Not part of the test suite: they take many minutes.
"""

import os
import random
import resource
import time
from collections import Counter
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from measure.campaign import Plan
from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.job_spec import Detector
from measure.supervisor.detect import limits_of
from tests.measure.harness import nothing_left, planned, request, run

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]

_SEED = 20261129
_RUNS = int(os.environ.get("SOAK_RUNS", "100"))
_CELLS = int(os.environ.get("SOAK_CELLS", "200"))
_OUTCOMES = {"halted", "graceful", "hang"}
_STEPS = 25
_WORLD = 8
_ENDING_S = 15.0  # the supervisor's own: grace, kills, the record


def random_plan(folder: Path, random_: random.Random) -> Plan:
    """One run of some architecture, with one or two faults at some moment."""
    name = random_.choice([entry.architecture for entry in ARCHITECTURES])
    detector = random_.choice(list(Detector))
    ranks = random_.sample(range(_WORLD), random_.choice([1, 1, 1, 2]))
    events = tuple(_random_event(rank, random_) for rank in ranks)
    asked = request(name, world_size=_WORLD, steps=_STEPS, detector=detector, group_timeout_s=1.0)
    return planned(folder, asked, Schedule("random", events))


def _random_event(rank: int, random_: random.Random) -> FaultEvent:
    kind = random_.choice([FaultKind.CRASH] * 6 + [FaultKind.HANG, FaultKind.EXCEPTION])
    moment = random_.random()
    if moment < 0.1:
        return FaultEvent(rank, kind, phase=StartPhase.STARTING)
    if moment < 0.25:
        return FaultEvent(rank, kind, phase=StartPhase.FORMING_GROUPS)
    if moment < 0.35:
        return FaultEvent(rank, kind, time_s=random_.uniform(0.0, 0.3))
    return FaultEvent(rank, kind, step=random_.randrange(_STEPS - 1))


def deadline_s(plan: Plan) -> float:
    """The latest end that the supervisor's own limits allow."""
    (cell,) = plan.cells
    limits = limits_of(cell.job, cell.profile)
    return limits.start_s + limits.deadline_s + limits.after_loss_s + _ENDING_S


def test_random_faults_always_end(tmp_path: Path) -> None:
    random_ = random.Random(_SEED)
    outcomes: Counter[str] = Counter()
    walls: list[float] = []
    run(planned(tmp_path, request("a2")))  # the fork server is there for good from here on
    with nothing_left():
        for _ in range(_RUNS):
            plan = random_plan(tmp_path, random_)
            began = time.monotonic()
            (finished,) = run(plan)
            walls.append(time.monotonic() - began)
            _judge(finished, plan, walls[-1])
            outcomes[finished["outcome"]] += 1
    print(
        f"\n{_RUNS} runs with faults at random moments (seed {_SEED}): {dict(outcomes)}; "
        f"longest {max(walls):.1f} s, median {median(walls):.1f} s; nothing left"
    )


def _judge(finished: dict[str, Any], plan: Plan, wall_s: float) -> None:
    record = finished["found"]
    fired = [fault["fired"] for fault in record["faults"]]
    said = (record["run_id"], record["schedule"], record["outcome"], record["validity_reasons"])
    assert wall_s < deadline_s(plan), said
    assert record["outcome"] in _OUTCOMES or not all(fired), said
    assert any(fired), said


def test_cells_neither_slow_down_nor_leak(tmp_path: Path) -> None:
    asked = replace(request("a2", world_size=_WORLD, trace="f1", steps=None), seeds=_CELLS)
    run(planned(tmp_path, request("a2")))
    before = _footprint()
    with nothing_left():
        finished = run(planned(tmp_path, asked))
    after = _footprint()
    walls = [event["wall_s"] for event in finished]
    tenth = max(1, _CELLS // 10)
    print(
        f"\n{_CELLS} smoke cells of 8 ranks, F1: {median(walls[:tenth]):.2f} s at first, "
        f"{median(walls[-tenth:]):.2f} s at last (medians of {tenth}), longest {max(walls):.2f} s; "
        f"fork server {before[0] / 1e6:.1f} MB, then {after[0] / 1e6:.1f} MB; "
        f"this process {before[1] / 1e6:.1f} MB, then {after[1] / 1e6:.1f} MB; "
        f"descriptors {before[2]}, then {after[2]}"
    )
    assert {event["validity"] for event in finished} == {"valid"}
    assert after[2] <= before[2]
    assert after[0] - before[0] < 10e6
    assert after[1] - before[1] < 100e6  # the records of all the runs, which this test keeps


def _footprint() -> tuple[int, int, int]:
    """(resident bytes of the fork server, of this process, descriptors of this process)."""
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    return _resident_bytes(server), _resident_bytes(os.getpid()), len(_descriptors())


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def _descriptors() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())
