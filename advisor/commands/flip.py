"""`advisor flip`: at which value of an input another mechanism is recommended."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import NAMES, database_option, format_option, input_options
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.inputs import BY_OPTION, scenario_input
from advisor.printable import printable
from advisor.reports.words import headline, input_value
from advisor.units import format_duration

if TYPE_CHECKING:
    from advisor.flips import Flip, Moved, Side
    from advisor.recommendation import Recommendation

FORMAT, VERSION = "failbench-advisor-flips", 1

_SAVE_TIME = "save-time"
_REMARKS = {
    "time": "both take equally long",
    "limit": "a limit decides",
    "no_data": "no data beyond",
    "jump": "a predicted cost jumps",
}


@click.command(name="flip")
@input_options()
@click.option(
    "--moved",
    type=NAMES,
    help="Which inputs to move: mtbf, warning-lead, warning-coverage, storage-write, storage-read, "
    "save-time (of one mechanism after the other).  [default: all]",
)
@format_option(("table", "json", "csv"), "table")
@database_option
def command(moved: tuple[str, ...] | None, fmt: str, db_url: str | None, **options: Any) -> None:
    """At which MTBF, lead, coverage, storage rate or save time another mechanism is recommended.

    One input moves over its whole range while all others stay; limits count, and so does where the
    evidence ends. The options are those of `advisor recommend`.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.flips import MovedInput, flips, parse_moved

    chosen = tuple(MovedInput) if moved is None else parse_moved(moved)
    with opened(db_url) as engine:
        question = ask(engine, scenario_input(options))
    recommendation = answer(question)
    found = flips(question.evidence, question.scenario, chosen)
    if fmt == "json":
        echo_json(as_json(recommendation, found))
    elif fmt == "csv":
        echo_csv(_COLUMNS, _csv_rows(found))
    else:
        _print(recommendation, found)


def as_json(recommendation: "Recommendation", found: "Sequence[Moved]") -> dict[str, Any]:
    """The document of flips-1.schema.json."""
    from advisor.reports.document import scenario_document

    selected = recommendation.selected
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(recommendation.scenario),
        "selected": None if selected is None else selected.mechanism,
        "moved": [_moved_json(each) for each in found],
    }


def _moved_json(each: "Moved") -> dict[str, Any]:
    return {
        "input": each.moved.value,
        "mechanism": each.mechanism,
        "unit": _unit(each),
        "stands_at": each.stands_at,
        "from_value": each.from_value,
        "to_value": each.to_value,
        "next_below": each.next_below.value if each.next_below else None,
        "next_above": each.next_above.value if each.next_above else None,
        "flips": [_flip_json(flip) for flip in each.flips],
        "not_moved": each.not_moved,
    }


def _flip_json(flip: "Flip") -> dict[str, Any]:
    return asdict(flip) | {"decided_by": flip.decided_by.value}


def _unit(each: "Moved") -> str:
    field = _field(each)
    return "B/s" if field.endswith("_bytes_per_s") else "s" if field.endswith("_s") else "1"


def _field(each: "Moved") -> str:
    """The field that the value belongs to, which says its unit."""
    return "save_s" if each.moved.value == _SAVE_TIME else BY_OPTION[each.moved.value].field


_COLUMNS = (
    *("input", "of_mechanism", "unit", "stands_at", "value"),
    *("below", "below_interval_steps", "below_expected_s"),
    *("above", "above_interval_steps", "above_expected_s", "decided_by", "reason"),
    "is_flagged",
)


def _csv_rows(found: "Sequence[Moved]") -> Iterator[tuple[object, ...]]:
    for each in found:
        for flip in each.flips:
            sides = [
                value
                for side in (flip.below, flip.above)
                for value in (side.mechanism, side.interval_steps, side.expected_completion_s)
            ]
            yield (
                *(each.moved.value, each.mechanism, _unit(each), each.stands_at, flip.value),
                *(*sides, flip.decided_by.value, flip.reason, flip.is_flagged),
            )


def _print(recommendation: "Recommendation", found: "Sequence[Moved]") -> None:
    echo(printable(headline(recommendation)))
    echo("")
    rows = [row for each in found for row in _rows(each)]
    if rows:
        echo_table(
            ("moved", "yours", "flips at", "below", "above", "expected below", "above", "", ""),
            rows,
            numeric=(1, 2, 5, 6),
        )
    for each in found:
        if each.not_moved:
            echo(f"{_label(each)}: {each.not_moved}")
        elif not each.flips:
            echo(f"{_label(each)}: the answer is the same at every value")
    reasons = list(dict.fromkeys(f.reason for each in found for f in each.flips if f.reason))
    if reasons:
        echo("")
        echo("Who is not offered, right beyond a flip")
        for reason in reasons:
            echo(printable(f"  {reason}"))


def _rows(each: "Moved") -> Iterator[tuple[str, ...]]:
    for flip in each.flips:
        nearest = "next below" if flip == each.next_below else ""
        if flip == each.next_above:
            nearest = "next above"
        remark = _REMARKS[flip.decided_by.value]
        if flip.is_flagged:
            remark += "; Eq. (5) is more than 1 % off there"
        yield (
            _label(each),
            "–" if each.stands_at is None else input_value(_field(each), each.stands_at),
            input_value(_field(each), flip.value),
            *map(_who, (flip.below, flip.above)),
            *map(_expected, (flip.below, flip.above)),
            nearest,
            remark,
        )


def _label(each: "Moved") -> str:
    if each.mechanism is not None:
        return f"cost of a save of {each.mechanism.upper()}"
    if each.moved.value == _SAVE_TIME:
        return "cost of a save"
    return BY_OPTION[each.moved.value].label


def _who(side: "Side") -> str:
    if side.mechanism is None:
        return "nobody"
    return side.mechanism.upper() + (
        f" every {side.interval_steps:,}" if side.interval_steps is not None else ""
    )


def _expected(side: "Side") -> str:
    if side.expected_completion_s is None:
        return "–"
    return format_duration(side.expected_completion_s)
