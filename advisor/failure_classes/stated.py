"""What is known of failures and monitors, as a person states it. Raises UserError.

--class silent-corruption=30d          --class straggler=2d,factor=1.5,length=20m
--monitor digest:interval=10,cost=12ms,miss=1%,false=0.1/day

Or in a TOML file, the same keys in tables:

[class.silent-corruption]
every = "30d"

[monitor.digest]
interval = 10
cost = "12ms"
miss = "1%"
false = "0.1/day"
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.errors import UserError
from advisor.failure_classes.catalogue import (
    CORRUPTING,
    EFFECTS,
    WATCHES,
    Effect,
    FailureClass,
)
from advisor.inputs import LONGEST_INTERVAL_STEPS
from advisor.scenario import RANGES
from advisor.small_file import read_small
from advisor.units import parse_duration_s, parse_fraction, whole_number

LARGEST_FILE_BYTES = 100_000
MOST_MONITORS = 5
RATE_EXAMPLE = "30d (one every 30 days) or 0.1/day"
CLASS_EXAMPLE = "silent-corruption=30d or straggler=2d,factor=1.5,length=20m"
MONITOR_EXAMPLE = "digest:interval=10,cost=12ms,miss=1%,false=0.1/day"

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_PER = re.compile(rf"\s*({_NUMBER})\s*/\s*([a-zA-Z]+)\s*")
_PLAIN = re.compile(rf"\s*({_NUMBER})\s*")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_LONGEST_S = RANGES["mtbf_s"][1]
_SHORTEST_S = RANGES["mtbf_s"][0]
_LARGEST_FACTOR = 1000.0

_CLASS_KEYS: Mapping[Effect, tuple[str, ...]] = {
    Effect.STOPS: ("every", "detection", "recovery"),
    Effect.SLOWS: ("every", "factor", "length"),
    Effect.CORRUPTS: ("every",),
}
_MONITOR_KEYS = ("interval", "cost", "miss", "false", "delay", "watches")


@dataclass(frozen=True, slots=True)
class ClassRate:
    """How often failures of one class come, and what one does. Times in seconds.

    Of one that stops the job, `detection_s` and `recovery_s` replace the scenario's (None: as
    there). A straggler slows every step by `factor`, for `length_s` in the mean.
    """

    kind: FailureClass
    every_s: float
    detection_s: float | None = None
    recovery_s: float | None = None
    factor: float | None = None
    length_s: float | None = None

    @property
    def effect(self) -> Effect:
        return EFFECTS[self.kind]

    @property
    def rate_per_s(self) -> float:
        return 1.0 / self.every_s


@dataclass(frozen=True, slots=True)
class Monitor:
    """What a monitor costs and sees. Times in seconds; `interval_steps` None: it is searched.

    `miss` is the share of a class's failures that it never notices; every other one it notices at
    its first check after the onset. False alarms come at a rate in time, or by check.
    """

    name: str
    cost_s: float
    miss: Mapping[FailureClass, float]
    false_per_s: float = 0.0
    false_per_check: float = 0.0
    delay_s: float = 0.0
    interval_steps: int | None = None

    @property
    def watches(self) -> tuple[FailureClass, ...]:
        return tuple(self.miss)

    @property
    def is_for_stragglers(self) -> bool:
        return FailureClass.STRAGGLER in self.miss


@dataclass(frozen=True, slots=True)
class Stated:
    """Classes beside crashes, whose rate is the scenario's, and monitors to choose of."""

    classes: tuple[ClassRate, ...] = ()
    monitors: tuple[Monitor, ...] = field(default=())

    def __post_init__(self) -> None:
        _require_once([each.kind.value for each in self.classes], "class")
        _require_once([each.name for each in self.monitors], "monitor")
        if len(self.monitors) > MOST_MONITORS:
            raise UserError(
                f"{len(self.monitors)} monitors are too many to search: name at most "
                f"{MOST_MONITORS}"
            )

    @property
    def stopping(self) -> tuple[ClassRate, ...]:
        return tuple(each for each in self.classes if each.effect is Effect.STOPS)

    @property
    def corrupting(self) -> tuple[ClassRate, ...]:
        return tuple(each for each in self.classes if each.effect is Effect.CORRUPTS)

    @property
    def straggler(self) -> ClassRate | None:
        return next((each for each in self.classes if each.effect is Effect.SLOWS), None)


def parse_class(text: str) -> ClassRate:
    """From `hang=30d,detection=10m`."""
    name, equals, rest = text.partition("=")
    if not equals or not rest.strip():
        raise UserError(
            f"{text[:60]!r} is not a failure class with its rate: write {CLASS_EXAMPLE}"
        )
    every, comma, more = rest.partition(",")
    return class_of(name.strip(), {"every": every} | (_pairs(more, CLASS_EXAMPLE) if comma else {}))


