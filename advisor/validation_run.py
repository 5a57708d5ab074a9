"""Makes the runs of a validation: the step time first, then every trial under the same failures.

Predictions are rows before their runs begin; what was observed is added as these are stored
(`db.validation_store`), also where another command finished an interrupted campaign.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine

from advisor.arrivals import Law, draw
from advisor.campaign_run import Measured, OnPlan
from advisor.errors import AdvisorError
from advisor.evidence import Question, answer, ask
from advisor.harness import harness_command
from advisor.inputs import written
from advisor.scenario import Scenario, ScenarioInput
from advisor.units import format_duration
from advisor.validation import (
    Trial,
    campaign_of,
    covered_s,
    references,
    schedule_of,
    steps_of,
    trials_of,
)
from advisor.version import advisor_version
from db.campaign_store import PlannedCell
from db.queries import evidence_version, validated_runs
from db.records import RunQuantity, ValidatedRun
from db.run_queries import RunFilter, list_runs
from db.session import reading
from db.validation_store import store_validation

LEAST_STEPS = 100
"""A step time is measured over half the job's steps, and over so many at least."""
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
    the runs (None: the usual)."""

    law: Law
    seed: int
    every: bool
    folder: Path
    command: str
    profile: str | None = None
    world_size: int | None = None
    device: str | None = None

    def common(self, question: Question) -> dict[str, Any]:
        """What a campaign file says for all blocks."""
        return {
            "profile": self.profile,
            "world-size": self.ranks(question),
            "device": self.device,
        }

    def ranks(self, question: Question) -> int:
        """As asked; otherwise as the architecture was measured."""
        measured = [
            p.world_size
            for p in question.evidence.points
            if p.architecture == question.scenario.architecture and p.world_size
        ]
        return self.world_size or max(measured, default=DEFAULT_WORLD_SIZE)


def check_asked(asked: Asked, wanted: Wanted, engine: Engine) -> None:
    """Raises the errors that `validate` would, as far as they are known before anything runs."""
    question = ask(engine, asked.inputs)
    trials_of(answer(question), question.evidence, every=wanted.every)
    steps_of(question.scenario)


def validate(
    asked: Asked, wanted: Wanted, opened: Opened, measure: Measure, say: Callable[[str], None]
) -> tuple[ValidatedRun, ...]:
    """Validates one scenario; returns its runs. Raises UserError where nothing is recommended, and
    what `measure` raises."""
    validation = _new_id(asked.name)
    place = wanted.folder / "validations" / validation
    inputs = asked.inputs
    if inputs.step_time_s is None:
        inputs = replace(
            inputs, step_time_s=_measured_step_s(asked, wanted, place, opened, measure)
        )
    with opened() as engine:
        question = ask(engine, inputs)
    scenario = question.scenario
    trials = trials_of(answer(question), question.evidence, every=wanted.every)
    failures, until_s = draw(
        wanted.law,
        scenario.mtbf_s,
        covered_s(scenario, trials),
        wanted.ranks(question),
        wanted.seed,
    )
    say(_plan_words(asked.name, scenario, trials))
    trace = f"{wanted.law.in_words().replace(':', ' ')} {scenario.mtbf_s:g} s seed {wanted.seed}"
    faults = _write(place, "faults", schedule_of(failures, trace, scenario.warning_lead_s))
    blocks = campaign_of(scenario, trials, steps_of(scenario), str(faults), wanted.common(question))
    row = {
        **_row(validation, asked.name, scenario, wanted),
        "covered_s": until_s,
        "data_version": evidence_version(question.evidence),
    }
    measure(
        _command(_write(place, "campaign", blocks), scenario, wanted),
        wanted.folder,
        on_plan=_keeper(row, trials),
    )
    with opened() as engine, reading(engine) as connection:
        runs = validated_runs(connection, scenario.cluster)
    return tuple(run for run in runs if run.validation == validation)


def _measured_step_s(
    asked: Asked, wanted: Wanted, place: Path, opened: Opened, measure: Measure
) -> float:
    """The step time without a mechanism, just before: it changes with what else the machine does,
    and whoever asks knows that of a job of theirs."""
    with opened() as engine:
        question = ask(engine, asked.inputs)
    scenario = question.scenario
    steps = max(steps_of(scenario) // 2, LEAST_STEPS)
    blocks = campaign_of(
        scenario, references(question.evidence)[:1], steps, "none", wanted.common(question)
    )
    measured = measure(
        _command(_write(place, "step-time", blocks), scenario, wanted), wanted.folder
    )
    with opened() as engine, reading(engine) as connection:
        runs = list_runs(connection, RunFilter(campaign=measured.campaign), limit=1)
    step_s = runs[0].values.get(RunQuantity.STEP) if runs else None
    if not step_s:
        raise AdvisorError(
            f"{asked.name}: the step time without a mechanism could not be measured (campaign "
            f"{measured.campaign}): give step-time in the scenario"
        )
    return step_s


def _command(campaign_file: Path, scenario: Scenario, wanted: Wanted) -> list[str]:
    return harness_command(
        [
            f"--campaign-file={campaign_file}",
            f"--order-seed={wanted.seed}",
            f"--cluster={scenario.cluster}",
            f"--folder={wanted.folder}",
            f"--command={wanted.command}",
        ]
    )


def _row(validation: str, name: str, scenario: Scenario, wanted: Wanted) -> dict[str, Any]:
    return {
        "validation": validation,
        "name": name,
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
    }


def _keeper(row: Mapping[str, Any], trials: Sequence[Trial]) -> OnPlan:
    """Stores the predictions as soon as the runs that try them have ids."""

    def keep(engine: Engine, cells: Sequence[PlannedCell]) -> None:
        run_ids = {cell.mechanism: cell.run_id for cell in cells}
        runs = [
            {
                "validation": row["validation"],
                "mechanism": trial.mechanism,
                "run_id": run_ids[trial.mechanism],
                "role": str(trial.role),
                "interval_steps": trial.interval_steps,
                "evidence": trial.evidence,
                "predicted_s": trial.predicted_s,
                "failures_expected": trial.failures_expected,
            }
            for trial in trials
        ]
        store_validation(engine, row, runs)

    return keep


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
