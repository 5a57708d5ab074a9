"""A real campaign into PostgreSQL, whose server is stopped and started while it measures."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from db.load import load
from db.migrate import check, upgrade
from tests.db.postgres import PostgresServer
from tests.integration.campaigns import DEADLINE_S, SMALL, started
from tests.measure.harness import wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

_CELLS = """
SELECT COUNT(*) FILTER (WHERE c.status = 'complete'), COUNT(*), COUNT(r.run_id), MAX(c.attempts)
FROM campaign_cells c
LEFT JOIN runs r ON r.run_id = c.run_id AND r.validity = 'valid'
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name, 60.0) == []


def cells(url: str) -> tuple[int, ...]:
    """Complete ones, all, those with a valid run, and how often any was begun."""
    with psycopg.connect(url) as connection:
        row = connection.execute(_CELLS).fetchone()
    assert row is not None
    return tuple(int(number or 0) for number in row)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_campaign_outlasts_its_server(
    own_postgres: PostgresServer, mark: str, tmp_path: Path, mode: str
) -> None:
    url = own_postgres.create_database()
    upgrade(url)
    load(url)
    given = ["measure", *SMALL, "--seeds", "3", "--db", url, "--folder", str(tmp_path / "runs")]
    process = started(mark, given)
    deadline = time.monotonic() + DEADLINE_S
    while cells(url)[0] < 1:
        assert process.poll() is None, "it ended before its server did"
        assert time.monotonic() < deadline, "no cell came to its end"
        time.sleep(0.1)
    own_postgres.stop(mode)
    time.sleep(2.0)
    own_postgres.start()
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    assert cells(url) == (6, 6, 6, 1)
    assert check(url).problems == ()
