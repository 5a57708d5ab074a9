"""Runs one training under torchrun or torchft, and says how long after the kill the next step
was complete on every rank that goes on."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.against_torchrun.job import Job
from tests.benchmarks.against_torchrun.noted import fault_at, steps_of

REPOSITORY = Path(__file__).resolve().parents[3]
LIMIT_S = 120.0
_HERE = "tests.benchmarks.against_torchrun"


def torchrun(job: Job) -> float:
    """Seconds from the kill to the first step of the restarted job that all ranks completed.

    TORCH_DISABLE_SHARE_RDZV_TCP_STORE and an endpoint are what makes torchrun recover at all:
    otherwise restarted workers read stale addresses from the store that they share.
    """
    command = [
        *("-m", f"{_HERE}.launch", "--nnodes", "1", "--nproc-per-node", str(job.ranks)),
        *("--max-restarts", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"),
        *("--module", f"{_HERE}.under_torchrun", job.to_json()),
    ]
    with _started([command], job, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1") as processes:
        _wait(lambda: processes[0].poll() is not None, job)
        assert processes[0].returncode == 0, _output(job)
    return _first_after(job, range(job.ranks), lambda step: bool(step["life"] == 1))


def torchft(job: Job, site: Path) -> float:
    """Seconds from the kill to the first step that all survivors committed, one rank fewer.

    `site` is where torchft is installed. A worker is lost after one second without a heartbeat.
    """
    survivors = [rank for rank in range(job.ranks) if rank != job.victim]
    lighthouse = [str(site), str(job.ranks - 1)]
    with _started([["-m", f"{_HERE}.lighthouse", *lighthouse]], job) as (beacon,):
        assert beacon.stdout is not None
        address = beacon.stdout.readline().strip()
        commands = [
            ["-m", f"{_HERE}.under_torchft", str(rank), address, str(site), job.to_json()]
            for rank in range(job.ranks)
        ]
        with _started(commands, job, TORCHFT_LIGHTHOUSE=address) as workers:
            _wait(lambda: all(workers[rank].poll() is not None for rank in survivors), job)
            assert all(workers[rank].returncode == 0 for rank in survivors), _output(job)
    smaller = job.ranks - 1
    return _first_after(
        job, survivors, lambda step: bool(step["committed"]) and step["ranks"] == smaller
    )


def _first_after(job: Job, ranks: Sequence[int], counts: Callable[[dict[str, Any]], bool]) -> float:
    """Seconds from the kill to the end of each rank's first step that counts, the last rank's."""
    folder = Path(job.folder)
    fault_s = fault_at(folder)
    ends: list[float] = []
    for rank in ranks:
        after = [s["t"] for s in steps_of(folder, rank) if s["t"] > fault_s and counts(s)]
        assert after, f"rank {rank} made no step after the kill: {_output(job)}"
        ends.append(after[0])
    return max(ends) - fault_s


@contextmanager
def _started(
    commands: Sequence[Sequence[str]], job: Job, **more: str
) -> Iterator[list[subprocess.Popen[str]]]:
    """The processes; all of them are gone afterwards, and their children with them."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **more}
    processes: list[subprocess.Popen[str]] = []
    with (Path(job.folder) / "output").open("a", encoding="utf-8") as output:
        try:
            for command in commands:
                process = subprocess.Popen(
                    [sys.executable, *command],
                    cwd=REPOSITORY,
                    env=environment,
                    stdout=subprocess.PIPE if "lighthouse" in command[1] else output,
                    stderr=output,
                    text=True,
                )
                processes.append(process)
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.communicate()


def _wait(done: Callable[[], bool], job: Job) -> None:
    end = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < end, f"not over after {LIMIT_S:.0f} s: {_output(job)}"
        time.sleep(0.05)


def _output(job: Job) -> str:
    text = (Path(job.folder) / "output").read_text(encoding="utf-8", errors="replace")
    return text[-3000:]
