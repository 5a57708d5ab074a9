"""What coverage counts from, on both databases."""

from pathlib import Path

from db.coverage_queries import (
    RunCount,
    carried_counts,
    compatibility,
    published_tuples,
    run_counts,
)
from db.export import export
from db.files import write_bundle
from db.harvest import harvest
from db.ingest import ingest
from db.load import load
from db.records import PairStatus
from db.session import open_engine, reading
from tests.db import run_records


def test_runs_are_counted_by_tuple_and_outcome(shipped_url: str, tmp_path: Path) -> None:
    engine = open_engine(shipped_url)
    run_records.write(
        tmp_path,
        *(run_records.mechanism_record(seed=seed) for seed in range(2)),
        run_records.invalid(run_records.mechanism_record(seed=2)),
        run_records.mechanism_record(trace=None),
        run_records.infeasible(),
    )
    assert ingest(engine, tmp_path).refused == ()
    harvest(engine, "mybox")
    with reading(engine) as connection:
        counts = run_counts(connection, None)
        assert carried_counts(connection, "mybox") == ()
        assert carried_counts(connection, "matilda-8xv100") == ()
        assert run_counts(connection, "mybox") == counts
        assert run_counts(connection, "matilda-8xv100") == ()
        assert published_tuples(connection, "mybox") == frozenset()
        published = published_tuples(connection, None)
        matrix = compatibility(connection)
    engine.dispose()
    assert [(c.architecture, c.mechanism, c.trace, c.outcome, c.runs) for c in counts] == [
        ("a2", "ft1", "F1", "recovered", 2),
        ("a6", "ft2", "F1", "infeasible", 1),
    ]
    assert [c.reason for c in counts] == ["", "no group of all ranks to replicate over"]
    assert ("a2", "ft1", "F1") in published
    assert ("a2", "ft2", "") in published
    assert matrix["a6", "ft2"][0] is PairStatus.INFEASIBLE


def test_points_that_a_bundle_brought_are_counted_and_are_no_publication(
    database_url: str, sqlite_file: Path, tmp_path: Path
) -> None:
    engine = open_engine(str(sqlite_file))
    run_records.write(tmp_path, *(run_records.mechanism_record(seed=seed) for seed in range(2)))
    ingest(engine, tmp_path)
    harvest(engine, "mybox")
    engine.dispose()
    write_bundle(export(str(sqlite_file), "mybox"), tmp_path / "mybox.json")
    load(database_url, tmp_path / "mybox.json")
    engine = open_engine(database_url)
    with reading(engine) as connection:
        assert run_counts(connection, None) == ()
        assert published_tuples(connection, None) == frozenset()
        assert carried_counts(connection, None) == (RunCount("a2", "ft1", "F1", "resumed", 2, ""),)
    engine.dispose()
