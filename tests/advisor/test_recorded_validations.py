"""A change of a rule must not make predictions of jobs worse that were run live, nor the picks."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import pytest

from advisor.validated import validated
from db.records import ClusterEvidence, Quantity
from tests.advisor.recorded_errors import shipped_evidence
from tests.advisor.recorded_validations import (
    errors,
    picked_now,
    picked_s,
    recorded,
    recorded_picks,
)

_ROUNDING = 0.0005
MAX_REGRET_GROWTH = 0.001


@pytest.fixture(scope="module")
def shipped() -> Iterator[list[ClusterEvidence]]:
    with shipped_evidence() as clusters:
        yield [evidence for evidence in clusters if evidence.validations]


def found(clusters: list[ClusterEvidence]) -> dict[tuple[str, str, str], float]:
    return {(c, s, m): error for evidence in clusters for c, s, m, error in errors(evidence)}


def grown(clusters: list[ClusterEvidence]) -> list[tuple[str, str, str]]:
    """Runs whose prediction is further off than it was."""
    before = recorded()
    return [
        key
        for key, error in found(clusters).items()
        if abs(error) > abs(before.get(key, 0.0)) + _ROUNDING
    ]


def test_every_run_that_finished_is_in_the_table(shipped: list[ClusterEvidence]) -> None:
    assert found(shipped).keys() == recorded().keys()
    assert len(recorded()) > 20


def test_no_prediction_is_further_off_than_recorded(shipped: list[ClusterEvidence]) -> None:
    assert grown(shipped) == []
    now, before = found(shipped), recorded()
    assert median(map(abs, now.values())) <= median(map(abs, before.values())) + _ROUNDING


def test_the_picks_of_today_are_no_worse_than_those_that_were_recorded(
    shipped: list[ClusterEvidence],
) -> None:
    """And each is a mechanism that was tried, and finished."""
    before = recorded_picks()
    assert set(before) == {evidence.cluster.cluster for evidence in shipped}
    for evidence in shipped:
        for each in validated(evidence.validations):
            picked = picked_now(evidence, each)
            assert picked is not None
            assert picked.observed_s is not None
        assert picked_s(evidence) <= before[evidence.cluster.cluster] * (1.0 + MAX_REGRET_GROWTH)


def test_a_rule_that_got_worse_is_seen(shipped: list[ClusterEvidence]) -> None:
    """Stalls ten times as long: as if a unit were wrong."""

    def worse(evidence: ClusterEvidence) -> ClusterEvidence:
        points = []
        for point in evidence.points:
            values = dict(point.values)
            for quantity in (Quantity.SAVE, Quantity.OVERHEAD):
                if (value := values.get(quantity)) is not None and value.value is not None:
                    values[quantity] = replace(value, value=10.0 * value.value)
            points.append(replace(point, values=values))
        return replace(evidence, points=tuple(points))

    assert len(grown([worse(evidence) for evidence in shipped])) > len(recorded()) / 2
