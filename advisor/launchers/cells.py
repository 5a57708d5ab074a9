"""What cells need of a launcher, by their parameters. Pure."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Protocol, TypeVar


class HasParameters(Protocol):
    """A cell of any kind."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that the harness needs to run it."""


C = TypeVar("C", bound=HasParameters)


def profiles_of(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """The profile of each cell, by its parameters."""
    return [str(cell["job"]["profile"]) for cell in cells]


def nodes_of(cell: Mapping[str, Any]) -> int:
    """How many nodes a cell runs on, by its parameters."""
    return int(cell["job"].get("nodes", 1))


def ranks_of(cells: Iterable[Mapping[str, Any]]) -> int:
    """The ranks of the largest of these cells on one node, by their parameters."""
    return max((ceil(cell["job"]["world_size"] / nodes_of(cell)) for cell in cells), default=1)


def by_nodes(cells: Iterable[C]) -> dict[int, list[C]]:
    """The cells by how many nodes they run on, in the order of the first of each: the tasks of an
    array are on equally many."""
    found: dict[int, list[C]] = {}
    for cell in cells:
        found.setdefault(nodes_of(cell.parameters), []).append(cell)
    return found
