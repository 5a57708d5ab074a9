"""Is the advice right? What a scenario predicts, as runs that can be made.

Pure. A validation runs the recommended mechanism, the others that were admitted and none at all,
each under the same failures; `advisor/validation_run.py` makes the runs, and what they took is
looked at in `advisor/validated.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from advisor.arrivals import Failure
from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.errors import UserError
from advisor.inputs import INPUTS
from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import Scenario, ScenarioInput
from db.records import Cadence, ClusterEvidence, ValidationRole

LONGEST_STEPS = 10**6
_COVERED = 2.0
"""Failures are drawn for so many times the longest predicted time."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to be made: a mechanism, and what Eq. (5) says that it will take."""

    mechanism: str
    role: ValidationRole
    interval_steps: int | None = None
    step_time_s: float | None = None
    evidence: str = ""
    predicted_s: float | None = None
    failures_expected: float | None = None


def trials_of(
    recommendation: Recommendation, evidence: ClusterEvidence, *, every: bool
) -> list[Trial]:
    """The selected mechanism, the runner-up (with `every`, all candidates), and none at all.

    Raises UserError where nothing is recommended.
    """
    if recommendation.selected is None:
        reasons = "; ".join(f"{e.mechanism}: {e.reason}" for e in recommendation.excluded)
        raise UserError(f"nothing is recommended in this scenario, so nothing to try: {reasons}")
    candidates = recommendation.candidates if every else recommendation.candidates[:2]
    roles = [ValidationRole.SELECTED, ValidationRole.RUNNER_UP]
    roles += [ValidationRole.CANDIDATE] * len(candidates)
    step_s = recommendation.scenario.step_time_s
    found = [_trial(each, role, step_s) for each, role in zip(candidates, roles, strict=False)]
    tried = {trial.mechanism for trial in found}
    return [*found, *(trial for trial in references(evidence) if trial.mechanism not in tried)]


def at_step_time(
    evidence: ClusterEvidence, inputs: ScenarioInput, trial: Trial, steps: int, step_s: float
) -> Trial:
    """The trial as it is predicted at another step time; as it was, where it has no prediction, or
    none at that step time."""
    if trial.predicted_s is None:
        return trial
    asked = as_tried(inputs, trial.mechanism, trial.interval_steps, steps, step_s)
    candidates = consider(evidence, resolve(asked, evidence)).candidates
    if not candidates or candidates[0].expected_completion_s is None:
        return trial
    return replace(_trial(candidates[0], trial.role, step_s), evidence=trial.evidence)


def as_tried(
    inputs: ScenarioInput, mechanism: str, interval_steps: int | None, steps: int, step_s: float
) -> ScenarioInput:
    """The question whose answer is the prediction of one run: the same steps, at its interval and
    step time. Limits decided what was tried, and bind no longer."""
    return replace(
        inputs,
        step_time_s=step_s,
        duration_s=steps * step_s,
        mechanisms=(mechanism,),
        interval=interval_steps or inputs.interval,
        max_overhead=None,
        max_restore_s=None,
        max_pause_s=None,
    )


def references(evidence: ClusterEvidence) -> list[Trial]:
    """What shows a job without fault tolerance."""
    return [
        Trial(mechanism.mechanism_id, ValidationRole.REFERENCE)
        for mechanism in evidence.mechanisms.values()
        if mechanism.cadence is Cadence.NEVER
    ]


def _trial(candidate: Candidate, role: ValidationRole, step_s: float) -> Trial:
    return Trial(
        mechanism=candidate.mechanism,
        role=role,
        interval_steps=candidate.interval_steps,
        step_time_s=step_s,
        evidence=candidate.evidence.value,
        predicted_s=candidate.expected_completion_s,
        failures_expected=None if candidate.terms is None else candidate.terms.failures,
    )


_HONOURED = frozenset(
    {
        *("cluster", "architecture", "mtbf", "duration", "mechanism", "interval", "warning-lead"),
        *("max-overhead", "max-restore", "max-pause", "host-memory", "device-memory"),
        *("restore-basis", "fewer-ranks"),
    }
)
"""Inputs that a live run can be made with, or that decide which ones are made."""


def require_honoured(inputs: ScenarioInput) -> None:
    """Raises UserError for an input that the runs cannot be made with: what they observed would be
    of another job than what was predicted."""
    for each in INPUTS:
        if each.option not in _HONOURED and getattr(inputs, each.field) is not None:
            raise UserError(
                f"{each.option} cannot be chosen for live runs, which have their own: leave it out"
            )


def steps_of(scenario: Scenario) -> int:
    """The whole number of steps that the job has. Raises UserError where that is no run."""
    steps = round(scenario.duration_s / scenario.step_time_s)
    if not 1 <= steps <= LONGEST_STEPS:
        raise UserError(
            f"a job of {steps:,} steps cannot be tried live: give a duration of 1 to "
            f"{LONGEST_STEPS:,} steps of {scenario.step_time_s:g} s"
        )
    return steps


def covered_s(scenario: Scenario, trials: Iterable[Trial]) -> float:
    """For how long failures have to be drawn, so that no run should outlast them (s)."""
    return _COVERED * max(
        [scenario.duration_s, *(t.predicted_s for t in trials if t.predicted_s is not None)]
    )


def schedule_of(failures: Sequence[Failure], name: str, lead_s: float | None) -> dict[str, Any]:
    """The failures as a fault schedule (fault-schedule-1.schema.json), announced by `lead_s`, or by
    as much as there is before the first ones."""
    return {
        "schema": "failbench-faults",
        "version": 1,
        "name": name,
        "events": [
            {
                "rank": failure.rank,
                "kind": "crash",
                "time_s": failure.at_s,
                **({} if not lead_s else {"lead_s": min(lead_s, failure.at_s)}),
            }
            for failure in failures
        ],
    }


def campaign_of(
    scenario: Scenario,
    trials: Iterable[Trial],
    steps: int,
    trace: str,
    common: Mapping[str, Any],
) -> dict[str, Any]:
    """The runs as a campaign file (campaign-1.schema.json); `common` holds for all blocks."""
    return {
        **{key: value for key, value in common.items() if value is not None},
        "steps": steps,
        "trace": trace,
        "block": [
            {
                "architecture": scenario.architecture,
                "mechanism": trial.mechanism,
                **({} if trial.interval_steps is None else {"interval": trial.interval_steps}),
            }
            for trial in trials
        ],
    }
