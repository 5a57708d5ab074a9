"""`advisor simulate`: the command in every format, and what it refuses."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from advisor import cli

_ASK = "--architecture a2 --state-size 204.7MB --mtbf 2h --detection 30s --duration 2d --most 2048"


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
        assert [tier["mechanism"] for tier in each["tiers"]] == [each["mechanism"]]
        assert each["tiers"][0]["interval_steps"] == each["interval_steps"]
        assert each["announced"] is None
    assert found["not_simulated"] == []
    assert (found["arrivals"], found["seed"], found["spares"]) == ("poisson", 0, None)
    assert (found["kinds"], found["observed_gaps"], found["false_alarms_s"]) == (None,) * 3
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
    names = {name for name in found[0] if name not in ("spent", "announced")}
    names.add("in_time_fraction")
    assert set(rows[0]) == names | {f"spent_{name}" for name in found[0]["spent"]}
    assert [float(row["p95_s"]) for row in rows] == [each["p95_s"] for each in found]
    assert [float(row["spent_lost_s"]) for row in rows] == [e["spent"]["lost_s"] for e in found]
    assert [row["tiers"] for row in rows] == [
        f"{each['mechanism']}:{each['interval_steps']}" for each in found
    ]
    assert [row["in_time_fraction"] for row in rows] == [""] * len(rows)


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
    assert cli.run([*ask.split(), "--format", "csv", "--db", str(shipped_database)]) == 0
    assert capsys.readouterr().err == "FT9: not simulated, it is outside Eq. (5)\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--spares 0 --repair 30d", "; with 0 spares it waits for a node 100 % of the time"),
        ("--burst-share 100% --burst-more 1000 --burst-spacing 1h --duration 10000d", ""),
    ],
)
def test_waits_and_bursts_without_end_are_not_simulated(
    options: str, why: str, shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = run(f"--mechanism ft1 {options}", shipped_database, capsys).splitlines()[1:]
    assert line == f"FT1: not simulated, more than 100,000 failures are expected in one job{why}"


def test_lognormal_arrivals(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same mean, the wider the gaps scatter the longer the tail."""
    spread_s = []
    for sigma in ("0.5", "1.523456789"):
        options = f"--mechanism ft1 --arrivals lognormal:{sigma}"
        found = document(options, shipped_database, capsys)
        assert found["arrivals"] == f"lognormal:{sigma}"
        (ft1,) = found["candidates"]
        assert ft1["failures"] == pytest.approx(24.0, rel=0.1)
        spread_s.append(ft1["p99_s"] - ft1["p50_s"])
    assert spread_s[1] > 1.5 * spread_s[0]


