"""Which node a place stays near to, and which one it is to leave."""

from typing import Any, cast

from measure.supervisor.homes import Homes
from measure.supervisor.observed import NodeView, Observed, RankView


class FakeNodes:
    """What is asked of the nodes."""

    def __init__(self) -> None:
        self.shunned: list[int] = []
        self.wanted: list[int] = []

    def shun(self, node: int) -> None:
        self.shunned.append(node)

    def want_next_on(self, node: int) -> None:
        self.wanted.append(node)


def made() -> tuple[Homes, FakeNodes, Observed]:
    seen = Observed(0.0, 2)
    seen.nodes = [NodeView(n, f"host-{n}", "", "", "", chosen=False) for n in range(2)]
    homes, nodes = Homes("0" * 12, seen), FakeNodes()
    homes.nodes = cast("Any", nodes)
    return homes, nodes, seen


def test_a_place_is_near_its_memory_until_it_is_taken_or_its_node_is_lost() -> None:
    homes, nodes, seen = made()
    homes.stay_near([RankView(0, plays=0, node=0), RankView(1, plays=1, node=1)])
    assert (homes.near_memory(), nodes.wanted) == ({0: 0, 1: 1}, [0, 1])
    homes.taken(0)
    assert homes.near_memory() == {1: 1}
    seen.nodes[1].lost = "node-crash"
    assert homes.near_memory() == {}


def test_a_place_leaves_its_node_while_there_is_another() -> None:
    homes, nodes, seen = made()
    homes.shun(RankView(1, plays=1, node=1))
    assert (homes.to_leave(), nodes.shunned) == ({1: 1}, [1])
    seen.nodes[0].lost = "partition"
    assert homes.to_leave() == {}
    seen.nodes[0].lost = ""
    homes.taken(1)
    assert homes.to_leave() == {}


def test_on_one_node_there_is_nothing_to_leave() -> None:
    homes = Homes("0" * 12, Observed(0.0, 2))
    homes.shun(RankView(1, plays=1))
    homes.stay_near([RankView(1, plays=1)])
    assert (homes.to_leave(), homes.near_memory()) == ({}, {})
