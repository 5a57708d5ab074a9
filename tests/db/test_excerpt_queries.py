"""What the database hands out of very many points is what plain code would choose of them all."""

from collections.abc import Iterator
from random import Random

import pytest
from sqlalchemy import Engine

from db import excerpt
from db.excerpt import EXCERPT_POINTS, MOST_POINTS, Near, PointKind
from db.excerpt_queries import has_more_than, read_excerpt
from db.queries import cluster_evidence, evidence_version, operating_points, software_stacks
from db.records import OperatingPoint
from db.session import open_engine, reading, writing
from db.stacks import points_that_count
from tests.db.random_points import insert_random_points

CLUSTER = "matilda-8xv100"
FAMILIES = {
    "a2": ("a2", "a1-sync", "a3"),
    "a3": ("a3", "a1-sync", "a2"),
    "a7": ("a7", "a4", "a5"),
}
POINTS = MOST_POINTS + 500
SEED = 20261201


@pytest.fixture
def large(shipped_url: str) -> Iterator[Engine]:
    """The shipped clusters, one of them with many points more."""
    engine = open_engine(shipped_url)
    with writing(engine) as connection:
        insert_random_points(connection, Random(SEED), CLUSTER, POINTS)
    yield engine
    engine.dispose()


def plainly(
    points: tuple[OperatingPoint, ...], families: tuple[str, ...], near: Near, most: int
) -> set[str]:
    """The choice as its docstring says it, over all points that count."""
    of_kind: dict[tuple[object, ...], list[OperatingPoint]] = {}
    for p in points:
        if p.architecture in families:
            names = (p.architecture, p.mechanism, p.workload, p.trace, p.software_stack)
            of_kind.setdefault((*names, str(p.outcome), p.interval_steps), []).append(p)
    kinds = {}
    for key, members in of_kind.items():
        sizes = [p.state_bytes for p in members]
        kinds[PointKind(*key, len(members), min(sizes), max(sizes))] = members  # type: ignore[call-arg, arg-type]
    size = near.state_bytes or min(
        kind.smallest_bytes for kind in kinds if kind.architecture == near.architecture
    )
    ids: set[str] = set()
    for kind, share in excerpt.shares(excerpt.counting_kinds(kinds, {}), near, size, most).items():
        members = sorted(
            kinds[kind],
            key=lambda p: (max(p.state_bytes / size, size / p.state_bytes), p.point_id),
        )
        ends = (
            min(members, key=lambda p: (p.state_bytes, p.point_id)),
            min(members, key=lambda p: (-p.state_bytes, p.point_id)),
        )
        taken = members if share == len(members) else [*ends, *members[: share - 2]]
        ids |= {p.point_id for p in taken}
    return ids


def test_the_database_chooses_as_plain_code_does(large: Engine) -> None:
    random = Random(SEED)
    with reading(large) as connection:
        whole = cluster_evidence(connection, CLUSTER)
        stacks = software_stacks(connection, CLUSTER)
        counting, aside = points_that_count(operating_points(connection, CLUSTER), stacks)
        assert aside
        for architecture, family in FAMILIES.items():
            for most in (60, 400, EXCERPT_POINTS):
                somewhere = random.randrange(10**7, 10**9)
                size = random.choice((None, 50_000_000, 200_001_000, somewhere))
                near = Near(architecture, size)
                part, ids = read_excerpt(
                    connection,
                    CLUSTER,
                    near,
                    whole.architectures,
                    whole.mechanisms,
                    stacks,
                    most,
                )
                assert part is not None
                assert part.architectures == family
                old = {p.point_id for p in aside if p.mechanism == "ft9"}
                assert ids - old == plainly(counting, family, near, most), near
                assert part.read == len(ids - old) <= most
                assert len(ids & old) <= most
                assert part.held == sum(p.architecture in family for p in counting)


def test_evidence_of_very_many_points_is_an_excerpt_only_for_a_question(large: Engine) -> None:
    near = Near("a2", 200_000_000)
    with reading(large) as connection:
        whole, part = (cluster_evidence(connection, CLUSTER, each) for each in (None, near))
    assert whole.excerpt is None
    assert len(whole.points) + len(whole.set_aside) > MOST_POINTS
    assert part.excerpt is not None
    assert len(part.points) == part.excerpt.read <= EXCERPT_POINTS
    # Of what is set aside, all baselines: overheads of their software go with their step times.
    old = [p for p in whole.set_aside if p.architecture in FAMILIES["a2"] and p.mechanism == "ft9"]
    assert list(part.set_aside) == old
    assert old
    # Each point as it is in the whole, marks of superseded software too.
    assert set(part.points_by_pair) <= set(whole.points_by_pair)
    by_id = {p.point_id: p for p in whole.points}
    assert [by_id[p.point_id] for p in part.points] == list(part.points)
    assert any(p.superseded_by for p in part.points)
    assert evidence_version(part) != evidence_version(whole)


def test_of_an_architecture_without_points_only_what_names_the_others(large: Engine) -> None:
    with reading(large) as connection:
        found = cluster_evidence(connection, CLUSTER, Near("a8", None))
        measured = {p.architecture for p in cluster_evidence(connection, CLUSTER).points}
    assert found.excerpt is None
    assert sorted(p.architecture for p in found.points) == sorted(measured)


def test_of_few_points_a_question_reads_all(shipped_url: str) -> None:
    engine = open_engine(shipped_url)
    with reading(engine) as connection:
        assert has_more_than(connection, CLUSTER, 10)
        assert not has_more_than(connection, CLUSTER, MOST_POINTS)
        whole, asked = (
            cluster_evidence(connection, CLUSTER, each) for each in (None, Near("a2", 1))
        )
    engine.dispose()
    assert asked.excerpt is None
    assert asked.points == whole.points
    assert evidence_version(asked) == evidence_version(whole)
