"""Changes along a line: found where they are, none that is wide enough missed."""

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.changes import changes_along, halved, halved_whole

_WIDTH = 0.05
_GRID = [float(v) for v in np.geomspace(1e-3, 1e6, round(9 * np.log(10) / np.log1p(_WIDTH)) + 2)]


def _steps(edges: list[float]) -> Callable[[float], int]:
    """The answer is the number of edges at or below the value."""
    return lambda value: bisect_left(edges, value)


@given(st.lists(st.floats(-6.0, 13.0), max_size=12))
def test_answers_wider_than_the_scan_are_all_found(logs: list[float]) -> None:
    edges = sorted(float(np.exp(log)) for log in logs)
    apart = [e for at, e in enumerate(edges) if at == 0 or e > edges[at - 1] * (1.0 + 2 * _WIDTH)]
    found = changes_along(_steps(apart), _GRID, halved(1e-9))
    assert [change.before for change in found] == list(range(len(apart)))
    assert [change.after for change in found] == list(range(1, len(apart) + 1))
    for change, edge in zip(found, apart, strict=True):
        assert change.low <= edge <= change.high
        assert change.high / change.low - 1.0 <= 1e-9


@given(st.lists(st.floats(1e-3, 1e6), max_size=40), st.randoms(use_true_random=False))
def test_what_is_found_is_a_change_and_leads_from_one_end_to_the_other(
    edges: list[float], random: object
) -> None:
    names = [random.choice("abc") for _ in range(len(edges) + 1)]  # type: ignore[attr-defined]
    count = _steps(sorted(edges))

    def answer(value: float) -> str:
        return str(names[count(value)])

    found = changes_along(answer, _GRID, halved(1e-9))
    last = answer(_GRID[0])
    for change in found:
        assert change.before == last == answer(change.low)
        assert change.after == answer(change.high) != change.before
        last = change.after
    assert last == answer(_GRID[-1])


@given(st.integers(1, 999), st.integers(1, 999))
def test_whole_numbers_are_exact(first: int, second: int) -> None:
    edges = sorted({first + 0.5, second + 0.5})
    values = [float(v) for v in (1, min(first, second), max(first, second), 1000)]
    found = changes_along(_steps(edges), sorted(set(values)), halved_whole)
    assert [(c.low, c.high) for c in found] == [(e - 0.5, e + 0.5) for e in edges]


def test_a_change_beside_zero_is_found_by_distance() -> None:
    (change,) = changes_along(lambda v: v > 3e-7, [0.0, 1e-6], halved(1e-9))
    assert change.low <= 3e-7 < change.high
    assert change.high - change.low <= 1e-9


def test_known_answers_are_not_asked_for_again() -> None:
    def never(value: float) -> str:
        raise AssertionError(value)

    assert changes_along(never, [1.0, 2.0, 3.0], halved(1e-9), ["a", "a", "a"]) == ()
    with pytest.raises(AssertionError):
        changes_along(never, [1.0, 2.0], halved(1e-9), ["a", "b"])
