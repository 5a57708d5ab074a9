"""Options that several commands share, and click types for human units."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from advisor.errors import UserError
from advisor.scenario import FailureRegime, IntervalPolicy, RestoreBasis
from advisor.units import (
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_s,
    parse_fraction,
)

F = TypeVar("F", bound=Callable[..., Any])


class HumanUnit(click.ParamType[float | int]):
    """Text with a unit, through one of the parsers of `advisor.units`."""

    def __init__(self, name: str, parse: Callable[[str], float | int]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        if not isinstance(value, str):
            number: float | int = value
            return number
        try:
            return self._parse(value)
        except UserError as error:
            self.fail(str(error), param, ctx)


class Interval(click.ParamType[int | IntervalPolicy]):
    """A whole number of steps, `auto` or `measured`."""

    name = "steps"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | IntervalPolicy:
        if not isinstance(value, str):
            known: int | IntervalPolicy = value
            return known
        if value in [policy.value for policy in IntervalPolicy]:
            return IntervalPolicy(value)
        if not value.isascii() or not value.isdigit() or int(value) < 1:
            self.fail(
                f"{value!r} is not an interval: write a whole number of steps from 1, "
                "'auto' or 'measured'",
                param,
                ctx,
            )
        return int(value)


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas; case does not matter."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if not isinstance(value, str):
            known: tuple[str, ...] = value
            return known
        names = tuple(part.strip().lower() for part in value.split(",") if part.strip())
        if not names:
            self.fail("it names nothing: write names separated by commas", param, ctx)
        return names


DURATION = HumanUnit("duration", parse_duration_s)
SIZE = HumanUnit("size", parse_bytes)
RATE = HumanUnit("rate", parse_bytes_per_s)
PERCENT = HumanUnit("percent", parse_fraction)
INTERVAL = Interval()
NAMES = Names()


def _stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    return lambda function: functools.reduce(lambda f, o: o(f), reversed(options), function)


database_option = click.option(
    "--db",
    "db_url",
    metavar="URL",
    help="SQLite file or postgresql:// URL.  [default: $ADVISOR_DB_URL, else a file of your own]",
)


def format_option(formats: tuple[str, ...], default: str) -> Callable[[F], F]:
    return click.option(
        "--format",
        "fmt",
        type=click.Choice(formats),
        default=default,
        show_default=True,
        help="How the answer is printed.",
    )


cluster_option = click.option(
    "--cluster", metavar="NAME", help="Whose measurements.  [default: the paper's matilda-8xv100]"
)

limit_options = _stack(
    click.option(
        "--mechanism",
        "mechanisms",
        type=NAMES,
        help="Only these, as in ft1,ft2.  [default: all]",
    ),
    click.option("--max-overhead", type=PERCENT, help="Steady-state overhead that you accept."),
    click.option("--max-restore", "max_restore_s", type=DURATION, help="Longest restore."),
    click.option(
        "--max-pause",
        "max_pause_s",
        type=DURATION,
        help="Longest pause from a failure to resumed training.",
    ),
)

job_options = _stack(
    click.option("--step-time", "step_time_s", type=DURATION, help="Time of one training step."),
    click.option(
        "--duration",
        "duration_s",
        type=DURATION,
        help="Failure-free training time.  [default: 30d]",
    ),
    click.option(
        "--interval",
        type=INTERVAL,
        help="Steps between checkpoints, auto, or measured.  [default: auto]",
    ),
)

failure_options = _stack(
    click.option(
        "--warning-lead",
        "warning_lead_s",
        type=DURATION,
        help="How long before a failure a warning comes.  [default: none comes]",
    ),
    click.option(
        "--warning-coverage",
        type=PERCENT,
        help="Share of failures that are announced.  [default: 100% if a lead is given]",
    ),
    click.option(
        "--failure-regime",
        type=click.Choice([r.value for r in FailureRegime]),
        help="One worker lost at a time, or several.  [default: single]",
    ),
    click.option(
        "--detection",
        "detection_s",
        type=DURATION,
        help="Time to detect a loss.  [default: as measured]",
    ),
    click.option(
        "--regroup",
        "regroup_s",
        type=DURATION,
        help="Time to rebuild the process group.  [default: 5s]",
    ),
    click.option(
        "--init", "init_s", type=DURATION, help="Time to reinitialise.  [default: negligible]"
    ),
)

machine_options = _stack(
    click.option(
        "--storage-write",
        "storage_write_bytes_per_s",
        type=RATE,
        help="Your storage's write rate.  [default: the cluster's]",
    ),
    click.option(
        "--storage-read",
        "storage_read_bytes_per_s",
        type=RATE,
        help="Your storage's read rate.  [default: the cluster's]",
    ),
    click.option(
        "--host-memory",
        "host_memory_bytes",
        type=SIZE,
        help="Host memory of a node.  [default: the cluster's]",
    ),
    click.option(
        "--device-memory",
        "device_memory_bytes",
        type=SIZE,
        help="Memory of a device.  [default: the cluster's]",
    ),
    click.option(
        "--restore-basis",
        type=click.Choice([b.value for b in RestoreBasis]),
        help="Restore times as published with the points, or as calibrated on the cluster.  "
        "[default: published]",
    ),
)
