"""The Campaigns page: a campaign that runs, is interrupted or has ended; its cluster's calibration;
and what it says where there is nothing."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from advisor.cli import run
from advisor.units import parse_duration_s
from db.records import CampaignStatus
from db.session import open_engine
from db.validation_store import store_validation
from tests.app import campaigns
from tests.app.campaigns import CAMPAIGN, CLUSTER, Running
from tests.app.conftest import Page, texts
from tests.app.test_address import fields, link
from tests.db import run_records
from tests.db.good_rows import GOOD

OTHER = "20261130-100000-ffffffff"
HOSTILE = "<script>alert(1)</script> **b** [x](javascript:1) $x$ :red[y]"


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(shipped_database, tmp_path / "campaigns.db"))


@pytest.fixture
def campaign(database: Path, tmp_path: Path) -> Iterator[Running]:
    """24 cells: of 2 architectures, 3 mechanisms, without a fault and under F1, with 2 seeds."""
    with campaigns.running(str(database), tmp_path / "runs") as found:
        yield found


def metrics(shown: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in shown.metric}


def done(shown: AppTest) -> dict[tuple[str, str], tuple[str, str, str]]:
    """The matrix as a table: (done, planned, words) of each pair."""
    found = next(t.value for t in shown.table if "planned" in t.value.columns).reset_index()
    return {(row[0], row[1]): tuple(row[2:]) for row in found.to_numpy().tolist()}


def test_a_campaign_that_runs(page: Page, database: Path, campaign: Running) -> None:
    campaign.run(7, failing=[2])
    campaign.start()
    shown = page("campaigns", database)
    assert not shown.exception
    assert not shown.error
    said = metrics(shown)
    left_s = parse_duration_s(said.pop("time left").replace(" ", "").replace("min", "m"))
    assert said == {
        "status": "running",
        "done": "7 of 24",
        "failed": "1",
        "left": "17",
        "running": "1",
    }
    # Each takes as long as those that are done; the running one has some of it behind it.
    assert 16 * campaigns.WALL_S <= left_s <= 17 * campaigns.WALL_S
    assert shown.get("progress")[0].proto.text == "now a6 ft1 F1 seed 0"
    assert "order: shuffled, seed 5; drift of the machine" in texts(shown)
    assert "was interrupted" not in texts(shown)
    assert done(shown)["A2", "FT1"] == (
        "2",
        "4",
        "F1: 1 complete, 1 pending; none: 1 complete, 1 pending",
    )
    assert done(shown)["A6", "FT1"][:2] == ("1", "4")


def test_the_cells_of_one_trace(page: Page, database: Path, campaign: Running) -> None:
    campaign.run(7)
    shown = page("campaigns", database)
    shown.selectbox(key="cells-of").set_value("F1").run()
    assert done(shown)["A2", "FT1"] == ("1", "2", "F1: 1 complete, 1 pending")
    assert done(shown)["A6", "FT1"] == ("0", "2", "F1: 2 pending")
    again = page("campaigns", database, **link(shown))
    assert fields(again) == fields(shown)
    assert done(again) == done(shown)


def test_cells_that_failed_with_their_reasons(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(3, failing=[2, 3])
    shown = page("campaigns", database)
    rows = next(t.value for t in shown.table if "reason" in t.value.columns)
    assert list(rows.index) == ["a6 ft1 none", "a2 ft4 none"]
    assert list(rows["reason"]) == [campaigns.FAILED] * 2
    assert "Cells that failed" in [s.value for s in shown.subheader]


def test_what_the_runs_showed_comes_newest_first(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(4)
    with closing(sqlite3.connect(database)) as connection:
        for ordinal in range(1, 5):
            connection.execute(
                "UPDATE campaign_cells SET finished_at = ? WHERE ordinal = ?",
                (f"2026-11-30T09:00:0{ordinal}Z", ordinal),
            )
        connection.commit()
    showed = page("campaigns", database).dataframe[0].value
    assert list(showed["tuple"]) == ["a6 ft4 none", "a2 ft4 none", "a6 ft1 none", "a2 ft1 none"]
    assert list(showed["overhead_fraction"].dropna()) == [0.02, 0.02]
    assert "recovery_total_s" not in showed


def test_its_runs_are_a_link_away(page: Page, database: Path, campaign: Running) -> None:
    campaign.run(3)
    said = texts(page("campaigns", database))
    found = re.search(r"\[The runs of this campaign\]\(runs\?(.*?)\)", said)
    assert found is not None
    listed = page("runs", database, **dict(parse_qsl(found[1])))
    assert not listed.warning
    assert "3 runs. Tick one to open it." in texts(listed)


def test_a_lost_database_is_said_and_comes_back(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(1)
    shown = page("campaigns", database)
    hidden = database.rename(database.with_suffix(".away"))
    shown.run()
    assert "no such file" in texts(shown)
    assert not shown.exception
    hidden.rename(database)
    shown.run()
    assert not shown.error
    assert metrics(shown)["done"] == "1 of 24"


def test_an_interrupted_campaign_names_the_command_that_goes_on(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(2)
    campaign.start()
    assert campaign.let_go() is CampaignStatus.STALE
    shown = page("campaigns", database)
    assert (metrics(shown)["status"], metrics(shown)["stale"]) == ("stale", "1")
    assert f"advisor measure --resume {CAMPAIGN}" in [c.value for c in shown.code]
    assert metrics(shown)["running"] == "0"
    assert "stale" in done(shown)["A2", "FT4"][2]


def test_a_campaign_whose_controller_was_killed_is_interrupted(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(1)
    campaign.start()
    with closing(sqlite3.connect(database)) as connection:
        # No process ever has this number, so whoever ran it is gone.
        connection.execute("UPDATE campaign_plans SET pid = 2000000000")
        connection.commit()
    shown = page("campaigns", database)
    assert (metrics(shown)["status"], metrics(shown)["stale"]) == ("stale", "1")
    assert metrics(shown)["running"] == "0"
    assert f"advisor measure --resume {CAMPAIGN}" in [c.value for c in shown.code]


def test_a_finished_campaign(page: Page, database: Path, campaign: Running) -> None:
    campaign.run(24)
    assert campaign.let_go() is CampaignStatus.COMPLETE
    shown = page("campaigns", database)
    assert metrics(shown) == {"status": "complete", "done": "24 of 24", "failed": "0"}
    assert {row[:2] for row in done(shown).values()} == {("4", "4")}


def test_runs_that_were_ingested_have_no_plan(page: Page, database: Path, tmp_path: Path) -> None:
    run_records.write(tmp_path / "runs", run_records.record())
    assert run(["ingest", str(tmp_path / "runs"), "--db", str(database)]) == 0
    shown = page("campaigns", database)
    assert not shown.exception
    assert metrics(shown) == {"status": "complete", "runs ingested": "1"}
    assert "there is no plan" in texts(shown)
    assert list(shown.dataframe[0].value["tuple"]) == ["a2 ft9 F1"]
    # Of a campaign without cells there is nothing to choose, which is no mistake of the address.
    assert not page("campaigns", database, cells_of="F1").warning


def test_the_newest_of_several_is_shown_and_another_one_by_its_address(
    page: Page, database: Path, campaign: Running, tmp_path: Path
) -> None:
    campaign.run(1)
    with campaigns.running(str(database), tmp_path / "other", OTHER, seeds=[0]):
        shown = page("campaigns", database)
        assert shown.selectbox(key="campaign").value == OTHER
        assert shown.query_params["campaign"] == OTHER
        assert list(shown.dataframe[-1].value["campaign"]) == [OTHER, CAMPAIGN]
        shown.selectbox(key="campaign").set_value(CAMPAIGN).run()
        assert metrics(shown)["done"] == "1 of 24"
        named = page("campaigns", database, campaign=CAMPAIGN)
        assert metrics(named)["done"] == "1 of 24"
        assert not named.warning


def test_an_unknown_campaign_is_said_in_one_line(
    page: Page, database: Path, campaign: Running
) -> None:
    shown = page("campaigns", database, campaign="monday")
    (said,) = [w.value for w in shown.warning]
    assert said == (
        f"The address asks for campaign 'monday', which is not there: it is one of {CAMPAIGN}."
    )
    assert metrics(shown)["status"] == "running"


def test_no_campaign_at_all(page: Page, shipped_database: Path) -> None:
    shown = page("campaigns", shipped_database, campaign="monday", cells_of="F1")
    assert not shown.warning
    assert "No campaign is in this database" in texts(shown)
    assert "advisor measure --matrix" in [c.value for c in shown.code]
    assert "advisor calibrate --cluster matilda-8xv100 --check" in [c.value for c in shown.code]


def test_the_calibration_of_the_campaigns_cluster(
    page: Page, database: Path, campaign: Running, tmp_path: Path
) -> None:
    shown = page("campaigns", database)
    assert f"{CLUSTER} has no calibration of its own" in texts(shown)
    campaigns.calibrate(str(database), tmp_path / "calibrations", check=False, seed=3)
    campaigns.calibrate(str(database), tmp_path / "newer", seed=4)
    shown.run()
    assert "has no calibration" not in texts(shown)
    assert "The newest, 20261130-061504-ab12cd34" in texts(shown)
    fits = next(d.value for d in shown.dataframe if "latency (95 %)" in d.value.columns)
    fits = fits.set_index("path")
    assert list(fits.index).count("storage_write") == 2
    assert "group_formation" in fits.index
    assert fits.loc["storage_write"].iloc[0]["and (95 %)"].startswith("size / ")
    checks = next(t.value for t in shown.table if "predicted" in t.value.columns)
    assert len(checks) == 12
    assert "off in the median over 12 sizes and paths; the target is 15 %" in texts(shown)
    assert "host\\_to\\_device not measured: no GPU" in texts(shown)


def test_a_calibration_without_real_restores_says_how_to_make_them(
    page: Page, database: Path, campaign: Running, tmp_path: Path
) -> None:
    campaigns.calibrate(str(database), tmp_path, check=False)
    shown = page("campaigns", database)
    assert "made no real restores" in texts(shown)
    assert f"advisor calibrate --cluster {CLUSTER} --check" in [c.value for c in shown.code]


def test_nothing_of_a_campaign_acts(page: Page, database: Path, campaign: Running) -> None:
    campaign.run(2, failing=[1])
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE campaign_cells SET reason = ? WHERE ordinal = 1", (HOSTILE,))
        connection.execute("UPDATE campaign_plans SET host = ?", (HOSTILE,))
        connection.commit()
    shown = page("campaigns", database)
    assert not shown.exception
    said = texts(shown) + str([t.value.to_numpy().tolist() for t in shown.table])
    assert "\\<script\\>" in said
    assert "<script>" not in said
    assert "\\*\\*b" in said


def test_a_campaign_is_read_while_another_process_writes(
    page: Page, database: Path, campaign: Running
) -> None:
    campaign.run(2)
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE campaign_cells SET reason = 'half written' WHERE wall_s > 0")
        shown = page("campaigns", database)
        assert not shown.error
        assert metrics(shown)["done"] == "2 of 24"
        writer.execute("ROLLBACK")


def test_a_reader_needs_no_right_to_write(
    page: Page, database: Path, campaign: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.run(2)
    real = sqlite3.connect

    def only_reading(target: str, **more: object) -> sqlite3.Connection:
        return real(target.replace("mode=rw", "mode=ro"), **more)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr("db.session.sqlite3.connect", only_reading)
    shown = page("campaigns", database)
    assert not shown.error
    assert metrics(shown)["done"] == "2 of 24"


@pytest.mark.integration
def test_it_is_the_same_on_both_databases(page: Page, shipped_url: str, tmp_path: Path) -> None:
    with campaigns.running(shipped_url, tmp_path / "runs") as campaign:
        campaign.run(5, failing=[4])
        campaigns.calibrate(shipped_url, tmp_path)
        shown = page("campaigns", shipped_url)
        assert not shown.exception
        assert not shown.error
        assert metrics(shown)["done"] == "5 of 24"
        assert done(shown)["A6", "FT4"][:2] == ("1", "4")
        assert len(shown.dataframe[0].value) == 4
        campaign.run(1)
        shown.run()
        assert metrics(shown)["done"] == "6 of 24"


def _tried(database: Path, name: str) -> None:
    """A scenario of that name that was run live on the cluster: picked, and without a mechanism."""
    engine = open_engine(str(database))
    row = GOOD["validations"] | {"cluster": CLUSTER, "architecture": "a2", "name": name}
    run_of = GOOD["validation_runs"]
    bare = {"role": "reference", "predicted_s": None, "observed_s": None, "outcome": "halted"}
    store_validation(
        engine, row, [run_of | {"mechanism": "ft2"}, run_of | {"mechanism": "ft9"} | bare]
    )
    engine.dispose()


def test_jobs_that_were_tried_live(page: Page, database: Path, campaign: Running) -> None:
    shown = page("campaigns", database)
    assert "No scenario was tried live" in texts(shown)
    _tried(database, HOSTILE)
    shown = page("campaigns", database)
    assert not shown.exception
    found = next(t.value for t in shown.table if "predicted" in t.value.columns)
    rows = found.reset_index().to_numpy().tolist()
    assert [row[1:] for row in rows] == [
        ["FT2", "selected", "20", "3 of 2.6", "recovered", "55 s", "54 s", "+1.9 %"],
        ["FT9", "reference", "20", "3 of 2.6", "halted", "", "", ""],
    ]
    said = texts(shown)
    assert "regret 0 %" in said
    assert "<script>" not in said
