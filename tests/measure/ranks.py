"""Starts real ranks for a test: processes, a store, groups; and never leaves one behind."""

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
import torch.distributed as dist

from measure.architectures.registry import entry_named, load
from measure.interfaces.architecture import Architecture
from measure.rank.context import RankContext
from measure.rank.groups import ProcessGroups, StorePlace, stay_on_loopback
from measure.rank.scheduling import take_turns
from measure.supervisor.store import hosted_store
from measure.workloads.catalogue import build
from tests.fork_server import fork_server

PATIENT_S = 15.0
"""Limits of runs without a silent rank: on a busy machine, no rank may be taken for one."""
DEADLINE_S = 40.0


@dataclass(frozen=True)
class Request:
    """What every rank of a test does: `body(architecture)`, whose result it sends back."""

    architecture: str
    workload: str
    body: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    profile: str = "smoke"
    seed: int = 7
    round_limit_s: float = PATIENT_S


@dataclass(frozen=True)
class Failed:
    """A rank whose body raised."""

    error: str


@dataclass(frozen=True)
class Died:
    """A rank that was gone before it answered."""

    signal: int


def run_ranks(
    request: Request, world_size: int, silent: int | None = None, deadline_s: float = DEADLINE_S
) -> list[Any]:
    """What each rank's body returned, or Failed, or Died; None for the rank that is to be silent.

    AssertionError past the deadline. No process is left in any case.
    """
    return answers_of(_rank_main, world_size, (request,), silent, deadline_s)


def answers_of(
    body: Callable[..., None],
    world_size: int,
    arguments: tuple[Any, ...],
    silent: int | None,
    deadline_s: float,
) -> list[Any]:
    """What each process sent, or Died; None for the rank that is to be silent. Each runs
    `body(port of their store, rank, world_size, pipe, *arguments)`; none is left."""
    context = fork_server()
    pipes, processes = [], []
    with hosted_store() as port:
        for rank in range(world_size):
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=body, args=(port, rank, world_size, theirs, *arguments), daemon=True
            )
            process.start()
            theirs.close()
            pipes.append(mine)
            processes.append(process)
        try:
            return _answers(pipes, processes, silent, time.monotonic() + deadline_s)
        finally:
            for process in processes:
                process.kill()
                process.join()
            for pipe in pipes:
                pipe.close()


def _answers(
    pipes: list[Connection], processes: list[Any], silent: int | None, end: float
) -> list[Any]:
    answers: list[Any] = [None] * len(pipes)
    waiting = {pipe: rank for rank, pipe in enumerate(pipes) if rank != silent}
    while waiting:
        left = end - time.monotonic()
        assert left > 0, f"no answer from ranks {sorted(waiting.values())}; so far {answers}"
        for ready in wait(list(waiting), timeout=left):
            assert isinstance(ready, Connection)
            rank = waiting.pop(ready)
            try:
                answers[rank] = ready.recv()
            except EOFError:
                processes[rank].join()
                answers[rank] = Died(-processes[rank].exitcode)
    return answers


def _rank_main(port: int, rank: int, world_size: int, answer: Connection, request: Request) -> None:
    take_turns()
    torch.set_num_threads(1)
    stay_on_loopback()
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=20))
    try:
        _meet(store, world_size)
        groups = ProcessGroups(
            StorePlace("127.0.0.1", port),
            rank,
            world_size,
            "gloo",
            PATIENT_S,
            request.round_limit_s,
        )
        context = RankContext(
            rank,
            world_size,
            request.seed,
            torch.device("cpu"),
            "gloo",
            request.round_limit_s,
            groups,
        )
        result = request.body(_built(request, context), *request.arguments)
    except Exception:
        result = Failed(traceback.format_exc())
    answer.send(result)
    # Who raised goes, and its connections close. Who is done stays until the test ends it: its
    # end must not look like a loss to those that still train.
    if not isinstance(result, Failed) and not getattr(result, "error", ""):
        time.sleep(DEADLINE_S)
    os._exit(0)  # a destroyed group may wait for peers that are gone


def _meet(store: dist.Store, world_size: int) -> None:
    """Ranks start seconds apart on a busy machine; groups form within their timeout after this."""
    if store.add("started", 1) == world_size:
        store.set("all started", "")
    store.wait(["all started"])


def _built(request: Request, context: RankContext) -> Architecture:
    workload = build(request.workload, request.profile, request.seed)
    plugin = load(entry_named(request.architecture))
    plugin.check_shape(context.world_size, workload)
    architecture = plugin(context, workload)
    architecture.build()
    return architecture
