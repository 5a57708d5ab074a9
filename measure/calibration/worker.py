"""A process of the crew: takes orders, does and times them, until it is told to end."""

import os
import select
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from measure.calibration import (
    device,
    groups,
    memory,
    peer,
    restores,
    serialisation,
    storage,
    verification,
)
from measure.calibration.bench import Bench
from measure.rank.control import hear, say
from measure.rank.groups import stay_on_loopback
from measure.rank.main import settle

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    name: operation
    for module in (*(device, groups, memory, peer, restores, serialisation, storage, verification),)
    for name, operation in module.OPERATIONS.items()
}
"""By the name that an order has."""


def run_worker(rank: int, folder: str, store_port: int, run_key: str, pipe: Connection) -> None:
    """The whole life of one process; never returns. It ends with the coordinating one."""
    settle(Path(folder) / f"process-{rank}.out")
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    stay_on_loopback()
    bench = Bench(rank, Path(folder), store_port, run_key)
    say(pipe, "ready")
    while (order := _next(pipe))["said"] != "end":
        try:
            result = OPERATIONS[order["said"]](bench, **order["arguments"])
            say(pipe, "done", result=result)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            say(pipe, "failed", error=f"{type(error).__name__}: {lines[0][:500]}")
    os._exit(0)  # destructors of groups whose peers are gone may block


def _end_with(pipe: Connection) -> None:
    """Ends this process with the coordinating one, also while it waits for a peer: the fork server
    lives as long as its children do."""
    watch = select.poll()
    watch.register(pipe.fileno(), select.POLLRDHUP)
    watch.poll()  # a hang-up, or an error
    os._exit(0)


def _next(pipe: Connection) -> dict[str, Any]:
    try:
        return hear(pipe)
    except (EOFError, OSError):
        return {"said": "end"}
