"""torchft's lighthouse, which counts who lives. Prints its address, then serves until it is
killed. Arguments: the folder where torchft is installed, the smallest number of workers."""

import importlib
import signal
import sys

from tests.benchmarks.against_torchrun.noted import die_with_parent

HEARTBEAT_LIMIT_MS = 1000
JOIN_LIMIT_MS = 60_000
"""How long it waits for workers that live and do not ask; at the start, for the slow ones."""


def main() -> None:
    """Serves."""
    die_with_parent()
    sys.path.append(sys.argv[1])
    coordination = importlib.import_module("torchft.coordination")
    server = coordination.LighthouseServer(
        bind="[::]:0",
        min_replicas=int(sys.argv[2]),
        join_timeout_ms=JOIN_LIMIT_MS,
        heartbeat_timeout_ms=HEARTBEAT_LIMIT_MS,
    )
    print(server.address(), flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
