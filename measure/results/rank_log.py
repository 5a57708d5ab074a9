"""One rank's events, sorted out, on the supervisor's clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from measure.nodes.messages import ClockShift

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Clock:
    """An instant of one host on both of its clocks, and which boot of which host it was."""

    monotonic: float
    wall: float
    boot: str


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step: its end (seconds since the run began), its duration, what it gave."""

    number: int
    end_s: float
    duration_s: float
    loss: float | None
    samples: int

    @property
    def begin_s(self) -> float:
        """When it began; not before the run, whatever the clocks say."""
        return max(0.0, self.end_s - self.duration_s)


@dataclass(frozen=True, slots=True)
class RankLog:
    """What one rank wrote down; instants in seconds since the run began, never negative."""

    rank: int
    steps: tuple[Step, ...] = ()
    events: tuple[Event, ...] = ()
    """Everything but steps, each with `t` as seconds since the run began."""
    notes: tuple[str, ...] = field(default=())
    clock_error_s: float = 0.0
    """By how much all of its instants may be wrong, either way, against the supervisor's."""

    def first(self, name: str, **having: Any) -> Event | None:
        """The first event of this name whose fields have these values."""
        return next(
            (
                event
                for event in self.events
                if event["event"] == name and all(event.get(k) == v for k, v in having.items())
            ),
            None,
        )

    def first_after(self, name: str, instant_s: float) -> Event | None:
        """The first event of this name at `instant_s` or later."""
        return next((e for e in self.events if e["event"] == name and e["t"] >= instant_s), None)


def sorted_out(
    rank: int, events: Sequence[Event], began: Clock, clock: ClockShift | None = None
) -> RankLog:
    """The log of `rank`, on the clock of a supervisor whose run began at `began`.

    Hosts do not share a monotonic clock. `clock` is what round trips told of the rank's; without
    it a log of another boot is set against the wall clocks, which may disagree. An instant before
    the beginning becomes 0, and a note says so if it is not within the error.
    """
    shift = _shift(events, began) if clock is None else -clock.ahead_s
    error_s = clock.error_s if clock else 0.0
    steps, others, earliest = [], [], 0.0
    for event in events:
        at = event["t"] + shift - began.monotonic
        earliest = min(earliest, at)
        at = max(0.0, at)
        if event["event"] == "step":
            steps.append(Step(event["step"], at, event["s"], event["loss"], event["samples"]))
        else:
            others.append({**event, "t": at})
    notes: tuple[str, ...] = ()
    if earliest < -0.001 - error_s:
        notes = (f"the clock of rank {rank} is {-earliest:.3f} s behind the supervisor's",)
    return RankLog(rank, tuple(steps), tuple(others), notes, error_s)


def _shift(events: Sequence[Event], began: Clock) -> float:
    """What to add to a log's monotonic times to have them on the supervisor's clock."""
    clock = next((event for event in events if event["event"] == "clock"), None)
    if clock is None or clock["boot"] == began.boot:
        return 0.0
    theirs: float = clock["wall"] - clock["t"]
    return theirs - (began.wall - began.monotonic)
