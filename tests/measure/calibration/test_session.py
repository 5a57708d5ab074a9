"""A calibration with real processes: what it measures and refuses; nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.calibration.crew import Crew
from measure.calibration.plan import Request
from measure.calibration.session import FILE_NAME, Session
from measure.errors import HarnessError
from measure.state import durable, segment_names
from measure.supervisor.ranks import RankStarter
from measure.supervisor.store import hosted_store
from tests.measure.harness import MARK, nothing_left, processes_with, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 90
SMALL = (64_000, 256_000, 1_024_000)
MOVED = {
    *("storage_write", "storage_read", "host_copy", "peer", "serialise", "deserialise"),
    "verify",
    *("group_formation", "process_start"),
}
RESTORED = {"restore_storage", "restore_own", "restore_peer"}


def request(**changes: Any) -> Request:
    usual: dict[str, Any] = {
        "sizes_bytes": SMALL,
        "repeats": 2,
        "seed": 3,
        "is_quick": True,
        "with_check": True,
    }
    return Request(**{**usual, **changes})


def run(folder: Path, asked: Request) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, Any]]:
    """The events, and the record."""
    events: list[tuple[str, dict[str, Any]]] = []
    session = Session(asked, "mine", folder, "test", lambda e, f: events.append((e, f)))
    assert session.run()
    path = Path(events[-1][1]["record"])
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return events, found


def test_every_path_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    with nothing_left():
        events, found = run(tmp_path, request())
    taken = Counter(sample["path"] for sample in found["samples"])
    gpus = {"host_to_device", "device_to_host"}
    assert set(taken) - gpus == MOVED | RESTORED
    assert {part["path"] for part in found["skipped"]} | (set(taken) & gpus) == gpus
    assert taken["host_copy"] == len(SMALL) * 2
    assert taken["storage_write"] == taken["storage_read"] == (len(SMALL) + 2) * 2
    assert taken["restore_peer"] == 2 * 2
    assert all(0 < sample["duration_s"] < DEADLINE_S for sample in found["samples"])
    fitted = {s["size_bytes"] for s in found["samples"] if s["purpose"] == "fit"}
    checked = {s["size_bytes"] for s in found["samples"] if s["purpose"] == "check"}
    assert checked
    assert not fitted & checked
    assert {s["processes"] for s in found["samples"] if s["path"] == "group_formation"} == {2, 4, 8}
    names = [name for name, _ in events]
    assert names[0] == "plan"
    assert names[-1] == "calibrated"
    assert names.count("sample") == events[0][1]["samples"] == len(found["samples"])
    (folder,) = tmp_path.iterdir()
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]


def test_the_order_is_that_of_the_seed(tmp_path: Path) -> None:
    asked = request(sizes_bytes=SMALL[:2], with_check=False)
    orders = [
        [(s["path"], s["size_bytes"], s["processes"]) for s in run(tmp_path, asked)[1]["samples"]]
        for _ in range(2)
    ]
    assert orders[0] == orders[1]
    assert orders[0] != sorted(orders[0], key=str)


def test_one_that_was_asked_to_stop_leaves_nothing(tmp_path: Path) -> None:
    def emit(event: str, fields: dict[str, Any]) -> None:
        if event == "sample" and fields["sample"] == 3:
            raise OSError("nobody listens any more")

    with nothing_left():
        asked = request(sizes_bytes=SMALL[:2], with_check=False)
        assert not Session(asked, "mine", tmp_path, "test", emit).run()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_on_the_storage_is_removed(tmp_path: Path) -> None:
    left = (
        tmp_path
        / "calibration-old"
        / durable.temporary_name("work").replace(str(os.getpid()), "999999999")
    )
    left.mkdir(parents=True)
    (left / "read-1.safetensors").write_bytes(b"gigabytes")
    own = tmp_path / "calibration-living" / durable.temporary_name("work")
    own.mkdir(parents=True)
    run(tmp_path, request(sizes_bytes=SMALL[:2], with_check=False))
    assert not left.parent.exists()
    assert own.exists()


def test_a_process_that_fails_or_dies_is_said_in_one_line(tmp_path: Path) -> None:
    key = uuid.uuid4().hex[:12]
    with nothing_left():
        with hosted_store() as port:
            starter = RankStarter(["measure.calibration.worker"])
            with Crew(starter, 2, tmp_path, port, key) as crew:
                with pytest.raises(HarnessError, match="FileNotFoundError"):
                    crew.ask(0, "storage.drop", size=5)
                assert crew.timed(0, "memory.copy", size=1000) > 0.0
                os.kill(crew._processes[1].process.pid or 0, signal.SIGKILL)
                with pytest.raises(HarnessError, match=r"is gone: SIGKILL"):
                    crew.ask(1, "memory.copy", size=1000)
        segment_names.remove(key)


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name) == []


def started(mark: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "measure", "calibrate", "--cluster", "mine", "--events"),
            *("--folder", str(folder), *options),
        ],
        env={**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "5"], "'5' is not a size with its unit"),
        (["--sizes", "1MB"], "two sizes or more"),
        (["--repeats", "0"], "repeats must be from 1"),
        (["--seed", "-1"], "the seed must be from 0"),
        (["--folder", "/proc/nowhere"], "cannot write run records here"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    mark: str, tmp_path: Path, options: list[str], said: str
) -> None:
    process = started(mark, tmp_path, *options)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def until_sampled(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "sample":
            return
    raise AssertionError("it ended before it took a sample")


def test_ctrl_c_ends_it_in_order(mark: str, tmp_path: Path) -> None:
    process = started(mark, tmp_path, "--quick", "--repeats", "200")
    until_sampled(process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_one_takes_its_processes_with_it(mark: str, tmp_path: Path) -> None:
    process = started(mark, tmp_path, "--quick", "--repeats", "200", "--check")
    until_sampled(process)
    process.kill()
    process.communicate(timeout=DEADLINE_S)
    assert wait_until_gone(mark) == []
    deadline = time.monotonic() + 10
    while processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    segment_names.sweep()  # as the next run does
    assert not list(segment_names.FOLDER.glob("failbench-*-c2*"))
