"""Shows how far a calibration is, on stderr: a live line for a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from advisor.harness import Event
from advisor.printable import printable
from advisor.units import format_bytes

_QUARTERS = 4


class Shown(Protocol):
    """What is shown of a calibration while it runs."""

    def event(self, event: Event) -> None:
        """Takes note of an event of the harness."""


@contextmanager
def progress() -> Iterator[Shown]:
    """The display that fits stderr, gone at the end of the block."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield PlainProgress()
        return
    columns = (BarColumn(bar_width=20), MofNCompleteColumn())
    with Progress(
        *columns,
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True, highlight=False),
        transient=True,
    ) as bar:
        yield LiveProgress(bar)


class PlainProgress:
    """A line at the beginning, and one each quarter of the way."""

    def event(self, event: Event) -> None:
        """See Shown."""
        if event["event"] == "plan":
            self._say(plan_words(event))
        elif event["event"] == "sample":
            number, of = int(event["sample"]), int(event["of"])
            if number * _QUARTERS // of > (number - 1) * _QUARTERS // of:
                self._say(f"sample {number} of {of}")

    def _say(self, line: str) -> None:
        click.echo(printable(line), err=True)


class LiveProgress:
    """A bar with what is being measured."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def event(self, event: Event) -> None:
        """See Shown."""
        if event["event"] == "plan":
            self._bar.update(self._task, total=int(event["samples"]))
            self._bar.console.print(printable(plan_words(event)), markup=False, soft_wrap=True)
        elif event["event"] == "preparing":
            self._bar.update(self._task, description=printable(f"preparing {event['path']}"))
        elif event["event"] == "sample":
            words = printable(_sample_words(event))
            self._bar.update(self._task, completed=int(event["sample"]), description=words)


def plan_words(event: Event) -> str:
    """`204 samples on mybox, in /data/runs/calibration-...`."""
    notes = "".join(f"; {note}" for note in event["notes"])
    return f"{event['samples']} samples on {event['cluster']}, in {event['folder']}{notes}"


def _sample_words(event: Event) -> str:
    size = event["size_bytes"]
    return f"{event['path']} {format_bytes(size)}" if size else str(event["path"])
