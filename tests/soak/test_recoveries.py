"""Recovery under faults at random moments, also while it is under way: part of `make soak`."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from measure.campaign import Plan
from measure.errors import UsageError
from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector
from measure.matrix import VIABLE, classify
from measure.mechanisms.registry import entry_named
from measure.plan import Request
from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, planned, request, run
from tests.soak.test_soak import deadline_s

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]

_SEED = int(os.environ.get("SOAK_SEED", "20261130"))
_RUNS = int(os.environ.get("SOAK_RECOVERIES", "60"))
_MECHANISMS = (
    *(f"ft{number}" for number in range(1, 9)),
    "ft2+ft1",
    "ft6+ft3",
    "ft4+ft2+ft1",
)
_OUTCOMES = {"recovered", "restarted-from-zero", "graceful", "halted"}
_STEPS, _LATEST_STEP, _LATEST_S = 200, 120, 0.4
"""A training is longer than its faults take to come, also on an idle machine."""
_NOT_DETERMINISTIC = {"a1-async", "a6"}


def random_plans(folder: Path, count: int, random_: random.Random) -> Iterator[Plan]:
    """Every mechanism as often as every other, each time on an architecture that it works on, with
    one to three faults."""
    for number in range(count):
        mechanism = entry_named(_MECHANISMS[number % len(_MECHANISMS)])
        viable = [e for e in ARCHITECTURES if classify(e, mechanism).status == VIABLE]
        world_size = random_.choice([4, 4, 4, 8])
        detector = random_.choice([Detector.SUPERVISOR] * 5 + [Detector.GROUP_TIMEOUT])
        asked = request(
            random_.choice(viable).architecture,
            mechanism=mechanism.mechanism,
            world_size=world_size,
            steps=_STEPS,
            detector=detector,
            group_timeout_s=8.0 if detector is Detector.SUPERVISOR else 3.0,
            way=random_.choice([None, *mechanism.ways]),
        )
        victims = random_.sample(range(world_size), random_.choice([1, 1, 2, 2, 3]))
        events = tuple(_events(victims, mechanism.wants_warning, random_))
        yield _plan(folder, asked, events, too_few=random_.random() < 0.1)


def _plan(folder: Path, asked: Request, events: tuple[FaultEvent, ...], *, too_few: bool) -> Plan:
    """One run, with a spare for each fault, or one fewer if they are to be `too_few`; the usual
    way back where the one that was drawn is none of the architecture's."""
    try:
        plan = planned(folder, asked)
    except UsageError:
        plan = planned(folder, replace(asked, way=None))
    (cell,) = plan.cells
    spares = len(events) - too_few if cell.job.way is Way.SPARE else 0
    job = replace(cell.job, schedule=Schedule("random", events), spares=spares, alternates=False)
    return replace(plan, cells=[replace(cell, job=job)])


def _events(victims: list[int], warned: bool, random_: random.Random) -> Iterator[FaultEvent]:
    for number, rank in enumerate(victims):
        kind = random_.choice([FaultKind.CRASH] * 4 + [FaultKind.EXCEPTION])
        lead_s = random_.uniform(0.0, 0.6) if random_.random() < (0.8 if warned else 0.1) else None
        if number and random_.random() < 0.6:  # in the recovery from the first, or soon after
            after_s = random_.uniform(0.0, _LATEST_S)
            lead_s = min(lead_s, after_s) if lead_s is not None else None
            yield FaultEvent(rank, kind, after_s=after_s, lead_s=lead_s)
        elif random_.random() < 0.1:
            yield FaultEvent(rank, kind, phase=random_.choice(list(StartPhase)))
        else:
            yield FaultEvent(rank, kind, step=random_.randrange(_LATEST_STEP), lead_s=lead_s)


