"""A job on three hosts: one is lost, or its link is cut, and training goes on from what the others
have; of two sides that do not reach each other, one only trains."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, FaultKind
from measure.mechanisms.periodic_disk import FOLDER
from measure.nodes.command import AT, KEY
from measure.rank.event_log import read_log
from tests.hosts.namespaces import COUNT, Hosts
from tests.measure.harness import nothing_left, planned_on_nodes, run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

STEPS, WORLD, STRIKES = 40, 4, 25
LOST = 0
"""The host of ranks 0 and 1, neighbours in the ring; rank 0 writes for all and publishes."""
VICTIM = 1
EACH_OF_BOTH: list[Any] = [("ft1", "a2"), ("ft2", "a7"), ("ft6", "a2")]
OTHERS: list[Any] = [
    pytest.param(*pair, marks=pytest.mark.soak)
    for pair in (("ft1", "a7"), ("ft2", "a2"), ("ft6", "a7"))
]
"""With the above every mechanism on both architectures; `make slurm` runs them too."""
PHASES = ["detect", "stop", "elect", "rebuild", "initialise", "restore", "check", "resume"]


@pytest.fixture(autouse=True)
def _outside(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(AT, hosts.place)
    monkeypatch.setenv(KEY, hosts.key)
    with nothing_left():
        yield


def ran(
    hosts: Hosts,
    folder: Path,
    architecture: str,
    *events: FaultEvent,
    options: Sequence[str] = (),
    **asked: Any,
) -> Any:
    """`run-finished` of one run on the three hosts; afterwards nothing of it is left on any, and
    all have the ways out that they had. (Of an agent that was killed its claim is left, until the
    next one comes.)"""
    usual = {"steps": STEPS, "world_size": WORLD}
    plan = planned_on_nodes(folder, architecture, COUNT, *events, **{**usual, **asked})
    ways = [hosts.ways(number) for number in range(COUNT)]
    hosts.start_agents(folder, *options)
    try:
        (finished,) = run(plan)
    finally:
        left = hosts.end_agents()
    assert left == []
    for number, member in enumerate(_members(finished)):
        kept = [path.name for path in hosts.memory(number).iterdir() if "-owner-" not in path.name]
        if member["lost"] != "node-crash":
            kept = [path.name for path in hosts.memory(number).iterdir()]
        assert kept == [], (number, member["lost"])
    assert [hosts.ways(number) for number in range(COUNT)] == ways
    assert_on_one_clock(finished["found"])
    return finished


def assert_on_one_clock(found: dict[str, Any]) -> None:
    """What hosts wrote by their own clocks, which are hours apart, lies within the run."""
    assert not [note for note in found["notes"] if "clock" in note]
    for fault in found["faults"]:
        ends = [fault["at_s"] + seen["after_s"] for seen in fault["detections"]]
        assert all(0.0 < at_s < found["wall_s"] for at_s in (fault["at_s"], *ends))


def losses(finished: dict[str, Any]) -> dict[int, dict[int, float]]:
    """Loss by step and place, as the training that went on had it."""
    folder = Path(finished["record"]).parent
    places: dict[int, dict[int, int]] = {}
    for line in (folder / "lineage.jsonl").read_text(encoding="utf-8").splitlines():
        generation = json.loads(line)
        places[generation["generation"]] = {m["slot"]: m["place"] for m in generation["members"]}
    found: dict[int, dict[int, float]] = {}
    for generation, members in sorted(places.items()):
        for slot, place in members.items():
            trains_in = -1
            for event in read_log(folder / f"rank-{slot}.jsonl"):
                if event["event"] == "training":
                    trains_in = event["generation"]
                mine = trains_in == generation
                if mine and event["event"] == "step" and event["loss"] is not None:
                    found.setdefault(event["step"], {})[place] = event["loss"]
    return found


@pytest.fixture(scope="module")
def calm(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The losses of an undisturbed run, by architecture."""
    known: dict[str, Any] = {}

    def of(architecture: str) -> Any:
        if architecture not in known:
            finished = ran(hosts, tmp_path_factory.mktemp("calm"), architecture, mechanism="ft9")
            assert finished["outcome"] == "completed", finished["reasons"]
            known[architecture] = losses(finished)
        return known[architecture]

    return of


@pytest.mark.parametrize(("mechanism", "architecture"), EACH_OF_BOTH + OTHERS)
def test_a_host_is_lost_and_training_goes_on_from_the_others(
    hosts: Hosts, tmp_path: Path, calm: Any, architecture: str, mechanism: str
) -> None:
    crash = FaultEvent(VICTIM, FaultKind.NODE_CRASH, step=STRIKES)
    struck = ran(hosts, tmp_path, architecture, crash, mechanism=mechanism)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    found = struck["found"]
    assert found["steps_completed"] == STEPS
    assert [phase["phase"] for phase in found["phases"]] == PHASES
    nodes = found["nodes"]
    assert nodes["failure_domain"] == "node"
    assert [member["lost"] for member in nodes["members"]] == ["node-crash", None, None]
    assert [member["host"] for member in nodes["members"]] == [hosts.host(n) for n in range(COUNT)]
    (recovery,) = found["recoveries"]
    assert (recovery["step"], recovery["world_size"]) == (20, WORLD)
    assert recovery["source"].startswith("storage" if mechanism == "ft1" else "peer memory")
    assert losses(struck) == calm(architecture)  # to the last bit, all steps
    if mechanism != "ft1":
        assert nodes["node_losses_survived"] == (1 if mechanism == "ft2" else 2)
        assert sum(member["replica_bytes_fetched"] for member in nodes["members"]) > 0


