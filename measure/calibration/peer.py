"""From one process's memory to another's, over gloo, as replicas travel: a description, and chunks
that are digested as they arrive."""

from collections.abc import Sequence
from typing import Any

from measure.calibration.bench import PATIENT_S, Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import Cell, Extent
from measure.rank.links import Incoming, Outgoing
from measure.state.layout import Layout, StreamDigests
from measure.state.replicas import described_as, description_parsed
from measure.state.tensor_bytes import view_of

_SENDER, _RECEIVER = 0, 1
_STEP = 1


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
    state = bench.state(size)
    layout = Layout.of(state)
    message = Outgoing(bench.pair(_RECEIVER), bench.content(layout.size_bytes))

    def send() -> None:
        message.begin(state.step, described_as(state.plain, layout, 0))
        message.send_to(layout.size_bytes)
        message.wait(PATIENT_S)

    return timed(send, at)


def _receive(bench: Bench, size: int, at: float) -> list[float]:
    incoming = Incoming(bench.pair(_SENDER), _SENDER, PATIENT_S)
    buffer = bench.buffer(size)

    def receive() -> None:
        incoming.expect()
        text, length = incoming.description(_STEP)
        _, layout, _ = description_parsed(text, length, _SENDER, _STEP)
        target, found = buffer[:length], StreamDigests(layout)
        incoming.into(target)
        for begin, end in incoming.arrived():
            found.feed(view_of(target[begin:end]))

    return timed(receive, at)


OPERATIONS: dict[str, Any] = {"peer.meet": _meet, "peer.send": _send, "peer.receive": _receive}
