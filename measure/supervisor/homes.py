"""On which node the memory of each place is, and which nodes are to be avoided."""

from collections.abc import Sequence

from measure.nodes.remote import Nodes
from measure.state import segment_names
from measure.supervisor.observed import Observed, RankView


class Homes:
    """Of one run, whose names in memory begin with `run_key`. Where there are no `nodes`, all
    memory is on one host, and only what is forgotten counts."""

    def __init__(self, run_key: str, seen: Observed) -> None:
        self._run_key, self._seen = run_key, seen
        self.nodes: Nodes | None = None
        self._homes: dict[int, int] = {}
        self._shunned: dict[int, int] = {}

    def forget(self, view: RankView, holder: int) -> None:
        """What a process held in its host's memory, at a place, is gone with it."""
        self._homes.pop(holder, None)
        if self.nodes is None:
            segment_names.remove(self._run_key, holder=holder)
        else:
            self.nodes.forget(view.rank, holder)

    def stay_near(self, views: Sequence[RankView]) -> None:
        """These are only replaced, and their memory stays on their nodes: so do their places."""
        for view in views:
            if self.nodes is not None and view.node is not None and view.plays is not None:
                self._homes[view.plays] = view.node
                self.nodes.want_next_on(view.node)

    def shun(self, view: RankView) -> None:
        """Its place is to be on another node from now on."""
        if self.nodes is not None and view.node is not None and view.plays is not None:
            self._shunned[view.plays] = view.node
            self.nodes.shun(view.node)

    def taken(self, place: int) -> None:
        """A process has it again."""
        self._homes.pop(place, None)
        self._shunned.pop(place, None)

    def near_memory(self) -> dict[int, int]:
        """The node of each place that has memory without a process, on nodes that are there."""
        lost = {node.node for node in self._seen.nodes if node.lost}
        return {place: node for place, node in self._homes.items() if node not in lost}

    def to_leave(self) -> dict[int, int]:
        """The node that each of some places is to leave, as long as there is another one."""
        living = {node.node for node in self._seen.nodes if not node.lost}
        return {place: node for place, node in self._shunned.items() if living - {node}}
