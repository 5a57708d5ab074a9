"""A node that had a suspect twice gets no process any more, as long as there is another."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from measure.nodes.remote import Nodes
from tests.measure.results.made import job

WORLD, LATER = 4, 6
"""The slot of a process that is started later: there are two spares."""


class Both:
    """Two nodes without agents."""

    def __init__(self) -> None:
        self.made: list[Any] = [
            SimpleNamespace(is_lost=False, living=2, heard_at=float("inf"), dismiss=lambda: None)
            for _ in range(2)
        ]
        asked = job(world_size=WORLD, nodes=2, spares=2)
        self.nodes = Nodes(asked, cast("Any", self.made))


@pytest.fixture
def both() -> Iterator[Both]:
    made = Both()
    yield made
    made.nodes.close()


def test_later_processes_go_where_there_are_fewest(both: Both) -> None:
    assert both.nodes._node_for(LATER) == 0
    both.made[0].living = 3
    assert both.nodes._node_for(LATER) == 1


def test_a_node_that_is_shunned_gets_none(both: Both) -> None:
    both.nodes.shun(0)
    assert both.nodes._node_for(LATER) == 1
    both.nodes.want_next_on(0)
    assert both.nodes._node_for(LATER) == 1
    both.made[1].is_lost = True
    assert both.nodes._node_for(LATER) == 0, "it is the only one that is left"
