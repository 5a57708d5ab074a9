"""How far off the advice was: validations in the light of their runs. Pure.

A prediction is an expectation: of the failures that may come, and of how fast the machine is just
then. So a scenario may be validated several times, with other failures each time, and is judged by
the means.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, median

from db.records import ValidatedRun, ValidationRole

MAX_ERROR = 0.10
MAX_MEDIAN_ERROR = 0.05
MAX_REGRET = 0.03
"""What the advice promises of expected times in scenarios that are run live (`--check`)."""


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
    def missing(self) -> list[str]:
        """The mechanisms that were to be tried and have not run: it was cut off, or goes on."""
        return [r.mechanism for r in self.runs if not r.outcome]

    @property
    def is_whole(self) -> bool:
        """Whether all that was to be tried ran, however that ended."""
        return self.selected is not None and not self.missing


@dataclass(frozen=True, slots=True)
class MeanRun:
    """A mechanism in all validations of a scenario; means over its `n` runs, in seconds.

    Where none ran yet, what is expected is that of the runs to come.
    `observed_s` None: it did not finish each time. `predicted_s` None: nothing was predicted of it.
    """

    mechanism: str
    n: int
    predicted_s: float | None
    observed_s: float | None
    failures_expected: float | None
    failures: float | None

    @property
    def error_fraction(self) -> float | None:
        """Predicted / observed - 1; None without both."""
        if self.predicted_s is None or self.observed_s is None:
            return None
        return self.predicted_s / self.observed_s - 1.0


@dataclass(frozen=True, slots=True)
class Repeated:
    """All validations of one scenario, in their order."""

    validations: tuple[Validated, ...]

    @property
    def name(self) -> str:
        return self.validations[0].first.name

    @property
    def runs(self) -> list[MeanRun]:
        """A row for each mechanism that was to be tried."""
        return _means(self.validations)

    @property
    def whole(self) -> tuple[Validated, ...]:
        """The validations that were not cut off. Regret is told of these alone: where a rival did
        not run, nothing shows what the pick cost."""
        return tuple(each for each in self.validations if each.is_whole)

    @property
    def best(self) -> MeanRun | None:
        """The mechanism that finished its training soonest, of those that were tried and finished
        every time that nothing was cut off; a reference counts too."""
        times = len(self.whole)
        finished = [r for r in _means(self.whole) if r.observed_s is not None and r.n == times]
        return min(finished, key=lambda r: r.observed_s or 0.0, default=None)

    @property
    def picked_s(self) -> float | None:
        """Mean time of what was selected (s); None if it did not finish each time."""
        selected = (each.selected for each in self.whole)
        return _mean(None if run is None else run.observed_s for run in selected)

    @property
    def regret_fraction(self) -> float | None:
        """How much longer what was selected took than the best; below 0 where other picks at other
        times did better than any one mechanism. None if a pick did not finish, or every
        validation was cut off."""
        picked_s, best = self.picked_s, self.best
        if picked_s is None or best is None or not best.observed_s:
            return None
        return picked_s / best.observed_s - 1.0


def _means(validations: Iterable[Validated]) -> list[MeanRun]:
    runs = [run for each in validations for run in each.runs]
    return [
        _mean_run(mechanism, [r for r in runs if r.mechanism == mechanism])
        for mechanism in dict.fromkeys(r.mechanism for r in runs)
    ]


def _mean_run(mechanism: str, runs: Sequence[ValidatedRun]) -> MeanRun:
    made = [r for r in runs if r.outcome]
    of = made or runs
    return MeanRun(
        mechanism,
        len(made),
        _mean(r.predicted_s for r in of),
        _mean(r.observed_s for r in of),
        _mean(r.failures_expected for r in of),
        _mean(r.failures for r in of),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """None where a value is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None


def validated(runs: Iterable[ValidatedRun]) -> list[Validated]:
    """The runs by validation, in their order."""
    return [
        Validated(tuple(sorted(group, key=_by_role)))
        for _, group in groupby(runs, key=lambda r: r.validation)
    ]


def repeated(found: Iterable[Validated]) -> list[Repeated]:
    """The validations by scenario, in the order in which scenarios come first."""
    scenarios: dict[tuple[object, ...], list[Validated]] = {}
    for each in found:
        scenarios.setdefault(_scenario(each.first), []).append(each)
    return [Repeated(tuple(validations)) for validations in scenarios.values()]


def _scenario(run: ValidatedRun) -> tuple[object, ...]:
    """What validations of one scenario have in common; the step time is measured anew each time."""
    stated = {key: value for key, value in json.loads(run.scenario).items() if key != "step-time"}
    return run.name, json.dumps(stated, sort_keys=True), run.arrivals, run.shape


_ROLES = tuple(ValidationRole)


def _by_role(run: ValidatedRun) -> tuple[int, str]:
    return _ROLES.index(run.role), run.mechanism


def shortcomings(found: Iterable[Repeated]) -> list[str]:
    """What is worse than the advice promises, one line each; none if all is well."""
    said: list[str] = []
    errors: list[float] = []
    for each in found:
        said += _shortcomings_of(each)
        errors += [abs(e) for r in each.runs if (e := r.error_fraction) is not None]
    if errors and median(errors) > MAX_MEDIAN_ERROR:
        said.append(f"median error {_percent(median(errors))}; limit {_limit(MAX_MEDIAN_ERROR)}")
    return said


def _shortcomings_of(scenario: Repeated) -> Iterator[str]:
    for mean in scenario.runs:
        error, name = mean.error_fraction, f"{scenario.name}, {mean.mechanism}"
        if error is not None and abs(error) > MAX_ERROR:
            of = "" if mean.n == 1 else f" in the mean of {mean.n} runs"
            yield f"{name}: prediction off by {_percent(error)}{of}; limit {_limit(MAX_ERROR)}"
        runs = [r for v in scenario.validations for r in v.runs if r.mechanism == mean.mechanism]
        yield from _unfinished(name, runs)
    for each in scenario.validations:
        if not each.is_whole:
            what = ", ".join(each.missing) or "what was selected"
            which = f"{scenario.name}, seed {each.first.seed}"
            yield f"{which}: cut off before {what} ran; says nothing of the regret"
    regret = scenario.regret_fraction
    if regret is not None and regret > MAX_REGRET:
        yield f"{scenario.name}: regret {_percent(regret)}; limit {_limit(MAX_REGRET)}"


def _unfinished(name: str, runs: Sequence[ValidatedRun]) -> Iterator[str]:
    for run in runs:
        ran = bool(run.outcome)
        if ran and run.observed_s is None and run.role is not ValidationRole.REFERENCE:
            yield f"{name}: expected to finish, and {run.outcome}"
        if run.outlasted_faults:
            yield f"{name}: trained on after the last failure that was drawn"


def _percent(fraction: float) -> str:
    return f"{100.0 * fraction:.1f} %"


def _limit(fraction: float) -> str:
    return f"{100.0 * fraction:g} %"
