"""How the database bears thousands of cells and records, and a million operating points.

Ratios of alternated runs; the figures themselves are printed. On SQLite, which has one writer.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from sqlalchemy import Engine

from advisor.campaign_view import campaign_view
from db.campaign_plan import CampaignPlanPart, read_plan
from db.campaign_store import (
    Controller,
    all_cells,
    claim,
    let_go,
    open_cells,
    store_plan,
    take_over,
)
from db.harvest import harvest
from db.ingest import ingest, ingest_file, records_below
from db.load import load
from db.migrate import upgrade
from db.session import open_engine, reading
from tests.db import run_records

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

CELLS = 10_000
RECORDS = 10_000
POINTS = 1_000_000
ME = Controller("node1", 11, "1:5", "boot")


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def busy_s(action: Callable[[], object]) -> float:
    """Of this process alone: what else the machine does is not in it."""
    start = time.process_time()
    action()
    return time.process_time() - start


def database(path: Path) -> Engine:
    upgrade(str(path))
    load(str(path))
    return open_engine(str(path))


def records(count: int) -> list[dict[str, Any]]:
    """Of 3 architectures, without a fault, and under one with a mechanism or without."""
    made = []
    for seed in range(count):
        architecture = ("a2", "a4", "a7")[seed % 3]
        kind = seed // 3 % 3
        if kind == 0:
            record = run_records.record(architecture, None, seed % 40, rate=40.0 + seed % 7)
        elif kind == 1:
            record = run_records.record(architecture, "F1", seed % 40, rate=40.0 + seed % 7)
        else:
            record = run_records.mechanism_record("ft1", architecture, "F1", seed % 40)
        record["run_id"] = f"{record['run_id']}-{seed}"
        record["cell"]["seed"] = seed
        made.append(record)
    return made


def test_records_together_against_one_by_one(tmp_path: Path) -> None:
    """The same records into two databases, a part of them each time."""
    rounds, part = 5, 200
    made = records(rounds * part)
    for number in range(rounds):
        run_records.write(tmp_path / str(number), *made[number * part : (number + 1) * part])
    together, single = database(tmp_path / "together.db"), database(tmp_path / "single.db")

    def one_by_one(folder: Path) -> None:
        for path in records_below(folder, []):
            ingest_file(single, path)

    ratios = []
    for number in range(rounds):
        folder = tmp_path / str(number)
        first_s = seconds(partial(ingest, together, folder))
        ratios.append(seconds(partial(one_by_one, folder)) / first_s)
    together.dispose()
    single.dispose()
    print(f"\none by one takes {median(ratios):.2f} times as long as together")
    assert median(ratios) > 1.5


def test_ten_thousand_records(tmp_path: Path) -> None:
    """Records of eight ranks, 3 to 6 kB each, and what is made of them."""
    run_records.write(tmp_path / "runs", *records(RECORDS))
    engine = database(tmp_path / "advisor.db")
    busy_before_s = time.process_time()
    took_s = seconds(lambda: ingest(engine, tmp_path / "runs"))
    took_busy_s = time.process_time() - busy_before_s
    again_s = seconds(lambda: ingest(engine, tmp_path / "runs"))
    pooled_s = seconds(lambda: harvest(engine, "mybox"))
    with reading(engine) as connection:
        campaign_s = seconds(lambda: campaign_view(connection, run_records.CAMPAIGN))
    engine.dispose()
    print(
        f"\n{RECORDS} records: {RECORDS / took_s:.0f} a second, {RECORDS / took_busy_s:.0f} a "
        f"second of the processor; again {RECORDS / again_s:.0f} a second; pooled in "
        f"{pooled_s:.2f} s; `advisor campaigns show` reads them in {campaign_s:.2f} s"
    )
    assert again_s < took_s


def plan(cells: int) -> CampaignPlanPart:
    """Cells as the harness plans them; `job` is as long as that of a real one."""
    made = run_records.record()
    around = {name: made[name] for name in ("campaign", "cluster", "environment")}
    job = {f"setting_{number}": "x" * 40 for number in range(20)}
    event = {
        "surroundings": around,
        "order_seed": 5,
        "cells": [
            {
                "run_id": f"{run_records.CAMPAIGN}/a2-ft1-f1-s{seed}",
                "architecture": "a2",
                "mechanism": "ft1",
                "trace": "F1",
                "seed": seed,
                "batch_per_rank": 8,
                "job": {**job, "seed": seed},
            }
            for seed in range(cells)
        ],
    }
    return read_plan(json.loads(json.dumps(event)), "/runs")


def campaign_steps(folder: Path, cells: int) -> dict[str, float]:
    """The processor time (s) of planning, looking and going on, each as its command does it."""
    folder.mkdir()
    engine = database(folder / "advisor.db")

    def planned() -> None:
        taken = store_plan(engine, plan(cells), ME)
        all_cells(engine, taken)
        claim(engine, taken, ME)
        let_go(engine, taken)

    def status() -> None:
        with reading(engine) as connection:
            campaign_view(connection, run_records.CAMPAIGN)

    def resumed() -> None:
        taken = take_over(engine, run_records.CAMPAIGN, ME, lambda controller: True)
        for cell in open_cells(engine, taken):
            (folder / cell.run_id / "record.json").is_file()
        all_cells(engine, taken)
        claim(engine, taken, ME)

    found = {"plan": busy_s(planned), "status": busy_s(status), "resume": busy_s(resumed)}
    engine.dispose()
    return found


def test_ten_thousand_cells(tmp_path: Path) -> None:
    """Ten times the cells take about ten times as long: nothing looks at all cells for each one."""
    rounds = [
        (
            campaign_steps(tmp_path / f"few-{number}", CELLS // 10),
            campaign_steps(tmp_path / f"many-{number}", CELLS),
        )
        for number in range(3)
    ]
    for name in ("plan", "status", "resume"):
        took_s = median(many[name] for _, many in rounds)
        ratio = median(many[name] / few[name] for few, many in rounds)
        print(f"\n{CELLS} cells: {name} {took_s:.2f} s, {ratio:.1f} times that of {CELLS // 10}")
        assert ratio < 20.0


_COPIES = """
WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < :copies)
"""


def multiplied(path: Path, copies: int) -> int:
    """Copies of a shipped cluster beside it, each under a name, with its points and their numbers,
    its software and its source; how many operating points there are."""
    cluster = "matilda-8xv100"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-500000")
        for table, own in (
            ("sources", "source_id"),
            ("clusters", "cluster"),
            ("software_stacks", "software_stack"),
            ("operating_points", "point_id"),
            ("operating_point_values", "point_id"),
        ):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            renamed = {own, "cluster", "software_stack", "superseded_by", "source_id"}
            picked = ", ".join(
                f"CASE WHEN t.{name} IS NOT NULL THEN 'copy-' || copies.n || '/' || t.{name} END"
                if name in renamed
                else f"t.{name}"
                for name in names
            )
            where = "" if table == "sources" else f"WHERE t.cluster = '{cluster}'"
            if table == "operating_point_values":
                where = (
                    "WHERE t.point_id IN (SELECT point_id FROM operating_points "
                    f"WHERE cluster = '{cluster}')"
                )
            statement = (
                f"{_COPIES} INSERT INTO {table} SELECT {picked} FROM {table} t, copies {where}"
            )
            connection.execute(statement, {"copies": copies})
            connection.commit()
        (points,) = connection.execute("SELECT COUNT(*) FROM operating_points").fetchone()
    return int(points)


def test_a_million_operating_points_against_a_thousand(tmp_path: Path) -> None:
    """One scenario, of one cluster among many: whole processes, in turn."""
    files = {"few": tmp_path / "few.db", "many": tmp_path / "many.db"}
    points = {}
    for name, wanted in (("few", POINTS // 1000), ("many", POINTS)):
        database(files[name]).dispose()
        with closing(sqlite3.connect(files[name])) as connection:
            counted = "SELECT COUNT(*), SUM(cluster = 'matilda-8xv100') FROM operating_points"
            there, own = connection.execute(counted).fetchone()
        points[name] = multiplied(files[name], max(1, (wanted - there) // own))
    assert points["many"] >= 0.99 * POINTS

    def asked(name: str) -> str:
        command = [sys.executable, "-m", "advisor", "recommend", "--architecture", "a2"]
        command += ["--state-size", "204.7MB", "--mtbf", "4h", "--db", str(files[name])]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert asked("few") == asked("many")
    rounds = [(seconds(lambda: asked("few")), seconds(lambda: asked("many"))) for _ in range(15)]
    ratio = median(many / few for few, many in rounds)
    took_s = median(many for _, many in rounds)
    print(f"\n{points['many']} points: {took_s:.3f} s, {ratio:.2f} times that of {points['few']}")
    assert ratio < 1.5


def grown(path: Path, cluster: str, copies: int) -> int:
    """Copies of all points of one cluster in the cluster itself, each time with a state 3 % larger
    than the first, and their numbers as they are; how many points the cluster has then."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-500000")
        own = connection.execute(
            "SELECT point_id FROM operating_points WHERE cluster = ?", (cluster,)
        ).fetchall()
        changed = {
            "point_id": "t.point_id || '/' || copies.n",
            "state_bytes": "CAST(t.state_bytes * (1.0 + 0.03 * copies.n) AS INTEGER)",
        }
        connection.execute("CREATE TEMPORARY TABLE own (point_id TEXT PRIMARY KEY)")
        connection.executemany("INSERT INTO own VALUES (?)", own)
        for table in ("operating_points", "operating_point_values"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            picked = ", ".join(changed.get(name, f"t.{name}") for name in names)
            statement = (
                f"{_COPIES} INSERT INTO {table} SELECT {picked} FROM {table} t, copies "
                "WHERE t.point_id IN (SELECT point_id FROM own)"
            )
            connection.execute(statement, {"copies": copies})
            connection.commit()
    return len(own) * (copies + 1)


@pytest.mark.parametrize(
    "command",
    [
        ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"],
        ["pareto", "--architecture", "a2", "--state-size", "204.7MB"],
    ],
    ids=["recommend", "pareto"],
)
def test_a_million_points_of_one_cluster_against_a_thousand(
    grown_files: dict[str, tuple[Path, int]], command: list[str]
) -> None:
    """All of a thousand are read, of a million an excerpt: whole processes, in turn."""

    def asked(name: str) -> str:
        whole = [sys.executable, "-m", "advisor", *command, "--db", str(grown_files[name][0])]
        return subprocess.run(whole, check=True, capture_output=True, text=True).stdout

    assert "very many" not in asked("few")
    assert "very many" in asked("many")
    rounds = [(seconds(lambda: asked("few")), seconds(lambda: asked("many"))) for _ in range(11)]
    ratio = median(many / few for few, many in rounds)
    few_s, many_s = (median(each) for each in zip(*rounds, strict=True))
    points = {name: found for name, (_, found) in grown_files.items()}
    print(
        f"\n{command[0]}: {points['many']} points of a cluster: {many_s:.3f} s, {ratio:.2f} times "
        f"that of {points['few']} ({few_s:.3f} s)"
    )
    assert ratio < 1.5


@pytest.fixture(scope="module")
def grown_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """A cluster of a thousand points and one of a million: the file, and how many they are."""
    folder, found = tmp_path_factory.mktemp("grown"), {}
    for name, wanted in (("few", POINTS // 1000), ("many", POINTS)):
        path = folder / f"{name}.db"
        database(path).dispose()
        with closing(sqlite3.connect(path)) as connection:
            counted = "SELECT COUNT(*) FROM operating_points WHERE cluster = 'matilda-8xv100'"
            (own,) = connection.execute(counted).fetchone()
        found[name] = path, grown(path, "matilda-8xv100", wanted // own - 1)
    return found


def test_a_plan_of_ten_thousand_cells_by_the_harness(tmp_path: Path) -> None:
    """`python -m measure plan`, as whole processes in turn: what ten thousand cells take beside
    what one takes, which is torch's start."""

    def planned(seeds: int) -> float:
        command = [sys.executable, "-m", "measure", "plan", "--architecture", "a2"]
        command += ["--mechanism", "ft1", "--trace", "f1", "--seeds", str(seeds)]
        command += ["--cluster", "mybox", "--folder", str(tmp_path), "--out", str(tmp_path / "p")]
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True))

    rounds = [(planned(1), planned(CELLS)) for _ in range(5)]
    one_s, all_s = (median(each) for each in zip(*rounds, strict=True))
    print(
        f"\n{CELLS} cells planned by a harness: {all_s:.2f} s by the clock, "
        f"{median(many - one for one, many in rounds):.2f} s more than one ({one_s:.2f} s)"
    )
    assert len(json.loads((tmp_path / "p").read_text())["cells"]) == CELLS
