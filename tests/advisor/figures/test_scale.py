"""The figure of a scale shows the points, who is recommended, and where more ranks stop to help."""

import json
from typing import Any

from advisor.defaults import resolve
from advisor.figures.scale import scale_figure
from advisor.scale.answer import Scale, scale
from advisor.scale.growth import StatedGrowth, growth_of
from advisor.scenario import ScenarioInput
from db.records import ClusterEvidence


def _scale(evidence: ClusterEvidence, architecture: str, per_rank_s: float) -> Scale:
    inputs = ScenarioInput(architecture, 204_700_000, 432e3, detection_s=30.0)
    scenario = resolve(inputs, evidence)
    stated = StatedGrowth(regroup_per_rank_s=per_rank_s)
    return scale(evidence, scenario, growth_of(evidence, scenario, stated), (8, 64, 512, 4096))


def _traces(figure: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(figure.to_json())["data"]
    return found


def test_points_are_the_answers(matilda: ClusterEvidence) -> None:
    found = _scale(matilda, "a2", 0.5)
    figure = scale_figure(found, tuple(matilda.mechanisms))
    times, goodput = (trace for trace in figure.data if trace.name == "FT1")
    assert list(times.x) == [8, 64, 512, 4096]
    assert list(times.y) == [point.expected_s for point in found.points]
    assert list(goodput.y) == [100.0 * (point.goodput or 0.0) for point in found.points]
    assert list(times.marker.symbol) == [
        "circle-open" if point.is_flagged else "circle" for point in found.points
    ]
    assert found.points[-1].is_flagged
    assert not found.points[0].is_flagged
    (ideal,) = (trace for trace in figure.data if trace.name == "failure-free")
    assert all(low <= high for low, high in zip(ideal.y, times.y, strict=True))
    assert {shape.x0 for shape in figure.layout.shapes} == {found.no_gain_beyond}


def test_without_an_end_there_is_no_line(matilda: ClusterEvidence) -> None:
    assert not scale_figure(_scale(matilda, "a2", 0.0), tuple(matilda.mechanisms)).layout.shapes


def test_without_times_only_the_axes_are_there(matilda: ClusterEvidence) -> None:
    traces = _traces(scale_figure(_scale(matilda, "a6", 0.0), tuple(matilda.mechanisms)))
    assert [trace["name"] for trace in traces] == ["failure-free"]
