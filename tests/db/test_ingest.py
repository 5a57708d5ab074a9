"""Ingesting run records: every number arrives, twice is once, and nothing is overwritten."""

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.errors import InvalidDataError
from db.harvest import harvest
from db.ingest import finish_campaign, ingest, ingest_file
from db.migrate import check
from db.models import Base
from db.records import CampaignStatus
from db.session import open_engine, reading, writing
from tests.db import run_records

WRITTEN = (
    *("runs", "run_records", "run_values", "fault_events", "detections", "recovery_phases"),
    *("run_recoveries", "run_saves", "emergency_saves", "run_monitors"),
)


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def rows(engine: Engine, statement: str) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement).all()]


def everything(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    names = Base.metadata.tables
    return {name: sorted(rows(engine, f"SELECT * FROM {name}"), key=repr) for name in names}


def values(engine: Engine) -> dict[str, tuple[Any, ...]]:
    columns = "quantity, value, missing_reason, n, dispersion, dispersion_kind"
    return {row[0]: row[1:] for row in rows(engine, f"SELECT {columns} FROM run_values")}


def test_a_run_that_halts(engine: Engine, tmp_path: Path) -> None:
    made = run_records.record()
    run_records.write(tmp_path, made)
    report = ingest(engine, tmp_path)
    assert (report.new, report.known, report.refused) == ((made["run_id"],), (), ())
    assert report.clusters == ("mybox",)
    columns = (
        "outcome, profile, device, backend, detector, group_timeout_s, ranks_before, "
        "ranks_after, steps_planned, validity, state_bytes, software_stack, point_id"
    )
    assert rows(engine, f"SELECT {columns} FROM runs") == [
        (
            *("halted", "cpu", "cpu", "gloo", "group-timeout", 10.0, 8, 0, 300, "valid"),
            *(2_000_000, "mybox/torch-2.13.0+cpu", None),
        )
    ]
    assert values(engine) == {
        "step_s": (0.2, None, 18, 0.001, "ci95_half_width"),
        "samples_per_s_per_rank": (40.0, None, 18, None, None),
        "post_failure_step_s": (None, "undefined", None, None, None),
        "post_failure_samples_per_s_per_rank": (0.0, None, None, None, None),
        "aggregate_slowdown_fraction": (1.0, None, None, None, None),
        "first_detection_s": (5.125, None, None, None, None),
        "detection_s": (10.25, None, None, None, None),
        "group_formation_s": (0.25, None, None, None, None),
        "peak_memory_bytes": (300_000_000.0, None, None, None, None),
        "first_loss": (2.3, None, None, None, None),
        "loss_before_fault": (2.1, None, None, None, None),
        "final_loss": (1.9, None, None, None, None),
    }
    faults = "kind, rank, step, at_s, fired, first_detected_s, detected_s, outcome"
    assert rows(engine, f"SELECT {faults} FROM fault_events") == [
        ("crash", 3, 20, 5.5, 1, 5.125, 10.25, "halted")
    ]
    assert rows(engine, "SELECT rank, after_s, how FROM detections ORDER BY rank") == [
        (2, 5.125, "connection closed"),
        (5, 10.25, "group timeout"),
    ]
    assert rows(engine, "SELECT phase, duration_s FROM recovery_phases") == [("detect", 10.25)]
    assert json.loads(rows(engine, "SELECT record FROM run_records")[0][0]) == made
    source = "SELECT citation, published_on FROM sources WHERE source_id = 'measured/mybox'"
    assert rows(engine, source) == [
        ("Measured on mybox by FailBench Advisor (advisor measure)", "2026-11-29")
    ]


def test_a_run_that_goes_on(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.record("a6", rate=10.0, after_rate=12.0))
    ingest(engine, tmp_path)
    found = values(engine)
    assert found["post_failure_samples_per_s_per_rank"][0] == 12.0
    assert found["aggregate_slowdown_fraction"][0] == pytest.approx(-0.05)
    assert rows(engine, "SELECT ranks_before, ranks_after FROM runs") == [(8, 7)]


def test_what_a_run_without_a_fault_has_not(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.record(trace=None))
    ingest(engine, tmp_path)
    assert set(values(engine)) == {
        *("step_s", "samples_per_s_per_rank", "group_formation_s"),
        *("peak_memory_bytes", "first_loss", "final_loss"),
    }
    assert rows(engine, "SELECT trace, ranks_after FROM runs") == [(None, None)]


def test_a_run_that_never_trained(engine: Engine, tmp_path: Path) -> None:
    """Nothing is known of its state: the schema takes that, and no number is made up."""
    made = run_records.record(
        outcome="infeasible",
        state_bytes=None,
        before=None,
        training_started_s=None,
        groups_s=None,
        aggregate_slowdown_fraction=None,
        peak_memory_bytes=None,
        faults=[],
        phases=[],
    )
    run_records.write(tmp_path, made)
    ingest(engine, tmp_path)
    assert rows(engine, "SELECT state_bytes, outcome FROM runs") == [(None, "infeasible")]
    found = values(engine)
    assert found["samples_per_s_per_rank"][:2] == (None, "infeasible")
    assert found["group_formation_s"][:2] == (None, "infeasible")


def test_a_deadline_is_no_detection(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.record(detected_s=120.0, censored=True, outcome="hang"))
    ingest(engine, tmp_path)
    assert values(engine)["detection_s"][:2] == (None, "failed")
    assert values(engine)["post_failure_samples_per_s_per_rank"][0] == 0.0
    assert rows(engine, "SELECT detected_s, detection_censored FROM fault_events") == [(120.0, 1)]


def test_a_run_that_is_brought_back(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.mechanism_record(equivalent=False))
    assert ingest(engine, tmp_path).refused == ()
    columns = "way, equivalent, infeasible_reason, interval_steps, replicas"
    assert rows(engine, f"SELECT {columns} FROM runs") == [("spare", 0, None, 10, 0)]
    found = values(engine)
    assert found["save_foreground_s"] == (0.125, None, 30, 0.01, "ci95_half_width")
    assert found["restore_s"] == (0.25, None, 1, None, None)
    assert found["recovery_s"][0] == 1.25
    assert found["recovery_total_s"][0] == 1.75
    assert found["lost_steps"][0] == 10.0
    assert found["shared_memory_bytes"][0] == 4_000_000.0
    times = ("productive_s", "saving_s", "detecting_s", "recovering_s", "lost_s")
    assert [found[name][0] for name in times] == [14.0, 3.75, 0.5, 1.25, 2.0]
    assert not {"overhead_fraction", "emergency_s"} & found.keys()
    assert rows(engine, "SELECT * FROM run_recoveries") == [
        (run_records.mechanism_record()["run_id"], 1, "spare", "storage", 10, 10, 2.0, 8, 1.75)
    ]
    saves = "SELECT path, count, skipped, failed, foreground_s, background_s FROM run_saves"
    assert rows(engine, saves) == [("storage", 30, 1, 0, 0.125, None)]
    phases = rows(engine, "SELECT phase, duration_s FROM recovery_phases ORDER BY ordinal")
    assert [phase for phase, _ in phases][:2] == ["detect", "stop"]


def test_growing_again_is_part_of_the_recovery_from_the_loss(
    engine: Engine, tmp_path: Path
) -> None:
    made = run_records.mechanism_record("ft8", way="smaller")
    (smaller,) = made["recoveries"]
    grown = {**smaller, "generation": 2, "way": "grown", "faults": [], "lost_steps": 0}
    made["recoveries"] = [{**smaller, "way": "smaller", "world_size": 7}, grown]
    run_records.write(tmp_path, made)
    assert ingest(engine, tmp_path).refused == ()
    found = values(engine)
    assert found["recovery_total_s"][:3] == (3.5, None, 1)
    assert found["restore_s"][0] == 0.5
    assert found["lost_steps"][0] == 10.0
    ways = "SELECT way, world_size FROM run_recoveries ORDER BY generation"
    assert rows(engine, ways) == [("smaller", 7), ("grown", 8)]


def test_a_false_alarm_of_a_monitor_is_no_recovery_from_a_fault(
    engine: Engine, tmp_path: Path
) -> None:
    """What answers a fault, as a monitor noticed it, is one."""
    made = run_records.mechanism_record("ft1")
    loss = {**made["recoveries"][0], "why": "rolled back"}
    back = {**loss, "generation": 2, "faults": [], "lost_steps": 30}
    made["recoveries"] = [loss, back]
    run_records.write(tmp_path, made)
    assert ingest(engine, tmp_path).refused == ()
    assert values(engine)["lost_steps"][:3] == (10.0, None, 1)
    steps = "SELECT lost_steps FROM run_recoveries ORDER BY generation"
    assert rows(engine, steps) == [(10,), (30,)]


def test_a_run_whose_steps_alternate(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.mechanism_record(trace=None))
    ingest(engine, tmp_path)
    value, reason, n, spread, kind = values(engine)["overhead_fraction"]
    assert (value, reason, n, kind) == (0.02, None, 12, "ci95_half_width")
    assert spread == pytest.approx(0.01)
    assert values(engine)["overlap_factor"][0] == 0.75


def test_an_emergency_save(engine: Engine, tmp_path: Path) -> None:
    late = run_records.mechanism_record(
        "ft4", seed=1, emergency__0__took_s=None, emergency__0__within_lead=False
    )
    run_records.write(tmp_path, run_records.mechanism_record("ft4"), late)
    assert ingest(engine, tmp_path).refused == ()
    columns = "ordinal, fault_ordinal, lead_s, took_s, save_s, bytes, within_lead"
    assert rows(engine, f"SELECT {columns} FROM emergency_saves ORDER BY run_id") == [
        (0, 0, 2.0, 0.75, 0.5, 2_000_000, 1),
        (0, 0, 2.0, None, 0.5, 2_000_000, 0),
    ]
    took = "SELECT value, missing_reason FROM run_values WHERE quantity = 'emergency_s'"
    assert rows(engine, f"{took} ORDER BY run_id") == [(0.75, None), (None, "failed")]


def test_a_run_that_says_why_it_cannot_be(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.infeasible())
    assert ingest(engine, tmp_path).refused == ()
    assert rows(engine, "SELECT outcome, infeasible_reason FROM runs") == [
        ("infeasible", "no group of all ranks to replicate over")
    ]


def test_a_composed_mechanism_is_added_from_its_parts(engine: Engine, tmp_path: Path) -> None:
    name = "ft4+ft2+ft1"
    made = [run_records.mechanism_record(name, seed=seed) for seed in range(2)]
    run_records.write(tmp_path, *made)
    assert ingest(engine, tmp_path).refused == ()
    columns = "name, family, cadence, save_path, restore_path, default_replicas"
    assert rows(engine, f"SELECT {columns} FROM mechanisms WHERE mechanism = '{name}'") == [
        ("FT4 + FT2 + FT1", "composed", "periodic", "peer", "host_device", 1)
    ]
    statuses = f"SELECT architecture, status FROM compatibility WHERE mechanism = '{name}'"
    found = {str(a): str(s) for a, s in rows(engine, statuses)}
    assert (len(found), found["a2"], found["a6"]) == (8, "viable", "infeasible")
    described = f"SELECT description FROM mechanisms WHERE mechanism = '{name}'"
    assert "3 tiers at once: Just-in-time checkpoint, " in rows(engine, described)[0][0]


def test_a_composed_mechanism_of_unknown_parts_is_refused(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.mechanism_record("ft1+magic"))
    (line,) = ingest(engine, tmp_path).refused
    assert "no mechanism 'ft1+magic' in the database" in line


def test_twice_changes_nothing(engine: Engine, shipped_url: str, tmp_path: Path) -> None:
    made = [run_records.record(seed=seed) for seed in range(3)]
    run_records.write(tmp_path, *made)
    ingest(engine, tmp_path)
    before = everything(engine)
    again = ingest(engine, tmp_path)
    assert (again.new, len(again.known), again.refused) == ((), 3, ())
    assert everything(engine) == before
    assert check(shipped_url).problems == ()


def test_another_record_of_the_same_run_is_refused(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.record())
    ingest(engine, tmp_path)
    before = everything(engine)
    run_records.write(tmp_path, run_records.record(rate=41.0))
    report = ingest(engine, tmp_path)
    (line,) = report.refused
    assert "is stored already, from a record that differs" in line
    assert "\n" not in line
    assert everything(engine) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cluster__cluster": "matilda-8xv100"}, "another cluster called 'matilda-8xv100'"),
        ({"cell__architecture": "a9"}, "no architecture 'a9' in the database; there is a1-async"),
        ({"cell__mechanism": "ft0"}, "no mechanism 'ft0' in the database; there is ft1"),
        ({"cell__workload": "resnet50"}, "workload called 'resnet50', with a batch per rank of 32"),
        ({"wall_s": -1}, "wall_s: "),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_and_leaves_nothing(
    engine: Engine, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    before = everything(engine)
    (path,) = run_records.write(tmp_path, run_records.record(**changes))
    (line,) = ingest(engine, tmp_path).refused
    assert line.startswith(f"{path}: ")
    assert words in line
    assert "\n" not in line
    assert everything(engine) == before


@pytest.mark.parametrize("order", [(1, 3, 2), (3, 1, 2), (2, 3, 1)])
def test_a_cluster_has_the_nodes_of_its_run_on_most(
    engine: Engine, tmp_path: Path, order: tuple[int, ...]
) -> None:
    """A campaign may run on some of them: that is no other cluster, in whichever order."""
    for seed, nodes in enumerate(order):
        cluster: dict[str, Any] = {
            "cluster__nodes": nodes,
            "cluster__ranks_per_node": -(-8 // nodes),
            "cluster__interconnect": "loopback" if nodes == 1 else "network",
        }
        run_records.write(tmp_path, run_records.record(seed=seed, **cluster))
        report = ingest(engine, tmp_path)
        assert (len(report.new), report.refused) == (1, ())
    found = "SELECT nodes, ranks_per_node, interconnect FROM clusters WHERE cluster = 'mybox'"
    assert rows(engine, found) == [(3, 3, "network")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cluster__interconnect": "InfiniBand"}, "interconnect 'loopback', not 'InfiniBand'"),
        ({"cluster__device": "H200"}, "device 'cpu', not 'H200'"),
        ({"cluster__host_memory_bytes": 32_000_000_000}, "host_memory_bytes"),
        ({"cluster__host_memory_bytes": None}, "host_memory_bytes"),
        ({"cluster__host_memory_bytes": 16_100_000_000, "cluster__description": "new"}, None),
    ],
)
def test_a_cluster_stays_the_machine_that_it_was(
    engine: Engine, tmp_path: Path, changes: dict[str, Any], words: str | None
) -> None:
    run_records.write(tmp_path, run_records.record())
    ingest(engine, tmp_path)
    clusters = rows(engine, "SELECT * FROM clusters ORDER BY cluster")
    (path,) = run_records.write(tmp_path, run_records.record(seed=1, **changes))
    if words is None:
        assert ingest_file(engine, path).is_new
    else:
        with pytest.raises(InvalidDataError, match=words):
            ingest_file(engine, path)
    assert rows(engine, "SELECT * FROM clusters ORDER BY cluster") == clusters


def test_a_campaign_belongs_to_one_cluster(engine: Engine, tmp_path: Path) -> None:
    first, second = run_records.record(), run_records.record(seed=1, cluster__cluster="other")
    run_records.write(tmp_path, first, second)
    assert "is of cluster 'mybox', not 'other'" in ingest(engine, tmp_path).refused[0]


def test_a_bad_record_does_not_stop_the_others(engine: Engine, tmp_path: Path) -> None:
    paths = run_records.write(tmp_path, *(run_records.record(seed=seed) for seed in range(3)))
    paths[1].write_text("{")
    report = ingest(engine, tmp_path)
    assert len(report.new) == 2
    assert [line.partition(": ")[0] for line in report.refused] == [str(paths[1])]


def test_a_place_without_records_says_so(engine: Engine, tmp_path: Path) -> None:
    for path, words in ((tmp_path, "holds no record.json"), (tmp_path / "x", "is neither")):
        with pytest.raises(InvalidDataError, match=words):
            ingest(engine, path)


def test_a_campaign_is_finished(engine: Engine, tmp_path: Path) -> None:
    (path,) = run_records.write(tmp_path, run_records.record())
    finish_campaign(engine, run_records.CAMPAIGN, CampaignStatus.FAILED)
    ingest_file(engine, path, CampaignStatus.RUNNING)
    statement = "SELECT status, finished_at IS NULL FROM campaigns"
    assert [row[0] for row in rows(engine, statement)] == ["running"]
    finish_campaign(engine, run_records.CAMPAIGN, CampaignStatus.COMPLETE)
    assert [row[0] for row in rows(engine, statement)] == ["complete"]
    assert not rows(engine, statement)[0][1]


def test_a_run_that_another_process_stored_meanwhile_is_known(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked before either wrote: the insert itself has to tell."""
    (path,) = run_records.write(tmp_path, run_records.record())
    ingest_file(engine, path)
    before = everything(engine)
    looks = iter((set(), {run_records.record()["run_id"]}))
    monkeypatch.setattr("db.ingest._known", lambda *_: next(looks))
    assert not ingest_file(engine, path).is_new
    assert everything(engine) == before


def ingest_at_once(url: str, folder: Path) -> None:
    engine = open_engine(url)
    refused = ingest(engine, folder).refused
    engine.dispose()
    assert not refused, refused


def test_eight_processes_at_once_give_exactly_their_rows(
    engine: Engine, shipped_url: str, tmp_path: Path
) -> None:
    """Each has a record of its own, and all have two in common; none has a cluster yet."""
    shipped = len(everything(engine)["clusters"])
    common = [run_records.record("a6", seed=seed, after_rate=12.0) for seed in (0, 1)]
    for number in range(8):
        run_records.write(tmp_path / str(number), run_records.record(seed=number), *common)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=ingest_at_once, args=(shipped_url, tmp_path / str(number)))
        for number in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0] * 8
    together = everything(engine)
    counts = {name: len(together[name]) for name in (*WRITTEN, "campaigns", "clusters")}
    assert counts == {
        "runs": 10,
        "run_records": 10,
        "run_values": 120,
        "fault_events": 10,
        "detections": 20,
        "recovery_phases": 10,
        **dict.fromkeys(("run_recoveries", "run_saves", "emergency_saves", "run_monitors"), 0),
        "campaigns": 1,
        "clusters": shipped + 1,
    }
    assert check(shipped_url).problems == ()


def test_many_in_a_transaction_as_one_by_one(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of several campaigns, mechanisms and workloads, some of them twice, one refused."""
    made = [
        *(run_records.record(seed=seed) for seed in range(4)),
        *(run_records.mechanism_record("ft4+ft2+ft1", seed=seed) for seed in range(2)),
        run_records.record(seed=5, campaign__campaign="20261130-101500-ab12cd34", run_id="other/1"),
        run_records.record(seed=6, run_id="other/2", cell__workload="another"),
        run_records.record("a9", seed=7),
    ]
    run_records.write(tmp_path / "first", *made)
    run_records.write(tmp_path / "again", *made[:3])
    monkeypatch.setattr("db.ingest.MOST_RECORDS", 5)
    report = ingest(engine, tmp_path)
    assert sorted(report.new) == sorted(str(each["run_id"]) for each in made[:-1])
    assert sorted(report.known) == sorted(str(each["run_id"]) for each in made[:3])
    (line,) = report.refused
    assert "no architecture 'a9'" in line
    together = everything(engine)
    tables = (*WRITTEN, "campaigns", "workloads", "mechanisms", "compatibility", "software_stacks")
    with writing(engine) as connection:
        for name in ("run_records", "run_values", "detections", "recovery_phases", "fault_events"):
            connection.exec_driver_sql(f"DELETE FROM {name}")
        for name in (*WRITTEN[6:], "runs"):
            connection.exec_driver_sql(f"DELETE FROM {name}")
    monkeypatch.setattr("db.ingest.MOST_RECORDS", 1)
    ingest(engine, tmp_path)
    one_by_one = everything(engine)
    assert {name: one_by_one[name] for name in tables} == {name: together[name] for name in tables}


def test_a_batch_is_no_larger_than_memory_allows(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_records.write(tmp_path, *(run_records.record(seed=seed) for seed in range(5)))
    monkeypatch.setattr("db.ingest.MOST_CHARACTERS", 1)
    assert len(ingest(engine, tmp_path).new) == 5


def test_what_was_lost_at_once_comes_along_to_the_operating_point(
    engine: Engine, tmp_path: Path
) -> None:
    made = run_records.mechanism_record("ft2", nodes=run_records.nodes_part())
    made["faults"][0]["kind"] = "node-crash"
    run_records.write(tmp_path, made)
    assert ingest(engine, tmp_path).refused == ()
    harvest(engine, "mybox")
    assert rows(engine, "SELECT nodes, failure_domain FROM runs") == [(2, "node")]
    view = "SELECT nodes, failure_domain FROM operating_point_view WHERE cluster = 'mybox'"
    assert rows(engine, view) == [(2, "node")]
    assert rows(engine, "SELECT kind FROM fault_events") == [("node-crash",)]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"failure_domain": "rack"}, "nodes.failure_domain"),
        ({"members": []}, "nodes.members"),
        ({"node_losses_survived": -1}, "nodes.node_losses_survived"),
    ],
)
def test_nodes_that_cannot_be_are_refused(
    engine: Engine, tmp_path: Path, nodes: dict[str, Any], said: str
) -> None:
    changed = {**run_records.nodes_part(), **nodes}
    run_records.write(tmp_path, run_records.mechanism_record("ft2", nodes=changed))
    (refused,) = ingest(engine, tmp_path).refused
    assert said in refused
