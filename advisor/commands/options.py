"""Options that several commands share, made from the inputs of a scenario."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from advisor.errors import UserError
from advisor.inputs import BY_OPTION, INPUTS, Input, parse_names
from advisor.units import FRACTION_EXAMPLE, parse_duration_s, parse_fraction
from db.text import is_text

F = TypeVar("F", bound=Callable[..., Any])


class Parsed(click.ParamType[Any]):
    """Text read by a function that raises UserError with what would be valid."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if not is_text(value):  # also where a file has this name
            self.fail(_no_text(value), param, ctx)
        try:
            return self._parse(value)
        except UserError as error:
            self.fail(str(error), param, ctx)


TEXT = Parsed("text", str)
DURATION = Parsed("duration", parse_duration_s)
FRACTION = Parsed("percent", parse_fraction)
NAMES = Parsed("names", parse_names)


def _duration_or_none(text: str) -> float:
    return 0.0 if text.strip().lower() == "none" else parse_duration_s(text)


DURATION_OR_NONE = Parsed("duration", _duration_or_none)
"""Seconds; 0 for the word `none`."""


def kept_name(_: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback of a file or folder, or several, whose name is kept as evidence: it has to be text,
    in records and in the database."""
    for path in value if isinstance(value, tuple) else (value,):
        if path is not None and not is_text(str(path)):
            raise click.BadParameter(_no_text(str(path)), param=param)
    return value


def _no_text(given: str) -> str:
    return f"{given[:60]!r} is no text in UTF-8"


def input_option(option: str, **changes: Any) -> Callable[[F], F]:
    """The option of one scenario input; `changes` override what click is told."""
    return _option(BY_OPTION[option], **changes)


def input_options(*, required: bool = True, **changes: Mapping[str, Any]) -> Callable[[F], F]:
    """The options of all scenario inputs, in their order; `changes` by field, as in input_option.
    None is required if not `required`."""
    common = {} if required else {"required": False}

    def decorate(function: F) -> F:
        for each in reversed(INPUTS):
            function = _option(each, **(common | dict(changes.get(each.field, {}))))(function)
        return function

    return decorate


def _option(each: Input, **changes: Any) -> Callable[[F], F]:
    default = changes.pop("default_words", each.default)
    told: dict[str, Any] = {
        "metavar": f"[{'|'.join(each.choices)}]" if each.choices else None,
        "type": Parsed(_metavar(each), each.parse),
        "required": each.required,
        "help": each.help + (f"  [default: {default}]" if default else ""),
    }
    return click.option(f"--{each.option}", each.field, **(told | changes))


def _metavar(each: Input) -> str:
    for suffix, name in (("_per_s", "rate"), ("_s", "duration"), ("_bytes", "size")):
        if each.field.endswith(suffix):
            return name
    return "percent" if each.example == FRACTION_EXAMPLE else "text"


database_option = click.option(
    "--db",
    "db_url",
    metavar="URL",
    type=TEXT,
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
