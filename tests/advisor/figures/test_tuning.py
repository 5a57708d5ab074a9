"""The figure of a timeout shows what was priced, the best, and where others are as good."""

from advisor.exact_time import FLAT_WASTE
from advisor.figures.tuning import timeout_figure
from advisor.tuning.circumstances import Circumstances
from advisor.tuning.hiccups import ExponentialHiccups
from advisor.tuning.search import tune
from db.records import ClusterEvidence
from tests.advisor.tuning.test_tiers import scenario


def test_curves_are_the_prices(matilda: ClusterEvidence) -> None:
    told = Circumstances(16, hiccups=ExponentialHiccups(1800.0, 5.0))
    best = tune(matilda, scenario(matilda), told).best
    assert best is not None
    figure = timeout_figure(best)
    expected, alarms = figure.data
    shown = [t for t in best.timeouts if t.timeout_s in expected.x]
    assert len(shown) == len(expected.x) > 50
    assert list(expected.y) == [each.expected_completion_s for each in shown]
    assert list(alarms.y) == [each.false_alarms_per_day for each in shown]
    assert best.expected_completion_s in expected.y
    assert best.expected_completion_s <= min(expected.y) * (1.0 + FLAT_WASTE)
    assert list(alarms.y) == sorted(alarms.y, reverse=True)
    assert best.timeout_s in {shape.x0 for shape in figure.layout.shapes}
    assert best.flat_timeouts_s in {(shape.x0, shape.x1) for shape in figure.layout.shapes}


def test_without_a_search_there_is_nothing_to_draw(matilda: ClusterEvidence) -> None:
    best = tune(matilda, scenario(matilda), Circumstances(16)).best
    assert best is not None
    assert all(not trace.x for trace in timeout_figure(best).data)
