"""Which node each process is on, and which ranks hold the replicas of which: failure domains.

Pure, and the same on every rank. A node is what is lost at once: its agent, its ranks, and what
its memory held.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """`holders[rank]` are the ranks that hold a replica of the rank's state, the preferred first;
    `nodes[rank]` is the node that it is on."""

    nodes: tuple[int, ...]
    holders: tuple[tuple[int, ...], ...]

    def owners(self, rank: int) -> list[int]:
        """Whose states a rank holds: its own, then those of the ranks before it in the ring."""
        size = len(self.holders)
        held = [owner for owner in range(size) if rank in self.holders[owner]]
        return [rank, *sorted(held, key=lambda owner: (rank - owner) % size)]

    @property
    def node_losses_survived(self) -> int:
        """So many nodes, whichever, may be lost at once without any rank's state: each state is on
        one node more."""
        places = (
            {self.nodes[rank], *(self.nodes[holder] for holder in holders)}
            for rank, holders in enumerate(self.holders)
        )
        return min(len(found) for found in places) - 1


def placed(nodes: Sequence[int], replicas: int) -> Placement:
    """Where the `replicas` copies of each rank's state go; `nodes[rank]` is the rank's node.
    ValueError unless there are more ranks than replicas.

    On one node the next ranks of the ring hold them. On several each copy goes to another node
    than its owner's and than those of its other copies, as far as there are nodes; then to another
    node than its owner's; of those to the rank that holds least, the nearest one ahead.
    """
    size = len(nodes)
    if not 0 <= replicas < size:
        raise ValueError(f"{replicas} replicas need {replicas + 1} ranks or more, not {size}")
    load = [0] * size
    holders = []
    for rank in range(size):
        chosen: list[int] = []
        for _ in range(replicas):
            chosen.append(_next_holder(rank, chosen, nodes, load))
            load[chosen[-1]] += 1
        holders.append(tuple(chosen))
    return Placement(tuple(nodes), tuple(holders))


def ring(nodes: Sequence[int], replicas: int) -> Placement:
    """The next ranks of the ring hold the copies, whichever nodes they are on."""
    return Placement(tuple(nodes), placed([0] * len(nodes), replicas).holders)


def _next_holder(rank: int, chosen: Sequence[int], nodes: Sequence[int], load: list[int]) -> int:
    size = len(nodes)
    used = {nodes[other] for other in chosen}
    is_one_node = len(set(nodes)) == 1

    def preference(ahead: int) -> tuple[bool, bool, int, int]:
        other = (rank + ahead) % size
        node = nodes[other]
        return node == nodes[rank], node in used, 0 if is_one_node else load[other], ahead

    free = (a for a in range(1, size) if (rank + a) % size not in chosen)
    return (rank + min(free, key=preference)) % size


def node_of_place(place: int, world_size: int, nodes: int) -> int:
    """The node that a rank of the full group begins on: consecutive ranks share one."""
    return place * nodes // world_size


def first_nodes(world_size: int, nodes: int) -> list[int]:
    """The node of each rank of the full group, as the run begins."""
    return [node_of_place(place, world_size, nodes) for place in range(world_size)]


def ranks_beside(rank: int, world_size: int, nodes: int) -> list[int]:
    """All ranks that begin on the node of this one, itself included."""
    found = first_nodes(world_size, nodes)
    return [other for other in range(world_size) if found[other] == found[rank]]


def spares_for_a_node(world_size: int, nodes: int) -> int:
    """How many spares replace any one node's ranks, as many on each node: those on the node that
    is lost are lost with it."""
    most = -(-world_size // nodes)
    return nodes * -(-most // (nodes - 1))


def least_used(living: Mapping[int, int]) -> int:
    """The node for one more process: that with the fewest, of equal ones the first. `living`
    counts the processes of each node that is there. ValueError where none is."""
    return min(sorted(living), key=lambda node: living[node])
