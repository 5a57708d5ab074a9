"""Every input of a scenario, once: how it is called, read, written back and explained.

The command line, scenario files, the app and the command that a report prints all come from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from advisor.errors import UserError
from advisor.scenario import (
    RANGES,
    FailureRegime,
    FewerRanks,
    IntervalPolicy,
    RestoreBasis,
    Scenario,
    ScenarioInput,
    require_in_range,
)
from advisor.units import (
    DURATION_EXAMPLE,
    FRACTION_EXAMPLE,
    RATE_EXAMPLE,
    SIZE_EXAMPLE,
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_s,
    parse_fraction,
    whole_number,
)

LONGEST_INTERVAL_STEPS = 10**15


class Group(StrEnum):
    """Where an input belongs, in forms and in help."""

    JOB = "Job"
    LIMITS = "Limits"
    FAILURES = "Failures"
    MACHINE = "Machine"


@dataclass(frozen=True, slots=True)
class Input:
    """One input. `parse` reads what a person types, `write` writes it back without loss."""

    option: str
    field: str
    group: Group
    label: str
    help: str
    default: str
    parse: Callable[[str], Any]
    write: Callable[[Any], str]
    example: str
    choices: tuple[str, ...] = ()
    required: bool = False


def parse_name(text: str) -> str:
    return text.strip().lower()


def parse_names(text: str) -> tuple[str, ...]:
    """Names separated by commas; case does not matter. Raises UserError on none."""
    names = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not names:
        raise UserError("it names nothing: write names separated by commas")
    return names


def parse_interval(text: str) -> int | IntervalPolicy:
    """A whole number of steps, `auto` or `measured`. Raises UserError."""
    stripped = text.strip().lower()
    if stripped in [policy.value for policy in IntervalPolicy]:
        return IntervalPolicy(stripped)
    steps = whole_number(stripped)
    if steps is None or not 1 <= steps <= LONGEST_INTERVAL_STEPS:
        raise UserError(
            f"{text[:30]!r} is not an interval: write a whole number of steps from 1 to "
            f"{LONGEST_INTERVAL_STEPS}, 'auto' or 'measured'"
        )
    return steps


def _chosen(
    kind: type[FailureRegime] | type[RestoreBasis] | type[FewerRanks],
) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return kind(text.strip().lower())
        except ValueError:
            valid = ", ".join(member.value for member in kind)
            raise UserError(f"{text!r} is not valid: write one of {valid}") from None

    return parse


def _digits(value: Decimal) -> str:
    """All digits, without an exponent where that stays short."""
    plain = value.normalize()
    return f"{plain:f}" if -15 < plain.adjusted() < 25 else str(plain)


def _write_s(value: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if value >= size and value % size == 0:
            return f"{int(value) // size}{unit}"
    return f"{_digits(Decimal(repr(value)))}s"


def _write_bytes(value: float) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= size:
            return f"{_digits(Decimal(repr(value)) / size)}{unit}"
    return f"{_digits(Decimal(repr(value)))}B"


def _write_rate(value: float) -> str:
    return f"{_write_bytes(value)}/s"


def _write_fraction(value: float) -> str:
    return f"{_digits(Decimal(repr(value)) * 100)}%"


def _write_plain(value: Any) -> str:
    return str(getattr(value, "value", value))


def _duration(
    option: str, group: Group, label: str, text: str, default: str = "", **more: Any
) -> Input:
    field = option.replace("-", "_") + "_s"
    example = more.pop("example", DURATION_EXAMPLE)
    return Input(
        option, field, group, label, text, default, parse_duration_s, _write_s, example, **more
    )


def _size(option: str, field: str, label: str, text: str, default: str, **more: Any) -> Input:
    group = more.pop("group", Group.MACHINE)
    return Input(
        option, field, group, label, text, default, parse_bytes, _write_bytes, SIZE_EXAMPLE, **more
    )


def _rate(option: str, label: str, text: str) -> Input:
    field = option.replace("-", "_") + "_bytes_per_s"
    default = "the cluster's"
    return Input(
        option, field, Group.MACHINE, label, text, default, parse_bytes_per_s, _write_rate,
        RATE_EXAMPLE,
    )  # fmt: skip


def _percent(option: str, group: Group, label: str, text: str, default: str) -> Input:
    field = option.replace("-", "_")
    return Input(
        option, field, group, label, text, default, parse_fraction, _write_fraction,
        FRACTION_EXAMPLE,
    )  # fmt: skip


INPUTS: tuple[Input, ...] = (
    Input(
        "cluster", "cluster", Group.JOB, "Cluster", "Whose measurements.",
        "the paper's matilda-8xv100", str.strip, _write_plain, "matilda-8xv100",
    ),
    Input(
        "architecture", "architecture", Group.JOB, "Architecture",
        "Training architecture: a1-sync, a1-async, a2 ... a7.", "", parse_name, _write_plain,
        "a2", required=True,
    ),
    _size(
        "state-size", "state_bytes", "State per rank",
        "State that one rank saves: parameters and optimizer.", "the measured one, if only one is",
        group=Group.JOB,
    ),
    _duration(
        "mtbf", Group.FAILURES, "MTBF", "Mean time between failures of the whole job.",
        required=True,
    ),
    _duration(
        "step-time", Group.JOB, "Step time", "Time of one training step.", "as measured"
    ),
    _duration("duration", Group.JOB, "Duration", "Failure-free training time.", "30d"),
    Input(
        "interval", "interval", Group.JOB, "Interval",
        "Steps between checkpoints, auto (the best one) or measured.", "auto", parse_interval,
        _write_plain, "100, auto or measured",
    ),
    Input(
        "mechanism", "mechanisms", Group.LIMITS, "Mechanisms", "Only these, as in ft1,ft2.", "all",
        parse_names, ",".join, "ft1,ft2",
    ),
    _percent(
        "max-overhead", Group.LIMITS, "Largest overhead",
        "Steady-state overhead that you accept.", "no limit",
    ),
    _duration(
        "max-restore", Group.LIMITS, "Longest restore", "Longest time to bring the state back.",
        "no limit",
    ),
    _duration(
        "max-pause", Group.LIMITS, "Longest pause",
        "Longest pause from a failure to resumed training.", "no limit",
    ),
    Input(
        "fewer-ranks", "fewer_ranks", Group.LIMITS, "Fewer ranks",
        "Whether the job may go on with fewer ranks after a loss, which is another training.",
        "refuse", _chosen(FewerRanks), _write_plain, "refuse", tuple(f.value for f in FewerRanks),
    ),
    _duration(
        "warning-lead", Group.FAILURES, "Warning lead",
        "How long before a failure a warning comes.", "none comes",
    ),
    _percent(
        "warning-coverage", Group.FAILURES, "Warning coverage",
        "Share of failures that are announced.", "100% if a lead is given",
    ),
    Input(
        "failure-regime", "failure_regime", Group.FAILURES, "Failure regime",
        "One worker lost at a time, or several.", "single", _chosen(FailureRegime), _write_plain,
        "single", tuple(r.value for r in FailureRegime),
    ),
    _duration(
        "detection", Group.FAILURES, "Detection", "Time to detect a loss.", "as measured"
    ),
    _duration(
        "regroup", Group.FAILURES, "Regrouping", "Time to rebuild the process group.",
        "as measured, else 5s",
    ),
    _duration(
        "init", Group.FAILURES, "Initialisation",
        "Time to reinitialise the mechanism after a failure.", "negligible",
    ),
    _rate("storage-write", "Storage write rate", "Your storage's write rate."),
    _rate("storage-read", "Storage read rate", "Your storage's read rate."),
    _size(
        "host-memory", "host_memory_bytes", "Host memory a node",
        "Host memory of a node that copies of the state may use.", "the cluster's",
    ),
    _size(
        "device-memory", "device_memory_bytes", "Device memory", "Memory of a device.",
        "the cluster's",
    ),
    Input(
        "restore-basis", "restore_basis", Group.MACHINE, "Restore basis",
        "Restore times as published with the points, or as calibrated on the cluster.",
        "published", _chosen(RestoreBasis), _write_plain, "published",
        tuple(b.value for b in RestoreBasis),
    ),
)  # fmt: skip
BY_OPTION: Mapping[str, Input] = {each.option: each for each in INPUTS}
BY_FIELD: Mapping[str, Input] = {each.field: each for each in INPUTS}


def scenario_input(values: Mapping[str, Any]) -> ScenarioInput:
    """From values by field name, those not stated None or absent. Raises UserError."""
    known = {f.name for f in fields(ScenarioInput)}
    stated = {name: value for name, value in values.items() if name in known}
    return ScenarioInput(**({"state_bytes": None} | stated))


def read_inputs(texts: Mapping[str, str]) -> ScenarioInput:
    """From texts by option name, as a person types them; empty ones count as not stated.

    Raises UserError that names the input, and what would be valid.
    """
    values: dict[str, Any] = {}
    for option, text in texts.items():
        if text.strip():
            field = require_input(option).field
            if field in values:
                raise UserError(f"{BY_FIELD[field].option} is there twice")
            values[field] = read_one(option, text)
    for each in INPUTS:
        if each.required and each.field not in values:
            raise UserError(f"{each.option} is missing: {each.help} Write {each.example}")
    return scenario_input(values)


def read_one(option: str, text: str) -> Any:
    """One input's value. Raises UserError that names the input."""
    each = require_input(option)
    try:
        return check(each, text)
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def check(each: Input, text: str) -> Any:
    """The value, if it reads as one and is in its range. Raises UserError."""
    value = each.parse(text)
    if each.field in RANGES:
        require_in_range(each.field, value)
    return value


def require_input(option: str) -> Input:
    """The input called so. Raises UserError that lists them all."""
    found = BY_OPTION.get(option.replace("_", "-"))
    if found is None:
        raise UserError(f"there is no input {option!r}: write one of {', '.join(BY_OPTION)}")
    return found


def written(scenario: Scenario, *, assumed: bool = False) -> dict[str, str]:
    """What was stated of a scenario, as texts by option name that read back to the same values.

    What is required always is, wherever it is from. With `assumed`, also what was filled in.
    """
    return {
        each.option: each.write(value)
        for each in INPUTS
        if (assumed or each.required or each.field not in scenario.assumed)
        and (value := getattr(scenario, each.field)) is not None
    }
