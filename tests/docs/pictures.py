"""The pictures of the documents that need no browser: `python -m tests.docs.pictures`.

Written as SVG by hand, so that a test can hold the file against the formulas.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

import numpy as np

from tests.docs.documents import DOCS
from tests.docs.equation_5_error import error

FILE = DOCS / "pictures" / "equation_5_error.svg"
_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 250, 22, 56
_DECADES_X, _DECADES_Y = (log10(3.0), 5.0), (-5, 2)
"""Of M / D, and of the error in percent."""
_POINTS = 46
_FLAG_PERCENT = 1.0


@dataclass(frozen=True, slots=True)
class _Line:
    words: str
    color: str
    dash: str
    save_s: float
    detection_share: float


# Okabe and Ito's colours, as in advisor/figures/theme.py; dashes tell them apart in grey too.
_LINES = (
    _Line("D all recovery, C = D", "#D55E00", "", 1.0, 0.0),
    _Line("D all recovery, C = D / 10", "#0072B2", "", 0.1, 0.0),
    _Line("half detection, C = D / 10", "#009E73", "8 4", 0.1, 0.5),
    _Line("D all detection, C = D / 10", "#CC79A7", "2 4", 0.1, 1.0),
    _Line("D all recovery, C = D / 1000", "#7F7F7F", "12 3 2 3", 0.001, 0.0),
)


def picture() -> str:
    """Eq. (5)'s error over M / D, both axes logarithmic."""
    return "\n".join(_elements()) + "\n"


def _elements() -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="13" fill="#222">'
    )
    yield "<title>How much longer the exact time is than that of Eq. (5)</title>"
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    low, high = _DECADES_Y
    for decade in range(low, high + 1):
        y = _y(10.0**decade)
        yield _stroke([(_x(3.0), y), (_x(1e5), y)], "#ddd")
        yield _text(_LEFT - 8, y + 4, f"{10.0**decade:g} %".replace("1e-05", "0.00001"), "end")
    for ratio in (3, 10, 100, 1_000, 10_000, 100_000):
        yield _stroke([(_x(ratio), _y(10.0**low)), (_x(ratio), _y(10.0**high))], "#ddd")
        yield _text(_x(ratio), _HEIGHT - _BOTTOM + 18, f"{ratio:,}", "middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield _text(middle, _HEIGHT - 14, "M / D: MTBF in detections and recoveries", "middle")
    y = _y(_FLAG_PERCENT)
    yield _stroke([(_x(3.0), y), (_x(1e5), y)], "#222", "4 3", 1)
    yield _text(_x(1e5) - 4, y - 6, "marked above 1 %", "end")
    for number, line in enumerate(_LINES):
        ratios = np.geomspace(3.0, 1e5, _POINTS)
        errors = [100.0 * error(r, line.save_s, line.detection_share) for r in ratios]
        points = [
            (_x(ratio), _y(percent))
            for ratio, percent in zip(ratios, errors, strict=True)
            if percent >= 10.0**low
        ]
        yield _stroke(points, line.color, line.dash, 2)
        x, y = _WIDTH - _RIGHT + 16, _TOP + 14 + 24 * number
        yield _stroke([(x, y), (x + 34, y)], line.color, line.dash, 2)
        yield _text(x + 42, y + 4, line.words, "start")
    yield "</svg>"


def _x(ratio: float) -> float:
    low, high = _DECADES_X
    return _LEFT + (log10(ratio) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)


def _y(percent: float) -> float:
    low, high = _DECADES_Y
    return _TOP + (high - log10(percent)) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _stroke(
    points: Sequence[tuple[float, float]], color: str, dash: str = "", width: float = 1
) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width:g}"{dashes}/>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
