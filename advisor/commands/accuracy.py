"""`advisor accuracy`: how far the advice was off on a cluster, one section a way of finding out."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from advisor.commands.options import database_option, format_option, input_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.printable import printable
from advisor.units import counted, format_duration

if TYPE_CHECKING:
    from advisor.leave_one_out import Comparison, LeaveOneOut
    from advisor.recommendation import RuleCheck, RuleError, SeenError

_HEADER = (
    *("rule", "part", "n", "median", "largest", "signed median"),
    *("near zero", "off by at most"),
)


@click.command(name="accuracy")
@input_option("cluster")
@click.option("--comparisons", is_flag=True, help="List every single comparison, with its rules.")
@format_option(("table", "json"), "table")
@database_option
def command(cluster: str | None, comparisons: bool, fmt: str, db_url: str | None) -> None:
    """How far predictions were off on a cluster, rule by rule.

    Each operating point that a rule can predict is taken out of the evidence, predicted from the
    rest, and compared with what was measured. Below stands what `advisor validate` saw.
    """
    from advisor.accuracy import accuracy
    from advisor.evidence import load_evidence, opened

    with opened(db_url) as engine:
        found = accuracy(load_evidence(engine, cluster))
    if fmt == "json":
        echo_json(found.as_json())
        return
    echo(printable(f"{found.cluster}: leave-one-out errors, predicted / measured - 1"))
    _echo_leave_one_out(found.leave_one_out, comparisons)
    _echo_seen(found.seen)


def _echo_seen(found: "Sequence[SeenError]") -> None:
    from advisor.reports.words import seen_words

    echo("")
    if not found:
        echo("No prediction was tried live on this cluster: `advisor validate` does that.")
    for each in found:
        echo(seen_words(each))


def _echo_leave_one_out(found: "LeaveOneOut", comparisons: bool) -> None:
    from advisor.rules import PARTS, TITLES

    rows = [_row(check, error) for check in found.checks for error in check.errors]
    if rows:
        echo_table(_HEADER, rows, numeric=range(2, len(_HEADER)))
    for check in found.checks:
        if PARTS[check.rule] and check.not_checked:
            echo(f"not checked: {TITLES[check.rule]}: {check.not_checked}")
    if not comparisons:
        echo(
            f"{counted(len(found.comparisons), 'comparison')}; the rest does not predict "
            f"{counted(len(found.not_predicted), 'measured value')}; --comparisons lists them"
        )
        return
    for each in found.comparisons:
        echo("")
        for line in _single(each):
            echo(printable(line))
    for missing in found.not_predicted:
        echo("")
        echo(printable(f"{missing.point_id}: {missing.part.value} not predicted"))
        echo(printable(f"  {missing.reason}"))


def _row(check: "RuleCheck", error: "RuleError") -> tuple[str, ...]:
    from advisor.rules import TITLES

    return (
        TITLES[check.rule],
        error.part.value,
        str(error.n),
        _percent(error.median_fraction),
        _percent(error.largest_fraction),
        _signed(error.signed_median_fraction),
        str(error.n_apart),
        _percent(error.largest_apart_fraction),
    )


def _single(each: "Comparison") -> Iterator[str]:
    if each.error_fraction is None:
        off = f"near zero, off by {_signed(each.difference_fraction)} of the steps that pay for it"
    else:
        off = f"off by {_signed(each.error_fraction)}"
    yield (
        f"{each.point_id}: {each.part.value} predicted {format_duration(each.predicted_s)}, "
        f"measured {format_duration(each.measured_s)}: {off}"
    )
    yield from (f"  {rule.words}" for rule in each.rules)


def _percent(fraction: float | None) -> str:
    from advisor.reports.words import percent

    return "" if fraction is None else percent(fraction)


def _signed(fraction: float | None) -> str:
    return "" if fraction is None else f"{'+' if fraction > 0.0 else ''}{_percent(fraction)}"
