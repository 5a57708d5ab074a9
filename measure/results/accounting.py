"""How a run's wall time was spent, from training's beginning to its end.

Seen from one reference rank a generation (measure.results.generations). The time of a step runs
from the end of the one before it, or from the instant at which the generation was to train, so
that what happens between steps counts. It is productive where the step was kept, lost where a
recovery went back behind it. From the instant of a fault on, nothing is productive: what the
reference had made of the step that was broken off is lost, the rest is detection up to the
instant at which the last rank that had to act knew, and recovery until all trained again. (A
recovery's own total, and its phase `resume`, go on to the end of the first step, which is
counted as a kept one here.) Faults that strike during a recovery are part of it.

A training that was brought back by nobody: what follows the fault is detection, then recovery
that was never completed, to the run's end. One that goes on by itself has neither: its steps
count, those that waited for the lost rank included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from measure.results.generations import Generation, events_in, halted_at
from measure.results.rank_log import Event
from measure.results.recoveries import Answered
from measure.results.verdict import Fault, Run, went_on

_TOLERANCE_S, _TOLERANCE = 0.001, 0.001


@dataclass(slots=True)
class Loss:
    """What had to be made again: the steps that some rank had complete, and the time that had
    gone into them, and into the one that was broken off, on the reference, up to the fault;
    seconds."""

    steps: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Times:
    """Parts of a training's wall time, seconds; `losses` has one for each recovery, and one for
    a halt."""

    wall_s: float
    losses: list[Loss]
    productive_s: float = 0.0
    save_s: float = 0.0
    detect_s: float = 0.0
    recover_s: float = 0.0

    @property
    def lost_s(self) -> float:
        """Over all recoveries and the halt."""
        return sum(loss.seconds for loss in self.losses)

    @property
    def unexplained_s(self) -> float:
        """What the parts leave of the wall time; negative where something is counted twice."""
        spent_s = self.productive_s + self.save_s + self.detect_s + self.recover_s + self.lost_s
        return self.wall_s - spent_s

    def as_json(self) -> dict[str, Any]:
        """The times as they stand in the record."""
        names = ("productive_s", "save_s", "detect_s", "recover_s", "lost_s", "wall_s")
        return {name: getattr(self, name) for name in names}

    def reasons(self) -> list[str]:
        """Why the run cannot be evidence: the parts must be the whole."""
        if abs(self.unexplained_s) <= _TOLERANCE_S + _TOLERANCE * self.wall_s:
            return []
        return [
            f"the times do not add up: {self.unexplained_s:+.4f} s of {self.wall_s:.4f} s of"
            " training are not accounted for"
        ]


@dataclass(frozen=True, slots=True)
class _Tile:
    """The time of one step on the reference, and what of it went into saves."""

    number: int
    from_s: float
    to_s: float
    save_s: float = 0.0
    emergency_s: float = 0.0


def times_of(
    run: Run,
    trained: Sequence[Generation],
    answers: Sequence[Answered],
    faults: Sequence[Fault],
) -> Times | None:
    """How the time was spent; None where training never began."""
    if not trained:
        return None
    times = Times(0.0, [Loss() for _ in range(len(answers) + 1)])
    for at in trained:
        _count_steps(times, at, answers, ends_it=at is trained[-1], went_on=went_on(run))
    for before, after in pairwise(trained):
        follows = next(a for a in answers if a.recovery.generation > before.number)
        _count_pause(times, before.to_s, follows.noticed_s, after.from_s)
        for number in _made_by_anybody(run, before.from_s, after.from_s):
            undone = _undone_by(number, before, answers)
            if undone is not None:
                times.losses[undone].steps += 1
    begin_s, end_s = trained[0].from_s, trained[-1].to_s
    halt_s = halted_at(run, answers, faults)
    if halt_s is not None:
        _count_pause(times, end_s, _known_s(faults, halt_s), run.ended_s)
        end_s = max(end_s, run.ended_s)
    times.wall_s = end_s - begin_s
    return times


def _made_by_anybody(run: Run, from_s: float, to_s: float) -> set[int]:
    return {s.number for log in run.logs for s in log.steps if from_s < s.end_s <= to_s}


def _count_steps(
    times: Times, at: Generation, answers: Sequence[Answered], *, ends_it: bool, went_on: bool
) -> None:
    """The steps of a generation, and what the reference had made of the next one."""
    tiles = _tiles(at)
    for tile in tiles:
        _count(times, tile, _undone_by(tile.number, at, answers))
    if at.complete or (ends_it and went_on):
        return
    begin_s = tiles[-1].to_s if tiles else at.from_s
    number = tiles[-1].number + 1 if tiles else at.first_step
    # It is not lost where the state that was restored is of a later step: then the reference
    # was only the slowest.
    loss = len(times.losses) - 1 if ends_it else _undone_by(number, at, answers)
    broken_off = _Tile(number, begin_s, at.to_s, 0.0, _Saves(at).emergency_s(begin_s, at.to_s))
    _count(times, broken_off, loss)


def _count(times: Times, tile: _Tile, loss: int | None) -> None:
    """An emergency save is a save wherever it was made; any other is, in a step that was kept."""
    rest_s = tile.to_s - tile.from_s
    emergency_s = min(tile.emergency_s, rest_s)
    save_s = min(tile.save_s, rest_s - emergency_s) if loss is None else 0.0
    times.save_s += emergency_s + save_s
    rest_s -= emergency_s + save_s
    if loss is None:
        times.productive_s += rest_s
    else:
        times.losses[loss].seconds += rest_s


def _count_pause(times: Times, begin_s: float, noticed_s: float, end_s: float) -> None:
    noticed_s = min(max(begin_s, noticed_s), end_s)
    times.detect_s += noticed_s - begin_s
    times.recover_s += max(0.0, end_s - noticed_s)


def _undone_by(number: int, at: Generation, answers: Sequence[Answered]) -> int | None:
    """The first recovery after which a step of this generation had to be made again."""
    later = (n for n, a in enumerate(answers) if a.recovery.generation > at.number)
    return next((n for n in later if answers[n].recovery.step <= number), None)


def _known_s(faults: Sequence[Fault], at_s: float) -> float:
    """When all who had to act knew of the fault that ended the training; never, where nobody
    can say so."""
    fault = next((fault for fault in faults if fault.fired and fault.at_s == at_s), None)
    if fault is None:  # the training stopped by itself then, for what a rank had survived
        return at_s
    if fault.detected_s is None or fault.censored:
        return float("inf")
    return fault.at_s + fault.detected_s


def _tiles(at: Generation) -> list[_Tile]:
    """Every step that was complete on the reference, with the time from the end of the one
    before. What a log does not have is not made up: where a step is missing, so is its time."""
    found: list[_Tile] = []
    saves = _Saves(at)
    expected, mark_s = at.first_step, at.from_s
    for step in at.reference.steps:
        if not at.from_s < step.end_s <= at.to_s:
            continue
        from_s = mark_s if step.number == expected else max(mark_s, step.begin_s)
        emergency_s = saves.emergency_s(from_s, step.end_s)
        save_s = saves.after_s.get(step.number + 1, 0.0)
        found.append(_Tile(step.number, from_s, step.end_s, save_s, emergency_s))
        expected, mark_s = step.number + 1, step.end_s
    return found


class _Saves:
    """How long the reference waited for saves in a generation: `after_s` has the seconds by the
    number of steps whose state was saved, emergency saves left out."""

    def __init__(self, at: Generation) -> None:
        self.after_s: dict[int, float] = {}
        # A save that answers several warnings is written down for each, and as `saved` too.
        self._emergencies: dict[int, Event] = {}
        for event in events_in(at.reference, at.number):
            if event["event"] in ("saved", "save-failed"):
                self._add(event["step"], event.get("s", 0.0))
            elif event["event"] == "emergency" and event["step"] not in self._emergencies:
                self._emergencies[event["step"]] = event
                self._add(event["step"], -event["save_s"])

    def _add(self, step: int, seconds: float) -> None:
        self.after_s[step] = max(0.0, self.after_s.get(step, 0.0) + seconds)

    def emergency_s(self, from_s: float, to_s: float) -> float:
        """For emergency saves that were complete in this time."""
        made = (e["save_s"] for e in self._emergencies.values() if from_s < e["t"] <= to_s)
        return sum(made, start=0.0)
