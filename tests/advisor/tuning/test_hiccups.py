"""False alarms of a timeout: exponential by hand, observed ones by counting."""

import math

import numpy as np
import pytest

from advisor.errors import UserError
from advisor.tuning.hiccups import (
    ExponentialHiccups,
    ObservedHiccups,
    parse_hiccups,
)


def test_exponential_hiccups() -> None:
    rates = ExponentialHiccups(3600.0, 20.0).rate_above_per_s(np.array([0.0, 20.0, 200.0]))
    assert rates == pytest.approx(np.exp([0.0, -1.0, -10.0]) / 3600.0)
    assert "every 1 h" in ExponentialHiccups(3600.0, 20.0).in_words()


def test_observed_hiccups_count_one_more_than_was_seen() -> None:
    hiccups = ObservedHiccups((3.0, 1.0, 10.0, 3.0), 1000.0)
    rates = hiccups.rate_above_per_s(np.array([0.5, 1.0, 3.0, 9.0, 10.0, 1e6]))
    assert rates == pytest.approx(np.array([5.0, 4.0, 2.0, 2.0, 1.0, 1.0]) / 1000.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExponentialHiccups(0.0, 1.0),
        lambda: ExponentialHiccups(1.0, math.inf),
        lambda: ObservedHiccups((1.0, -1.0), 10.0),
        lambda: ObservedHiccups((1.0,), 0.0),
    ],
)
def test_what_cannot_be_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(UserError):
        make()


def test_a_text_has_one_a_line() -> None:
    assert parse_hiccups("# seen\n1.5s\n\n 2m \n0s\n") == (1.5, 120.0)
    assert parse_hiccups("") == ()
    with pytest.raises(UserError, match="line 2: "):
        parse_hiccups("1s\nsoon\n")
