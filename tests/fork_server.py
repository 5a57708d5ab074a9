"""The fork server of tests, of which a process has one only."""

import multiprocessing
from multiprocessing.context import ForkServerContext

_LOADED = ["measure.rank.preloaded", "tests.measure.preloaded", "tests.integration.writers"]


def fork_server() -> ForkServerContext:
    """What starts processes for a test. Whoever is first decides what the server has loaded, and so
    all load the same: where writers to a database had come first, each rank of a later test loaded
    torch for itself, for seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context
