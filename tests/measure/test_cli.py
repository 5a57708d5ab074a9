"""`python -m measure` as a person runs it: real processes, mistakes, Ctrl-C, kill -9."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.measure.harness import MARK, processes_with, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 90


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name) == []


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "measure", "run", "--folder", str(folder), "--events", *options]


def environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}


def finished(mark: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *options),
        env=environment(mark),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def small(*options: str) -> list[str]:
    return ["--profile", "smoke", "--world-size", "4", "--device", "cpu", *options]


def test_events_and_records(mark: str, tmp_path: Path) -> None:
    done = finished(
        mark,
        tmp_path,
        *small("--architecture", "a5", "--seeds", "2", "--cluster", "mine", "--order", "fixed"),
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    plan = events[0]
    assert (plan["event"], plan["runs"], plan["cluster"]) == ("plan", 2, "mine")
    assert plan["folder"] == str(tmp_path / plan["campaign"])
    assert [cell["run_id"] for cell in plan["cells"]] == [
        f"{plan['campaign']}/a5-ft9-f1-s{seed}" for seed in (0, 1)
    ]
    assert events[-1] == {"event": "end", "finished": 2}
    records = [event["record"] for event in events if event["event"] == "run-finished"]
    found = [json.loads(Path(record).read_text(encoding="utf-8")) for record in records]
    assert [record["cell"]["seed"] for record in found] == [0, 1]
    assert {record["outcome"] for record in found} == {"halted"}
    assert {record["cluster"]["cluster"] for record in found} == {"mine"}
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == ["starting", "training", "detecting", "ending"] * 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --architecture, --matrix or --campaign-file"),
        (["--architecture", "a2", "--device", "tpu"], "unknown device 'tpu': known are auto, cpu"),
        (["--architecture", "a2", "--order-seed", "-1"], "order seed must be from 0"),
        (["--campaign-file", "no.toml"], "no.toml: cannot read the campaign"),
        (["--architecture", "a2", "--cluster", "\udcff"], r"'\udcff' is no text in UTF-8"),
        (["--architecture", "a9"], "unknown architecture 'a9': known are a1-sync"),
        (["--architecture", "a2", "--mechanism", "ft99"], "unknown mechanism 'ft99'"),
        (["--architecture", "a2", "--mechanism", "ft1+ft7"], "tiers are different ones of ft1"),
        (["--architecture", "a2", "--mechanism", "ft1+ft1"], "tiers are different ones of ft1"),
        (["--architecture", "a4", "--mechanism", "ft7"], "nothing is left to run: FT7 needs"),
        (["--architecture", "a2", "--mechanism", "ft1", "--way", "up"], "spare, smaller, restart"),
        (["--architecture", "a2", "--mechanism", "ft1", "--way", "smaller"], "spare, restart"),
        (["--architecture", "a2", "--mechanism", "ft9", "--way", "spare"], "it does not recover"),
        (["--architecture", "a6", "--mechanism", "ft7", "--way", "smaller"], "goes on by itself"),
        (["--architecture", "a2", "--mechanism", "ft1", "--interval", "0"], "interval must be"),
        (["--architecture", "a2", "--mechanism", "ft6", "--replicas", "8"], "from 1 to 7, not 8"),
        (["--architecture", "a2", "--trace", "f7"], "unknown trace 'f7'"),
        (["--architecture", "a2", "--trace", "no.json"], "cannot read the schedule"),
        (["--architecture", "a7", "--world-size", "6"], "multiple of 4"),
        (["--architecture", "a2", "--world-size", "0"], "world size must be from 1"),
        (["--architecture", "a2", "--seeds", "0"], "number of seeds must be from 1"),
        (["--architecture", "a2", "--nodes", "9"], "number of nodes must be from 1 to 8, not 9"),
        (["--architecture", "a2", "--nodes", "2", "--pg-timeout", "1s"], "must be 5 s or more on"),
        (["--architecture", "a2", "--pg-timeout", "10"], "write 10s"),
        (["--architecture", "a2", "--pg-timeout", "soon"], "not a duration"),
        (["--architecture", "a2", "--detector", "oracle"], "group-timeout, supervisor"),
        (["--architecture", "a2", "--profile", "huge"], "smoke, cpu, paper"),
        (["--architecture", "a4", "--workload", "resnet50"], "does not train 'resnet50'"),
        (["--architecture", "a2", "--workload", "gpt"], "does not train 'gpt'"),
        (["--architecture", "a2", "--profile", "smoke", "--steps", "20"], "strike at step 25"),
        (["--architecture", "a2", "--trace", "none", "--lead", "1s"], "a lead belongs to a trace"),
        (["--architecture", "a2", "--folder", "/proc/nowhere"], "cannot write run records here"),
    ],
)
def test_a_mistake_is_one_line_before_anything_starts(
    mark: str, tmp_path: Path, options: list[str], said: str
) -> None:
    done = finished(mark, tmp_path, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_without_torch_it_says_how_to_get_it(mark: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch')", encoding="utf-8")
    done = subprocess.run(
        command(tmp_path / "runs", "--architecture", "a2"),
        env={**environment(mark), "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'failbench-advisor[measure]'" in done.stderr
    assert not (tmp_path / "runs").exists()


def training(mark: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    """A long run that is training by now."""
    started = subprocess.Popen(
        command(folder, *small("--architecture", "a5", "--trace", "none", *options)),
        env=environment(mark),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout is not None
    for line in started.stdout:
        if '"training"' in line:
            return started
    raise AssertionError("it never trained")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_run_and_leaves_its_record(
    mark: str, tmp_path: Path, number: signal.Signals
) -> None:
    started = training(mark, tmp_path, "--steps", "1000000", "--seeds", "3")
    os.killpg(started.pid, number)  # as a terminal does it: to every process of the group
    output, errors = started.communicate(timeout=DEADLINE_S)
    assert (started.returncode, errors) == (130, "")
    assert json.loads(output.splitlines()[-1]) == {"event": "end", "finished": 1}
    (record,) = tmp_path.glob("*/*/record.json")
    found = json.loads(record.read_text(encoding="utf-8"))
    assert (found["outcome"], found["validity_reasons"]) == ("invalid", ["interrupted"])


def test_kill_9_of_the_supervisor_takes_every_rank_with_it(mark: str, tmp_path: Path) -> None:
    started = training(mark, tmp_path, "--steps", "1000000")
    assert len(processes_with(mark)) >= 5  # the supervisor, four ranks, their server
    os.kill(started.pid, signal.SIGKILL)
    started.communicate(timeout=DEADLINE_S)
    assert wait_until_gone(mark) == []
    assert list(tmp_path.glob("*/*/record.json")) == []


def test_who_stops_listening_ends_the_campaign_in_order(mark: str, tmp_path: Path) -> None:
    started = training(mark, tmp_path, "--steps", "1000000", "--seeds", "3")
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    os.kill(started.pid, signal.SIGHUP)
    assert started.wait(DEADLINE_S) == 130
    assert started.stderr.read() == ""
    started.stderr.close()
    (record,) = tmp_path.glob("*/*/record.json")
    assert json.loads(record.read_text(encoding="utf-8"))["validity_reasons"] == ["interrupted"]


def test_a_parent_that_is_killed_ends_the_campaign(mark: str, tmp_path: Path) -> None:
    child = command(tmp_path, *small("--architecture", "a5", "--trace", "none", "--steps", "99999"))
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run({child!r})"],
        env=environment(mark),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    for line in parent.stdout:
        if '"training"' in line:
            break
    parent.kill()
    parent.wait(DEADLINE_S)
    parent.stdout.close()
    assert wait_until_gone(mark, 30.0) == []


def test_names_are_taken_in_either_case_and_in_lists(mark: str, tmp_path: Path) -> None:
    options = [
        "--architecture",
        "A5,a4",
        "--mechanism",
        "FT9",
        "--trace",
        "F1",
        "--profile",
        "SMOKE",
    ]
    done = finished(mark, tmp_path, *options, "--world-size", "4", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"event": "end", "finished": 2}


def test_a_killed_rank_that_no_fault_struck_makes_the_run_invalid(
    mark: str, tmp_path: Path
) -> None:
    started = training(mark, tmp_path, "--steps", "1000000")
    (log,) = tmp_path.glob("*/*/rank-1.jsonl")
    pid = json.loads(log.read_text(encoding="utf-8").splitlines()[0])["pid"]
    os.kill(pid, signal.SIGKILL)
    output, _ = started.communicate(timeout=DEADLINE_S)
    assert started.returncode == 0
    (event,) = (json.loads(x) for x in output.splitlines() if '"run-finished"' in x)
    assert event["outcome"] == "invalid"
    assert event["reasons"][0] == "rank 1 ended unplanned: SIGKILL"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 80 MB, all of it free; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_said_before_anything_starts(mark: str, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(40_000_000))
    done = finished(mark, small_disk, *small("--architecture", "a5"))
    assert done.returncode == 2
    assert "MB free, and run records need 64 MB" in done.stderr
    assert done.stdout == ""


def test_a_disk_that_fills_up_during_a_run_is_said(mark: str, small_disk: Path) -> None:
    started = training(mark, small_disk, "--steps", "1000000")
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "ballast").write_bytes(bytes(90_000_000))
    output, errors = started.communicate(timeout=DEADLINE_S)
    assert started.returncode == 1
    assert "could not be recorded: No space left on device" in errors
    assert len(errors.strip().splitlines()) == 1
    assert '"run-finished"' not in output


def test_the_disks_fault_leaves_earlier_records(mark: str, small_disk: Path) -> None:
    done = finished(mark, small_disk, *small("--architecture", "a5"))
    assert done.returncode == 0, done.stderr
    before = {path: path.read_bytes() for path in small_disk.glob("*/*/record.json")}
    (small_disk / "ballast").write_bytes(bytes(30_000_000))
    assert finished(mark, small_disk, *small("--architecture", "a5")).returncode == 2
    assert {path: path.read_bytes() for path in small_disk.glob("*/*/record.json")} == before
