"""Ratios of two clusters: every row at its place, with its interval, and 1 marked."""

from advisor.figures.comparison import RatioRow, ratios

_ROWS = [
    RatioRow("A2 FT1 restore", "first", 2.0, 1.5, 2.75, True),
    RatioRow("A2 FT2 restore", "second", 1.1, 0.9, 1.25, False),
    RatioRow("A2 <b>FT3</b>", "third", 0.5, 0.25, 0.75, True),
]


def test_rows_are_drawn_with_their_intervals() -> None:
    figure = ratios(_ROWS, "a", "b<c>")
    more, maybe = figure.data
    assert (more.name, maybe.name) == ("more than chance", "may be chance")
    assert list(more.x) == [2.0, 0.5]
    assert list(more.error_x.array) == [0.75, 0.25]
    assert list(more.error_x.arrayminus) == [0.5, 0.25]
    assert list(maybe.y) == ["A2 FT2 restore"]
    assert list(maybe.customdata) == ["second"]
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.title.text == "b&lt;c&gt; / a"
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (1.0, 1.0)


def test_rows_stand_in_their_order_from_the_top() -> None:
    figure = ratios(_ROWS, "a", "b")
    order = list(figure.layout.yaxis.categoryarray)
    assert order == ["A2 &lt;b&gt;FT3&lt;/b&gt;", "A2 FT2 restore", "A2 FT1 restore"]
    assert ratios(_ROWS * 3, "a", "b").layout.height > figure.layout.height
