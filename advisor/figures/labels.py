"""Where the names of points stand so that they cover neither each other nor a point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDTH_PX, _HEIGHT_PX = (250.0, 1200.0), (160.0, 360.0)
"""What a figure's plane may measure, from a telephone to a wide screen: a place has to hold in
all of them, for nobody places the names again when a window changes."""
_MARKER_PX = 18.0
_LINE_PX = 15.0
_CHARACTER_PX = 8.5
_MOST_TRIES = 2000
_PLACES = {
    "top center": (0, 1),
    "bottom center": (0, -1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top right": (1, 1),
    "bottom right": (1, -1),
    "top left": (-1, 1),
    "bottom left": (-1, -1),
}
"""plotly's textposition -> to which side of its point the text stands, best place first."""


@dataclass(frozen=True, slots=True)
class Named:
    """A point with its name; `x` and `y` are fractions of the plane, upwards from 0 to 1."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle around (point + shift), the shift and the size in pixels."""

    point: Named
    shift_x: float
    shift_y: float
    width: float
    height: float


def text_positions(points: Sequence[Named]) -> list[str]:
    """A textposition for each point: places where all names are free, best places first; where no
    such places are found, those where no name covers another; else the least crowded one of each.
    """
    markers = [_Box(p, 0.0, 0.0, _MARKER_PX, _MARKER_PX) for p in points]
    for taken in (markers, []):
        apart = _apart(points, taken, iter(range(_MOST_TRIES)))
        if apart is not None:
            return apart
    return _least_crowded(points, markers)


def _apart(
    points: Sequence[Named], taken: Sequence[_Box], tries: Iterator[int]
) -> list[str] | None:
    """Places that meet nothing, if there are any and the tries suffice to find them."""
    if not points:
        return []
    for place, side in _PLACES.items():
        if next(tries, None) is None:
            return None
        box = _text_box(points[0], *side)
        if any(_meet(box, other) for other in taken):
            continue
        others = _apart(points[1:], [*taken, box], tries)
        if others is not None:
            return [place, *others]
    return None


def _least_crowded(points: Sequence[Named], markers: Sequence[_Box]) -> list[str]:
    taken = list(markers)
    chosen = []
    for point in points:
        crowds = {
            place: sum(_meet(_text_box(point, *side), other) for other in taken)
            for place, side in _PLACES.items()
        }
        best = min(crowds, key=crowds.__getitem__)
        taken.append(_text_box(point, *_PLACES[best]))
        chosen.append(best)
    return chosen


def _text_box(point: Named, right: int, up: int) -> _Box:
    width = _CHARACTER_PX * len(point.text)
    # Beside its point a text starts at the marker's edge; above and below, at its middle.
    return _Box(
        point,
        right * (0.5 * width + 0.5 * _MARKER_PX),
        up * (0.5 * _LINE_PX + 0.5 * _MARKER_PX),
        width,
        _LINE_PX,
    )


def _meet(a: _Box, b: _Box) -> bool:
    """Whether the boxes overlap in a plane of any of the sizes."""
    return _near(
        a.point.x - b.point.x, a.shift_x - b.shift_x, 0.5 * (a.width + b.width), _WIDTH_PX
    ) and _near(
        a.point.y - b.point.y, a.shift_y - b.shift_y, 0.5 * (a.height + b.height), _HEIGHT_PX
    )


def _near(apart: float, shift: float, reach: float, sizes: tuple[float, float]) -> bool:
    """Whether the distance comes below `reach` somewhere between the smallest and largest size."""
    ends = [apart * size + shift for size in sizes]
    return max(ends) > -reach and min(ends) < reach
