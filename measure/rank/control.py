"""The line between a rank and its supervisor: one JSON object a message, over a pipe.

The rank says: ready, built, struck (by what it survived), suspect (what a monitor found), kept
(its part of the evidence), infeasible, dropped, stopped, finished. The supervisor says: form (as
which rank, in which generation), train, keep (add to the evidence), end, which are orders and wait
for their turn; arm, lost and regroup (at once, or at a step), which are heard at once.
"""

import json
import queue
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
    blocked; its argument is the rank that was lost, None where the group is only to be left.
    `on_arm` hears when a fault that follows another is due: (ordinal, instant).
    `on_gone` is called when the supervisor is no more.
    """

    def __init__(
        self,
        pipe: Connection,
        on_lost: Callable[[int | None], None],
        on_arm: Callable[[int, float], None],
        on_gone: Callable[[], None],
    ) -> None:
        self._pipe, self._on_lost, self._on_arm, self._on_gone = pipe, on_lost, on_arm, on_gone
        self._orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._put_back: dict[str, Any] | None = None
        self._lost: deque[int] = deque()
        self._generation, self._lost_in = 0, -1
        self._pause = (-1, 0)
        self.is_waiting = False
        """The training thread waits for an order."""
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    def next_order(self) -> dict[str, Any]:
        """Blocks until the next order: form, train or end."""
        if self._put_back is not None:
            order, self._put_back = self._put_back, None
            return order
        self.is_waiting = True
        try:
            return self._orders.get()
        finally:
            self.is_waiting = False

    def put_back(self, order: dict[str, Any]) -> None:
        """The order is for somebody else's turn: `next_order` gives it again."""
        self._put_back = order

    @property
    def told_of_loss(self) -> bool:
        """Whether a peer of the present generation was reported lost."""
        return self._lost_in >= self._generation

    @property
    def pause_at(self) -> int | None:
        """The step before which all are to stop, so that the group can be formed anew."""
        generation, step = self._pause
        return step if generation == self._generation else None

    def new_generation(self, generation: int) -> None:
        """Forgets the losses of earlier generations; one of this may have been heard already."""
        self._generation = generation
        if not self.told_of_loss:
            self._lost.clear()

    def lost(self) -> list[int]:
        """The ranks reported lost since the last call."""
        found = []
        while self._lost:
            found.append(self._lost.popleft())
        return found

    def _listen(self) -> None:
        try:
            while True:
                self._take(hear(self._pipe))
        except (EOFError, OSError):
            self._on_gone()

    def _take(self, message: dict[str, Any]) -> None:
        if message["said"] == "arm":
            self._on_arm(message["ordinal"], message["at"])
        elif message["said"] == "lost":
            self._lost_in = message["generation"]
            self._lost.append(message["rank"])
            self._on_lost(message["rank"])
        elif message["said"] == "regroup" and message["step"] is not None:
            self._pause = message["generation"], message["step"]
        elif message["said"] == "regroup":  # nobody is lost, and still the group is to be left
            self._lost_in = message["generation"]
            self._on_lost(None)
        else:
            self._orders.put(message)
