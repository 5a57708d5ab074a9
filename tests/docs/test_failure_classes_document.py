"""docs/failure_classes.md: classes, monitors, numbers and formulas are those of the code."""

import math

import pytest

from advisor.commands.plan import command
from advisor.exact_time import FLAT_WASTE
from advisor.failure_classes import grid, search
from advisor.failure_classes.catalogue import EFFECTS, WATCHES, Effect
from advisor.failure_classes.completion import Check, Work, saved_completion_s
from advisor.failure_classes.stretches import Stop, stops_of
from tests.docs.documents import code_words, read, table_with

TEXT = read("failure_classes.md")


def test_every_class_and_monitor_is_named() -> None:
    rows = table_with(TEXT, "class")
    assert list(rows) == [each.value for each in EFFECTS]
    for kind, effect in EFFECTS.items():
        assert rows[kind.value][0].startswith("stops") == (effect is Effect.STOPS)
    assert set(WATCHES) <= code_words(TEXT)


def test_options_that_are_named_exist() -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    named = {word.split()[0] for word in code_words(TEXT) if word.startswith("--")}
    assert named == {"--mtbf", "--max-wrong", "--kept-up-to"}
    assert named <= options


def test_numbers_are_those_of_the_code() -> None:
    assert f"up to {search.MOST_TOGETHER} monitors of corruptions" in TEXT
    assert f"about {grid._MOST:,} settings at once" in TEXT
    assert f"Up to {search.USUAL_KEPT} saves are kept" in TEXT
    assert f"within {FLAT_WASTE:.1%} of the best".replace("%", " %") in TEXT
    assert search._REFINED == 3
    assert "near to\nthe best, three times" in TEXT


def test_the_formula_of_several_classes_is_the_code() -> None:
    classes = [Stop(1e-4, 30.0, 200.0), Stop(3e-4, 600.0, 40.0)]
    rate = 4e-4
    by_hand = (1.0 / rate + 0.25 * 30.0 + 0.75 * 600.0) / (
        0.25 * math.exp(-rate * 200.0) + 0.75 * math.exp(-rate * 40.0)
    )
    assert float(stops_of(classes).spent_s) == pytest.approx(by_hand, rel=1e-13)


def test_the_formula_of_patterns_is_the_code() -> None:
    """Two saves a check, three patterns, kept and not kept: t and f by hand."""
    rate, wrong, length_s, stall_s, cost_s, after_s = 1e-4, 5e-5, 900.0, 10.0, 4.0, 70.0
    stops = stops_of([Stop(rate, 30.0, 60.0)])
    g = float(stops.spent_s)

    def until_passed_s(seconds: float) -> float:
        return math.expm1(rate * seconds) * g

    q = -math.expm1(-wrong * length_s)
    reach, save = math.exp(-rate * (length_s + cost_s)), math.exp(-rate * stall_s)
    decided = reach * q + reach * (1.0 - q) * save
    stopped = 1.0 - reach + reach * (1.0 - q) * (1.0 - save)
    f = q + (1.0 - q) * reach * q / decided
    t = until_passed_s(length_s + stall_s)
    t += q * until_passed_s(length_s + cost_s) + (1.0 - q) * stopped * g / decided
    by_hand = {
        2.0: 3.0 * (t + f * after_s) / (1.0 - f),
        1.0: (t + f * after_s) * ((1.0 - f) ** -3 - 1.0) / f,
    }
    for kept, known in by_hand.items():
        found = saved_completion_s(
            Work(stops),
            duration_s=6.0 * length_s,
            interval_s=length_s,
            stall_s=stall_s,
            rare=Check(2.0 * length_s, cost_s, wrong, after_s),
            kept=kept,
        )
        assert float(found) == pytest.approx(known, rel=1e-12)
