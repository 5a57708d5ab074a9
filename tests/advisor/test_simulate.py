"""`advisor simulate`: candidates as processes, and the command in every format."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from advisor import cli
from advisor.scenario import ScenarioInput
from advisor.simulation.candidate import process_of
from advisor.simulation.process import Tier
from advisor.simulation.times import Exponential
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_ASK = "--architecture a2 --state-size 204.7MB --mtbf 2h --detection 30s --duration 2d --most 2048"


def test_a_periodic_candidate_is_a_tier(matilda: ClusterEvidence) -> None:
    found = recommend(
        matilda, ScenarioInput("a2", 204_700_000, 7200.0, detection_s=30.0, init_s=1.0)
    )
    for candidate in found.candidates:
        process = process_of(found.scenario, candidate, Exponential(7200.0))
        assert process is not None
        assert candidate.model is not None
        assert process.tiers == (
            Tier(candidate.interval_s or 0.0, candidate.model.stall_s, candidate.restore_s or 0.0),
        )
        assert (process.detection_s, process.overhead) == (30.0, 0.0)
        assert process.regroup_s == found.scenario.regroup_s + 1.0


def test_a_warned_candidate_always_has_a_state(matilda: ClusterEvidence) -> None:
    asked = ScenarioInput("a2", 204_700_000, 7200.0, warning_lead_s=2.0, mechanisms=("ft4",))
    found = recommend(matilda, asked)
    (candidate,) = found.candidates
    process = process_of(found.scenario, candidate, Exponential(7200.0))
    assert process is not None
    assert process.tiers == (Tier(0.0, 0.0, candidate.restore_s or 0.0),)
    assert process.overhead == candidate.overhead


def test_native_degradation_is_no_process(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, ScenarioInput("a6", 204_700_000, 7200.0))
    assert found.selected is not None
    assert process_of(found.scenario, found.selected, Exponential(7200.0)) is None


def run(options: str, database: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["simulate", *_ASK.split(), *options.split(), "--db", str(database)]) == 0
    return capsys.readouterr().out


def document(options: str, database: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(run(f"{options} --format json", database, capsys))


def test_the_mean_is_the_exact_time(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document("", shipped_database, capsys)
    assert [each["mechanism"] for each in found["candidates"]] == [
        "ft1",
        "ft3",
        "ft2",
        "ft6",
        "ft5",
    ]
    for each in found["candidates"]:
        sigma_s = each["half_width_s"] / 1.96
        assert abs(each["mean_s"] - each["exact_completion_s"]) <= 3.5 * sigma_s
        assert each["p50_s"] < each["p95_s"] < each["p99_s"]
        assert sum(each["spent"].values()) == pytest.approx(each["mean_s"])
        assert each["is_narrow"]
        assert each["replications"] == 2048
    assert found["not_simulated"] == []
    assert (found["arrivals"], found["seed"], found["spares"]) == ("poisson", 0, None)
    assert document("", shipped_database, capsys) == found
    assert document("--seed 1", shipped_database, capsys) != found


def test_bursts_and_spares_lengthen_the_tail(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "--burst-share 50% --burst-more 2 --burst-spacing 20m"
    plain, weibull, bursts, waiting = (
        document(f"--mechanism ft1 {options}", shipped_database, capsys)["candidates"][0]
        for options in ("", "--arrivals weibull:0.5", told, "--spares 0 --repair 10m")
    )
    # Half of the failures draw two more, which take some of the time to the next.
    assert 1.7 < bursts["failures"] / plain["failures"] < 2.0
    assert bursts["p99_s"] > plain["p99_s"]
    assert weibull["p99_s"] - weibull["mean_s"] > plain["p99_s"] - plain["mean_s"]
    # Without a spare every failure waits for the repair, less what the detection takes.
    assert plain["spent"]["waiting_s"] == 0.0
    per_failure_s = waiting["spent"]["waiting_s"] / waiting["failures"]
    assert 500.0 < per_failure_s < 700.0


def test_table_and_csv_say_the_same(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = run("--format csv", shipped_database, capsys)
    rows = list(csv.DictReader(io.StringIO(written)))
    table = run("", shipped_database, capsys).splitlines()
    assert [row["mechanism"].upper() for row in rows] == [line.split()[0] for line in table[1:]]
    found = document("", shipped_database, capsys)["candidates"]
    names = {name for name in found[0] if name != "spent"}
    assert set(rows[0]) == names | {f"spent_{name}" for name in found[0]["spent"]}
    assert [float(row["p95_s"]) for row in rows] == [each["p95_s"] for each in found]
    assert [float(row["spent_lost_s"]) for row in rows] == [e["spent"]["lost_s"] for e in found]


def test_too_few_jobs_and_too_many_failures_are_said(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run("--mechanism ft1 --most 4 --precision 0.001%", shipped_database, capsys)
    assert "FT1: 4 jobs are too few" in said
    ask = "simulate --architecture a2 --state-size 204.7MB --mtbf 1s --detection 1s --format json"
    assert cli.run([*ask.split(), "--db", str(shipped_database)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["candidates"] == []
    assert all("failures are expected" in each["reason"] for each in found["not_simulated"])
    assert cli.run([*ask.replace("json", "csv").split(), "--db", str(shipped_database)]) == 0
    (header,) = capsys.readouterr().out.splitlines()
    assert header.startswith("mechanism,interval_steps,")
    ask = "simulate --architecture a6 --state-size 204.7MB --mtbf 4h"
    assert cli.run([*ask.split(), "--db", str(shipped_database)]) == 0
    assert "FT9: not simulated, it is outside Eq. (5)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--spares 1", "belong together"),
        ("--repair 1h", "belong together"),
        ("--burst-share 10%", "belong together"),
        ("--burst-more 1 --burst-spacing 1m", "belong together"),
        ("--burst-share 110% --burst-more 1 --burst-spacing 1m", "at most 100%"),
        ("--arrivals sometimes", "not a law of arrivals"),
        ("--precision 0%", "precision"),
        ("--max-overhead 0% --mechanism ft1", "no candidate to simulate"),
    ],
)
def test_mistakes_are_one_line(
    options: str, words: str, shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", *_ASK.split(), *options.split(), "--db", str(shipped_database)]
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""
