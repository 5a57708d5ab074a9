"""What the views make of rows that the shipped data has not got."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from db.models import Base
from db.session import open_engine, writing
from tests.db.good_rows import GOOD


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """One good row in every table."""
    engine = open_engine(database_url)
    with writing(engine) as opened:
        for table in GOOD:
            add(opened, table)
        yield opened
    engine.dispose()


def add(connection: Connection, table: str, **changes: Any) -> None:
    connection.execute(insert(Base.metadata.tables[table]), {**GOOD[table], **changes})


def rows(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(statement).all()]


def add_point(
    connection: Connection, name: str, overhead: float, restore_s: float, **changes: Any
) -> None:
    add(connection, "operating_points", **{"point_id": name, **changes})
    for quantity, value in (("overhead_fraction", overhead), ("effective_restore_s", restore_s)):
        add(connection, "operating_point_values", point_id=name, quantity=quantity, value=value)


FRONTIER = "SELECT point_id, is_dominated, dominated_by FROM frontier_view ORDER BY point_id"


def test_equal_points_do_not_dominate_each_other(connection: Connection) -> None:
    add_point(connection, "a", 0.01, 1.0)
    add_point(connection, "b", 0.01, 1.0)
    add_point(connection, "c", 0.01, 2.0)
    assert rows(connection, FRONTIER) == [("a", 0, None), ("b", 0, None), ("c", 1, "a")]


def test_who_dominates_is_on_the_frontier_itself(connection: Connection) -> None:
    add_point(connection, "z", 0.01, 1.0)
    add_point(connection, "m", 0.02, 2.0)
    add_point(connection, "a", 0.03, 3.0)
    assert rows(connection, FRONTIER) == [("a", 1, "z"), ("m", 1, "z"), ("z", 0, None)]


def test_only_like_is_compared_with_like(connection: Connection) -> None:
    add(connection, "mechanisms", mechanism="none", cadence="never")
    add(connection, "mechanisms", mechanism="later", cadence="after_failure")
    add_point(connection, "a", 0.01, 1.0)
    add_point(connection, "larger", 0.5, 9.0, state_bytes=10**9)
    add_point(connection, "halted", 0.0, 0.0, outcome="deadlock")
    add_point(connection, "baseline", 0.0, 0.0, mechanism="none")
    add_point(connection, "elastic", 0.0, 0.0, mechanism="later")
    assert rows(connection, FRONTIER) == [("a", 0, None), ("larger", 0, None)]


def test_a_point_without_values_is_in_the_wide_view(connection: Connection) -> None:
    add(connection, "operating_points", point_id="bare")
    statement = "SELECT overhead_fraction, step_time_s FROM operating_point_view"
    assert rows(connection, f"{statement} WHERE point_id = 'bare'") == [(None, None)]


@pytest.mark.parametrize(("evidence", "step_time_s"), [("measured", 0.25), ("derived", None)])
def test_step_time_needs_a_measured_throughput(
    connection: Connection, evidence: str, step_time_s: float | None
) -> None:
    quantity = "samples_per_s_per_rank"
    add(connection, "operating_point_values", quantity=quantity, value=128.0, evidence=evidence)
    assert rows(connection, "SELECT step_time_s FROM operating_point_view") == [(step_time_s,)]


def test_detection_of_runs_says_what_is_censored(connection: Connection) -> None:
    add(
        connection,
        "fault_events",
        ordinal=1,
        detected_s=600.0,
        detection_censored=1,
        outcome="halted",
    )
    unfired = {"fired": 0, "detected_s": None, "first_detected_s": None, "outcome": "not_fired"}
    add(connection, "fault_events", ordinal=2, **unfired)
    statement = "SELECT origin, detection_s, censored FROM detection_view ORDER BY detection_s"
    assert rows(connection, statement) == [("run", 0.25, 0), ("run", 600.0, 1)]


def test_recovery_of_a_run_is_the_sum_of_its_phases(connection: Connection) -> None:
    add(connection, "recovery_phases", ordinal=1, phase="restore", duration_s=1.5)
    statement = "SELECT recovery_s, run_id, fault_outcome FROM recovery_view"
    assert rows(connection, statement) == [(1.75, "first/1", "recovered")]


def test_detection_of_a_run_says_who_detected_and_when_it_was_to_give_up(
    connection: Connection,
) -> None:
    statement = "SELECT group_timeout_s, conditions FROM detection_view"
    assert rows(connection, statement) == [(10.0, "crash, detector group-timeout")]
    connection.exec_driver_sql("UPDATE runs SET detector = NULL")
    assert rows(connection, "SELECT conditions FROM detection_view") == [("crash",)]


def test_exposure_is_what_happens_without_a_mechanism(connection: Connection) -> None:
    """Halting is told by the runs that resumed; the backend by the runs behind the point."""
    connection.exec_driver_sql("UPDATE mechanisms SET cadence = 'never'")
    connection.exec_driver_sql("UPDATE runs SET point_id = 'tiny/ring/disk'")
    statement = (
        "SELECT point_id, backend, detector, n, samples_per_s_per_rank, halts, "
        "post_failure_samples_per_s_per_rank FROM exposure_view"
    )
    assert rows(connection, statement) == []
    for quantity, value in (
        ("post_failure_samples_per_s_per_rank", 0.0),
        ("samples_per_s_per_rank", 40.0),
        ("resumed_fraction", 0.0),
    ):
        add(connection, "operating_point_values", quantity=quantity, value=value)
    assert rows(connection, statement) == [
        ("tiny/ring/disk", "gloo", "group-timeout", 3, 40.0, 1, 0.0)
    ]
    connection.exec_driver_sql("UPDATE mechanisms SET cadence = 'periodic'")
    assert rows(connection, statement) == []


def test_invalid_runs_are_no_evidence(connection: Connection) -> None:
    connection.exec_driver_sql("UPDATE runs SET validity = 'invalid', validity_reason = 'noise'")
    assert rows(connection, "SELECT * FROM detection_view") == []
    assert rows(connection, "SELECT * FROM recovery_view") == []


@pytest.mark.parametrize(
    ("quantity", "value", "evidence", "coverage"),
    [
        ("resumed_fraction", 0.4, "measured", "observed"),
        ("resumed_fraction", 0.0, "measured", "analytical"),
        ("resumed_fraction", 1.0, "analytical", "analytical"),
        ("overhead_fraction", 0.4, "measured", "analytical"),
    ],
)
def test_coverage_is_observed_where_a_run_resumed(
    connection: Connection, quantity: str, value: float, evidence: str, coverage: str
) -> None:
    connection.exec_driver_sql(
        f"UPDATE operating_point_values SET quantity = '{quantity}', value = {value},"
        f" evidence = '{evidence}'"
    )
    assert rows(connection, "SELECT points, coverage FROM coverage_view") == [(1, coverage)]


def test_coverage_is_missing_without_a_number(connection: Connection) -> None:
    connection.exec_driver_sql(
        "UPDATE operating_point_values SET value = NULL, missing_reason = 'failed',"
        " dispersion = NULL, dispersion_kind = NULL"
    )
    assert rows(connection, "SELECT points, coverage FROM coverage_view") == [(1, "missing")]
    connection.exec_driver_sql("DELETE FROM operating_point_values")
    connection.exec_driver_sql("DELETE FROM operating_points")
    assert rows(connection, "SELECT points, coverage FROM coverage_view") == [(0, "missing")]


def test_every_number_has_its_citation(connection: Connection) -> None:
    statement = "SELECT owner, value, citation, run_id FROM evidence_view ORDER BY owner"
    citation = "A made-up source for tests"
    assert rows(connection, statement) == [
        ("calibration", 0.3402, citation, None),
        ("operating_point", 0.0048, None, "first/1"),
        ("text", None, citation, None),
    ]