def test_what_passed_over_which_interface_is_recorded(hosts: Hosts, tmp_path: Path) -> None:
    finished = ran(hosts, tmp_path, "a2", mechanism="ft2")
    for number, member in enumerate(finished["found"]["nodes"]["members"]):
        assert member["address"] == hosts.address(number)
        assert (member["interface"], member["recovery_interface"]) == ("eth0", "eth0")
        assert not member["interface_chosen"]
        (passed,) = member["passed"]
        # All replicas go to other hosts, over that very interface.
        assert passed["sent_bytes"] > member["replica_bytes_sent"] > 0
        assert passed["received_bytes"] > 0


def test_what_saves_and_restores_send_can_have_a_link_of_its_own(
    hosts: Hosts, tmp_path: Path
) -> None:
    crash = FaultEvent(VICTIM, FaultKind.NODE_CRASH, step=STRIKES)
    options = ("--recovery-interface", "eth1")
    struck = ran(hosts, tmp_path, "a2", crash, mechanism="ft2", options=options)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    for member in struck["found"]["nodes"]["members"][1:]:
        assert (member["interface"], member["recovery_interface"]) == ("eth0", "eth1")
        assert member["interface_chosen"]
        passed = {each["interface"]: each for each in member["passed"]}
        # Heads, acknowledgements and what is fetched come on top; no training does.
        assert passed["eth1"]["sent_bytes"] > member["replica_bytes_sent"] > 0
        moved = sum(m["replica_bytes_sent"] + m["replica_bytes_fetched"] for m in _members(struck))
        assert passed["eth1"]["sent_bytes"] < 1.3 * moved
        assert passed["eth0"]["sent_bytes"] > 0


def _members(finished: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = finished["found"]["nodes"]["members"]
    return found


@pytest.mark.parametrize(("mechanism", "architecture"), EACH_OF_BOTH[:2] + OTHERS[:2])
def test_a_cut_link_is_a_partition_and_one_side_only_goes_on(
    hosts: Hosts, tmp_path: Path, calm: Any, architecture: str, mechanism: str
) -> None:
    cut = FaultEvent(VICTIM, FaultKind.PARTITION, step=STRIKES)
    struck = ran(hosts, tmp_path, architecture, cut, mechanism=mechanism)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    found = struck["found"]
    lost = found["nodes"]["members"][LOST]
    assert lost["lost"] == "partition"
    (fault,) = found["faults"]
    assert (fault["kind"], fault["fired"], fault["outcome"]) == ("partition", True, "recovered")
    assert_that_side_had_ended(struck)
    assert losses(struck) == calm(architecture)
    # Both sides reach the storage, and the one that is cut off has who writes manifests.
    manifests = sorted((Path(struck["record"]).parent / FOLDER).glob("step-*/manifest.json"))
    lines = [json.loads(path.read_text(encoding="utf-8")) for path in manifests]
    later = [line["lineage"]["group_generation"] for line in lines if line["step"] > 20]
    assert later == ([1, 1] if mechanism == "ft1" else [])


def assert_that_side_had_ended(struck: dict[str, Any]) -> None:
    """Before the others trained on: by its lease, not by luck. All hosts share a wall clock."""
    found, folder = struck["found"], Path(struck["record"]).parent
    members = found["nodes"]["members"]
    there = members[LOST]["ranks"]
    logs = {slot: by_wall_clock(folder, slot) for m in members for slot in m["ranks"]}
    again = [
        event["t"]
        for slot, log in logs.items()
        for event in log
        if slot not in there and event["event"] == "training" and event["generation"] == 1
    ]
    assert len(again) == WORLD
    for slot in there:
        assert logs[slot][-1]["t"] < min(again)
        assert all(event["event"] != "finished" for event in logs[slot])
    saved = [e["t"] for slot in there for e in logs[slot] if e["event"] == "saved"]
    cut_at = next(e["t"] for slot in there for e in logs[slot] if e["event"] == "fault")
    assert max(saved, default=0.0) < cut_at


def by_wall_clock(folder: Path, slot: int) -> list[dict[str, Any]]:
    """The events of a rank, with instants by the clock that all hosts share."""
    events = read_log(folder / f"rank-{slot}.jsonl")
    clock = next(event for event in events if event["event"] == "clock")
    return [{**event, "t": event["t"] + clock["wall"] - clock["t"]} for event in events]


def test_without_enough_of_the_job_the_side_with_the_store_stops_too(
    hosts: Hosts, tmp_path: Path
) -> None:
    """Two of three hosts are cut off: the spares of the third do not suffice."""
    events = (
        FaultEvent(VICTIM, FaultKind.PARTITION, step=STRIKES),
        FaultEvent(2, FaultKind.PARTITION, step=STRIKES),
    )
    struck = ran(hosts, tmp_path, "a2", *events, mechanism="ft2")
    found = struck["found"]
    lost = [member["lost"] for member in found["nodes"]["members"]]
    assert lost == ["partition", "partition", None]
    assert struck["outcome"] in ("halted", "hang"), struck["reasons"]
    assert found["steps_completed"] < STEPS
