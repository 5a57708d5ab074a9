"""Shows how far a campaign is, on stderr: a live line for a terminal, plain lines elsewhere."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from advisor.harness import Event
from advisor.printable import printable
from advisor.time_left import Kind, kind_of, time_left_s
from advisor.units import counted, format_duration


class Shown(Protocol):
    """What is shown of a campaign while it runs."""

    def event(self, event: Event) -> None:
        """Takes note of an event of the harness."""

    def say(self, line: str) -> None:
        """Prints one line for good."""


@contextmanager
def progress() -> Iterator[Shown]:
    """The display that fits stderr, gone at the end of the block."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield PlainProgress()
        return
    with LiveProgress() as live:
        yield live


class TimeLeft:
    """Counts cells by kind, those that an earlier command finished included."""

    def __init__(self) -> None:
        self.runs = 0
        self._done: dict[Kind, list[float]] = {}
        self._left: Counter[Kind] = Counter()
        self._running: Kind = ""
        self._at_once = 1

    def event(self, event: Event) -> None:
        """Takes note of the plan, and of runs that start and end."""
        if event["event"] == "planned":
            self.runs = int(event["runs"])
            self._at_once = int(event.get("at_once", 1))
            self._left = Counter(event["left"])
            self._done = {kind: list(walls) for kind, walls in event["done"].items()}
        elif event["event"] == "run-started":
            self._running = kind_of(event["architecture"], event["mechanism"], event["trace"])
        elif event["event"] in ("run-finished", "run-failed"):
            self._left[self._running] -= 1
            if "wall_s" in event:
                self._done.setdefault(self._running, []).append(float(event["wall_s"]))

    @property
    def done(self) -> int:
        """How many cells need not be run any more."""
        return self.runs - self._left.total()

    def words(self) -> str:
        """Nothing before the first run is done, and nothing after the last."""
        left_s = time_left_s(self._done, self._left.elements())
        return f"about {format_duration(left_s / self._at_once)} left" if left_s else ""


class PlainProgress:
    """One line for each run that starts and ends."""

    def __init__(self) -> None:
        self._left = TimeLeft()

    def event(self, event: Event) -> None:
        self._left.event(event)
        if event["event"] == "planned":
            self.say(_plan_words(event))
        elif event["event"] == "run-started":
            self.say(f"run {event['run']} of {event['of']}: {run_words(event)}")
        elif event["event"] == "run-finished":
            parts = (finished_words(event), self._left.words())
            self.say("  " + "; ".join(filter(None, parts)))
        elif event["event"] == "run-failed":
            self.say(f"  failed: {event['reason']}")

    def say(self, line: str) -> None:
        click.echo(printable(line), err=True)


class LiveProgress:
    """A bar with the run, its phase and the time left; what is said stands above it."""

    def __init__(self) -> None:
        self._left = TimeLeft()
        self._run = self._phase = ""
        self._progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self._task: TaskID = self._progress.add_task("starting", total=None)

    def __enter__(self) -> "LiveProgress":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def event(self, event: Event) -> None:
        self._left.event(event)
        if event["event"] == "planned":
            self.say(_plan_words(event))
        elif event["event"] == "run-started":
            self._run, self._phase = run_words(event), ""
        elif event["event"] == "phase":
            self._phase = str(event["phase"])
        elif event["event"] == "run-finished":
            self.say(f"{self._run}: {finished_words(event)}")
        elif event["event"] == "run-failed":
            self.say(f"{self._run}: failed: {event['reason']}")
        parts = (self._run, self._phase, self._left.words())
        self._progress.update(
            self._task,
            total=self._left.runs or None,
            completed=self._left.done,
            description=printable("; ".join(filter(None, parts))),
        )

    def say(self, line: str) -> None:
        self._progress.console.print(printable(line), markup=False, soft_wrap=True)


def run_words(event: Event) -> str:
    trace = event["trace"] or "no fault"
    return f"{event['architecture']} {event['mechanism']} {trace} seed {event['seed']}"


def finished_words(event: Event) -> str:
    reasons = "; ".join(map(str, event.get("reasons") or ()))
    validity = f"{event['validity']}: {reasons}" if reasons else str(event["validity"])
    return f"{event['outcome']} ({validity}), {format_duration(float(event['wall_s']))}"


def _plan_words(event: Event) -> str:
    runs, left = counted(event["runs"], "run"), len(event["left"])
    before = f", {event['runs'] - left} of them done" if left < event["runs"] else ""
    return (
        f"{runs}{before} on {event['cluster']}, campaign {event['campaign']}, records in "
        f"{event['folder']}"
    )
