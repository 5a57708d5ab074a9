"""`advisor exposure`: the paper's Table V, and the same of measured runs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from advisor.cli import run
from tests.db import run_records


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(["exposure", *arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def learning(seed: int, slope: float, trace: str | None) -> dict[str, Any]:
    """A run of A6 whose loss goes down by `slope` a second for 40 s from the start of training."""
    after_rate = None if trace is None else 12.0
    made = run_records.record("a6", trace, seed=seed, rate=10.0, after_rate=after_rate)
    began_s = made["training_started_s"]
    times = [0.1 * (n + 1) for n in range(400)]
    made["series"] = {
        "t_s": [began_s + t for t in times],
        "step": list(range(400)),
        "step_s": [0.1] * 400,
        "loss": [9.0 - slope * t for t in times],
        "samples_per_s": [80.0] * 400,
    }
    for fault in made["faults"]:
        fault["at_s"] = began_s + 10.0
    return made


@pytest.fixture
def measured(tmp_path: Path, shipped_database: Path) -> str:
    """A copy of the shipped database with runs of A2, and of A6 with and without a fault."""
    url = str(tmp_path / "advisor.db")
    Path(url).write_bytes(shipped_database.read_bytes())
    run_records.write(
        tmp_path / "runs",
        *(run_records.record(seed=seed, rate=39.0 + seed) for seed in range(3)),
        *(learning(seed, 0.10 + 0.001 * seed, "F1") for seed in range(3)),
        *(learning(seed, 0.10 + 0.002 * seed, None) for seed in range(3)),
    )
    assert run(["ingest", str(tmp_path / "runs"), "--db", url]) == 0
    return url


def test_the_papers_table_v(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = asked(capsys, "--db", str(shipped_database), "--format", "csv")
    rows = {row["architecture"]: row for row in csv.DictReader(io.StringIO(out))}
    assert len(rows) == 8
    assert {name for name, row in rows.items() if row["halts"] == "False"} == {"a1-async", "a6"}
    assert float(rows["a2"]["throughput"]) == 284.9
    assert float(rows["a2"]["detection"]) == 601.7
    assert float(rows["a1-async"]["aggregate_slowdown"]) == 0.1365
    text = asked(capsys, "--db", str(shipped_database))
    assert "284.9 ± 0.1" in text
    assert "after the fault the loss" not in text  # the paper publishes no series


def test_measured_runs_and_what_they_learn(
    measured: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = asked(capsys, "--db", measured, "--cluster", run_records.CLUSTER)
    assert "A2 " in text
    assert "A6 on resnet50-cpu: in the 30 s after the fault the loss went down by" in text
    assert "no detectable difference (Welch, p = " in text
    document = json.loads(
        asked(capsys, "--db", measured, "--cluster", run_records.CLUSTER, "--format", "json")
    )
    (found,) = document["learning"]
    assert found["learning"]["with_fault"]["n"] == 3
    assert found["learning"]["with_fault"]["value"] == pytest.approx(0.101 * 30, rel=0.01)
    assert not found["differs"]
    halts = {row["architecture"]: row["halts"] for row in document["exposures"] if row["trace"]}
    assert halts == {"a2": True, "a6": False}


def test_pooled_points_without_their_runs_are_still_measured(
    measured: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], shipped_database: Path
) -> None:
    bundle, other = str(tmp_path / "bundle.json"), tmp_path / "other.db"
    other.write_bytes(shipped_database.read_bytes())
    exported = ["db", "export", "--cluster", run_records.CLUSTER, "--db", measured, "-o", bundle]
    assert run(exported) == 0
    assert run(["db", "load", bundle, "--db", str(other)]) == 0
    text = asked(capsys, "--db", str(other), "--cluster", run_records.CLUSTER)
    assert "(its runs are not here)" in text
    assert "not published" not in text
    assert "10.25" in text  # until the last rank knew
    assert "detector group-timeout" in text or "detector supervisor" in text


def test_a_cluster_that_is_not_there(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["exposure", "--cluster", "nosuch", "--db", str(shipped_database)]) == 2
    assert "matilda-8xv100" in capsys.readouterr().err


def under(software: str, made: dict[str, Any]) -> dict[str, Any]:
    """The run, later and with another torch."""
    made["environment"]["torch"] = software
    made["run_id"] += f"-{software}"
    made["started_at"] = made["started_at"].replace("T22:", "T23:")
    return made


def test_runs_of_two_software_stacks_are_not_set_against_each_other(
    measured: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows() -> list[dict[str, Any]]:
        asked_for = ("--db", measured, "--cluster", run_records.CLUSTER, "--format", "json")
        found: list[dict[str, Any]] = json.loads(asked(capsys, *asked_for))["learning"]
        return found

    def ingest(folder: str, trace: str | None) -> None:
        newer = (under("2.14.0+cpu", learning(seed, 0.3, trace)) for seed in range(3))
        run_records.write(tmp_path / folder, *newer)
        assert run(["ingest", str(tmp_path / folder), "--db", measured]) == 0

    before = rows()
    ingest("faulted", "F1")
    assert rows() == before
    ingest("calm", None)
    old, new = rows()
    assert [old] == before
    assert (old["software_stack"], new["software_stack"]) == (
        f"{run_records.CLUSTER}/torch-2.13.0+cpu",
        f"{run_records.CLUSTER}/torch-2.14.0+cpu",
    )
    assert new["learning"]["with_fault"]["value"] == pytest.approx(0.3 * 30, rel=0.01)
    text = asked(capsys, "--db", measured, "--cluster", run_records.CLUSTER)
    assert f"A6 on resnet50-cpu under {new['software_stack']}: in the" in text
