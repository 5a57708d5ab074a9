"""Ranges that are learned from the run."""

import math
import random
import struct

import pytest

from measure.monitors.ranges import LearnedRange
from tests.measure.monitors.many import HUNDRED_OR_THOUSAND


def taught(**magnitudes: float) -> LearnedRange:
    found = LearnedRange(10.0)
    assert found.take(magnitudes) is None
    return found


def test_a_tensor_may_grow_by_the_factor_and_no_more() -> None:
    assert taught(a=1.0, b=1.0).take({"a": 10.0, "b": 1.0}) is None
    assert taught(a=1.0, b=1.0).take({"a": 10.1, "b": 1.0}) == ("a", 10.0)


def test_one_that_begins_at_zero_is_held_against_the_usual_one() -> None:
    found = taught(a=1.0, b=2.0, c=0.0)
    assert found.take({"a": 1.0, "b": 2.0, "c": 9.0}) is None
    assert taught(a=1.0, b=2.0, c=0.0).take({"a": 1.0, "b": 2.0, "c": 11.0}) == ("c", 10.0)


def test_the_range_grows_with_the_run_and_never_shrinks() -> None:
    found = taught(a=1.0)
    assert found.take({"a": 8.0}) is None
    assert found.take({"a": 0.1}) is None
    assert found.take({"a": 79.0}) is None
    wrong = found.take({"a": 791.0})
    assert wrong is not None
    assert wrong[1] == pytest.approx(790.0)


def test_a_name_that_comes_later_is_held_against_the_usual_one() -> None:
    assert taught(a=1.0).take({"a": 1.0, "new": 11.0}) == ("new", 10.0)
    assert LearnedRange(10.0).take({}) is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_not_finite_is_never_in_range_not_even_at_first(wrong: float) -> None:
    first = LearnedRange(10.0).take({"a": 1.0, "b": wrong})
    assert first is not None
    assert first[0] == "b"
    later = taught(a=1.0, b=1.0).take({"a": 1.0, "b": wrong})
    assert later == ("b", 10.0)


def flipped(value: float, bit: int) -> float:
    """A float32 with one bit turned over."""
    (word,) = struct.unpack("<I", struct.pack("<f", value))
    (found,) = struct.unpack("<f", struct.pack("<I", word ^ (1 << bit)))
    return float(found)


@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
def test_flips_of_an_upper_exponent_bit_are_seen_and_no_healthy_check(count: int) -> None:
    """Bits 26 to 30 of a float32 below 2: turned on, each is worth a factor of 2^8 and more."""
    drawn = random.Random(2026)
    misses = alarms = 0
    for _ in range(count):
        names = [f"t{n}" for n in range(20)]
        found = LearnedRange(10.0)
        now = {name: drawn.uniform(0.01, 1.0) for name in names}
        for _ in range(10):
            alarms += found.take(now) is not None
            now = {name: size * drawn.uniform(0.9, 1.3) for name, size in now.items()}
        victim = drawn.choice(names)
        # A bit that is off; the largest numbers are not finite once the last one is on.
        off = [bit for bit in range(26, 31) if not abs(flipped(now[victim], bit)) <= now[victim]]
        wrong = abs(flipped(now[victim], drawn.choice(off)))
        misses += found.take({**now, victim: wrong}) is None
    assert (alarms, misses) == (0, 0)
