"""Failure estimates under names, on both databases."""

from typing import Any

import pytest

from db.errors import NameTakenError, NotFoundError
from db.failure_store import failure_estimate, failure_estimate_names, store_failure_estimate
from db.records import FailureScope
from db.session import open_engine, reading
from tests.db.good_rows import GOOD

ROW: dict[str, Any] = {k: v for k, v in GOOD["failure_estimates"].items() if k != "created_at"}


def test_an_estimate_comes_back(database_url: str) -> None:
    engine = open_engine(database_url)
    store_failure_estimate(engine, ROW)
    nothing = {"failures": 0, "mtbf_s": None, "high_s": None, "nodes": None, "scope": "node"}
    store_failure_estimate(engine, {**ROW, **nothing, "name": "quiet"})
    with reading(engine) as connection:
        found = failure_estimate(connection, "mine")
        quiet = failure_estimate(connection, "quiet")
        assert sorted(failure_estimate_names(connection)) == ["mine", "quiet"]
    engine.dispose()
    assert (found.scope, found.mtbf_s, found.failures) == (FailureScope.JOB, 720000.0, 5)
    assert (quiet.scope, quiet.mtbf_s, quiet.nodes) == (FailureScope.NODE, None, None)


def test_a_name_keeps_its_meaning(database_url: str) -> None:
    engine = open_engine(database_url)
    store_failure_estimate(engine, ROW)
    with pytest.raises(NameTakenError, match="mine"):
        store_failure_estimate(engine, {**ROW, "failures": 6})
    with reading(engine) as connection:
        assert failure_estimate(connection, "mine").failures == 5
    engine.dispose()


def test_a_name_that_is_not_there(database_url: str) -> None:
    engine = open_engine(database_url)
    with reading(engine) as connection, pytest.raises(NotFoundError, match="none is saved"):
        failure_estimate(connection, "mine")
    store_failure_estimate(engine, ROW)
    with reading(engine) as connection, pytest.raises(NotFoundError, match="newest are mine"):
        failure_estimate(connection, "yours")
    engine.dispose()
