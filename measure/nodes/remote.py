"""The nodes of a run as its supervisor reaches them: processes on other hosts, told and heard over
one line a node, look to it like its own.

A node whose line ends has lost its agent, and its ranks with it: a crash. One that stays silent
while its line is open is cut off: a partition. (A host that loses its power at once with its link
cannot be told from one that is cut off, and is called so.) Either way its ranks count as dead from
then on, whatever they say later.
"""

import errno
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from measure.errors import HarnessError, UsageError
from measure.job_spec import JobSpec
from measure.nodes.command import AT, KEY, key_told, place
from measure.nodes.keeper import python_path, wait_or_kill
from measure.nodes.line import Door, Line
from measure.nodes.messages import SILENT_S, ClockShift, Hello, Orders, beat_of
from measure.nodes.placement import least_used, node_of_place
from measure.rank.event_log import boot_id
from measure.rank.heartbeat import HeartbeatReader
from measure.state import segment_names
from measure.supervisor.observed import NodeView
from measure.supervisor.ranks import RankProcess
from measure.supervisor.store import LOOPBACK

_LOOKS_S = 0.05
_ACCEPTS_S = 0.2
_ENDS_WITHIN_S = 10.0
CRASH, PARTITION = "node-crash", "partition"
_OUT_OF_REACH = {errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH}


class BrokenOffError(Exception):
    """The run is to end before all of its nodes were there."""


class RemoteProcess:
    """A rank's process on a node, with what a ForkServerProcess is asked for here."""

    def __init__(self, node: "Node", slot: int) -> None:
        self._node, self._slot = node, slot
        self._over = threading.Event()
        self.exitcode: int | None = None

    def ended(self, exit_code: int | None) -> None:
        """It is no more; heard once."""
        if not self._over.is_set():
            self.exitcode = exit_code
            self._over.set()

    def kill(self) -> None:
        """Has it killed there."""
        with suppress(OSError):
            self._node.say("kill", slot=self._slot)

    def join(self, timeout: float | None = None) -> None:
        """Waits for its end."""
        self._over.wait(timeout)

    def close(self) -> None:
        """Nothing of it is held here."""


class RemotePipe:
    """The supervisor's end of a rank's control line: what it is told goes over its node's line,
    what it says waits in a pipe of this process."""

    def __init__(self, node: "Node", slot: int) -> None:
        self._node, self._slot = node, slot
        self._heard, self._arriving = Pipe(duplex=False)
        self._ending = threading.Lock()

    def arrive(self, message: bytes) -> None:
        """It has said this."""
        with self._ending, suppress(OSError):
            self._arriving.send_bytes(message)

    def end(self) -> None:
        """It will say nothing any more."""
        with self._ending:
            self._arriving.close()

    def send_bytes(self, data: bytes) -> None:
        """See Connection; OSError once its node is lost."""
        self._node.tell(self._slot, data)

    def recv_bytes(self, longest: int | None = None) -> bytes:
        """See Connection."""
        return self._heard.recv_bytes(longest)

    def fileno(self) -> int:
        """What to wait on."""
        return self._heard.fileno()

    def close(self) -> None:
        """Nobody listens to it any more."""
        self.end()
        self._heard.close()


@dataclass
class _Rank:
    process: RemoteProcess
    pipe: RemotePipe


