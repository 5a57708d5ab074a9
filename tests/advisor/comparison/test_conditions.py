"""What points say of their conditions: in words, as they are pooled, and in columns."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.comparison.conditions import Told, told
from advisor.evidence import load_evidence, opened
from db.queries import _plain, evidence_version
from db.records import ClusterEvidence, Detector, Way
from db.session import writing
from tests.db.test_pooling import KEY

_WAYS = {
    "spare": "with spares in place",
    "smaller": "as a smaller group",
    "restart": "by a restart of all processes",
}


@pytest.mark.parametrize("backend", ["gloo", "nccl", "cpu:gloo"])
@pytest.mark.parametrize("detector", [*Detector])
@pytest.mark.parametrize("way", [None, *Way])
@pytest.mark.parametrize(("nodes", "domain"), [(None, None), (3, "rank"), (3, "node"), (3, None)])
def test_what_pooling_writes_is_read(
    matilda: ClusterEvidence,
    backend: str,
    detector: Detector,
    way: Way | None,
    nodes: int | None,
    domain: str | None,
) -> None:
    key = replace(
        KEY,
        round_limit_s=2.5,
        backend=backend,
        detector=detector,
        way=way,
        nodes=nodes,
        failure_domain=domain,
    )
    point = replace(matilda.points[0], note=f"Measured: 2 recovered, 1 hang; {key.conditions}")
    assert told(point) == Told(backend, detector, None if way is None else _WAYS[way])


def test_every_point_of_ours_says_it_and_no_published_one(
    ours: ClusterEvidence, matilda: ClusterEvidence
) -> None:
    assert {told(p).backend for p in ours.points} == {"gloo"}
    assert {told(p).detector for p in ours.points} == {"supervisor"}
    assert {told(p).way for p in ours.points} == {
        *(None, "with spares in place", "as a smaller group")
    }
    assert {told(p) for p in matilda.points} == {Told()}


def test_nodes_are_loaded_and_change_the_evidence_only_where_they_are(
    shipped_database: Path, tmp_path: Path, ours: ClusterEvidence
) -> None:
    assert {(p.nodes, p.failure_domain) for p in ours.points} == {(None, None)}
    # So it is in answers that were saved before these columns were read.
    assert not {"nodes", "failure_domain"} & _plain(ours.points[0]).keys()
    own = tmp_path / "own.db"
    shutil.copy(shipped_database, own)
    first = ours.points[0].point_id
    with opened(str(own)) as engine:
        assert evidence_version(load_evidence(engine, ours.cluster.cluster)) == evidence_version(
            ours
        )
        with writing(engine) as connection:
            connection.exec_driver_sql(
                "UPDATE operating_points SET nodes = 3, failure_domain = 'node' WHERE point_id = ?",
                (first,),
            )
        found = load_evidence(engine, ours.cluster.cluster)
    assert [(p.nodes, p.failure_domain) for p in found.points if p.point_id == first] == [
        (3, "node")
    ]
    assert evidence_version(found) != evidence_version(ours)
