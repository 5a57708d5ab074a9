"""The line between a rank and its supervisor: one JSON object a message, over a pipe.

The rank says: ready, built, dropped, stopped, finished. The supervisor says: form, train, arm,
lost, end.
"""

import json
import threading
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_LARGEST_MESSAGE_BYTES = 65_536


def say(pipe: Connection, message: str, **fields: Any) -> bool:
    """Sends one message; False when nobody is at the other end any more."""
    try:
        pipe.send_bytes(json.dumps({"said": message, **fields}).encode())
    except OSError:
        return False
    return True


def hear(pipe: Connection) -> dict[str, Any]:
    """Waits for one message; EOFError or OSError when the other end is gone."""
    found: dict[str, Any] = json.loads(pipe.recv_bytes(_LARGEST_MESSAGE_BYTES))
    return found


class Inbox:
    """What the supervisor told this rank, received by a thread of its own.

    `on_lost` is called from that thread, at once: it has to free a training thread that is
    blocked. `on_arm` hears when a fault that follows another is due: (ordinal, instant).
    `on_gone` is called when the supervisor is no more.
    """

    def __init__(
        self,
        pipe: Connection,
        on_lost: Callable[[int], None],
        on_arm: Callable[[int, float], None],
        on_gone: Callable[[], None],
    ) -> None:
        self._pipe, self._on_lost, self._on_arm, self._on_gone = pipe, on_lost, on_arm, on_gone
        self._train_at: float = 0.0
        self._form, self._train, self._end = (threading.Event() for _ in range(3))
        self._lost: deque[int] = deque()
        self.told_of_loss = False
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    def wait_for_form(self) -> None:
        """Blocks until every rank is ready to form groups: the group's timeout runs from here."""
        self._form.wait()

    def wait_for_train(self) -> float:
        """Blocks until training may start; returns the common instant (CLOCK_MONOTONIC)."""
        self._train.wait()
        return self._train_at

    def wait_for_end(self) -> None:
        """Blocks until the run is over for everybody."""
        self._end.wait()

    def lost(self) -> list[int]:
        """The ranks reported lost since the last call."""
        found = []
        while self._lost:
            found.append(self._lost.popleft())
        return found

    def _listen(self) -> None:
        try:
            while not self._end.is_set():
                self._take(hear(self._pipe))
        except (EOFError, OSError):
            self._on_gone()

    def _take(self, message: dict[str, Any]) -> None:
        if message["said"] == "form":
            self._form.set()
        elif message["said"] == "train":
            self._train_at = message["at"]
            self._train.set()
        elif message["said"] == "arm":
            self._on_arm(message["ordinal"], message["at"])
        elif message["said"] == "lost":
            self.told_of_loss = True
            self._lost.append(message["rank"])
            self._on_lost(message["rank"])
        elif message["said"] == "end":
            self._end.set()