class Node:
    """One node of a run. A thread listens to it; how it was lost, and when, stands in `view`."""

    def __init__(self, line: Line, said: Hello, beats: HeartbeatReader) -> None:
        self._line, self._beats = line, beats
        self.view = NodeView(
            said.node,
            said.host,
            said.address,
            said.interface,
            said.recovery_interface,
            said.chosen,
        )
        self._ranks: dict[int, _Rank] = {}
        self._dismissed = False
        self._losing = threading.Lock()
        self.heard_at = time.monotonic()

    def begin(self, orders: Orders) -> None:
        """Has the node serve a run; from now on it must not be silent."""
        with suppress(OSError):  # whoever listens hears of it
            self._line.say("run", **orders.to_json())
        self.heard_at = time.monotonic()
        self._listening = threading.Thread(target=self._listen, name="node", daemon=True)
        self._listening.start()

    def start(self, slot: int) -> RankProcess:
        """Has a rank started there."""
        process, pipe = RemoteProcess(self, slot), RemotePipe(self, slot)
        self._ranks[slot] = _Rank(process, pipe)
        with suppress(OSError):  # the node is being lost, and the rank with it
            self.say("start", slot=slot)
        if self.is_lost:
            self._bury(self._ranks[slot])
        # It has what is used of a process and of a connection, and is waited for like one.
        return RankProcess(slot, cast("Any", process), cast("Connection", pipe))

    def say(self, message: str, **fields: Any) -> None:
        """Sends the agent one message; OSError once the node is lost."""
        if self.is_lost:
            raise BrokenPipeError(f"node {self.view.node} is lost")
        self._line.say(message, **fields)

    def tell(self, slot: int, data: bytes) -> None:
        """Has a rank of it told; OSError once the node is lost."""
        self.say("to", slot=slot, told=json.loads(data))

    @property
    def is_lost(self) -> bool:
        """Whether nobody counts on it any more."""
        return self.view.lost_at is not None

    @property
    def living(self) -> int:
        """How many of its processes have not ended."""
        return sum(rank.process.exitcode is None for rank in self._ranks.values())

    def lose(self, how: str) -> None:
        """It is gone, or out of reach: all of its ranks count as killed."""
        with self._losing:
            if self.is_lost or self._dismissed:
                return
            self.view.lost, self.view.lost_at = how, time.monotonic()
        for rank in list(self._ranks.values()):
            self._bury(rank)

    def abandon(self) -> None:
        """There will be no run."""
        self._line.close()

    def dismiss(self) -> None:
        """The run is over."""
        with self._losing:
            self._dismissed = True
        with suppress(OSError):
            self.say("bye")
            self._listening.join(_ENDS_WITHIN_S)
        self._line.hang_up()
        self._listening.join(_ENDS_WITHIN_S)
        self._line.close()
        for rank in self._ranks.values():
            rank.pipe.end()

    def _bury(self, rank: _Rank) -> None:
        rank.process.ended(-signal.SIGKILL)
        rank.pipe.end()

    def _listen(self) -> None:
        try:
            while True:
                self._hear(self._line.hear())
        except OSError as error:
            self.lose(PARTITION if error.errno in _OUT_OF_REACH else CRASH)
        except EOFError:
            self.lose(CRASH)

    def _hear(self, message: dict[str, Any]) -> None:
        now = time.monotonic()
        self.heard_at = now
        if self.is_lost:
            return  # too late: others have gone on without it
        said = message["said"]
        if said == "beat":
            for told in message["ranks"]:
                self._beats.put(*beat_of(told, now))
            self.view.passed(message["passed"])
            if message["shift"] is not None:
                self.view.shift = ClockShift(**message["shift"])
            self._line.say("answer", n=message["n"], t=now, boot=boot_id())
        elif said == "from":
            self._beats.put(*beat_of(message["beat"], now))
            self._ranks[message["slot"]].pipe.arrive(json.dumps(message["told"]).encode())
        elif said == "ended":
            rank = self._ranks[message["slot"]]
            rank.process.ended(message["exit_code"])
            rank.pipe.end()


class Nodes:
    """All nodes of a run: starts each slot's process where it belongs. `node_of` says where each
    is."""

    def __init__(self, job: JobSpec, nodes: list[Node]) -> None:
        self._job, self._nodes = job, nodes
        self.node_of: dict[int, int] = {}
        self._wanted: list[int] = []
        self._shunned: set[int] = set()
        self._over = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="nodes", daemon=True)
        self._watching.start()

    @property
    def views(self) -> list[NodeView]:
        """Each node as it was seen."""
        return [node.view for node in self._nodes]

    def start(self, rank: int) -> RankProcess:
        """Starts the process of a slot. Where no node is left it is dead at once: that ends the
        run, and no more."""
        node = self._node_for(rank)
        self.node_of[rank] = node
        return self._nodes[node].start(rank)

    def want_next_on(self, node: int) -> None:
        """One of the processes that are started for others goes to this node, if it is there."""
        self._wanted.append(node)

    def shun(self, node: int) -> None:
        """No process that is started later goes there, unless it is the only node that is left."""
        self._shunned.add(node)

    def forget(self, slot: int, holder: int) -> None:
        """What a rank that is dead held in its node's memory is to be gone with it."""
        node = self._nodes[self.node_of[slot]]
        if not node.is_lost:
            with suppress(OSError):
                node.say("forget", holder=holder)
        elif node.view.lost == CRASH:
            # Where it was a part of this host only, its memory is here.
            segment_names.remove(self._job.run_key(), node=node.view.node)

    def close(self) -> None:
        """The run is over on every node."""
        self._over.set()
        self._watching.join()
        for node in self._nodes:
            node.dismiss()

    def _node_for(self, slot: int) -> int:
        """Ranks begin together, spares are dealt out; later ones go where there are fewest."""
        job = self._job
        spare = slot - job.world_size
        if spare < 0:
            wanted = node_of_place(slot, job.world_size, job.nodes)
        elif spare < job.spares:
            wanted = spare % job.nodes
        else:
            wanted = self._wanted.pop(0) if self._wanted else -1
        living = {n: node.living for n, node in enumerate(self._nodes) if not node.is_lost}
        if not living:
            return max(0, wanted)
        others = {n: count for n, count in living.items() if n not in self._shunned}
        return wanted if wanted in (others or living) else least_used(others or living)

    def _watch(self) -> None:
        """Takes those for lost that are silent. A supervisor that stood still itself has not
        listened: who is silent is asked for once more."""
        looked_at = time.monotonic()
        while not self._over.wait(_LOOKS_S):
            now = time.monotonic()
            stood_still, looked_at = now - looked_at > SILENT_S / 2.0, now
            for node in self._nodes:
                if not stood_still and now - node.heard_at > SILENT_S:
                    node.lose(PARTITION)


