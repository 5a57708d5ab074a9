"""Makes the runs of a validation: every trial under the same failures, its step time just before.

What is to be tried are rows before the first run begins, so that an interruption shows, and each
prediction is renewed just before its own; what was observed is added as runs are stored
(`db.validation_store`), also where another command finished an interrupted campaign.
"""

import hashlib
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine

from advisor.arrivals import Law, draw
from advisor.campaign_run import Measured, OnPlan
from advisor.errors import AdvisorError, UserError
from advisor.evidence import Question, answer, ask
from advisor.harness import harness_command
from advisor.inputs import read_inputs, written
from advisor.scenario import Scenario, ScenarioInput
from advisor.units import format_duration
from advisor.validation import (
    Trial,
    at_step_time,
    campaign_of,
    covered_s,
    references,
    require_honoured,
    schedule_of,
    steps_of,
    trials_of,
)
from advisor.version import advisor_version
from db.campaign_store import PlannedCell
from db.queries import evidence_version, validated_runs
from db.records import RunQuantity, ValidatedRun
from db.run_queries import RunFilter, list_runs, run_choices
from db.session import reading
from db.validation_store import store_trial, store_validation, unplanned

LEAST_STEPS = 80
"""A step time is measured over a quarter of the job's steps, and over so many at least."""
DEFAULT_WORLD_SIZE = 8

Opened = Callable[[], AbstractContextManager[Engine]]


class Measure(Protocol):
    """What runs a campaign (advisor/commands/measure.py)."""

    def __call__(
        self, command: Sequence[str], folder: Path, on_plan: OnPlan | None = None
    ) -> Measured:
        """Runs the harness with this command, and stores its runs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A scenario under a name (its file's)."""

    name: str
    inputs: ScenarioInput


@dataclass(frozen=True, slots=True)
class Wanted:
    """How validations are made: the law and the seed of failures, every candidate or the first two,
    where records go, the command that a person gave, and the profile, world size and device of
    the runs (None: as the architecture was measured, and what there is)."""

    law: Law
    seed: int
    every: bool
    folder: Path
    command: str
    profile: str | None = None
    world_size: int | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A scenario that can be run live: what was asked, and how its runs are to be."""

    name: str
    question: Question
    profile: str | None
    world_size: int
    wanted: Wanted

    @property
    def scenario(self) -> Scenario:
        return self.question.scenario

    def trials(self) -> list[Trial]:
        """What is to be tried, with today's predictions."""
        answered = answer(self.question)
        return trials_of(answered, self.question.evidence, every=self.wanted.every)

    def file(self, trials: Sequence[Trial], steps: int, trace: str) -> dict[str, Any]:
        """A campaign file of these trials."""
        common = {
            "profile": self.profile,
            "world-size": self.world_size,
            "device": self.wanted.device,
        }
        return campaign_of(self.scenario, trials, steps, trace, common)


def prepared(asked: Asked, wanted: Wanted, engine: Engine) -> Job:
    """The job, with everything looked at that can be known before something runs. Raises UserError,
    NoDataError."""
    require_honoured(asked.inputs)
    question = ask(engine, asked.inputs)
    scenario = question.scenario
    with reading(engine) as connection:
        choices = run_choices(connection, scenario.cluster)
    sizes = [
        p.world_size
        for p in question.evidence.points
        if p.architecture == scenario.architecture and p.world_size
    ]
    job = Job(
        asked.name,
        question,
        wanted.profile or _only_profile(choices.profiles, scenario.cluster),
        wanted.world_size or max(sizes, default=DEFAULT_WORLD_SIZE),
        wanted,
    )
    steps_of(scenario)
    job.trials()
    return job


def _only_profile(profiles: Sequence[str], cluster: str) -> str | None:
    """None, the usual one, where the runs are elsewhere."""
    if len(profiles) > 1:
        there = ", ".join(profiles)
        raise UserError(f"{cluster} was measured with the profiles {there}: say --profile")
    return profiles[0] if profiles else None


def validate(
    job: Job, opened: Opened, measure: Measure, say: Callable[[str], None]
) -> tuple[ValidatedRun, ...]:
    """Validates one scenario; returns its runs. Raises what `measure` raises, and UserError where
    nothing is recommended at today's step time.

    What is tried, and at which intervals, is decided once. The trials run in a drawn order, each
    that is predicted with a step time of its own: a machine that drifts is then not held against
    the prediction.
    """
    validation = _new_id(job.name)
    place = job.wanted.folder / "validations" / validation
    step_s = _measured_step_s(job, place, opened, measure)
    inputs = replace(stated(job.scenario), step_time_s=step_s)
    with opened() as engine:
        job = replace(job, question=ask(engine, inputs))
    scenario, trials, steps = job.scenario, job.trials(), steps_of(job.scenario)
    failures, until_s = draw(
        job.wanted.law,
        scenario.mtbf_s,
        covered_s(scenario, trials),
        job.world_size,
        job.wanted.seed,
        job.name,
    )
    say(_plan_words(job.name, scenario, trials))
    faults = _write(place, "faults", schedule_of(failures, _trace(job), scenario.warning_lead_s))
    row = _row(validation, job) | {"covered_s": until_s}
    first, *others = _shuffled(trials, job)
    for trial in (first, *others):
        if trial is not first and trial.predicted_s is not None:
            step_s = _measured_step_s(job, place, opened, measure)
        priced = _priced(job, inputs, trial, step_s, say)
        campaign = _write(place, trial.mechanism, job.file([trial], steps, str(faults)))
        keep = _keeper(row, priced, others if trial is first else None)
        measure(_command(campaign, job), job.wanted.folder, on_plan=keep)
    with opened() as engine, reading(engine) as connection:
        runs = validated_runs(connection, scenario.cluster)
    return tuple(run for run in runs if run.validation == validation)


