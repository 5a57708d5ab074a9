"""The agent of a node: it starts the node's ranks by order of a supervisor that may be on another
host, passes on what they say and what they are told, and answers for their memory.

It beats, and the supervisor answers each beat. Where no answer comes any more, the supervisor may
be going on with others: the agent ends its ranks before that can be (measure.nodes.messages), so
that of two sides that do not reach each other one only trains. An agent whose line ends ends them
as well.
"""

import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from measure.errors import UsageError
from measure.nodes import network
from measure.nodes.line import Line
from measure.nodes.messages import (
    BEAT_S,
    LEASE_S,
    SILENT_S,
    ClockShift,
    Hello,
    Orders,
    ages,
    shift_of,
    shifted,
)
from measure.rank.control import hear, say
from measure.rank.entry import nothing, run_on_node
from measure.rank.event_log import boot_id
from measure.rank.heartbeat import HeartbeatReader, create
from measure.state import segment_names
from measure.supervisor.ranks import RankProcess, RankStarter, end

_LOOKS_S = 0.05
_REAP_S = 10.0
_MENDS_AFTER_S = 2.0 * SILENT_S
"""From the end of a node's ranks until its links are mended: the supervisor must have seen silence
first, not the end of a line."""

_NAMES_SOON = "RES_OPTIONS", "timeout:1 attempts:2"
"""torch looks up the name of every address that it connects to, for its messages: a name server
that does not answer made each formation of groups ten seconds longer, in recoveries too."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which interfaces carry what, where somebody chose; empty: the one that reaches the
    supervisor. UsageError for one that this host does not have, or that has no address."""

    interface: str = ""
    recovery_interface: str = ""

    def __post_init__(self) -> None:
        known = network.addresses()
        for name in filter(None, (self.interface, self.recovery_interface)):
            if name not in known:
                raise UsageError(
                    f"no interface {name!r} with an address here: there are {', '.join(known)}"
                )


def hello(node: int, address: str, chosen: Chosen) -> Hello:
    """What this host says of itself; UsageError if it knows no interface to use."""
    interface = chosen.interface or network.interface_of(address)
    if not interface:
        raise UsageError(f"no interface of this host has the address {address}: give --interface")
    return Hello(
        node=node,
        host=socket.gethostname(),
        address=address,
        boot=boot_id(),
        pid=os.getpid(),
        interface=interface,
        recovery_interface=chosen.recovery_interface or interface,
        chosen=bool(chosen.interface or chosen.recovery_interface),
    )


def warmed() -> RankStarter:
    """A fork server that has loaded what ranks need: from now on they start at once."""
    os.environ.setdefault(*_NAMES_SOON)
    starter = RankStarter()
    first = starter.start_process(nothing, (), 0)
    first.process.join()
    first.process.close()
    first.pipe.close()
    return starter


