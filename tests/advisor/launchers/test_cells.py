"""What cells need of a launcher."""

from advisor.launchers.cells import by_nodes
from advisor.launchers.slurm.place import HandedCell


def test_cells_go_by_how_many_nodes_they_are_on() -> None:
    def cell(ordinal: int, **job: int) -> HandedCell:
        return HandedCell(ordinal, 4, {"job": {"profile": "smoke", **job}})

    cells = [cell(1), cell(2, nodes=2), cell(3, nodes=1), cell(4, nodes=2)]
    found = by_nodes(cells)
    assert {nodes: [c.ordinal for c in those] for nodes, those in found.items()} == {
        1: [1, 3],
        2: [2, 4],
    }
    assert list(found) == [1, 2]
