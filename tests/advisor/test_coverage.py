"""Coverage: 189 tuples of the paper's grid, each in exactly one state, with its reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from advisor import cli
from advisor.coverage import (
    ARCHITECTURES,
    MECHANISMS,
    TRACES,
    Coverage,
    CoveredTuple,
    TupleState,
    coverage,
    covered,
)
from db.coverage_queries import RunCount, _carried
from db.errors import NotFoundError
from db.export import export
from db.files import write_bundle
from db.harvest import harvest
from db.ingest import ingest
from db.load import load
from db.records import PairStatus
from db.session import open_engine, reading
from tests.db import run_records

INFEASIBLE = {("a6", "ft2"), ("a6", "ft5"), ("a6", "ft6")}
DEGENERATE = {("a4", "ft7"), ("a5", "ft7"), ("a7", "ft7")}


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    path.write_bytes(shipped_database.read_bytes())
    return path


@pytest.fixture
def engine(database: Path) -> Iterator[Engine]:
    made = open_engine(str(database))
    yield made
    made.dispose()


def take(engine: Engine, folder: Path, *records: dict[str, Any]) -> None:
    run_records.write(folder, *records)
    assert ingest(engine, folder).refused == ()


def of(engine: Engine, cluster: str | None = None) -> Coverage:
    with reading(engine) as connection:
        return coverage(connection, cluster)


def one(found: Coverage, architecture: str, mechanism: str, trace: str = "F1") -> CoveredTuple:
    (only,) = [t for t in found.of_pair(architecture, mechanism) if t.trace == trace]
    return only


def every_run() -> Iterator[dict[str, Any]]:
    """One run of each tuple that is no other mechanism's under its own name."""
    for architecture in (name for names in ARCHITECTURES.values() for name in names):
        for mechanism in MECHANISMS:
            for trace in TRACES:
                if (architecture, mechanism) in INFEASIBLE:
                    yield run_records.infeasible(architecture, mechanism, trace)
                elif (architecture, mechanism) not in DEGENERATE:
                    yield run_records.mechanism_record(mechanism, architecture, trace)


