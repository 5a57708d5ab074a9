"""Starts rank processes from a fork server that has torch loaded, and ends them for certain."""

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

_PRELOADED = "measure.rank.preloaded"
_KILL_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class RankProcess:
    """One rank: its process, and the supervisor's end of its control line."""

    rank: int
    process: ForkServerProcess
    pipe: Connection


class RankStarter:
    """One fork server for all the runs of this process: torch is imported once."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([_PRELOADED, *preload])

    def start(self, job_json: str, rank: int, folder: Path, store_port: int) -> RankProcess:
        """Starts one rank; returns before it is up."""
        from measure.rank.main import run_rank

        return self.start_process(run_rank, (job_json, rank, str(folder), store_port), rank)

    def start_process(
        self, target: Callable[..., None], arguments: tuple[Any, ...], rank: int
    ) -> RankProcess:
        """Starts `target(*arguments, its end of the control line)`; returns before it is up."""
        ours, theirs = multiprocessing.Pipe()
        process = self._context.Process(
            target=target,
            args=(*arguments, theirs),
            name=f"rank-{rank}",
            daemon=True,
        )
        with _main_module_hidden():
            process.start()
        theirs.close()
        return RankProcess(rank, process, ours)


class _main_module_hidden:  # noqa: N801 - reads as a statement
    """Children would import the parent's main script again, whatever it is: it is not theirs."""

    def __enter__(self) -> None:
        self._main = sys.modules["__main__"]
        hidden = type(sys)("__main__")
        hidden.__spec__ = None
        sys.modules["__main__"] = hidden

    def __exit__(self, *_: object) -> None:
        sys.modules["__main__"] = self._main


def end(ranks: Sequence[RankProcess], grace_s: float) -> set[int]:
    """Waits `grace_s` for all to exit, then kills the rest by their own pids, stopped ones
    included; returns the killed ranks. None is left afterwards."""
    deadline = time.monotonic() + grace_s
    killed = set()
    for started in ranks:
        started.process.join(max(0.0, deadline - time.monotonic()))
        if started.process.exitcode is None:
            started.process.kill()
            killed.add(started.rank)
    for started in ranks:
        started.process.join(_KILL_WAIT_S)
        started.pipe.close()
    return killed


def ended_by(exit_code: int | None) -> str:
    """How a process ended, in words: `SIGKILL`, `exit code 1`."""
    if exit_code is None:
        return "still running"
    if exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"
