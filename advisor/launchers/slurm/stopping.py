"""Notes that somebody asks to stop, instead of raising it in the middle of something."""

import signal
import threading
import time
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_S = 0.1


class StoppedError(Exception):
    """Somebody asked to stop while something was waited for, which was not done."""


class StopAsked:
    """Counts Ctrl-C, SIGTERM and a closed terminal within its block.

    with StopAsked() as stop:
        while not stop.count: stop.wait(5.0)
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "StopAsked":
        in_main = threading.current_thread() is threading.main_thread()
        heeded = [n for n in _SIGNALS if in_main and signal.getsignal(n) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._heard) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> None:
        """Waits so long, or until somebody asks to stop."""
        deadline = time.monotonic() + seconds
        while not self.count and (left_s := deadline - time.monotonic()) > 0:
            time.sleep(min(_LOOK_S, left_s))

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
