"""Processes that share a store and nothing else."""

import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist

from measure.rank.scheduling import take_turns
from tests.measure.ranks import Failed, answers_of

Body = Callable[..., Any]


def on_ranks(
    body: Body, world_size: int, *arguments: Any, silent: int | None = None, deadline_s: float = 30
) -> list[Any]:
    """What `body(store, rank, world_size, *arguments)` returned on each rank; Failed if it
    raised, Died if it was gone, None for the rank that is to be silent. Leaves no process."""
    return answers_of(_main, world_size, (body, arguments), silent, deadline_s)


def _main(
    port: int, rank: int, world_size: int, answer: Connection, body: Body, arguments: Any
) -> None:
    take_turns()
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=20))
    if store.add("started", 1) == world_size:
        store.set("all started", "")
    store.wait(["all started"])
    try:
        answer.send(body(store, rank, world_size, *arguments))
    except Exception:
        answer.send(Failed(traceback.format_exc()))
