"""Names of points: none covers another or a point, in a plane of any size."""

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.figures.labels import Named, text_positions

_SIDES = {"left": -1, "center": 0, "right": 1, "top": 1, "middle": 0, "bottom": -1}


def box(point: Named, place: str, width: float, height: float) -> tuple[float, ...]:
    """Left, low, right and high edge (px) of a name of 12 px letters at a marker of 14 px."""
    up, right = place.split()
    x, y = point.x * width + 7.0 * _SIDES[right], point.y * height + 14.0 * _SIDES[up]
    half = 3.75 * len(point.text)
    x += half * _SIDES[right]
    return x - half, y - 6.0, x + half, y + 6.0


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def overlaps(points: list[Named], width: float, height: float) -> bool:
    boxes = [
        box(p, place, width, height)
        for p, place in zip(points, text_positions(points), strict=True)
    ]
    return any(overlap(a, b) for a, b in combinations(boxes, 2))


def test_a_name_stands_above_its_point_where_that_is_free() -> None:
    far = [Named(0.1, 0.1, "FT1"), Named(0.5, 0.5, "FT2"), Named(0.9, 0.9, "FT3")]
    assert text_positions(far) == ["top center"] * 3
    assert text_positions([]) == []


def test_near_points_take_different_sides() -> None:
    near = [Named(0.40, 0.2, "FT2"), Named(0.42, 0.2, "FT6")]
    assert text_positions(near) == ["top center", "bottom center"]
    assert text_positions(near) == text_positions(list(near))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_points_at_one_place_have_different_sides(count: int) -> None:
    assert len(set(text_positions([Named(0.5, 0.5, f"FT{n}") for n in range(count)]))) == count


_FRACTION = st.floats(0.0, 1.0)


@given(
    st.lists(st.tuples(_FRACTION, _FRACTION), min_size=2, max_size=3),
    st.floats(250.0, 1200.0),
    st.floats(160.0, 360.0),
)
@example(
    [(0.0, 0.0), (0.0156, 0.0), (0.0078, 0.0)], 250.0, 160.0
)  # the first two take both of the third
def test_a_few_names_never_overprint(
    places: list[tuple[float, float]], width: float, height: float
) -> None:
    points = [Named(x, y, f"FT{n}") for n, (x, y) in enumerate(places)]
    assert not overlaps(points, width, height)
