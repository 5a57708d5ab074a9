"""The summary of a campaign: valid runs only in the means, every run in the counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.campaign_summary import TupleSummary, summarise
from db.ingest import ingest
from db.records import RunQuantity
from db.run_queries import list_runs
from db.session import open_engine, reading
from tests.db import run_records


@pytest.fixture
def tuples(shipped_database: Path, tmp_path: Path) -> Iterator[list[TupleSummary]]:
    database = tmp_path / "advisor.db"
    database.write_bytes(shipped_database.read_bytes())
    run_records.write(
        tmp_path / "runs",
        *(run_records.record(seed=seed, rate=40.0 + seed) for seed in range(2)),
        run_records.invalid(run_records.record(seed=2, rate=1.0)),
        run_records.record("a3", detected_s=120.0, censored=True, outcome="hang"),
        run_records.record(trace=None),
    )
    engine = open_engine(str(database))
    ingest(engine, tmp_path / "runs")
    with reading(engine) as connection:
        yield summarise(list_runs(connection))
    engine.dispose()


def test_cells_in_order(tuples: list[TupleSummary]) -> None:
    calm, halted, hung = tuples
    assert [(c.architecture, c.trace) for c in tuples] == [("a2", None), ("a2", "F1"), ("a3", "F1")]
    assert calm.means[RunQuantity.DETECTION] is None
    assert (halted.runs, halted.valid, halted.outcomes) == (3, 2, {"halted": 2, "invalid": 1})
    throughput = halted.means[RunQuantity.THROUGHPUT]
    assert throughput is not None
    assert (throughput.value, throughput.n) == (40.5, 2)
    assert (hung.censored, hung.means[RunQuantity.DETECTION]) == (1, None)


def test_a_recovery_is_a_median_of_the_runs_that_were_brought_back(
    shipped_database: Path, tmp_path: Path
) -> None:
    database = tmp_path / "advisor.db"
    database.write_bytes(shipped_database.read_bytes())
    run_records.write(
        tmp_path / "runs",
        *(
            run_records.mechanism_record(seed=seed, restore_s=restore_s)
            for seed, restore_s in enumerate((0.25, 0.75, 8.0))
        ),
        run_records.invalid(run_records.mechanism_record(seed=3, restore_s=0.0)),
    )
    engine = open_engine(str(database))
    assert ingest(engine, tmp_path / "runs").refused == ()
    with reading(engine) as connection:
        (found,) = summarise(list_runs(connection))
    engine.dispose()
    assert (found.way, found.recovery_s, found.recovered, found.valid) == ("spare", 2.25, 3, 3)
    assert found.infeasible_reason is None


def test_as_json(tuples: list[TupleSummary]) -> None:
    document = tuples[2].as_json()
    assert document["detection_s"] is None
    assert document["censored"] == 1
    assert document["post_failure_samples_per_s_per_rank"] == {
        "mean": 0.0,
        "n": 1,
        "ci95_half_width": None,
    }


def test_runs_at_several_intervals_are_not_pooled(shipped_database: Path, tmp_path: Path) -> None:
    database = tmp_path / "advisor.db"
    database.write_bytes(shipped_database.read_bytes())
    for steps in (10, 50):
        for seed in (0, 1):
            made = run_records.mechanism_record(seed=seed, trace=None, cell__interval_steps=steps)
            run_id = f"{run_records.CAMPAIGN}/a2-ft1-none-{steps}-s{seed}"
            run_records.write(tmp_path / "runs", {**made, "run_id": run_id})
    engine = open_engine(str(database))
    assert ingest(engine, tmp_path / "runs").refused == ()
    with reading(engine) as connection:
        found = summarise(list_runs(connection))
    engine.dispose()
    assert [(each.parameters, each.runs) for each in found] == [
        ({"interval_steps": 10}, 2),
        ({"interval_steps": 50}, 2),
    ]
