"""Is the advice right? What a scenario predicts, as runs that can be made, and how far it was off.

Pure. A validation runs the recommended mechanism, the others that were admitted and none at all,
each under the same failures; `advisor/validation_run.py` makes the runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from advisor.arrivals import Failure
from advisor.errors import UserError
from advisor.inputs import INPUTS
from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import Scenario, ScenarioInput
from db.records import Cadence, ClusterEvidence, ValidatedRun, ValidationRole

MAX_ERROR = 0.10
MAX_MEDIAN_ERROR = 0.05
MAX_REGRET = 0.03
"""What the advice promises of expected times in scenarios that are run live (`--check`)."""
LONGEST_STEPS = 10**6
_COVERED = 2.0
"""Failures are drawn for so many times the longest predicted time."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to be made: a mechanism, and what Eq. (5) says that it will take."""

    mechanism: str
    role: ValidationRole
    interval_steps: int | None = None
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
    found = [_trial(*each) for each in zip(candidates, roles, strict=False)]
    tried = {trial.mechanism for trial in found}
    return [*found, *(trial for trial in references(evidence) if trial.mechanism not in tried)]


def references(evidence: ClusterEvidence) -> list[Trial]:
    """What shows a job without fault tolerance."""
    return [
        Trial(mechanism.mechanism_id, ValidationRole.REFERENCE)
        for mechanism in evidence.mechanisms.values()
        if mechanism.cadence is Cadence.NEVER
    ]


def _trial(candidate: Candidate, role: ValidationRole) -> Trial:
    return Trial(
        mechanism=candidate.mechanism,
        role=role,
        interval_steps=candidate.interval_steps,
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


@dataclass(frozen=True, slots=True)
class Validated:
    """One validation, in the light of its runs."""

    runs: tuple[ValidatedRun, ...]

    @property
    def first(self) -> ValidatedRun:
        return self.runs[0]

    @property
    def selected(self) -> ValidatedRun | None:
        return next((r for r in self.runs if r.role is ValidationRole.SELECTED), None)

    @property
    def best(self) -> ValidatedRun | None:
        """The run that finished its training soonest; a reference counts too."""
        finished = [r for r in self.runs if r.observed_s is not None]
        return min(finished, key=lambda r: r.observed_s or 0.0, default=None)

    @property
    def regret_fraction(self) -> float | None:
        """How much longer the selected one took than the best; None if it did not finish."""
        selected, best = self.selected, self.best
        if selected is None or selected.observed_s is None or best is None:
            return None
        return selected.observed_s / (best.observed_s or 1.0) - 1.0


def validated(runs: Iterable[ValidatedRun]) -> list[Validated]:
    """The runs by validation, in their order."""
    return [
        Validated(tuple(sorted(group, key=_by_role)))
        for _, group in groupby(runs, key=lambda r: r.validation)
    ]


_ROLES = tuple(ValidationRole)


def _by_role(run: ValidatedRun) -> tuple[int, str]:
    return _ROLES.index(run.role), run.mechanism


def shortcomings(found: Sequence[Validated]) -> list[str]:
    """What is worse than the advice promises, one line each; none if all is well."""
    said: list[str] = []
    for each in found:
        for run in each.runs:
            said += _shortcomings_of(run)
        regret = each.regret_fraction
        if regret is not None and regret > MAX_REGRET:
            said.append(f"{each.first.name}: regret {_percent(regret)}; limit {_limit(MAX_REGRET)}")
    errors = [
        abs(error) for each in found for r in each.runs if (error := r.error_fraction) is not None
    ]
    if errors and median(errors) > MAX_MEDIAN_ERROR:
        said.append(f"median error {_percent(median(errors))}; limit {_limit(MAX_MEDIAN_ERROR)}")
    return said


def _shortcomings_of(run: ValidatedRun) -> Iterator[str]:
    name, error = f"{run.name}, {run.mechanism}", run.error_fraction
    if error is not None and abs(error) > MAX_ERROR:
        yield f"{name}: prediction off by {_percent(error)}; limit {_limit(MAX_ERROR)}"
    if run.observed_s is None and run.role is not ValidationRole.REFERENCE:
        yield f"{name}: expected to finish, and {run.outcome or 'did not run'}"
    if run.outlasted_faults:
        yield f"{name}: trained on after the last failure that was drawn"


def _percent(fraction: float) -> str:
    return f"{100.0 * fraction:.1f} %"


def _limit(fraction: float) -> str:
    return f"{100.0 * fraction:g} %"
