"""Inverse questions: at which value of one input another mechanism is recommended.

One input moves over all of its range while everything else is held; the answer at each value is
that of `advisor recommend` there, with the interval chosen anew if it is free, and with every rule
and limit. So an answer also changes where a candidate is admitted or excluded, where the evidence
ends ("no data"), and where a rule begins to apply.

moved            what it is                                     scanned
mtbf             mean time between failures of the job, s       1e-3 to 1e12, ratio `WIDTH`
warning-lead     time from the warning to the failure, s        0, then 1e-6 to 1e12, ratio `WIDTH`
warning-coverage share of the failures that are announced       0 to 1, in steps of `COVERAGE_WIDTH`
storage-write    rate of the shared storage, B/s                1 to 1e15, ratio `WIDTH`
storage-read     the same for reads, B/s                        1 to 1e15, ratio `WIDTH`
save-time        what one save of a mechanism costs, s          1e-6 to 1e12, no scan needed

An answer that holds over more than the ratio or step cannot be missed; each change is narrowed to
a relative `TOLERANCE`. A mechanism's time rises with its own save time, and so do its overhead and
restore, which limits bound: it is the answer below one value at most and never again above, so the
save times need no scan.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from advisor.candidates import Consideration, consider
from advisor.changes import Change, changes_along, halved
from advisor.decide import exact_time
from advisor.errors import UserError
from advisor.prediction.outcome import NoPredictionError, save_time_s
from advisor.prediction.predict import predict
from advisor.recommendation import Candidate, Excluded
from advisor.scenario import RANGES, Scenario
from db.records import ClusterEvidence

WIDTH = 0.05
"""An answer that holds over more than this share of an input's value is found."""
COVERAGE_WIDTH = 0.01
"""The same of a coverage, which has a scale of its own (a difference of shares)."""
TOLERANCE = 1e-9
"""How closely (relative) the value of a flip is known."""
_BEYOND = 0.01
_EQUAL = 1e-6
"""Times that differ by less are one: twice the tolerance moves Eq. (5) by far less than this."""


class MovedInput(StrEnum):
    """What can be moved, as the command line calls it."""

    MTBF = "mtbf"
    WARNING_LEAD = "warning-lead"
    WARNING_COVERAGE = "warning-coverage"
    STORAGE_WRITE = "storage-write"
    STORAGE_READ = "storage-read"
    SAVE_TIME = "save-time"


class DecidedBy(StrEnum):
    """Why the answer changes at a flip."""

    TIME = "time"
    """Both take equally long there."""
    LIMIT = "limit"
    """On one side a rule or a limit excludes a mechanism."""
    NO_DATA = "no_data"
    """On one side nothing was measured near enough for a mechanism."""
    JUMP = "jump"
    """A cost jumps: a rule begins to apply (within 2 % none does), or an interval that a limit
    bounds moves by a whole step."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is recommended on one side of a flip, right beside it. `mechanism` None: nobody."""

    mechanism: str | None
    interval_steps: int | None
    expected_completion_s: float | None
    """None: nobody, or the architecture goes on by itself, outside Eq. (5)."""


@dataclass(frozen=True, slots=True)
class Flip:
    """The answer is `above` from `value` on, and `below` right before it.

    `is_flagged`: Eq. (5) itself is more than 1 % off the exact time there
    (docs/completion_time.md).
    """

    value: float
    below: Side
    above: Side
    decided_by: DecidedBy
    reason: str | None
    """Who is excluded on one side and why, as it reads 1 % beyond; None unless that decides."""
    is_flagged: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """All flips of one input over its range, lowest first.

    `mechanism` says whose save time it is; None for every other input. `stands_at` is the
    scenario's own value (0 where no warning comes); None where `not_moved` says why nothing can be
    asked.
    """

    moved: MovedInput
    mechanism: str | None
    stands_at: float | None
    from_value: float
    to_value: float
    flips: tuple[Flip, ...]
    not_moved: str | None

    @property
    def next_below(self) -> Flip | None:
        """The nearest flip at the scenario's value or a smaller one."""
        if self.stands_at is None:
            return None
        return max((f for f in self.flips if f.value <= self.stands_at), key=_value, default=None)

    @property
    def next_above(self) -> Flip | None:
        """The nearest flip at a larger value than the scenario's."""
        if self.stands_at is None:
            return None
        return min((f for f in self.flips if f.value > self.stands_at), key=_value, default=None)


def flips(
    evidence: ClusterEvidence, scenario: Scenario, moved: Iterable[MovedInput] = tuple(MovedInput)
) -> tuple[Moved, ...]:
    """Every flip of each input; save times of every mechanism that saves, one after the other."""
    return tuple(
        found
        for each in moved
        for found in (
            _save_times(evidence, scenario)
            if each is MovedInput.SAVE_TIME
            else (_input(evidence, scenario, each),)
        )
    )


def parse_moved(names: Sequence[str]) -> tuple[MovedInput, ...]:
    """By their names on the command line. Raises UserError with the known ones."""
    known = [each.value for each in MovedInput]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"{unknown[0]!r} cannot be moved: write some of {', '.join(known)}")
    return tuple(MovedInput(name) for name in dict.fromkeys(names))


_Answers = Callable[[float], Consideration]

_FIELDS = {
    MovedInput.MTBF: "mtbf_s",
    MovedInput.WARNING_LEAD: "warning_lead_s",
    MovedInput.WARNING_COVERAGE: "warning_coverage",
    MovedInput.STORAGE_WRITE: "storage_write_bytes_per_s",
    MovedInput.STORAGE_READ: "storage_read_bytes_per_s",
}
_SMALLEST_LEAD_S = 1e-6


