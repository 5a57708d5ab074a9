"""`advisor ingest`, and what the other commands say of a cluster that has measured runs only."""

import json
from pathlib import Path

import pytest

from tests.advisor.conftest import Advisor
from tests.db import run_records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six runs: A2 halts, A6 goes on."""
    path = tmp_path / "runs"
    run_records.write(
        path,
        *(run_records.record(seed=seed, rate=39.0 + seed) for seed in range(3)),
        *(run_records.record("a6", seed=s, rate=10.0, after_rate=12.0 + s) for s in range(3)),
    )
    return path


def test_new_then_known(advisor: Advisor, folder: Path) -> None:
    assert advisor("ingest", str(folder)) == (
        0,
        "runs: 6 new, 0 already there\nmybox: 2 operating points, 2 added, 0 updated\n",
        "",
    )
    assert advisor("ingest", str(folder)) == (
        0,
        "runs: 0 new, 6 already there\nmybox: 2 operating points, 0 added, 0 updated\n",
        "",
    )


def test_a_refused_record_is_named_and_the_exit_code_is_2(advisor: Advisor, folder: Path) -> None:
    (bad,) = run_records.write(folder, run_records.record(seed=9, wall_s=-1))
    code, out, err = advisor("ingest", str(folder), "--format", "json")
    document = json.loads(out)
    assert (code, len(document["new"]), document["known"]) == (2, 6, [])
    assert document["refused"][0].startswith(f"{bad}: wall_s: ")
    assert document["clusters"] == [
        {
            "cluster": "mybox",
            "points": 2,
            "added": 2,
            "updated": 0,
            "kept": 0,
            "superseded": [],
            "contradicted": [],
        }
    ]
    assert err.splitlines() == [
        f"refused: {document['refused'][0]}",
        "advisor: 1 of 7 records refused: see above",
    ]


def test_a_place_without_records(advisor: Advisor, tmp_path: Path) -> None:
    code, out, err = advisor("ingest", str(tmp_path / "nothing"))
    assert (code, out) == (2, "")
    assert err == f"advisor: {tmp_path / 'nothing'} is neither a record nor a folder\n"


def test_a_measured_cluster_is_one_like_the_others(
    advisor: Advisor, folder: Path, tmp_path: Path
) -> None:
    advisor("ingest", str(folder))
    assert "mybox" in advisor("clusters")[1]
    coverage = (
        "SELECT architecture, coverage FROM coverage_view WHERE cluster = 'mybox' AND points > 0"
    )
    code, out, _ = advisor("sql", coverage, "--format", "csv")
    assert (code, out) == (0, "architecture,coverage\na2,analytical\na6,observed\n")
    bundle = str(tmp_path / "mybox.json")
    assert advisor("db", "export", "--cluster", "mybox", "-o", bundle)[0] == 0
    assert advisor("db", "load", bundle)[1].endswith("all known\n")
    assert advisor("db", "load", bundle, "--db", str(tmp_path / "other.db"))[0] == 0
    assert advisor("db", "check")[0] == 0


_ASK = ("recommend", "--cluster", "mybox", "--state-size", "2MB", "--mtbf", "4h")


def test_advice_without_a_measured_mechanism_says_that_there_is_no_data(
    advisor: Advisor, folder: Path
) -> None:
    advisor("ingest", str(folder))
    code, out, _ = advisor(*_ASK, "--architecture", "a2", "--detection", "10s", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["selected"]) == (0, None)
    reasons = {each["mechanism"]: each["reason"] for each in answer["excluded"]}
    assert reasons["ft1"].startswith("no data: mybox has no overhead and restore of FT1")
    assert reasons["ft9"].startswith("A2 halts when a worker is lost")
    assert answer["scenario"]["step_time_s"] == pytest.approx(8 / 40.0)


def test_an_architecture_that_goes_on_does_so_here_too(advisor: Advisor, folder: Path) -> None:
    advisor("ingest", str(folder))
    code, out, _ = advisor(*_ASK, "--architecture", "a6", "--detection", "1s", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["selected"]["mechanism"]) == (0, "ft9")
    assert answer["selected"]["native"]["slowdown"] == pytest.approx(1 - 13 * 7 / 80)


def test_what_is_not_measured_is_asked_for(advisor: Advisor, folder: Path) -> None:
    advisor("ingest", str(folder))
    code, out, err = advisor(*_ASK, "--architecture", "a3")
    assert (code, out) == (2, "")
    assert err == "advisor: cluster mybox has no measurement of a3: it has a2, a6\n"


def test_older_software_that_is_measured_again_is_said(advisor: Advisor, tmp_path: Path) -> None:
    made = (
        run_records.record(),
        run_records.record(seed=5, environment__torch="2.14.0+cpu"),
        run_records.record(seed=9),
    )
    for number, each in enumerate(made):
        run_records.write(tmp_path / str(number), each)
    said = [advisor("ingest", str(tmp_path / str(number)))[1] for number in range(3)]
    old = "mybox/torch-2.13.0+cpu"
    assert f"{old} is superseded by" in said[1]
    assert "--undo" not in said[0] + said[1]
    assert f"`advisor db supersede --undo {old}` lets them count" in said[2]
