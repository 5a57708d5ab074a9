"""Who runs a campaign, and what becomes of its cells: on both databases, by compare and set."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from db.campaign_plan import CampaignPlanPart, read_plan
from db.campaign_queries import campaign_cells, get_campaign, list_campaigns
from db.campaign_store import (
    CampaignLostError,
    CampaignRunsError,
    Controller,
    Taken,
    Target,
    add_cells,
    all_cells,
    beat,
    claim,
    let_go,
    open_cells,
    settle,
    store_plan,
    take_over,
)
from db.errors import AnotherClusterError, InvalidDataError, NotFoundError
from db.export import export
from db.files import bundle_rows
from db.harvest import harvest
from db.ingest import ingest
from db.load import load_rows
from db.records import CampaignStatus, CellStatus
from db.session import open_engine, reading, writing
from tests.db import run_records

ME, OTHER = Controller("node1", 11, "1:5", "boot"), Controller("node2", 12, "1:6", "boot")
CAMPAIGN = run_records.CAMPAIGN


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def event(cells: int = 4) -> dict[str, Any]:
    return run_records.planned(cells, steps=10)


def plan(cells: int = 4) -> CampaignPlanPart:
    return read_plan(event(cells), "/runs")


def statuses(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return [str(cell.status) for cell in campaign_cells(connection, CAMPAIGN)]


def status(engine: Engine) -> CampaignStatus:
    with reading(engine) as connection:
        return get_campaign(connection, CAMPAIGN).status


def test_a_whole_campaign(engine: Engine) -> None:
    taken = store_plan(engine, plan(3), ME)
    assert (statuses(engine), status(engine)) == (["pending"] * 3, CampaignStatus.RUNNING)
    first = claim(engine, taken, ME)
    assert first is not None
    assert (first.ordinal, first.parameters["job"]) == (1, {"steps": 10})
    assert statuses(engine) == ["running", "pending", "pending"]
    assert settle(engine, taken, 1, CellStatus.COMPLETE, wall_s=2.5)
    assert not settle(engine, taken, 1, CellStatus.FAILED, "too late")
    second = claim(engine, taken, ME)
    assert second is not None
    assert settle(engine, taken, 2, CellStatus.FAILED, "a rank ended")
    assert claim(engine, taken, ME) is not None
    assert claim(engine, taken, ME) is None
    assert let_go(engine, taken) is CampaignStatus.STALE
    assert statuses(engine) == ["complete", "failed", "stale"]
    again = take_over(engine, CAMPAIGN, OTHER, lambda _: None)
    assert (again.term, again.folder, again.cluster) == (2, "/runs", "mybox")
    third = claim(engine, again, OTHER)
    assert third is not None
    assert third.ordinal == 3
    assert settle(engine, again, 3, CellStatus.COMPLETE)
    assert let_go(engine, again) is CampaignStatus.COMPLETE
    with reading(engine) as connection:
        cells = campaign_cells(connection, CAMPAIGN)
        (summary,) = list_campaigns(connection)
    assert [cell.attempts for cell in cells] == [1, 1, 2]
    assert [cell.host for cell in cells] == ["node1", "node1", "node2"]
    assert (summary.done, summary.cells, summary.pid) == (3, 3, None)


def test_while_it_runs_nobody_else_takes_it(engine: Engine) -> None:
    store_plan(engine, plan(), ME)
    for is_gone in (lambda _: False, lambda _: None):
        with pytest.raises(CampaignRunsError, match="is running: process 11 on node1"):
            take_over(engine, CAMPAIGN, OTHER, is_gone)
    assert take_over(engine, CAMPAIGN, OTHER, lambda _: True).term == 2


def test_an_old_heartbeat_is_no_sign_of_life(engine: Engine) -> None:
    taken = store_plan(engine, plan(), ME)
    claim(engine, taken, ME)
    with writing(engine) as connection:
        old = "UPDATE campaigns SET heartbeat_at = '2026-01-31T12:00:00Z'"
        connection.execute(text(old))
    with pytest.raises(CampaignRunsError):
        take_over(engine, CAMPAIGN, OTHER, lambda _: False)
    take_over(engine, CAMPAIGN, OTHER, lambda _: None)
    assert statuses(engine)[0] == "stale"
    # The one that was silent wakes up: it has lost, and can change nothing.
    for act in (
        lambda: beat(engine, taken),
        lambda: claim(engine, taken, ME),
        lambda: settle(engine, taken, 1, CellStatus.COMPLETE),
        lambda: let_go(engine, taken),
        lambda: add_cells(engine, taken, plan().cells),
    ):
        with pytest.raises(CampaignLostError):
            act()
    assert statuses(engine)[0] == "stale"
    assert status(engine) is CampaignStatus.RUNNING


def test_of_many_that_take_it_at_once_one_does(engine: Engine) -> None:
    let_go(engine, store_plan(engine, plan(), ME))

    def take(number: int) -> Taken | None:
        me = Controller("node1", 100 + number, "1:1", "boot")
        try:
            return take_over(engine, CAMPAIGN, me, lambda _: False)
        except CampaignRunsError:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = [taken for taken in pool.map(take, range(8)) if taken]
    assert [taken.term for taken in found] == [2]


def test_a_heartbeat_reaches_campaign_and_cell(engine: Engine) -> None:
    taken = store_plan(engine, plan(), ME)
    claim(engine, taken, ME)
    old = "'2026-01-31T12:00:00Z'"
    with writing(engine) as connection:
        connection.execute(text(f"UPDATE campaigns SET heartbeat_at = {old}"))
        connection.execute(text(f"UPDATE campaign_cells SET heartbeat_at = {old}"))
    beat(engine, taken)
    with reading(engine) as connection:
        assert (get_campaign(connection, CAMPAIGN).heartbeat_at or "") > old.strip("'")
        cells = [cell.heartbeat_at for cell in campaign_cells(connection, CAMPAIGN)]
    assert [(at or "") > old.strip("'") for at in cells[:1]] == [True]
    assert cells[1:] == ["2026-01-31T12:00:00Z"] * 3


def test_more_cells_come_last(engine: Engine) -> None:
    taken = store_plan(engine, plan(2), ME, Target(0.05, 2, 9))
    more = [part.model_copy(update={"run_id": f"{part.run_id}9"}) for part in plan(2).cells]
    assert add_cells(engine, taken, more) == 2
    assert [cell.run_id[-2:] for cell in all_cells(engine, taken)] == ["s0", "s1", "09", "19"]
    assert len(open_cells(engine, taken)) == 4
    let_go(engine, taken)
    assert take_over(engine, CAMPAIGN, ME, lambda _: True).target == Target(0.05, 2, 9)


def test_where_all_failed_the_campaign_has(engine: Engine) -> None:
    taken = store_plan(engine, plan(1), ME)
    claim(engine, taken, ME)
    settle(engine, taken, 1, CellStatus.FAILED, "no")
    assert let_go(engine, taken) is CampaignStatus.FAILED


def test_a_campaign_without_a_plan_is_told_from_one_that_is_not_there(
    engine: Engine, tmp_path: Any
) -> None:
    run_records.write(tmp_path, run_records.record())
    ingest(engine, tmp_path)
    with pytest.raises(NotFoundError, match="has no plan: its records were ingested"):
        take_over(engine, CAMPAIGN, ME, lambda _: True)
    with pytest.raises(NotFoundError, match="no campaign 'x'"):
        take_over(engine, "x", ME, lambda _: True)


def test_another_cluster_of_the_same_name_is_refused_before_anything_runs(
    engine: Engine, tmp_path: Any
) -> None:
    changed = {"cluster.device": "another", "campaign.campaign": "before"}
    made = run_records.record()
    for path, value in changed.items():
        run_records.put(made, path, value)
    run_records.write(tmp_path, made)
    ingest(engine, tmp_path)
    with pytest.raises(InvalidDataError, match="there is another cluster called 'mybox'"):
        store_plan(engine, plan(), ME)
    assert statuses(engine) == []


def test_a_cluster_that_came_in_a_bundle_is_refused_before_anything_runs(
    engine: Engine, sqlite_file: Path, tmp_path: Path
) -> None:
    other = open_engine(str(sqlite_file))
    run_records.write(tmp_path / "runs", run_records.record())
    ingest(other, tmp_path / "runs")
    harvest(other, "mybox")
    other.dispose()
    url = engine.url.render_as_string(hide_password=False)
    load_rows(url, bundle_rows(export(str(sqlite_file), "mybox"), "bundle"))
    with pytest.raises(AnotherClusterError, match="'mybox' came in a bundle, without its runs"):
        store_plan(engine, plan(), ME)
    assert statuses(engine) == []
    store_plan(engine, plan(), ME, is_check=True)
    assert statuses(engine)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cells", [], "cells"),
        ("order_seed", -1, "order_seed"),
        ("surroundings", {}, "campaign"),
        ("cells", [{"run_id": "x y"}], "cells.0"),
    ],
)
def test_a_plan_that_is_none_is_refused(key: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidDataError, match=said):
        read_plan({**event(), key: value}, "/runs")
    with pytest.raises(InvalidDataError, match="not complete"):
        read_plan({name: each for name, each in event().items() if name != key}, "/runs")
