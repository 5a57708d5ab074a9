"""From one process's memory to another's, over gloo, as replicas travel: in chunks, each of which
is digested as it arrives."""

from collections.abc import Sequence
from typing import Any

from measure.calibration.bench import PATIENT_S, Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import Cell, Extent
from measure.rank.links import Incoming, Outgoing
from measure.state.layout import Layout, StreamDigests
from measure.state.tensor_bytes import view_of

_SENDER, _RECEIVER = 0, 1
_DESCRIPTION = b"calibration"


class Peer(CalibratedPath):
    """See the module."""

    name = "peer"
    conditions = "two processes, gloo over the loopback interface, chunks of 16 MiB with xxh3"

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return by_size(self.name, extent, processes=2)

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: the pair meets, and memory is touched."""
        crew.ask_all([(_SENDER, "peer.meet", {"peer": 1}), (_RECEIVER, "peer.meet", {"peer": 0})])
        self._moved(crew, max(cell.size_bytes or 0 for cell in cells))

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return self._moved(crew, cell.size_bytes or 0)

    def _moved(self, crew: Crew, size: int) -> float:
        given = {"size": size}
        return crew.timed_all([(_SENDER, "peer.send", given), (_RECEIVER, "peer.receive", given)])


def _meet(bench: Bench, peer: int) -> None:
    bench.pair(peer)


def _send(bench: Bench, size: int, at: float) -> list[float]:
    message = Outgoing(bench.pair(_RECEIVER), bench.content(size))

    def send() -> None:
        message.begin(1, _DESCRIPTION)
        message.send_to(size)
        message.wait(PATIENT_S)

    return timed(send, at)


def _receive(bench: Bench, size: int, at: float) -> list[float]:
    incoming = Incoming(bench.pair(_SENDER), _SENDER, PATIENT_S)
    target, layout = bench.buffer(size), Layout.of(bench.state(size))

    def receive() -> None:
        found = StreamDigests(layout)
        incoming.expect()
        incoming.description(1)
        incoming.into(target)
        for begin, end in incoming.arrived():
            found.feed(view_of(target[begin:end]))

    return timed(receive, at)


OPERATIONS: dict[str, Any] = {"peer.meet": _meet, "peer.send": _send, "peer.receive": _receive}
