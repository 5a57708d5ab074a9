"""The Runs page: exposure, the list and its filters, one run, and whatever a record may hold."""

import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from advisor.cli import run
from advisor.reports import run_words
from app.views import runs
from db.records import (
    Cadence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    Mechanism,
    MissingReason,
    TransferPath,
)
from db.run_queries import RunFilter
from db.run_record import Record
from tests.app import measured
from tests.app.conftest import Page, texts
from tests.app.measured import CLUSTER, GRACEFUL, HALTED
from tests.app.test_address import fields, link
from tests.db import run_records

PAPER = "matilda-8xv100"
NONE = Mechanism(
    mechanism_id="ft9",
    name="No fault tolerance",
    family="none",
    description="",
    cadence=Cadence.NEVER,
    save_path=TransferPath.NONE,
    persist_path=TransferPath.NONE,
    restore_path=TransferPath.NONE,
    default_replicas=0,
    host_copies_per_replica=0,
    device_copies_per_replica=0,
)
HOSTILE = "<script>alert(1)</script> **bold** [x](javascript:1) $x$ :red[y] `c` | # h"


@pytest.fixture(scope="module")
def database(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    return measured.database(folder, shipped_database, *measured.records())


def record(**changes: Any) -> Record:
    return Record.model_validate(run_records.record(**changes))


def listed(shown: AppTest) -> pd.DataFrame:
    found: pd.DataFrame = shown.dataframe[0].value
    return found


def test_exposure_of_the_paper_is_table_v(page: Page) -> None:
    rows = page("runs", cluster=PAPER).table[0].value
    assert list(rows.index) == [f"A{n}" for n in ("1-ASYNC", "1-SYNC", 2, 3, 4, 5, 6, 7)]
    assert list(rows.loc["A2"]) == [
        *("F1", "resnet50", "5", "– (not published)", "284.9 ± 0.1", "601.7 ± 1.8"),
        *("– (not published)", "halts", "0", "100", "measured, Table V"),
    ]
    assert list(rows.loc["A6", ["before", "training", "after", "slowdown (%)"]]) == [
        *("10.68 ± 0.59", "goes on", "14.38 ± 5.53", "-17.87"),
    ]


def test_a_cluster_without_runs_says_what_makes_some(page: Page, database: Path) -> None:
    shown = page("runs", database, cluster=PAPER)
    assert [i.value for i in shown.info] == [
        f"No run on {PAPER} is in this database. The runs of this database are on {CLUSTER}. "
        "This makes one, on your machine:"
    ]
    assert "advisor measure --architecture a2 --mechanism ft9 --trace f1" in texts(shown)
    assert not shown.dataframe


def test_exposure_of_a_measured_cluster(page: Page, database: Path) -> None:
    shown = page("runs", database, cluster=CLUSTER)
    rows = shown.table[0].value
    assert list(rows.index) == ["A2", "A3", "A6"]
    assert list(rows.loc["A2", ["n", "backend", "training", "after", "slowdown (%)"]]) == [
        *("2", "gloo", "halts", "0", "100"),
    ]
    assert list(rows["before"]) == ["40.5 ± 6.35", "40", "10"]
    assert list(rows.loc["A6", ["first knew (s)", "all knew (s)"]]) == ["0.25", "0.5"]
    assert list(rows.loc["A3", ["first knew (s)", "all knew (s)"]]) == ["– (no run gave it)"] * 2
    assert "8 ranks shared 2 cores of one machine" in texts(shown)
    numbers = shown.table[1].value
    assert "not detected within 120 s in 1 of 1 runs" in " ".join(numbers["holds for"])


def test_nothing_known_of_a_lost_worker(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    only = run_records.invalid(run_records.record())
    shown = page("runs", measured.database(tmp_path, shipped_database, only), cluster=CLUSTER)
    assert f"Nothing is known of it on {CLUSTER}" in texts(shown)
    assert len(listed(shown)) == 1


def test_the_list_newest_first(page: Page, database: Path) -> None:
    shown = page("runs", database, cluster=CLUSTER)
    assert "6 runs. Tick one to open it." in texts(shown)
    table = listed(shown)
    assert list(table["seed"]) == [5, 4, 3, 2, 1, 0]
    assert list(table.columns[:5]) == [
        *("run", "seed", "outcome", "validity", "samples_per_s_per_rank"),
    ]
    hang = table.iloc[0]
    assert (hang["outcome"], hang["not_detected_within_s"]) == ("hang", 120.0)
    assert pd.isna(hang["detection_s"])
    assert table.iloc[1]["trace"] == "none"


@pytest.mark.parametrize(
    ("chosen", "seeds"),
    [
        ({"run_architecture": "a2"}, [4, 2, 1, 0]),
        ({"run_mechanism": "ft9"}, [5, 4, 3, 2, 1, 0]),
        ({"run_trace": "none"}, [4]),
        ({"run_trace": "F1", "run_validity": "invalid"}, [2]),
        ({"run_outcome": "graceful"}, [3]),
        ({"run_validity": "valid", "run_architecture": "a2"}, [4, 1, 0]),
        ({"run_profile": "cpu", "run_outcome": "hang"}, [5]),
        ({"run_campaign": run_records.CAMPAIGN}, [5, 4, 3, 2, 1, 0]),
    ],
)
def test_filters_are_in_the_address(
    page: Page, database: Path, chosen: dict[str, str], seeds: list[int]
) -> None:
    shown = page("runs", database, cluster=CLUSTER, **chosen)
    assert not shown.warning
    assert list(listed(shown)["seed"]) == seeds
    for name, value in chosen.items():
        assert shown.query_params[name.replace("_", "-")] == value
    again = page("runs", database, **link(shown))
    assert fields(again) == fields(shown)


def test_filters_that_admit_nothing(page: Page, database: Path) -> None:
    shown = page("runs", database, cluster=CLUSTER, run_outcome="hang", run_validity="invalid")
    assert "0 runs." in texts(shown)
    assert not shown.dataframe
    unknown = page("runs", database, cluster=CLUSTER, run_outcome="great")
    assert "asks for run-outcome 'great', which is not there" in texts(unknown)


def test_of_many_runs_the_newest_are_listed(
    page: Page, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.runs._SHOWN_RUNS", 2)
    shown = page("runs", database, cluster=CLUSTER)
    assert "6 runs, of which the newest 2 are listed." in texts(shown)
    assert list(listed(shown)["seed"]) == [5, 4]
    everything = pd.read_csv(io.StringIO(runs.csv(RunFilter(cluster=CLUSTER))))
    assert len(everything) == 6


def test_open_a_run_by_its_id(page: Page, database: Path) -> None:
    shown = page("runs", database, run=HALTED)
    assert not shown.exception
    assert shown.subheader[0].value == (
        "A2 with no mechanism, F1: rank 3 was killed at step 20; "
        "the last rank that had to act knew after 34 ms; training halted"
    )
    assert [(m.label, m.value) for m in shown.metric] == [
        ("Samples/s/rank before", "40"),
        ("Samples/s/rank after", "0"),
        ("Aggregate slowdown", "100 %"),
        ("First knew after", "17 ms"),
        ("Last knew after", "34 ms"),
    ]
    faults, detections, phases, ranks, conditions = (t.value for t in shown.table)
    assert list(faults.loc["0", ["what", "rank", "struck", "training"]]) == [
        *("crash", "3", "5.5 s, step 20", "halted"),
    ]
    assert list(detections["rank"]) == ["2", "5"]
    assert list(detections["how"]) == ["connection closed", "group timeout"]
    assert list(phases["duration"]) == ["34 ms"]
    assert list(ranks["ended"]) == ["raised"] * 3 + ["killed"] + ["raised"] * 4
    assert conditions.loc["cores", "value"] == "2"
    assert json.loads(shown.json[0].value)["run_id"] == HALTED
    assert len(shown.get("plotly_chart")) == 1
    assert shown.query_params["run"] == HALTED


@pytest.fixture(scope="module")
def recoveries(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recoveries")
    return measured.database(folder, shipped_database, *measured.mechanism_records())


def tables(shown: AppTest) -> dict[str, pd.DataFrame]:
    """The tables of a run, each under the last column of its header."""
    return {str(t.value.columns[-1]): t.value for t in shown.table}


def test_a_run_that_was_brought_back(page: Page, recoveries: Path) -> None:
    shown = page("runs", recoveries, run=measured.RECOVERED)
    assert not shown.exception
    assert "training was recovered" in shown.subheader[0].value
    assert "Valid; way spare, seed 6" in texts(shown)
    metrics = {m.label: m.value for m in shown.metric}
    assert (metrics["Recovery"], metrics["Steps made again"]) == ("1.75 s", "10")
    assert [s.value for s in shown.subheader[1:5]] == [
        *("Where the time went", "Recoveries", "Saves", "Lineage"),
    ]
    found = tables(shown)
    (recovery,) = found["total"].to_numpy().tolist()
    assert recovery == ["spare", "storage", "10", "10 (2 s)", "8", "0", "1.75 s"]
    (saves,) = found["bytes a save, all ranks"].to_numpy().tolist()
    assert saves == ["30", "1", "0", "125 ms", "–", "2 MB"]
    assert list(found["equivalent"]["way"]) == ["–", "spare"]
    assert len(shown.get("plotly_chart")) == 3
    assert not shown.warning


def test_a_plus_that_an_address_turned_into_a_blank_is_a_plus(
    page: Page, shipped_database: Path, tmp_path: Path
) -> None:
    made = run_records.mechanism_record("ft4+ft2+ft1")
    stored = measured.database(tmp_path, shipped_database, made)
    shown = page("runs", stored, run=made["run_id"].replace("+", " "))
    assert not shown.error
    assert shown.subheader[0].value.startswith("A2 with FT4+FT2+FT1, F1: ")


def test_a_group_that_became_smaller_is_said_not_to_be_equivalent(
    page: Page, recoveries: Path
) -> None:
    shown = page("runs", recoveries, run=measured.SMALLER)
    assert [w.value for w in shown.warning] == ["not equivalent: the group's size changed"]
    assert list(tables(shown)["equivalent"]["equivalent"]) == ["yes", "no"]


def test_a_warned_run_shows_its_emergency_save(page: Page, recoveries: Path) -> None:
    shown = page("runs", recoveries, run=measured.WARNED)
    (row,) = tables(shown)["in time"].to_numpy().tolist()
    assert row == ["2 s", "750 ms", "500 ms", "2 MB", "yes"]


def test_an_overhead_and_what_it_is_from(page: Page, recoveries: Path) -> None:
    shown = page("runs", recoveries, run=f"{run_records.CAMPAIGN}/a2-ft1-none-s7")
    assert {m.label: m.value for m in shown.metric}["Overhead"] == "2 % ± 1 %"
    assert "from 12 pairs of blocks with and without the mechanism" in texts(shown)


def test_a_run_that_cannot_be_says_why(page: Page, recoveries: Path) -> None:
    shown = page("runs", recoveries, run=f"{run_records.CAMPAIGN}/a6-ft2-f1-s10")
    assert not shown.exception
    assert "- no group of all ranks to replicate over" in texts(shown)


def test_the_list_has_what_a_recovery_took(page: Page, recoveries: Path) -> None:
    table = listed(page("runs", recoveries, cluster=CLUSTER))
    row = table[table["seed"] == 6].iloc[0]
    assert (row["way"], row["recovery_total_s"], row["lost_steps"]) == ("spare", 1.75, 10.0)


@pytest.mark.parametrize(
    "line",
    [{}, {"equivalent": [1], "generation": {"a": 1}}, {"way": "<b>x</b>", "source": "x" * 500}],
)
def test_a_lineage_of_any_form_makes_a_row(line: dict[str, Any]) -> None:
    row = run_words.lineage_row(line)
    assert len(row) == len(run_words.LINEAGE_HEADER)
    assert max(map(len, row)) <= 40


def test_back_to_all_runs(page: Page, database: Path) -> None:
    shown = page("runs", database, cluster=CLUSTER, run_outcome="graceful")
    shown.text_input(key="run").set_value(GRACEFUL).run()
    assert not shown.dataframe
    assert "run-outcome" not in shown.query_params
    shown.button[0].click().run()
    assert "run" not in shown.query_params
    assert shown.query_params["run-outcome"] == "graceful"
    assert len(listed(shown)) == 1
    shown.selectbox(key="run-outcome").set_value("").run()
    shown.text_input(key="run").set_value(GRACEFUL).run()
    shown.text_input(key="run").set_value("").run()
    assert len(listed(shown)) == 6


def test_reasons_and_notes_are_said(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    made = run_records.invalid(run_records.record(notes=["fault 1 was due after the end"]))
    shown = page("runs", measured.database(tmp_path, shipped_database, made), run=made["run_id"])
    said = texts(shown)
    assert "- the machine was busy" in said
    assert "- fault 1 was due after the end" in said
    assert "the run is invalid" in shown.subheader[0].value


def test_a_run_that_made_no_step(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    nothing: dict[str, Any] = {name: [] for name in ("t_s", "step", "step_s", "loss")}
    made = run_records.record(
        series={**nothing, "samples_per_s": []}, before=None, state_bytes=None, ranks=[]
    )
    shown = page("runs", measured.database(tmp_path, shipped_database, made), run=made["run_id"])
    assert not shown.exception
    assert "No step was finished, so there is no timeline." in texts(shown)
    assert shown.metric[0].value == "–"


@pytest.mark.parametrize(
    "run_id", ["gone", "x' OR '1'='1", "<img src=x>", "![x](http://h)", "é\x00"]
)
def test_a_run_that_is_not_there_is_said_in_one_line(
    page: Page, database: Path, run_id: str
) -> None:
    shown = page("runs", database, run=run_id)
    assert not shown.exception
    assert len(shown.error) == 1
    assert "there is no record of a run" in shown.error[0].value
    assert "\n" not in shown.error[0].value
    assert "![x](" not in shown.error[0].value


def test_a_record_that_somebody_changed(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    made = run_records.record()
    changed = measured.database(tmp_path, shipped_database, made)
    with closing(sqlite3.connect(changed)) as connection:
        connection.execute("UPDATE run_records SET record = '{\"run_id\": 1}'")
        connection.commit()
    shown = page("runs", changed, run=made["run_id"])
    assert not shown.exception
    assert [e.value for e in shown.error] == [
        f"the record of run '{made['run_id']}' is not one that this version can read"
    ]


def test_hostile_text_comes_out_as_text(page: Page, shipped_database: Path, tmp_path: Path) -> None:
    made = run_records.record(
        cell__trace=HOSTILE,
        notes=[HOSTILE],
        campaign__command=HOSTILE,
        environment__kernel=HOSTILE,
        ranks__0__error=HOSTILE,
        run_id="<script>alert(1)</script>/![x](http://h/y.png)",
        campaign__campaign="**bold**",
    )
    made = run_records.invalid(made, HOSTILE)
    stored = measured.database(tmp_path, shipped_database, made)
    for shown in (
        page("runs", stored, cluster=CLUSTER),
        page("runs", stored, run=made["run_id"]),
    ):
        assert not shown.exception
        kinds = ("header", "subheader", "markdown", "caption", "info", "warning", "error")
        said = [str(e.value) for kind in kinds for e in getattr(shown, kind)]
        said += [str(cell) for t in shown.table for row in t.value.to_numpy() for cell in row]
        for text in said:
            assert "<script" not in text.replace("\\<", "")
            assert "**bold" not in text
            assert "](" not in text.replace("\\](", "")
            assert ":red[" not in text
    assert "\\<script\\>" in shown.subheader[0].value


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            record(detected_s=0.034),
            "A2 with no mechanism, F1: rank 3 was killed at step 20; "
            "the last rank that had to act knew after 34 ms; training halted",
        ),
        (
            record(architecture="a6", after_rate=12.0, detected_s=0.5),
            "A6 with no mechanism, F1: rank 3 was killed at step 20; the last rank that had to "
            "act knew after 500 ms; training went on by itself with 7 ranks left",
        ),
        (
            record(trace=None),
            "A2 with no mechanism, no fault planned: all steps were done",
        ),
        (
            record(detected_s=120.0, censored=True, outcome="hang"),
            "A2 with no mechanism, F1: rank 3 was killed at step 20; "
            "no survivor knew after 2 min; training hung",
        ),
        (
            record(faults__0__kind="hang", faults__0__step=None),
            "A2 with no mechanism, F1: rank 3 hung; "
            "the last rank that had to act knew after 10.2 s; training halted",
        ),
        (
            record(faults__0__planned={"phase": "forming-groups"}),
            "A2 with no mechanism, F1: rank 3 was killed while groups were formed; "
            "the last rank that had to act knew after 10.2 s; training halted",
        ),
    ],
)
def test_headlines(made: Record, said: str) -> None:
    assert run_words.headline(made, NONE) == said


def test_the_last_survivor_is_said_where_all_had_to_know() -> None:
    seen = [{"rank": r, "after_s": 0.1 * r, "how": "supervisor"} for r in range(8) if r != 3]
    made = record(detected_s=0.7, faults__0__detections=seen)
    assert "; the last survivor knew after 700 ms;" in run_words.headline(made, NONE)


def test_a_headline_names_mechanism_and_many_faults() -> None:
    fault = run_records.record()["faults"][0]
    many = [{**fault, "ordinal": n, "rank": n, "detections": []} for n in range(7)]
    said = run_words.headline(record(faults=many), None)
    assert said.startswith("A2 with FT9, F1: rank 0 was killed at step 20, rank 1 was killed")
    assert "and 3 more; the last" in said


@pytest.mark.parametrize(
    ("value", "dispersion", "said"),
    [
        (284.9, 0.1, "284.9 ± 0.1"),
        (1013.5, 0.6, "1,013.5 ± 0.6"),
        (14.38, 5.53, "14.38 ± 5.53"),
        (0.026387, None, "0.02639"),
        (90.343, 0.0, "90.34"),
        (0.0, None, "0"),
        (100.0, None, "100"),
        (12345.6, None, "12,346"),
        (1e-12, None, "1e-12"),
        (1e-12, 2e-13, "1e-12 ± 2e-13"),
    ],
)
def test_numbers_with_the_digits_that_are_known(
    value: float, dispersion: float | None, said: str
) -> None:
    assert run_words.spread_words(value, dispersion) == said


def test_every_kind_of_value_in_words() -> None:
    def value(number: float | None, **more: Any) -> str:
        return run_words.value_words(EvidencedValue(number, Evidence.MEASURED, **more))

    assert run_words.value_words(None) == "– (not run)"
    assert [value(None, missing_reason=reason) for reason in MissingReason] == [
        *("– (never)", "– (not run)", "– (has no meaning here)", "– (infeasible)"),
        *("– (no run gave it)", "– (not published)"),
    ]
    assert value(2.0, low=1.0, high=3.0, dispersion_kind=DispersionKind.RANGE) == "2 (1 to 3)"
    half_range = DispersionKind.HALF_RANGE
    assert value(2.0, dispersion=0.5, dispersion_kind=half_range) == "2 ± 0.5 (half range)"


@pytest.mark.parametrize(
    ("planned", "lead_s", "said"),
    [
        ({"time_s": 4.0}, None, "4 s into training"),
        ({"step": 100}, 2.0, "step 100, announced 2 s ahead"),
        ({"after_s": 30.0}, None, "30 s after fault 0"),
        ({"phase": "forming-groups"}, None, "while groups were formed"),
    ],
)
def test_plans_in_words(planned: dict[str, Any], lead_s: float | None, said: str) -> None:
    made = record(faults__0__planned=planned, faults__0__lead_s=lead_s)
    assert run_words.fault_row(made.faults[0])[3] == said


def test_the_place_in_a_library_is_left_out_of_what_a_rank_said() -> None:
    error = "RuntimeError: [/a/b/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:2445. " * 3
    said = run_words.rank_row(record(ranks__0__error=error).ranks[0])[-1]
    assert said.startswith("RuntimeError: Connection closed by peer [127.0.0.1]:2445.")
    assert len(said) == 64
    assert said.endswith("…")


def test_exposure_is_that_of_the_newest_software(
    page: Page, database: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.db"
    shutil.copy(database, own)
    newer = run_records.record(seed=50, rate=80.0, environment__torch="2.14.0+cpu")
    run_records.write(tmp_path / "newer", newer)
    assert run(["ingest", str(tmp_path / "newer"), "--db", str(own)]) == 0
    shown = page("runs", own, cluster=CLUSTER)
    assert not shown.exception
    rows = shown.table[0].value
    assert list(rows.index) == ["A2", "A3", "A6"]
    assert list(rows["before"]) == ["80", "40", "10"]
