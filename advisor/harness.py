"""Runs the measuring harness as a child process and hears what it does.

The harness is `python -m measure`, which needs torch; nothing here does. It writes one JSON object
a line to its stdout, each an event, and what is wrong in one line to its stderr.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from advisor.errors import AdvisorError, UserError

_HOME = Path(__file__).resolve().parent.parent
_KILL_AFTER_S = 10.0
_LONGEST_LINE = 1000
_MOST_LINES = 200

Event = Mapping[str, Any]


class InterruptedRunsError(AdvisorError):
    """Ctrl-C: the message says what is stored."""

    exit_code = 130


def harness_command(arguments: Sequence[str], verb: str = "run") -> list[str]:
    """The command that runs what it is handed, or calibrates, and says it event by event."""
    on_demand = ["--on-demand"] if verb == "run" else []
    return [sys.executable, "-m", "measure", verb, *arguments, "--events", *on_demand]


def harness_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The child finds the same packages as this process, whatever folder it starts in."""
    path = os.pathsep.join(filter(None, (str(_HOME), environment.get("PYTHONPATH"))))
    return {**environment, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}


class Harness:
    """One child process. Ctrl-C once lets it end its current run; twice ends it at once.

    with Harness(harness_command([...])) as child:
        for event in child.events():
            child.hand({...}), or child.hand_no_more()
        child.require_success()
    """

    def __init__(
        self,
        command: Sequence[str],
        on_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self.interrupts = 0
        self.said: deque[str] = deque(maxlen=_MOST_LINES)
        """The last lines of the child's stderr, complete once its events are over."""
        self._on_interrupt = on_interrupt
        self._child = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=harness_environment(),
            # A group of its own: a terminal's or a scheduler's signal reaches it through us, once.
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> "Harness":
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever went wrong here, no child is left behind."""
        if self._child.poll() is None:
            self._end_now()
        self.hand_no_more()
        self._child.wait()
        self._listener.join()
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def events(self) -> Iterator[Event]:
        """Every event in its order, until the child has ended. Raises AdvisorError."""
        assert self._child.stdout is not None
        with self._signals():
            for line in self._child.stdout:
                if line.strip():
                    yield _event(line)
            self._child.wait()
            self._listener.join()

    def hand(self, what: Mapping[str, Any]) -> None:
        """Hands the child its next cell. Whether it is still there to take it, its events say."""
        assert self._child.stdin is not None
        with suppress(OSError, ValueError):  # gone, or told before that there is no more
            self._child.stdin.write(json.dumps(what) + "\n")
            self._child.stdin.flush()

    def hand_no_more(self) -> None:
        """The child ends once it has run what it was handed."""
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()

    def interrupt(self) -> None:
        """Lets the child end its current run in order, and no other begin.

        By SIGTERM: what a shell starts in the background ignores SIGINT, and hands that on.
        """
        self._child.terminate()

    @property
    def exit_code(self) -> int | None:
        """The child's exit code, once its events are over."""
        return self._child.poll()

    def require_success(self) -> None:
        """Raises what the child's exit code stands for, in its own words where it has any."""
        code = self.exit_code
        if code == 0:
            return
        reason = self._reason()
        if code == 2:
            raise UserError(reason or "the measuring harness refuses these options")
        reason = f": {reason}" if reason else ""
        raise AdvisorError(f"the measuring harness failed (exit code {code}){reason}")

    def _listen(self) -> None:
        assert self._child.stderr is not None
        for line in self._child.stderr:
            if line.strip():
                self.said.append(line.rstrip()[:_LONGEST_LINE])

    def _reason(self) -> str:
        """The line that says what is wrong, else the last one of all."""
        lines = [line for line in self.said if "error: " in line] or list(self.said)
        return lines[-1].rpartition("error: ")[2].strip() if lines else ""

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Notes Ctrl-C instead of raising it, so that what is finished can be stored."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN  # nohup
        ]
        before = {number: signal.signal(number, self._heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupts += 1
        if self.interrupts == 1:
            self.interrupt()
            self._on_interrupt()
        else:
            self._end_now()

    def _end_now(self) -> None:
        """Asks the child to end, so that it can end its ranks, and kills it if it does not."""
        self._child.terminate()
        killer = threading.Timer(_KILL_AFTER_S, self._child.kill)
        killer.daemon = True
        killer.start()


def _event(line: str) -> Event:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        shown = line.strip()[:_LONGEST_LINE]
        raise AdvisorError(f"the measuring harness wrote a line that is no event: {shown!r}")
    return found
