"""From the kill of a rank to the next complete step, against what a user would pick instead.

Alternated runs of the same training; each prints its ratio. torchft is no dependency of ours:
`pip install --target DIR --no-deps torchft==0.2.0`, then `pip install --target DIR
opentelemetry-sdk opentelemetry-exporter-otlp-proto-http`, and FAILBENCH_TORCHFT=DIR.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.capabilities import Way
from tests.benchmarks.against_torchrun.driver import torchft, torchrun
from tests.benchmarks.against_torchrun.job import Job
from tests.measure.harness import planned, request, run

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

_PAIRS = 5
_STRIKE, _STEPS = 25, 30


def _job(folder: Path) -> Job:
    folder.mkdir(parents=True)
    return Job(str(folder), steps=_STEPS, strike_step=_STRIKE)


def ours(job: Job, mechanism: str, way: Way) -> float:
    """Seconds from the kill to the first step that all ranks of the next generation completed."""
    asked = request(
        "a2",
        mechanism=mechanism,
        way=way,
        profile=job.profile,
        steps=job.steps,
        first_seed=job.seed,
        world_size=job.ranks,
        group_timeout_s=job.timeout_s,
    )
    plan = planned(Path(job.folder), asked)
    (cell,) = plan.cells
    schedule = Schedule("kill", (FaultEvent(job.victim, step=job.strike_step),))
    spares = 1 if way is Way.SPARE else 0
    cell = replace(cell, job=replace(cell.job, schedule=schedule, spares=spares))
    assert cell.job.workload == job.workload
    (finished,) = run(replace(plan, cells=[cell]))
    assert finished["outcome"] == "recovered", finished["reasons"]
    phases = finished["found"]["phases"]
    assert [phase["phase"] for phase in phases][-1] == "resume"
    print("    " + " ".join(f"{p['phase']} {p['duration_s']:.3f}" for p in phases))
    return float(sum(phase["duration_s"] for phase in phases))


def in_turn(
    folder: Path, mine: Callable[[Job], float], theirs: Callable[[Job], float], name: str
) -> None:
    """Both `_PAIRS` times, the order swapped each time; prints what came of it."""
    pairs = []
    for number in range(_PAIRS):
        both = {"mine": mine, "theirs": theirs}
        names = list(both) if number % 2 else list(reversed(both))
        found = {side: both[side](_job(folder / f"{number}-{side}")) for side in names}
        pairs.append((found["mine"], found["theirs"]))
        print(f"  ours {pairs[-1][0]:.3f} s, {name} {pairs[-1][1]:.3f} s", flush=True)
    mine_s, theirs_s = (median(side) for side in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    print(
        f"\nkill to next step on all ranks, A2, 8 ranks, profile cpu: ours {mine_s:.3f} s, {name} "
        f"{theirs_s:.3f} s; ratio of a pair: median {median(ratios):.3f}, from {min(ratios):.3f} "
        f"to {max(ratios):.3f} (n = {len(pairs)} of each, in turn)"
    )


def test_a_warm_spare_against_a_restart_by_torchrun(tmp_path: Path) -> None:
    """FT1 in place; both save the same checkpoints and go back to the same step."""
    in_turn(tmp_path, lambda job: ours(job, "ft1", Way.SPARE), torchrun, "torchrun")


def test_one_rank_smaller_against_torchft(tmp_path: Path) -> None:
    """FT7 against torchft's quorum with a heartbeat limit of one second."""
    named = os.environ.get("FAILBENCH_TORCHFT", "")
    site = Path(named).resolve()
    if not named or not (site / "torchft").is_dir():
        pytest.skip("torchft is not there: install it as this file's head says")
    in_turn(
        tmp_path,
        lambda job: ours(job, "ft7", Way.SMALLER),
        lambda job: torchft(job, site),
        "torchft",
    )