def class_of(name: str, texts: Mapping[str, str]) -> ClassRate:
    """One class by its name and the texts of its keys."""
    offered = [each.value for each in FailureClass if each is not FailureClass.CRASH]
    if name == FailureClass.CRASH:
        raise UserError("crashes are what --mtbf counts: state the other classes beside it")
    if name not in offered:
        raise UserError(
            f"there is no failure class {name[:40]!r}: write one of {', '.join(offered)}"
        )
    kind = FailureClass(name)
    effect = EFFECTS[kind]
    _require_keys(name, texts, _CLASS_KEYS[effect])
    if "every" not in texts:
        raise UserError(f"{name}: every is missing, how often one comes: write {RATE_EXAMPLE}")
    every_s = _every_s(name, texts["every"])
    if effect is Effect.SLOWS:
        for key, example in (("factor", "factor=1.5"), ("length", "length=20m")):
            if key not in texts:
                raise UserError(f"{name}: {key} is missing: write it, such as {example}")
        return ClassRate(
            kind,
            every_s,
            factor=_factor(name, texts["factor"]),
            length_s=_duration(name, "length", texts["length"], above_zero=True),
        )
    return ClassRate(
        kind,
        every_s,
        detection_s=_optional_duration(name, "detection", texts),
        recovery_s=_optional_duration(name, "recovery", texts),
    )


def parse_monitor(text: str) -> Monitor:
    """From `digest:interval=10,cost=12ms,miss=1%,false=0.1/day`."""
    name, colon, rest = text.partition(":")
    if not colon:
        raise UserError(f"{text[:60]!r} is not a monitor with its figures: write {MONITOR_EXAMPLE}")
    return monitor_of(name.strip(), _pairs(rest, MONITOR_EXAMPLE))