def _input(evidence: ClusterEvidence, scenario: Scenario, moved: MovedInput) -> Moved:
    """One field of the scenario over its range."""
    field = _FIELDS[moved]
    low, high = RANGES[field]
    stated = getattr(scenario, field)
    if moved is MovedInput.WARNING_LEAD and stated is None:
        stated = 0.0
    if stated is None:
        return Moved(moved, None, None, low, high, (), _NOT_MOVED[moved])

    def at(value: float) -> Scenario:
        return _with(scenario, field, value)

    def answers(value: float) -> Consideration:
        return consider(evidence, at(value))

    values = sorted({*_scanned(moved, low, high), float(stated)})
    found = tuple(
        _flip(change, answers, at)
        for change in changes_along(lambda v: _name(answers(v)), values, halved(TOLERANCE))
    )
    return Moved(moved, None, float(stated), low, high, found, None)


_NOT_MOVED = {
    MovedInput.WARNING_COVERAGE: "no warning comes: give a warning lead to ask for its coverage",
    MovedInput.STORAGE_WRITE: "the storage's write rate is not known: give it",
    MovedInput.STORAGE_READ: "the storage's read rate is not known: give it",
}


def _with(scenario: Scenario, field: str, value: float) -> Scenario:
    change: dict[str, float] = {field: value}
    if field == "warning_lead_s" and scenario.warning_coverage is None:
        change["warning_coverage"] = 1.0
    # No field that moves is an enumeration or a count.
    return replace(scenario, **change)  # type: ignore[arg-type]


def _scanned(moved: MovedInput, low: float, high: float) -> Iterable[float]:
    if moved is MovedInput.WARNING_COVERAGE:
        return [float(v) for v in np.linspace(low, high, round((high - low) / COVERAGE_WIDTH) + 1)]
    start = low or _SMALLEST_LEAD_S
    points = int(np.ceil(np.log(high / start) / np.log1p(WIDTH))) + 1
    return [low, *(min(float(v), high) for v in np.geomspace(start, high, points))]


def _known_saves(evidence: ClusterEvidence, scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Each mechanism that saves, with what one save costs (s)."""
    for name, mechanism in evidence.mechanisms.items():
        with suppress(NoPredictionError):
            save_s = save_time_s(predict(evidence, scenario, mechanism))
            if save_s is not None:
                yield name, save_s


def _save_times(evidence: ClusterEvidence, scenario: Scenario) -> Iterator[Moved]:
    """What a save costs of each mechanism whose saves are known, moved alone."""
    low, high = RANGES["save_s"]
    known = dict(_known_saves(evidence, scenario))
    if not known:
        missing = "no mechanism is known to save anything here"
        yield Moved(MovedInput.SAVE_TIME, None, None, low, high, (), missing)
    for name, save_s in known.items():

        def answers(value: float, name: str = name) -> Consideration:
            return consider(evidence, scenario, {name: value})

        def names(value: float, answers: _Answers = answers) -> str | None:
            return _name(answers(value))

        values = sorted({low, min(max(save_s, low), high), high})
        found = tuple(
            _flip(change, answers, lambda _: scenario)
            for change in changes_along(names, values, halved(TOLERANCE))
        )
        yield Moved(MovedInput.SAVE_TIME, name, save_s, low, high, found, None)


def _flip(change: Change[str | None], answers: _Answers, at: Callable[[float], Scenario]) -> Flip:
    """A change with who wins on each side, and the scenario there (`at`)."""
    below, above = answers(change.low), answers(change.high)
    before, after = _first(below), _first(above)
    excluded = _excluded(above, before)
    beyond = change.high * (1.0 + _BEYOND)
    if excluded is None:
        excluded, beyond = _excluded(below, after), change.low * (1.0 - _BEYOND)
    decided_by = DecidedBy.TIME if _equal(before, after) else DecidedBy.JUMP
    reason = None
    if excluded is not None:
        decided_by = DecidedBy.NO_DATA if excluded.is_too_far else DecidedBy.LIMIT
        reason = _reason(excluded, answers(beyond))
    return Flip(
        value=change.high,
        below=_side(before),
        above=_side(after),
        decided_by=decided_by,
        reason=reason,
        is_flagged=_is_flagged(before, at(change.low)) or _is_flagged(after, at(change.high)),
    )


def _first(considered: Consideration) -> Candidate | None:
    return considered.candidates[0] if considered.candidates else None


def _name(considered: Consideration) -> str | None:
    first = _first(considered)
    return None if first is None else first.mechanism


def _side(candidate: Candidate | None) -> Side:
    if candidate is None:
        return Side(None, None, None)
    return Side(candidate.mechanism, candidate.interval_steps, candidate.expected_completion_s)


def _excluded(considered: Consideration, candidate: Candidate | None) -> Excluded | None:
    """The one side's answer, where it is no candidate on the other."""
    if candidate is None:
        return None
    return next((e for e in considered.excluded if e.mechanism == candidate.mechanism), None)


def _reason(excluded: Excluded, beyond: Consideration) -> str:
    """Right at a flip both sides of a comparison print alike; a little further they differ."""
    same = (e for e in beyond.excluded if e.mechanism == excluded.mechanism)
    return f"{excluded.mechanism.upper()}: {next(same, excluded).reason}"


def _equal(a: Candidate | None, b: Candidate | None) -> bool:
    if a is None or b is None:
        return False
    if a.expected_completion_s is None or b.expected_completion_s is None:
        return False
    return abs(a.expected_completion_s / b.expected_completion_s - 1.0) <= _EQUAL


def _is_flagged(candidate: Candidate | None, scenario: Scenario) -> bool:
    exact = None if candidate is None else exact_time(scenario, candidate)
    return exact is not None and exact.is_flagged


def _value(flip: Flip) -> float:
    return flip.value
