"""The fork server of tests, of which a process has one only."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

_LOADED = ["measure.rank.preloaded", "tests.measure.preloaded", "tests.integration.writers"]


def fork_server() -> ForkServerContext:
    """What starts processes for a test. Whoever is first decides what the server has loaded, and so
    all load the same: where writers to a database had come first, each rank of a later test loaded
    torch for itself, for seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context


@contextmanager
def own_fork_server(helper: str, variable: str, plan: Path) -> Iterator[Path]:
    """Another fork server meanwhile, which has also loaded `helper`: a module that only it may
    import, since it changes what ranks do as `plan`, named in this variable, says."""
    server: Any = forkserver._forkserver
    server._stop()
    os.environ[variable] = str(plan)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["measure.rank.preloaded", helper])
    server.ensure_running()
    yield plan
    server._stop()
    del os.environ[variable]
