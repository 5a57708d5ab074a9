"""Processes that share a store and nothing else."""

import multiprocessing
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist

from tests.measure.ranks import Failed, _answers, _hosted_store

Body = Callable[..., Any]


def on_ranks(
    body: Body, world_size: int, *arguments: Any, silent: int | None = None, deadline_s: float = 30
) -> list[Any]:
    """What `body(store, rank, world_size, *arguments)` returned on each rank; Failed if it
    raised, Died if it was gone, None for the rank that is to be silent. Leaves no process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["measure.rank.preloaded", "tests.measure.preloaded"])
    store, port = _hosted_store()
    pipes, processes = [], []
    for rank in range(world_size):
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_main, args=(body, port, rank, world_size, arguments, theirs), daemon=True
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
        del store


def _main(
    body: Body, port: int, rank: int, world_size: int, arguments: Any, answer: Connection
) -> None:
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=20))
    if store.add("started", 1) == world_size:
        store.set("all started", "")
    store.wait(["all started"])
    try:
        answer.send(body(store, rank, world_size, *arguments))
    except Exception:
        answer.send(Failed(traceback.format_exc()))
