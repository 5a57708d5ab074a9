"""Keeps an agent on a node for as long as a job lasts: where a fault of the whole node kills it,
another one is started, for the next run.

Whoever is kept dies with its keeper, however that ends, and the keeper with whoever started it:
nothing of a job is left on a node.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from measure.rank.parent import die_with_parent

_PACKAGE = Path(__file__).resolve().parents[2]
_AGAIN_S = 0.5
"""Before another one is started: what kills each as it starts must not fill the node."""
_ENDS_WITHIN_S = 15.0


def keep(command: Sequence[str]) -> int:
    """Runs the command, and again whenever it was killed; its exit code once it ends by itself, 0
    after SIGTERM, which ends it. To be called in the main thread."""
    return _Keeper(command).keep()


class _Keeper:
    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def keep(self) -> int:
        signal.signal(signal.SIGTERM, self._stop)
        # A scheduler's warning is for the supervisor, and those who are started inherit that.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        while not self._stopped:
            self._child = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            if self._stopped:  # meanwhile
                self._child.terminate()
            exit_code = self._child.wait()
            if exit_code >= 0:
                return 0 if self._stopped else exit_code
            time.sleep(_AGAIN_S)
        return 0

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True
        if self._child is not None:
            self._child.terminate()


def die_with(parent: int) -> None:
    """From now on this process is killed as soon as its parent, of this pid, is dead; SIGTERM ends
    it in order."""
    die_with_parent()
    if os.getppid() != parent:  # it was dead already
        sys.exit(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


@contextmanager
def kept_agent(node: int, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """An agent that stands for this node, with its keeper, whose process it gives; both have ended
    afterwards. What they print goes to stderr: stdout may belong to somebody who reads events."""
    command = [sys.executable, "-m", "measure.nodes", "--keep", f"--node={node}"]
    keeper = subprocess.Popen(
        [*command, f"--dies-with={os.getpid()}"],
        env={**os.environ, **environment, "PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        # In a session of its own: signals to the group are for whoever started it.
        start_new_session=True,
    )
    try:
        yield keeper
    finally:
        end(keeper)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends it by SIGTERM, or, where that takes too long, by SIGKILL."""
    process.terminate()
    wait_or_kill(process, _ENDS_WITHIN_S)


def wait_or_kill(process: "subprocess.Popen[bytes]", within_s: float) -> None:
    """Until it has ended; one that takes longer is killed."""
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def python_path() -> str:
    """PYTHONPATH for a child: it finds this very package, whatever folder it starts in."""
    return os.pathsep.join([str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
