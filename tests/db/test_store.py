"""Evidence as it is read, and recommendations that stay as they were given."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event

from db.errors import NotFoundError
from db.queries import (
    cluster_evidence,
    cluster_names,
    data_version,
    evidence_version,
    get_recommendation,
    list_recommendations,
    published_counts,
    published_selections,
    text_values,
)
from db.recommendation_store import save_recommendation
from db.records import Evidence, MissingReason, PairStatus, Quantity
from db.schema import HEAD, check_schema
from db.session import open_engine, reading, writing

CLUSTER = "matilda-8xv100"
FT1 = "matilda-8xv100/a2/ft1/resnet50/i100"


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def test_the_evidence_of_a_cluster(engine: Engine) -> None:
    with reading(engine) as connection:
        evidence = cluster_evidence(connection, CLUSTER)
    points = {point.point_id: point for point in evidence.points}
    overhead = points[FT1].values[Quantity.OVERHEAD]
    assert (overhead.value, overhead.dispersion, overhead.n) == (0.0048, 0.0003, 3)
    assert overhead.evidence is Evidence.MEASURED
    assert points[FT1].state_bytes == 204_700_000
    assert points[FT1].batch_per_rank == 32
    endless = points["matilda-8xv100/a2/ft9/resnet50"].values[Quantity.EFFECTIVE_RESTORE]
    assert (endless.value, endless.missing_reason) == (None, MissingReason.INFINITE)
    assert evidence.compatibility["a6", "ft2"].status is PairStatus.INFEASIBLE
    assert "full_rank_group" in evidence.architectures["a2"].capabilities
    assert evidence.cluster.device_memory_bytes == 16_000_000_000
    assert {calibration.quantity for calibration in evidence.calibrations} == {
        "duration_s",
        "bandwidth_bytes_per_s",
    }


def test_both_databases_give_the_same_evidence(
    sqlite_file: Any, postgres_templates: dict[str, str]
) -> None:
    found = []
    for url in (str(sqlite_file), postgres_templates["shipped"]):
        engine = open_engine(url)
        with reading(engine) as connection:
            found.append(cluster_evidence(connection, CLUSTER))
        engine.dispose()
    for field in dataclasses.fields(found[0]):
        assert getattr(found[0], field.name) == getattr(found[1], field.name), field.name
    assert evidence_version(found[0]) == evidence_version(found[1])


def test_reading_takes_at_most_twelve_statements(engine: Engine) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    check_schema(engine)
    with reading(engine) as connection:
        cluster_evidence(connection, CLUSTER)
    assert len(statements) <= 12


def test_an_unknown_cluster_lists_those_that_there_are(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match=CLUSTER), reading(engine) as connection:
        cluster_evidence(connection, "moon")


def test_a_database_without_clusters_says_how_to_fill_it(database_url: str) -> None:
    engine = open_engine(database_url)
    with pytest.raises(NotFoundError, match="advisor db load"), reading(engine) as connection:
        cluster_evidence(connection, "moon")
    engine.dispose()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE operating_point_values SET value = 0.5 WHERE value = 0.0048",
        "UPDATE mechanisms SET default_replicas = 3 WHERE mechanism = 'ft6'",
        "UPDATE clusters SET device = 'H100'",
        "DELETE FROM calibrations",
    ],
)
def test_the_data_version_changes_with_the_evidence(engine: Engine, change: str) -> None:
    with reading(engine) as connection:
        before = data_version(connection, CLUSTER)
        assert data_version(connection, CLUSTER) == before
    with writing(engine) as connection:
        connection.exec_driver_sql(change)
    with reading(engine) as connection:
        assert data_version(connection, CLUSTER) != before


def test_what_sources_state_in_their_text(engine: Engine) -> None:
    with reading(engine) as connection:
        reform = text_values(connection)["group_reform_time"]
        assert (reform.low, reform.high, reform.unit) == (2.0, 10.0, "s")
        assert published_counts(connection)
        rows = published_selections(connection)
    assert [row.row_id for row in rows] == [str(number) for number in range(1, 12)]
    assert rows[0].selected_mechanism == "ft4"


def save(engine: Engine, **changes: Any) -> str:
    given: dict[str, Any] = {
        "cluster": CLUSTER,
        "inputs": {"mtbf_s": 14400.0, "lead_s": None},
        "result": {"chosen": FT1, "seconds": 0.1 + 0.2},
        "points": {FT1: {"overhead_fraction": 0.0048}},
        "advisor_version": "0.1.0",
    }
    return save_recommendation(engine, **{**given, **changes})


def test_a_saved_recommendation_is_read_back_digit_for_digit(engine: Engine) -> None:
    saved_id = save(engine, scenario_name="mine", data_version="abc")
    with reading(engine) as connection:
        saved = get_recommendation(connection, saved_id)
    assert saved.inputs == {"mtbf_s": 14400.0, "lead_s": None}
    assert saved.result == {"chosen": FT1, "seconds": 0.1 + 0.2}
    assert saved.points == {FT1: {"overhead_fraction": 0.0048}}
    assert saved.summary.scenario_name == "mine"
    assert (saved.schema_revision, saved.data_version) == (HEAD, "abc")


def test_it_outlives_the_point_that_it_used(engine: Engine) -> None:
    saved_id = save(engine)
    with writing(engine) as connection:
        connection.exec_driver_sql("DELETE FROM operating_point_values")
        connection.exec_driver_sql("DELETE FROM operating_points")
    with reading(engine) as connection:
        assert get_recommendation(connection, saved_id).points[FT1]


def test_the_same_question_twice_is_one_scenario_and_two_answers(engine: Engine) -> None:
    first, second = save(engine), save(engine)
    assert first != second
    with reading(engine) as connection:
        listed = list_recommendations(connection)
        assert len({each.scenario_id for each in listed}) == 1
        assert {each.recommendation_id for each in listed} == {first, second}
        assert len(list_recommendations(connection, limit=1)) == 1


def test_an_answer_with_infinity_is_not_saved(engine: Engine) -> None:
    with pytest.raises(ValueError, match="JSON"):
        save(engine, result={"seconds": float("inf")})
    with pytest.raises(ValueError, match="JSON"):
        save(engine, points={FT1: {"seconds": float("nan")}})
    with reading(engine) as connection:
        assert list_recommendations(connection) == ()


def test_an_unknown_recommendation_lists_the_newest(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="none is saved yet"), reading(engine) as connection:
        get_recommendation(connection, "x")
    saved_id = save(engine)
    with pytest.raises(NotFoundError, match=saved_id), reading(engine) as connection:
        get_recommendation(connection, "x")


def test_the_catalogue_names_every_cluster(engine: Engine) -> None:
    with reading(engine) as connection:
        assert CLUSTER in cluster_names(connection)
