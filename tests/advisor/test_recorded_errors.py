"""No rule gets worse unnoticed: the leave-one-out errors of the shipped data, against a table.

`recorded_errors.py` says how the table is made.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from advisor.prediction import predict
from db.records import ClusterEvidence
from tests.advisor.recorded_errors import CLUSTERS, Key, Row, measured, recorded, shipped_evidence

_RECORDED = recorded()


@pytest.fixture(scope="module")
def now() -> Iterator[dict[Key, Row]]:
    with shipped_evidence() as found:
        yield {key: row for evidence in found for key, row in measured(evidence).items()}


def test_every_rule_that_can_be_checked_is_in_the_table(now: dict[Key, Row]) -> None:
    assert sorted(now) == sorted(_RECORDED)
    assert {cluster for cluster, *_ in _RECORDED} == set(CLUSTERS)


@pytest.mark.parametrize("key", _RECORDED, ids=" ".join)
def test_no_rule_is_further_off_than_recorded(key: Key, now: dict[Key, Row]) -> None:
    found, limit = now[key], _RECORDED[key]
    for column in ("median_fraction", "largest_apart_fraction"):
        assert float(found[column] or 0.0) <= float(limit[column] or 0.0), column
    # Points that are no longer compared would be errors that are no longer seen.
    assert int(found["n"]) >= int(limit["n"])
    assert int(found["n_apart"]) <= int(limit["n_apart"])


def test_a_rule_that_gets_worse_is_seen(
    matilda: ClusterEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "path_scale", lambda *_: 1.0)
    key = ("matilda-8xv100", "like_architecture", "stall")
    worse = measured(replace(matilda))[key]["median_fraction"]
    assert float(worse) > 30 * float(_RECORDED[key]["median_fraction"])
