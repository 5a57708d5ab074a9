"""What a node does to itself when a fault of the whole node strikes, by the hand of one rank."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from measure.faults.schedule import FaultKind
from measure.nodes import network
from measure.state import segment_names


def strike(kind: FaultKind, run_key: str, node: int, agent: int, interfaces: Sequence[str]) -> None:
    """The node is lost, or its links are cut; `agent` is the agent's pid. OSError where a link
    cannot be cut: the fault has not fired."""
    if kind is FaultKind.PARTITION:
        for interface in dict.fromkeys(interfaces):
            network.cut(interface)
        return
    # What the memory of a dead host held is nobody's any more.
    segment_names.remove(run_key, node=node)
    # With the fork server, their parent, all ranks of the node get SIGKILL from the kernel.
    for pid in (agent, os.getppid(), os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