def test_observed_gaps_are_scaled_to_the_mtbf(
    shipped_database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = tmp_path / "minutes.txt", tmp_path / "hours.txt"
    short.write_text("# the same pattern\n1m\n1m\n4m\n")
    long.write_text("1h\n1h\n\n4h\n")
    first, second = (
        document(f"--mechanism ft1 --arrivals file:{path}", shipped_database, capsys)
        for path in (short, long)
    )
    assert first["candidates"][0]["failures"] == pytest.approx(24.0, rel=0.1)
    assert [first["observed_gaps"], first["observed_mean_s"]] == [3, 120.0]
    assert [second["observed_gaps"], second["observed_mean_s"]] == [3, 7200.0]
    assert first["arrivals"] == f"file:{short}"
    for name in ("mean_s", "p99_s", "failures"):
        assert first["candidates"][0][name] == pytest.approx(second["candidates"][0][name])
    said = run(f"--mechanism ft1 --arrivals file:{short}", shipped_database, capsys)
    assert f"{short}: 3 gaps of 2 min in the mean, scaled to the MTBF of 2 h" in said


def test_warnings_that_do_not_come_in_time(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--mechanism ft1,ft4 --warning-lead 2s --warning-coverage 90% --false-alarms 6h"
    found = document(options, shipped_database, capsys)
    assert found["false_alarms_s"] == 21_600.0
    ft1, ft4 = found["candidates"]
    assert (ft4["mechanism"], ft4["expected_completion_s"]) == ("ft4", None)
    assert ft4["announced"]["in_time_fraction"] == pytest.approx(0.9)
    assert ft4["announced"]["save_s"] < ft4["announced"]["shortest_lead_s"] < 2.0
    assert ft4["spent"]["emergency_s"] > 0.0 < ft4["from_beginning"]
    assert (ft1["announced"], ft1["spent"]["emergency_s"]) == (None, 0.0)
    assert ft4["spent"]["lost_s"] > 10.0 * ft1["spent"]["lost_s"]
    said = run(options, shipped_database, capsys).splitlines()
    assert said[2].split()[:2] == ["FT4", "–"]
    assert (
        "FT4: 90 % of the failures are announced in time for the emergency save (884.7 ms, and up "
        "to 974.5 ms)" in said
    )
    assert (
        "FT4: 10 % of the failures go back to the last emergency save, or to the beginning where "
        "there is none yet" in said
    )
    assert any(line.startswith("FT4: in the mean a job began again 0.") for line in said)
    scattered = document(f"{options} --lead-spread 100%", shipped_database, capsys)
    share = scattered["candidates"][1]["announced"]["in_time_fraction"]
    assert 0.5 < share < 0.7
    csv_rows = csv.DictReader(
        io.StringIO(run(f"{options} --lead-spread 100% --format csv", shipped_database, capsys))
    )
    assert [row["in_time_fraction"] for row in csv_rows] == ["", repr(share)]


def test_every_failure_announced(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run("--mechanism ft4 --warning-lead 2s", shipped_database, capsys).splitlines()
    assert said[-1].startswith("FT4: every failure is announced in time for the emergency save (")
    rarely = "--mechanism ft4 --warning-lead 2s --warning-coverage 0.01%"
    (line,) = run(rarely, shipped_database, capsys).splitlines()[1:]
    assert line.startswith("FT4: not simulated, more than 100,000 failures are expected in one job")
    assert line.endswith("; 99.99 % of the failures are not announced in time")


def test_kinds_and_tiers(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--mechanism ft1,ft2 --kinds 0:50%,1:47%,2:3% --tiers ft2+ft1,ft2:100+ft1:1000"
    found = document(options, shipped_database, capsys)
    assert found["kinds"] == [
        {"nodes": nodes, "share_fraction": pytest.approx(share)}
        for nodes, share in ((0, 0.5), (1, 0.47), (2, 0.03))
    ]
    ft2, own, stated = found["candidates"][1:]
    assert [own["mechanism"], stated["mechanism"]] == ["ft2+ft1", "ft2+ft1"]
    assert own["interval_steps"] is own["expected_completion_s"] is None
    assert [tier["survives_nodes"] for tier in own["tiers"]] == [1, None]
    assert [tier["interval_steps"] for tier in own["tiers"]] == [ft2["interval_steps"]] * 2
    assert [tier["interval_steps"] for tier in stated["tiers"]] == [100, 1000]
    assert ft2["from_beginning"] > 0.4 > 0.1 > own["from_beginning"]
    assert own["mean_s"] < ft2["mean_s"]
    rows = run(options, shipped_database, capsys).splitlines()
    steps = f"{ft2['interval_steps']:,}"
    assert rows[3].startswith(f"FT2+FT1    {steps} + {steps} steps")
    assert rows[4].startswith("FT2+FT1    100 + 1,000 steps")
    assert "FT2: 3 % of the failures leave no state, and go back to the beginning" in rows
    assert not any(row.startswith(("FT1: ", "FT2+FT1: ")) for row in rows)
    written = run(f"{options} --format csv", shipped_database, capsys)
    tiers = [row["tiers"] for row in csv.DictReader(io.StringIO(written))]
    assert tiers[2:] == [
        f"ft2:{ft2['interval_steps']}+ft1:{ft2['interval_steps']}",
        "ft2:100+ft1:1000",
    ]


def test_one_node_at_a_time_is_the_default(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = document("--mechanism ft1,ft2", shipped_database, capsys)
    one = document("--mechanism ft1,ft2 --kinds 1:100%", shipped_database, capsys)
    assert one["candidates"] == plain["candidates"]


def test_tiers_over_a_limit_are_not_simulated(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run("--mechanism ft2,ft3 --host-memory 1GB --tiers ft2+ft3", shipped_database, capsys)
    assert said.splitlines()[-1] == (
        "FT2+FT3: not simulated, their copies need 1.638 GB of host memory a node (4 ranks), and "
        "there are 1 GB"
    )


def test_what_changes_nothing_is_said(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "--mechanism ft1 --warning-lead 2s --lead-spread 50%"
    said = run(told, shipped_database, capsys).splitlines()
    assert said[-1].startswith("nothing here saves on a warning: --lead-spread")
    for fmt in ("json", "csv"):
        arguments = ["simulate", *_ASK.split(), *told.split(), "--format", fmt]
        assert cli.run([*arguments, "--db", str(shipped_database)]) == 0
        written = capsys.readouterr()
        assert written.err.splitlines() == said[-1:]
        assert said[-1] not in written.out


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
        ("--arrivals lognormal:9", "lognormal:SIGMA with a sigma from 0.1 to 2"),
        ("--arrivals file:", "which file? Write file:PATH"),
        ("--arrivals file:nowhere.txt", "nowhere.txt cannot be read: No such file"),
        ("--arrivals file:.", ". cannot be read: Is a directory"),
        ("--kinds 1:90%", "add up to 90 %, not to 100 %"),
        ("--kinds one", "does not say how many nodes"),
        ("--lead-spread 50%", "no warning comes: --lead-spread go with a --warning-lead"),
        ("--false-alarms 1h", "no warning comes: --false-alarms go with a --warning-lead"),
        (
            "--false-alarms 1h --lead-spread 50% --warning-lead 0s",
            "no warning comes: --lead-spread and --false-alarms go with a --warning-lead above 0s",
        ),
        ("--warning-lead 2s --false-alarms 0s", "above 0s, such as 12h"),
        ("--warning-lead 2s --lead-spread 301%", "at most 300%"),
        ("--tiers ft1", "is one mechanism alone"),
        ("--tiers ft1+ft1", "names a mechanism twice"),
        ("--tiers ft1+ft99", "there is no mechanism 'ft99'"),
        ("--tiers ft4+ft1", "FT4 is no candidate, so it is no tier: without a warning"),
        ("--tiers ft2+ft5", "of FT5 is no whole multiple"),
        ("--tiers ft2:7+ft1", "an interval of 7 steps of FT2 is shorter than"),
        ("--tiers ft2:100+ft1:150", "150 steps of FT1 is no whole multiple of the 100"),
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