class Agent:
    """One run's agent, over one line, whose supervisor has heard `hello` already."""

    def __init__(self, line: Line, said: Hello, orders: Orders, starter: RankStarter) -> None:
        self._line, self._said, self._orders, self._starter = line, said, orders, starter
        self._ranks: dict[int, RankProcess] = {}
        self._slot_of: dict[Connection, int] = {}
        self._over = threading.Event()
        self._dismissed = False
        self._orders_heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._woken, self._wakes = Pipe(duplex=False)
        self._sent: dict[int, float] = {}
        self._lease_from = time.monotonic()
        self._shift: ClockShift | None = None
        self._interfaces = sorted({said.interface, said.recovery_interface})
        self._links = [network.link(name) for name in self._interfaces]
        self._obeys: dict[str, Callable[[dict[str, Any]], None]] = {
            "start": self._start,
            "to": self._tell,
            "kill": self._kill,
            "forget": self._forget,
            "bye": self._leave,
            "gone": self._lose_supervisor,
        }

    def serve(self) -> bool:
        """Until the supervisor says bye: True; until it is gone, or cannot be reached: False. No
        rank and no memory is left, and links that a fault of the run cut are mended. OSError where
        they cannot be."""
        key = self._orders.run_key
        self._beats_path = segment_names.path_of(key, None, "beats", self._said.node)
        segment_names.sweep()
        create(self._beats_path, self._orders.slots)
        self._beats = HeartbeatReader(self._beats_path, self._orders.slots)
        segment_names.claim(key)
        threads = [
            threading.Thread(target=target, name=target.__name__, daemon=True)
            for target in (self._hold_lease, self._beat, self._listen)
        ]
        for thread in threads:
            thread.start()
        try:
            while not self._dismissed:
                self._look()
        except (EOFError, OSError):
            pass  # nobody is there to be told
        finally:
            self._over.set()
            self._end_ranks()
            self._line.hang_up()
            for thread in threads:
                thread.join()
            self._beats.close()
            self._woken.close()
            self._wakes.close()
            segment_names.remove(key, node=self._said.node)
            segment_names.release(key)
        self._mend_links()
        return self._dismissed

    def _look(self) -> None:
        for ready in wait([self._woken, *self._slot_of]):
            assert isinstance(ready, Connection)
            if ready is not self._woken:
                self._pass_on(ready)
                continue
            ready.recv_bytes()
            order = self._orders_heard.get()
            self._obeys[order["said"]](order)

    def _listen(self) -> None:
        """Hears the supervisor. Answers to beats are heeded at once: to start a rank takes time."""
        try:
            while True:
                order = self._line.hear()
                if order["said"] == "answer":
                    self._answered(order)
                else:
                    self._pass_in(order)
        except (EOFError, OSError):
            self._pass_in({"said": "gone"})

    def _pass_in(self, order: dict[str, Any]) -> None:
        self._orders_heard.put(order)
        self._wakes.send_bytes(b"!")

    def _pass_on(self, pipe: Connection) -> None:
        """What a rank says, with its last beat, so that nothing older is known of it; or that it is
        dead."""
        slot = self._slot_of[pipe]
        try:
            message = hear(pipe)
        except (EOFError, OSError):
            del self._slot_of[pipe]
            process = self._ranks[slot].process
            process.join(_REAP_S)
            self._line.say("ended", slot=slot, exit_code=process.exitcode)
            return
        self._line.say("from", slot=slot, told=message, beat=self._beat_of(slot))

    def _start(self, order: dict[str, Any]) -> None:
        slot, orders, said = order["slot"], self._orders, self._said
        place = {
            "folder": orders.folder,
            "store_port": orders.store_port,
            "store_host": orders.store_host,
            "node": said.node,
            "agent": said.pid,
            "beats": str(self._beats_path),
            "interface": said.interface,
            "recovery_interface": said.recovery_interface,
        }
        started = self._starter.start_process(
            run_on_node, (orders.job, slot, json.dumps(place)), slot
        )
        self._ranks[slot] = started
        self._slot_of[started.pipe] = slot

    def _tell(self, order: dict[str, Any]) -> None:
        told = shifted(order["told"], self._shift.ahead_s if self._shift else 0.0)
        say(self._ranks[order["slot"]].pipe, told.pop("said"), **told)

    def _kill(self, order: dict[str, Any]) -> None:
        self._ranks[order["slot"]].process.kill()

    def _forget(self, order: dict[str, Any]) -> None:
        segment_names.remove(self._orders.run_key, order["holder"], self._said.node)

    def _leave(self, _order: dict[str, Any]) -> None:
        self._dismissed = True

    def _lose_supervisor(self, _order: dict[str, Any]) -> None:
        raise EOFError("nobody is at the other end any more")

    def _answered(self, order: dict[str, Any]) -> None:
        """A beat arrived there: the lease runs from when it was sent."""
        sent_at, now = self._sent.pop(order["n"]), time.monotonic()
        self._lease_from = max(self._lease_from, sent_at)
        if order["boot"] == self._said.boot:
            self._shift = ClockShift(0.0, 0.0)  # it is the same clock
            return
        found = shift_of(sent_at, float(order["t"]), now)
        if self._shift is None or found.error_s < self._shift.error_s:
            self._shift = found

    def _beat(self) -> None:
        number = 0
        while not self._over.wait(BEAT_S):
            number += 1
            self._sent[number] = time.monotonic()
            passed = [[name, *network.passed_bytes(name)] for name in self._interfaces]
            beats, now = self._beats.read(), time.monotonic()
            ranks = [ages(slot, beats[slot], now) for slot in list(self._ranks)]
            shift = asdict(self._shift) if self._shift else None
            try:
                self._line.say("beat", n=number, ranks=ranks, passed=passed, shift=shift)
            except OSError:
                return

    def _beat_of(self, slot: int) -> list[float | int | None]:
        return ages(slot, self._beats.read()[slot], time.monotonic())

    def _hold_lease(self) -> None:
        """Ends the ranks once the supervisor may take them for lost. Waits for nothing that
        another thread may hold."""
        while not self._over.wait(_LOOKS_S):
            if time.monotonic() > self._lease_from + LEASE_S:
                for started in list(self._ranks.values()):
                    started.process.kill()
                self._line.hang_up()
                return

    def _mend_links(self) -> None:
        cut = [link for link in self._links if link is not None and network.is_cut(link)]
        if cut:
            time.sleep(_MENDS_AFTER_S)
        for link in cut:
            network.mend(link)

    def _end_ranks(self) -> None:
        end(list(self._ranks.values()), 0.0)
        for started in self._ranks.values():
            started.process.close()
        self._ranks, self._slot_of = {}, {}