def test_random_faults_and_recovery(tmp_path: Path) -> None:
    random_ = random.Random(_SEED)
    outcomes: Counter[str] = Counter()
    walls, problems = list[float](), list[str]()
    unstruck = _Unstruck(tmp_path)
    run(planned(tmp_path, request("a2")))  # the fork server is there for good from here on
    for plan in random_plans(tmp_path, _RUNS, random_):
        began = time.monotonic()
        try:
            with nothing_left():
                (finished,) = run(plan)
        except Exception as error:  # something was left, or our own fault; the others go on
            problems.append(f"{plan.cells[0].job.run_id}: {type(error).__name__}: {error}")
            continue
        walls.append(time.monotonic() - began)
        found = problems_of(finished["found"], plan, walls[-1])
        found += unstruck.differences(finished, plan)
        if found:
            job = plan.cells[0].job
            problems.append(f"{job.run_id} (way {job.way}, {job.schedule.events}): {found}")
        outcomes[finished["outcome"]] += 1
    print(
        f"\n{_RUNS} recoveries under faults at random moments (seed {_SEED}): {dict(outcomes)}; "
        f"longest {max(walls):.1f} s, median {median(walls):.1f} s; problems {len(problems)}"
    )
    assert not problems, "\n".join(problems)


def problems_of(record: dict[str, Any], plan: Plan, wall_s: float) -> list[str]:
    """What must not be in the record of a run that took `wall_s` seconds."""
    found = []
    if wall_s > deadline_s(plan):
        found.append(f"took {wall_s:.1f} s")
    unfired = [reason for reason in record["validity_reasons"] if "did not fire" in reason]
    if record["validity_reasons"] != unfired:
        found.append(f"is invalid: {record['validity_reasons']}")
    elif not unfired and record["outcome"] not in _OUTCOMES and not _cannot_be(record):
        found.append(f"is {record['outcome']}")
    whole = record["outcome"] in ("recovered", "restarted-from-zero")
    if whole and record["steps_completed"] != _STEPS:
        found.append(f"{record['outcome']} after {record['steps_completed']} steps")
    if not _says_why(record):
        found.append(f"{record['outcome']} without a reason: {record['notes']}")
    return found


def _cannot_be(record: dict[str, Any]) -> bool:
    """The paper's matrix does not tell A1's two configurations apart: what needs a group of all
    ranks is tried on the asynchronous one, and says that there is none."""
    is_one = record["cell"]["architecture"] == "a1-async" and record["outcome"] == "infeasible"
    return is_one and "group of all ranks" in record["infeasible_reason"]


def _says_why(record: dict[str, Any]) -> bool:
    """Whether what was not recovered says why it was not."""
    said = tuple(record["notes"])
    if record["outcome"] == "restarted-from-zero":
        return any(note.startswith("began again at step 0: ") for note in said)
    if record["outcome"] == "halted":
        lost = any(fault["outcome"] == "coordinator_lost" for fault in record["faults"])
        return lost or any(note.startswith(("halted: ", "stopped: ")) for note in said)
    return True


class _Unstruck:
    """The trainings that nothing strikes, each run once, to compare others with."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._losses: dict[tuple[str, int], dict[int, float]] = {}

    def differences(self, finished: dict[str, Any], plan: Plan) -> list[str]:
        """What differs in the losses of the last step, where that has to be the same: brought to
        its end at its full size, from whichever state."""
        (job,) = (cell.job for cell in plan.cells)
        lineage = finished["found"]["lineage"]
        complete = finished["outcome"] in ("recovered", "restarted-from-zero")
        is_whole = complete and all(line["world_size"] == job.world_size for line in lineage)
        if not is_whole or job.architecture in _NOT_DETERMINISTIC:
            return []
        key = job.architecture, job.world_size
        if key not in self._losses:
            asked = request(job.architecture, world_size=job.world_size, steps=_STEPS)
            (calm,) = run(planned(self._folder, asked))
            assert calm["outcome"] == "completed", calm["reasons"]
            self._losses[key] = _last_losses(calm)
        found, expected = _last_losses(finished), self._losses[key]
        return [] if found == expected else [f"last losses {found} instead of {expected}"]


def _last_losses(finished: dict[str, Any]) -> dict[int, float]:
    """The loss of the last step, by rank."""
    folder = Path(finished["record"]).parent
    found: dict[int, float] = {}
    for member in finished["found"]["lineage"][-1]["members"]:
        for event in read_log(folder / f"rank-{member['slot']}.jsonl"):
            if event["event"] == "step" and event["step"] == _STEPS - 1 and event["loss"]:
                found[member["rank"]] = event["loss"]
    return found
