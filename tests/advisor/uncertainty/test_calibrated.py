"""Whoever says 80 % is right four times out of five: on clusters whose truth is known."""

from collections.abc import Iterable, Sequence
from random import Random
from statistics import fmean

import pytest

from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.recommendation import Candidate
from advisor.scenario import Scenario
from advisor.uncertainty.best import chances
from advisor.uncertainty.draws import completion_times_s, deviations
from advisor.uncertainty.propagation import linear_costs
from tests.advisor.uncertainty.synthetic import Truth, question, synthetic_cluster

_CLUSTERS = 500
_DRAWS = 256

Pick = tuple[float, bool]
"""The probability that the pick was called, and whether it was right."""


@pytest.mark.timeout(1_200)
def test_picks_called_80_percent_sure_are_right_80_percent_of_the_time() -> None:
    """Nine questions to each cluster. With half of each number's error the same picks are called
    too sure, which has to show: the test would see it."""
    random = Random(20261130)
    picks: list[Pick] = []
    too_sure: list[Pick] = []
    for _ in range(_CLUSTERS):
        cluster = synthetic_cluster(random)
        for architecture, truths in cluster.truths.items():
            asked = question(architecture, random.choice((600.0, 7_200.0)))
            scenario = resolve(asked, cluster.evidence)
            candidates = consider(cluster.evidence, scenario).candidates
            costs = linear_costs(cluster.evidence, scenario, candidates)
            off = deviations(costs.values, 0, _DRAWS)
            right = _truly_soonest(scenario, candidates, truths) == candidates[0].mechanism
            for found, errors in ((picks, off), (too_sure, 0.5 * off)):
                first = chances(costs.mechanisms, completion_times_s(costs, errors))[0]
                found.append((first.best_probability, right))
    called_80 = _called(picks, 0.75, 0.85)
    assert len(called_80) > 300
    assert 0.75 <= _right(called_80) <= 0.85
    assert _right(_called(too_sure, 0.75, 0.85)) < 0.75
    for low in (0.5, 0.6, 0.7, 0.8, 0.9):
        within = _called(picks, low, low + 0.1)
        assert _right(within) == pytest.approx(fmean(share for share, _ in within), abs=0.05)
    assert _right(picks) == pytest.approx(fmean(share for share, _ in picks), abs=0.01)


def _truly_soonest(
    scenario: Scenario, candidates: Iterable[Candidate], truths: dict[str, Truth]
) -> str:
    true_s = {
        c.mechanism: truths[c.mechanism].completion_s(
            scenario.duration_s, scenario.mtbf_s, c.interval_steps or 0
        )
        for c in candidates
    }
    return min(true_s, key=lambda name: true_s[name])


def _called(picks: Iterable[Pick], low: float, high: float) -> list[Pick]:
    return [pick for pick in picks if low <= pick[0] <= high]


def _right(picks: Sequence[Pick]) -> float:
    return fmean(right for _, right in picks)