@contextmanager
def nodes_of_run(
    job: JobSpec,
    folder: Path,
    slots: int,
    store_port: int,
    patience_s: float,
    interrupted: Callable[[], bool],
) -> Iterator[Nodes]:
    """The nodes of a run, each with its agent: those that come to FAILBENCH_NODES_AT, or, without
    one, agents on this host. HarnessError if some are not there within the patience,
    BrokenOffError if the run is `interrupted` before that. Nothing is left of them afterwards.
    """
    host, port = host_and_port()
    with ExitStack() as stack:
        key = secrets.token_hex(16).encode() if is_local() else key_told()
        door = Door(host, port, key)
        stack.callback(door.close)
        beats = HeartbeatReader(folder / "heartbeats", slots)
        stack.callback(beats.close)
        agents: list[subprocess.Popen[bytes]] = []
        if is_local():
            for number in range(job.nodes):
                agents.append(_local_agent(folder, number, door.port, key))
                # It ends by itself once its line does.
                stack.callback(wait_or_kill, agents[-1], _ENDS_WITHIN_S)
        try:
            found = _met(door, job.nodes, beats, time.monotonic() + patience_s, interrupted)
        except BaseException:
            for agent in agents:
                agent.kill()  # it would call again, and has no rank yet
            raise
        door.close()  # who comes now, comes for another run
        orders = Orders(
            job.run_key(), job.to_json(), str(folder.resolve()), slots, host, store_port
        )
        for node in found:
            node.begin(orders)
        nodes = Nodes(job, found)
        stack.callback(nodes.close)
        yield nodes


def is_local() -> bool:
    """Whether the nodes are parts of this host, each with an agent of its own, for trying it."""
    return not os.environ.get(AT)


def host_and_port() -> tuple[str, int]:
    """Where agents come to; port 0 is any."""
    return (LOOPBACK, 0) if is_local() else place(os.environ[AT])


def check_place() -> None:
    """UsageError where no agent could come to this process: the place that FAILBENCH_NODES_AT names
    is none, or not this host's, or taken; or there is no key."""
    if is_local():
        return
    host, port = host_and_port()
    key = key_told()
    try:
        Door(host, port, key).close()
    except OSError as error:
        raise UsageError(
            f"{AT}: nobody can listen at {host}:{port} ({error.strerror}): name an address of this"
            " host, and a port that is free"
        ) from error


def _met(
    door: Door,
    count: int,
    beats: HeartbeatReader,
    deadline: float,
    interrupted: Callable[[], bool],
) -> list[Node]:
    """The agents of all nodes, in their order; who is not asked for is told so."""
    found: dict[int, Node] = {}
    try:
        while len(found) < count:
            if interrupted():
                raise BrokenOffError
            left_s = deadline - time.monotonic()
            if left_s <= 0.0:
                missing = ", ".join(str(n) for n in range(count) if n not in found)
                raise HarnessError(f"no agent came from node {missing}: `python -m measure node`")
            line = door.next_line(min(left_s, _ACCEPTS_S))
            said = _said(line) if line is not None else None
            if line is None or said is None:
                continue
            if said.node in found or said.node >= count:
                line.say("refused", why=f"node {said.node} is not wanted: {count} nodes, each once")
                line.close()
                continue
            found[said.node] = Node(line, said, beats)
    except BaseException:
        for node in found.values():
            node.abandon()
        raise
    return [found[number] for number in range(count)]


def _said(line: Line) -> Hello | None:
    """Who has come; None if it went again, or says nothing."""
    try:
        message = line.hear()
    except (EOFError, OSError):
        line.close()
        return None
    line.wait_as_long_as_it_takes()
    message.pop("said")
    return Hello(**message)


def _local_agent(folder: Path, node: int, port: int, key: bytes) -> "subprocess.Popen[bytes]":
    """An agent that stands for one node of this host. In a session of its own: signals to the
    group are for the supervisor, who ends it in order."""
    environment = {**os.environ, KEY: key.decode(), "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "measure.nodes", "--once"]
    command += ["--supervisor", f"{LOOPBACK}:{port}", "--node", str(node)]
    with (folder / f"node-{node}.out").open("ab") as output:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