def monitor_of(name: str, texts: Mapping[str, str]) -> Monitor:
    """One monitor by its name and the texts of its keys."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name[:40]!r} is no name of a monitor: write small letters, digits and hyphens"
        )
    watches = _watches(name, texts.get("watches"))
    own_misses = {f"miss-{each.value}": each for each in watches}
    _require_keys(name, texts, (*_MONITOR_KEYS, *own_misses))
    for key, meaning in (
        ("cost", "what one check takes, such as cost=12ms"),
        ("miss", "the share of failures that it never notices, such as miss=1%"),
        ("false", "its false alarms, such as false=0.1/day, or by check as in false=1e-6"),
    ):
        if key not in texts:
            raise UserError(f"{name}: {key} is missing, {meaning}")
    usual = _share(name, "miss", texts["miss"])
    miss = dict.fromkeys(watches, usual) | {
        each: _share(name, key, texts[key]) for key, each in own_misses.items() if key in texts
    }
    per_s, per_check = _false(name, texts["false"])
    return Monitor(
        name=name,
        cost_s=_duration(name, "cost", texts["cost"]),
        miss=miss,
        false_per_s=per_s,
        false_per_check=per_check,
        delay_s=_optional_duration(name, "delay", texts) or 0.0,
        interval_steps=_interval(name, texts.get("interval")),
    )


def read_stated(path: Path) -> Stated:
    """Classes and monitors of a TOML file. Raises UserError that names the file."""
    return read_small(path, LARGEST_FILE_BYTES, parse_stated)


def parse_stated(content: bytes) -> Stated:
    """The same from the content of a file."""
    if len(content) > LARGEST_FILE_BYTES:
        raise UserError(f"larger than {LARGEST_FILE_BYTES:,} bytes: it has a few lines")
    try:
        parsed = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"not TOML: {error}") from None
    unknown = sorted(set(parsed) - {"class", "monitor"})
    if unknown:
        raise UserError(f"there is no table {unknown[0][:40]!r}: write class.NAME or monitor.NAME")
    return Stated(
        tuple(class_of(name, texts) for name, texts in _tables(parsed, "class")),
        tuple(monitor_of(name, texts) for name, texts in _tables(parsed, "monitor")),
    )


def together(parts: Iterable[Stated]) -> Stated:
    """Those of a file and of options; each class and monitor once."""
    found = tuple(parts)
    return Stated(
        tuple(each for part in found for each in part.classes),
        tuple(each for part in found for each in part.monitors),
    )


def _tables(parsed: Mapping[str, Any], kind: str) -> Iterable[tuple[str, dict[str, str]]]:
    tables = parsed.get(kind, {})
    if not isinstance(tables, dict):
        raise UserError(f"{kind} is no table: write [{kind}.NAME], with its keys below")
    for name, values in tables.items():
        if not isinstance(values, dict):
            raise UserError(f"{kind}.{name[:40]} is no table: write [{kind}.NAME]")
        yield name, {key: _text(f"{name}.{key}", value) for key, value in values.items()}


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "+".join(value)
    raise UserError(f"{name[:80]} is neither a text nor a number: write it in quotes")


def _pairs(text: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not (key and equals and value):
            raise UserError(f"{part[:40]!r} is no key with its value: write {example}")
        if key in found:
            raise UserError(f"{key} is there twice")
        found[key] = value
    return found


def _require_keys(name: str, texts: Mapping[str, str], known: Sequence[str]) -> None:
    unknown = sorted(set(texts) - set(known))
    if unknown:
        raise UserError(
            f"{name}: there is no {unknown[0][:40]!r}: write some of {', '.join(known)}"
        )


def _require_once(names: Sequence[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"the {what} {twice[0]} is there twice")


def _watches(name: str, text: str | None) -> tuple[FailureClass, ...]:
    offered = [FailureClass.STRAGGLER, *CORRUPTING]
    if text is None:
        if name not in WATCHES:
            raise UserError(
                f"{name}: watches is missing, the classes that it notices, joined by +: some of "
                f"{', '.join(offered)} (known without are {', '.join(WATCHES)})"
            )
        return WATCHES[name]
    named = [part.strip() for part in text.split("+")]
    wrong = [each for each in named if each not in offered]
    if wrong:
        raise UserError(
            f"{name}: a monitor cannot watch for {wrong[0][:40]!r}: write some of "
            f"{', '.join(offered)}, joined by +"
        )
    _require_once(named, "watched class")
    if FailureClass.STRAGGLER in named and len(named) > 1:
        raise UserError(
            f"{name}: stragglers and corruptions are noticed by different checks: name two monitors"
        )
    return tuple(FailureClass(each) for each in named)


def _every_s(name: str, text: str) -> float:
    """Mean time between two, from a duration or a rate."""
    rate = _PER.fullmatch(text)
    every_s = _per_s(name, rate) if rate else _named(name, "every", text, parse_duration_s)
    if rate:
        every_s = 1.0 / every_s if every_s > 0.0 else 0.0
    if not _SHORTEST_S <= every_s <= _LONGEST_S:
        raise UserError(
            f"{name}: {text.strip()[:40]!r} is no rate: write {RATE_EXAMPLE}, from one in "
            f"{_SHORTEST_S:g} s to one in {_LONGEST_S:g} s"
        )
    return every_s


def _false(name: str, text: str) -> tuple[float, float]:
    """False alarms per second and per check."""
    rate = _PER.fullmatch(text)
    if rate:
        per_s = _per_s(name, rate)
        if per_s * _SHORTEST_S > 1.0:
            raise UserError(f"{name}: {text.strip()[:40]!r} is beyond any rate of false alarms")
        return per_s, 0.0
    if _PLAIN.fullmatch(text) or "%" in text:
        return 0.0, _share(name, "false", text)
    raise UserError(
        f"{name}: {text.strip()[:40]!r} is no rate of false alarms: write 0.1/day, or a share of "
        "the checks such as 1e-6"
    )


def _per_s(name: str, rate: re.Match[str]) -> float:
    number, unit = rate.groups()
    unit_s = _named(name, "rate", f"1{unit}", parse_duration_s)
    return float(number) / unit_s


def _share(name: str, key: str, text: str) -> float:
    """A probability, as a plain number from 0 to 1 or as a percentage."""
    plain = _PLAIN.fullmatch(text)
    value = float(plain[1]) if plain else _named(name, key, text, parse_fraction)
    if not 0.0 <= value <= 1.0:
        raise UserError(f"{name}: {key} is {text.strip()[:40]}: write a share from 0 to 1")
    return value


def _factor(name: str, text: str) -> float:
    plain = _PLAIN.fullmatch(text)
    value = float(plain[1]) if plain else 0.0
    if not 1.0 < value <= _LARGEST_FACTOR:
        raise UserError(
            f"{name}: factor is {text.strip()[:40]!r}: write how much longer a step takes, above 1 "
            f"and up to {_LARGEST_FACTOR:g}, such as 1.5"
        )
    return value


def _interval(name: str, text: str | None) -> int | None:
    if text is None or text.strip().lower() == "auto":
        return None
    steps = whole_number(text)
    if steps is None or not 1 <= steps <= LONGEST_INTERVAL_STEPS:
        raise UserError(
            f"{name}: {text.strip()[:30]!r} is not an interval: write a whole number of steps from "
            f"1 to {LONGEST_INTERVAL_STEPS}, or auto"
        )
    return steps


def _optional_duration(name: str, key: str, texts: Mapping[str, str]) -> float | None:
    return _duration(name, key, texts[key]) if key in texts else None


def _duration(name: str, key: str, text: str, *, above_zero: bool = False) -> float:
    found = float(_named(name, key, text, parse_duration_s))
    if found > _LONGEST_S or (above_zero and found <= 0.0):
        bound = "above 0s and " if above_zero else ""
        raise UserError(
            f"{name}: {key} is {text.strip()[:40]}: it is {bound}at most {_LONGEST_S:g} s"
        )
    return found


def _named(name: str, key: str, text: str, parse: Any) -> float:
    try:
        return float(parse(text))
    except UserError as error:
        raise UserError(f"{name}: {key}: {error}") from None
