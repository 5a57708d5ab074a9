"""The frontier against the definition, on points with ties, duplicates, infinity and gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from advisor.pareto import NO_DOMINATOR, dominators, pareto_front

_VALUES = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, float("inf"), float("nan"), 1e308])


def beats(a: list[float], b: list[float]) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def array(rows: list[list[float]]) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64)


@given(
    st.integers(1, 4).flatmap(
        lambda axes: st.lists(
            st.lists(_VALUES, min_size=axes, max_size=axes), min_size=1, max_size=25
        )
    )
)
def test_agrees_with_the_definition(rows: list[list[float]]) -> None:
    front = pareto_front(array(rows))
    named = dominators(array(rows), front)
    whole = [row for row in rows if not any(np.isnan(row))]
    for index, row in enumerate(rows):
        if any(np.isnan(row)):
            assert front.is_not_comparable[index]
            assert not front.is_front[index]
            assert not front.is_dominated[index]
        else:
            dominated = any(beats(other, row) for other in whole)
            assert front.is_dominated[index] == dominated
            assert front.is_front[index] == (not dominated)
        if front.is_dominated[index]:
            by = int(named[index])
            assert front.is_front[by]
            assert beats(rows[by], row)
        else:
            assert named[index] == NO_DOMINATOR


def test_duplicates_stay_together() -> None:
    front = pareto_front(array([[1, 2], [1, 2], [2, 1], [2, 2], [2, 2]]))
    assert front.is_front.tolist() == [True, True, True, False, False]


def test_equal_infinities_tie() -> None:
    inf = float("inf")
    front = pareto_front(array([[0, inf], [1, inf], [2, 1]]))
    assert front.is_front.tolist() == [True, False, True]


def test_empty_and_single() -> None:
    assert pareto_front(np.empty((0, 2))).is_front.tolist() == []
    assert pareto_front(array([[5, 5]])).is_front.tolist() == [True]
    assert pareto_front(array([[5, float("nan")]])).is_front.tolist() == [False]


@pytest.mark.parametrize("shape", [(3,), (2, 0), (2, 2, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows of axes"):
        pareto_front(np.zeros(shape))


def test_many_points_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.pareto._CELLS_PER_CHUNK", 50)
    points = np.random.default_rng(7).random((300, 3))
    front = pareto_front(points)
    named = dominators(points, front)
    for index in np.flatnonzero(front.is_dominated):
        assert beats(points[named[index]].tolist(), points[index].tolist())