def test_runs_of_everything_leave_nothing_analytical(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", *every_run())
    found = of(engine, "mybox")
    assert found.counts == {
        TupleState.OBSERVED: 171,
        TupleState.ANALYTICAL: 0,
        TupleState.INFEASIBLE: 9,
        TupleState.DEGENERATE: 9,
        TupleState.MISSING: 0,
    }
    assert one(found, "a1", "ft1").outcomes == {"recovered": 2}
    assert one(found, "a6", "ft2").reason == "tried: no group of all ranks to replicate over"
    assert [pair.observed for pair in found.pairs].count(3) == 57


def test_the_paper_has_numbers_and_no_runs(engine: Engine) -> None:
    counts = of(engine, "matilda-8xv100").counts
    assert counts[TupleState.OBSERVED] == 0
    assert 0 < counts[TupleState.ANALYTICAL] <= 171
    assert (counts[TupleState.INFEASIBLE], counts[TupleState.DEGENERATE]) == (9, 9)
    assert sum(counts.values()) == 189


@pytest.mark.parametrize("variant", ["a1-sync", "a1-async"])
def test_either_kind_of_parameter_server_counts(
    engine: Engine, tmp_path: Path, variant: str
) -> None:
    take(engine, tmp_path / "runs", run_records.mechanism_record(architecture=variant))
    assert one(of(engine), "a1", "ft1").state is TupleState.OBSERVED


def test_what_is_no_observation(engine: Engine, tmp_path: Path) -> None:
    """An invalid run, one without a fault, another trace, and one that could not be."""
    take(
        engine,
        tmp_path / "runs",
        run_records.invalid(run_records.mechanism_record(architecture="a3")),
        run_records.mechanism_record(architecture="a3", trace=None),
        run_records.mechanism_record(architecture="a3", trace="F2-adjacent"),
        run_records.infeasible("a4", "ft1"),
    )
    found = of(engine, "mybox")
    assert found.counts[TupleState.OBSERVED] == 0
    assert one(found, "a3", "ft1").reason == "no run, and no published number"
    tried = one(found, "a4", "ft1")
    assert (tried.state, tried.runs) == (TupleState.MISSING, 1)
    assert tried.reason == "tried, and infeasible here: no group of all ranks to replicate over"


def test_a_cluster_sees_its_own_runs_only(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", run_records.mechanism_record())
    assert one(of(engine, "mybox"), "a2", "ft1").state is TupleState.OBSERVED
    assert one(of(engine, "matilda-8xv100"), "a2", "ft1").state is TupleState.ANALYTICAL
    with pytest.raises(NotFoundError, match=r"no cluster 'nowhere' in the database; .*mybox"):
        of(engine, "nowhere")


def test_a_bundle_brings_what_its_runs_showed_without_the_runs(
    engine: Engine, shipped_database: Path, tmp_path: Path
) -> None:
    take(
        engine,
        tmp_path / "runs",
        *(run_records.mechanism_record(seed=seed) for seed in range(2)),
        run_records.mechanism_record("ft9", trace="F2"),
        run_records.mechanism_record(architecture="a3", trace=None),
    )
    harvest(engine, "mybox")
    here = of(engine, "mybox")
    write_bundle(export(str(tmp_path / "advisor.db"), "mybox"), tmp_path / "mybox.json")
    elsewhere = tmp_path / "elsewhere.db"
    elsewhere.write_bytes(shipped_database.read_bytes())
    load(str(elsewhere), tmp_path / "mybox.json")
    other = open_engine(str(elsewhere))
    there = of(other, "mybox")
    other.dispose()
    assert there.counts == here.counts
    assert [t.runs for t in there.tuples] == [t.runs for t in here.tuples]
    assert one(here, "a2", "ft1").outcomes == {"recovered": 2}
    assert one(there, "a2", "ft1").outcomes == {"resumed": 2}
    assert sum(one(there, "a2", "ft9", "F2").outcomes.values()) == 1
    assert there.counts[TupleState.OBSERVED] == 2


@pytest.mark.parametrize(
    ("fraction", "n", "outcomes"),
    [
        (1.0, 3, {"resumed": 3}),
        (2 / 3, 3, {"resumed": 2, "not resumed": 1}),
        (0.0, 1, {"not resumed": 1}),
        (None, 2, {"deadlock": 2}),
    ],
)
def test_how_the_runs_behind_a_point_ended(
    fraction: float | None, n: int, outcomes: dict[str, int]
) -> None:
    counts = _carried("a2", "ft1", "F1", "deadlock", fraction, n)
    assert {count.outcome: count.runs for count in counts} == outcomes


def test_a_halt_is_an_observation_too() -> None:
    counts = [
        RunCount("a2", "ft1", "F2", "halted", 2, ""),
        RunCount("a2", "ft1", "F2", "infeasible", 1, "too large"),
    ]
    found = covered(counts, frozenset(), {("a2", "ft1"): (PairStatus.VIABLE, "")})
    halted = one(found, "a2", "ft1", "F2")
    assert (halted.state, halted.runs) == (TupleState.OBSERVED, 3)
    assert halted.outcomes == {"halted": 2, "infeasible": 1}


def test_as_a_table_and_as_json(
    database: Path, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take(engine, tmp_path / "runs", run_records.mechanism_record(), run_records.infeasible())
    assert cli.run(["coverage", "--cluster", "mybox", "--db", str(database)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "1 observed, 0 analytical, 9 infeasible, 9 degenerate, 170 missing of 189 tuples, on mybox"
    )
    row = next(line for line in out.splitlines() if line.startswith("A2"))
    assert row.split() == ["A2", "o--", *(["---"] * 8)]
    assert "A6 with FT2: infeasible: tried: no group of all ranks" in out
    assert (
        cli.run(["coverage", "--cluster", "mybox", "--format", "json", "--db", str(database)]) == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert (document["observed"], len(document["tuples"]), len(document["pairs"])) == (1, 189, 63)
    pair = next(
        p for p in document["pairs"] if (p["architecture"], p["mechanism"]) == ("a2", "ft1")
    )
    assert (pair["status"], pair["observed"]) == ("viable", 1)
    assert cli.run(["coverage", "--cluster", "no", "--db", str(database)]) == 2
    assert "no cluster 'no' in the database" in capsys.readouterr().err
