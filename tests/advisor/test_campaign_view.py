"""What somebody who looks at a campaign sees, and when: made by hand, without a database."""

from dataclasses import replace
from datetime import UTC, datetime

from advisor.campaign_view import CampaignRows, view_of
from advisor.processes import this_process
from advisor.reports import campaign_words
from db.campaign_queries import CampaignSummary, CellSummary
from db.records import CampaignStatus, CellStatus
from tests.advisor.test_campaign_progress import cell

ME = this_process()
NOW = datetime(2026, 11, 30, 9, 0, 5, tzinfo=UTC)
NOBODY = 2_000_000_000
"""No process ever has this number."""


def rows(*cells: CellSummary, pid: int = ME.pid) -> CampaignRows:
    counts = {status: sum(each.status is status for each in cells) for status in CellStatus}
    summary = CampaignSummary(
        campaign="c",
        cluster="mybox",
        command="advisor measure --matrix",
        status=CampaignStatus.RUNNING,
        created_at="2026-11-30T08:00:00Z",
        heartbeat_at="2026-11-30T09:00:00Z",
        finished_at=None,
        order_seed=None,
        folder="/runs",
        host=ME.host,
        pid=pid,
        process=ME.process,
        boot_id=ME.boot_id,
        stored=0,
        cells=len(cells),
        counts=counts,
    )
    return CampaignRows(summary, cells, (), None)


def a_done_one(wall_s: float = 20.0) -> CellSummary:
    return replace(cell(CellStatus.COMPLETE), wall_s=wall_s)


def a_running_one() -> CellSummary:
    return replace(cell(CellStatus.RUNNING), started_at="2026-11-30T09:00:00Z")


def test_what_the_running_cell_has_behind_it_is_no_time_left() -> None:
    view = view_of(rows(a_done_one(), a_running_one(), cell(CellStatus.PENDING)), NOW)
    assert view.time_left_s == 2 * 20.0 - 5.0
    assert view.now == "a2 ft1 F1 seed 0"
    assert campaign_words.facts(view) == [
        *(("status", "running"), ("done", "1 of 3"), ("failed", "0"), ("left", "2")),
        *(("running", "1"), ("time left", "35 s")),
    ]


def test_before_the_first_is_done_nobody_knows_how_long_it_takes() -> None:
    view = view_of(rows(a_running_one(), cell(CellStatus.PENDING)), NOW)
    assert ("time left", "not known yet") in campaign_words.facts(view)


def test_with_its_controller_gone_campaign_and_cell_are_stale() -> None:
    before = rows(a_done_one(), a_running_one(), cell(CellStatus.PENDING), pid=NOBODY)
    view = view_of(before, NOW)
    assert view.summary.status is CampaignStatus.STALE
    assert [str(each.status) for each in view.cells] == ["complete", "stale", "pending"]
    assert view.summary.counts[CellStatus.STALE] == 1
    assert view.summary.counts[CellStatus.RUNNING] == 0
    assert view.now == ""
    # Nothing of what was run of it counts: it is run anew.
    assert view.time_left_s == 2 * 20.0
    assert "go on with `advisor measure --resume c`" in campaign_words.progress_line(view)


def test_a_campaign_that_is_over() -> None:
    view = view_of(rows(a_done_one(), cell(CellStatus.FAILED)), NOW)
    assert view.time_left_s == 0.0
    assert campaign_words.facts(view)[1:] == [("done", "2 of 2"), ("failed", "1")]
    assert campaign_words.failed_rows(view.cells) == [("a2 ft1 F1", 0, 1, "")]
