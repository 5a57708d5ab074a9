"""What is in the tables goes down and up the revisions unharmed, and alike on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.errors import DatabaseError
from db.harvest import harvest
from db.ingest import ingest
from db.load import load
from db.migrate import check, downgrade, upgrade
from db.models import Base
from db.schema import HEAD, REVISIONS
from db.session import open_engine, writing
from tests.db import calibration_records, run_records
from tests.db.calibration_records import write as write_calibration
from tests.db.databases import BOTH
from tests.db.good_rows import GOOD
from tests.db.postgres import PostgresServer
from tests.db.test_calibration_store import store as store_calibration
from tests.migrations.row_hashes import columns_of, row_hashes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

_SHIPPED_KEYS = ("published_counts", "published_selections", "text_values")
"""Tables that the shipped data fills with names that are also those of the rows for tests."""


def fill(url: str, folder: Path) -> None:
    """The shipped data, runs with their points, a calibration, and a made-up row in each table."""
    load(url)
    made = [
        *(run_records.record(seed=seed, rate=39.0 + seed / 3.0) for seed in range(3)),
        *(run_records.mechanism_record(seed=seed, trace=None) for seed in range(2)),
        run_records.mechanism_record("ft4"),
        run_records.infeasible(),
    ]
    run_records.write(folder / "runs", *made)
    store_calibration(url, write_calibration(folder, calibration_records.record()))
    engine = open_engine(url)
    assert ingest(engine, folder / "runs").refused == ()
    harvest(engine, "mybox")
    with writing(engine) as connection:
        for name, row in GOOD.items():
            if name not in _SHIPPED_KEYS:
                connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()


@pytest.fixture
def both(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """The same rows in an empty database of each kind, upgraded from nothing."""
    urls = {"sqlite": str(tmp_path / "advisor.db"), "postgresql": postgres_server.create_database()}
    for kind, url in urls.items():
        upgrade(url)
        fill(url, tmp_path / kind)
    yield urls
    postgres_server.drop_database(urls["postgresql"])


def test_the_shipped_data_is_the_same_after_a_fresh_upgrade(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    urls = [str(tmp_path / "advisor.db"), postgres_server.create_database()]
    for url in urls:
        upgrade(url)
        load(url)
    first, second = map(row_hashes, urls)
    assert first == second
    assert set(first) == set(Base.metadata.tables)
    postgres_server.drop_database(urls[1])


def test_down_and_up_step_by_step(both: dict[str, str]) -> None:
    """At each revision both databases hold the same; a step up keeps all that was there, and a step
    down again leaves it as it was."""
    for older, newer in zip(REVISIONS[-2::-1], REVISIONS[:0:-1], strict=True):
        seen = []
        for kind in BOTH:
            url = both[kind]
            downgrade(url, older)
            columns, before = columns_of(url), row_hashes(url)
            upgrade(url, newer)
            assert row_hashes(url, columns) == before, (kind, newer)
            downgrade(url, older)
            assert row_hashes(url) == before, (kind, older)
            seen.append((columns, before))
        assert seen[0] == seen[1], older
    for kind in BOTH:
        url = both[kind]
        columns, oldest = columns_of(url), row_hashes(url)
        upgrade(url)
        assert row_hashes(url, columns) == oldest, kind
        assert check(url).problems == ()
    assert row_hashes(both["sqlite"]) == row_hashes(both["postgresql"])


def test_a_step_that_adds_an_index_only_loses_nothing(both: dict[str, str]) -> None:
    for kind in BOTH:
        url = both[kind]
        downgrade(url, "0009")
        before = row_hashes(url)
        downgrade(url, "0008")
        assert row_hashes(url) == before
        upgrade(url)
        downgrade(url, "0009")
        assert row_hashes(url) == before
    with pytest.raises(DatabaseError, match="no revision"):
        downgrade(both["sqlite"], f"{HEAD}x")
