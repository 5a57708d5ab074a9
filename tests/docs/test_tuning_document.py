"""docs/tuning.md: numbers and options are those of the code, and its formula is what is priced."""

import math
import re

import numpy as np
import pytest

from advisor.commands.tune import command
from advisor.exact_time import FLAT_WASTE, SHOWN_DIFFERENCE
from advisor.tuning.circumstances import BEYOND_TIMEOUT_S, LONGEST_TIMEOUT_S, STEPS_OF_SILENCE
from advisor.tuning.price import _MOST_MULTIPLES, Load, Saves, price
from tests.docs.documents import code_words, read

TEXT = read("tuning.md")


def test_options_that_are_named_exist() -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    named = {word.split()[0] for word in code_words(TEXT) if word.startswith("--")}
    assert named
    assert named <= options


def test_numbers_are_those_of_the_code() -> None:
    assert f"takes the timeout and {BEYOND_TIMEOUT_S} s" in TEXT
    measured = [2.16 - 2.0, 5.17 - 5.0, 10.15 - 10.0]
    assert pytest.approx(np.mean(measured), abs=1e-9) == BEYOND_TIMEOUT_S
    assert (STEPS_OF_SILENCE, LONGEST_TIMEOUT_S) == (2.0, 3600.0)
    assert "Timeouts up to an hour" in TEXT
    assert "from two steps and all the saves" in TEXT
    assert f"less than\n{FLAT_WASTE:.1%} longer".replace("%", " %") in TEXT
    assert f"more than {SHOWN_DIFFERENCE:.0%} off".replace("%", " %") in TEXT
    assert f"Up to {_MOST_MULTIPLES} multiples" in TEXT


def test_the_formula_is_what_is_priced() -> None:
    assert re.search(r"x_i = sqrt\(2 C_i b / \(l_i A0\)\)", TEXT)
    stalls, rates, base, taken = (0.4, 25.0), (4e-4, 2e-6), 1.03, 1.05
    saves = [Saves(c, np.array([rate])) for c, rate in zip(stalls, rates, strict=True)]
    load = Load(1e6, 1e-3, base, np.array([taken]), tuple(saves), *[np.zeros(1)] * 5)
    u = sum(math.sqrt(c * rate / 2.0) for c, rate in zip(stalls, rates, strict=True))
    found = price(load)
    assert found.time_s[0] == pytest.approx(1e6 * (math.sqrt(base * taken) + u) ** 2, rel=1e-4)
    for steps, c, rate in zip(found.interval_steps[:, 0], stalls, rates, strict=True):
        ideal_s = math.sqrt(2.0 * c * taken / (rate * base))
        assert steps * 1e-3 == pytest.approx(ideal_s, rel=0.05)