def _priced(
    job: Job, inputs: ScenarioInput, trial: Trial, step_s: float, say: Callable[[str], None]
) -> Trial:
    """The trial as predicted at this step time; where it cannot be, as it was, which is said."""
    evidence, steps = job.question.evidence, steps_of(job.scenario)
    priced = at_step_time(evidence, inputs, trial, steps, step_s)
    if trial.predicted_s is not None and priced.step_time_s != step_s:
        say(
            f"{job.name}: {trial.mechanism} cannot be predicted at steps of "
            f"{format_duration(step_s)}, so it keeps its earlier prediction"
        )
    return priced


def _shuffled(trials: Sequence[Trial], job: Job) -> list[Trial]:
    """The trials in an order that follows from the seed and the scenario's name."""
    order = list(trials)
    random.Random(f"{job.wanted.seed} {job.name}").shuffle(order)  # noqa: S311 - no secret
    return order


def stated(scenario: Scenario) -> ScenarioInput:
    """What was stated of a scenario, without what was filled in."""
    return read_inputs(written(scenario))


def _measured_step_s(job: Job, place: Path, opened: Opened, measure: Measure) -> float:
    """The step time without a mechanism, just before: it changes with what else the machine does,
    and whoever asks knows that of a job of theirs."""
    steps = max(steps_of(job.scenario) // 4, LEAST_STEPS)
    bare = references(job.question.evidence)[:1]
    path = _write(place, "step-time", job.file(bare, steps, "none"))
    measured = measure(_command(path, job), job.wanted.folder)
    with opened() as engine, reading(engine) as connection:
        runs = list_runs(connection, RunFilter(campaign=measured.campaign), limit=1)
    step_s = runs[0].values.get(RunQuantity.STEP) if runs else None
    if not step_s:
        raise AdvisorError(
            f"{job.name}: the step time without a mechanism could not be measured (campaign "
            f"{measured.campaign})"
        )
    return step_s


def _trace(job: Job) -> str:
    law = job.wanted.law.in_words().replace(":", " ")
    return f"{law} {job.scenario.mtbf_s:g} s seed {job.wanted.seed}"


def _command(campaign_file: Path, job: Job) -> list[str]:
    return harness_command(
        [
            f"--campaign-file={campaign_file}",
            f"--order-seed={job.wanted.seed}",
            f"--cluster={job.scenario.cluster}",
            f"--folder={job.wanted.folder}",
            f"--command={job.wanted.command}",
        ]
    )


def _row(validation: str, job: Job) -> dict[str, Any]:
    scenario, wanted = job.scenario, job.wanted
    return {
        "validation": validation,
        "name": job.name,
        "cluster": scenario.cluster,
        "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "architecture": scenario.architecture,
        "scenario": json.dumps(written(scenario), sort_keys=True),
        "mtbf_s": scenario.mtbf_s,
        "step_time_s": scenario.step_time_s,
        "steps": steps_of(scenario),
        "arrivals": str(wanted.law.arrivals),
        "shape": wanted.law.shape,
        "seed": wanted.seed,
        "advisor_version": advisor_version(),
        "data_version": evidence_version(job.question.evidence),
    }


def _keeper(row: Mapping[str, Any], trial: Trial, others: Sequence[Trial] | None) -> OnPlan:
    """Stores what is predicted of a trial as soon as its run has an id; with the first one the
    validation too, and the `others` that are to be tried after it."""
    validation = row["validation"]

    def keep(engine: Engine, cells: Sequence[PlannedCell]) -> None:
        run_ids = {cell.mechanism: cell.run_id for cell in cells}
        run = _run_row(validation, trial, run_ids[trial.mechanism])
        if others is None:
            store_trial(engine, run)
            return
        later = [_run_row(validation, t, unplanned(validation, t.mechanism)) for t in others]
        store_validation(engine, row, [run, *later])

    return keep


def _run_row(validation: str, trial: Trial, run_id: str) -> dict[str, Any]:
    return {
        "validation": validation,
        "mechanism": trial.mechanism,
        "run_id": run_id,
        "role": str(trial.role),
        "interval_steps": trial.interval_steps,
        "step_time_s": trial.step_time_s,
        "evidence": trial.evidence,
        "predicted_s": trial.predicted_s,
        "failures_expected": trial.failures_expected,
    }


def _plan_words(name: str, scenario: Scenario, trials: Sequence[Trial]) -> str:
    told = ", ".join(
        trial.mechanism
        + ("" if trial.interval_steps is None else f" every {trial.interval_steps}")
        + ("" if trial.predicted_s is None else f": {format_duration(trial.predicted_s)}")
        for trial in trials
    )
    return (
        f"{name}: {steps_of(scenario)} steps of {format_duration(scenario.step_time_s)} on "
        f"{scenario.architecture}, MTBF {format_duration(scenario.mtbf_s)}; predicted {told}"
    )


def _new_id(name: str) -> str:
    now = datetime.now(UTC)
    salt = f"{name} {now.isoformat()} {os.getpid()}"
    return f"{now:%Y%m%d-%H%M%S}-{hashlib.sha256(salt.encode()).hexdigest()[:8]}"


def _write(place: Path, name: str, content: Mapping[str, Any]) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.json"
    path.write_text(json.dumps(content, indent=2, allow_nan=False), encoding="utf-8")
    return path
