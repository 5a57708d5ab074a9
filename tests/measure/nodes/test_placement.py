"""Failure domains: where ranks begin, and where the replicas of their states go."""

import itertools

import pytest

from measure.nodes.placement import (
    first_nodes,
    least_used,
    node_of_place,
    placed,
    ranks_beside,
    ring,
    spares_for_a_node,
)

SMALL = [
    (first_nodes(size, nodes), replicas)
    for size in range(2, 13)
    for nodes in range(1, size + 1)
    for replicas in range(1, size)
]
ANYWHERE = [
    (list(nodes), replicas)
    for size in range(2, 7)
    for nodes in itertools.product(range(3), repeat=size)
    for replicas in range(1, size)
]


def test_on_one_node_the_next_ranks_of_the_ring_hold_the_copies() -> None:
    for size in range(2, 9):
        for replicas in range(1, size):
            found = placed([0] * size, replicas)
            for rank in range(size):
                ahead = [(rank + n) % size for n in range(1, replicas + 1)]
                behind = [(rank - n) % size for n in range(replicas + 1)]
                assert (list(found.holders[rank]), found.owners(rank)) == (ahead, behind)
            assert found.node_losses_survived == 0


@pytest.mark.parametrize("cases", [SMALL, ANYWHERE], ids=["as they begin", "anywhere"])
def test_copies_are_with_other_nodes_as_far_as_there_are_any(
    cases: list[tuple[list[int], int]],
) -> None:
    for nodes, replicas in cases:
        found = placed(nodes, replicas)
        for rank, holders in enumerate(found.holders):
            assert len(set(holders)) == replicas, (nodes, replicas)
            assert rank not in holders
            domains = {nodes[holder] for holder in holders} - {nodes[rank]}
            others = set(nodes) - {nodes[rank]}
            assert len(domains) == min(replicas, len(others)), (nodes, replicas, rank)
        survived = min(replicas, len(set(nodes)) - 1)
        assert found.node_losses_survived == survived


def test_after_any_node_is_lost_every_state_is_left() -> None:
    for nodes, replicas in SMALL + ANYWHERE:
        if len(set(nodes)) < 2:
            continue
        found = placed(nodes, replicas)
        for lost in set(nodes):
            for rank, holders in enumerate(found.holders):
                assert any(nodes[each] != lost for each in (rank, *holders))


def test_owners_and_holders_are_two_sides_of_the_same() -> None:
    for nodes, replicas in SMALL + ANYWHERE:
        found = placed(nodes, replicas)
        for rank in range(len(nodes)):
            owners = found.owners(rank)
            assert owners[0] == rank
            assert sorted(owners[1:]) == [o for o, h in enumerate(found.holders) if rank in h]


@pytest.mark.parametrize("nodes", range(2, 6))
@pytest.mark.parametrize("each", range(1, 5))
def test_nodes_of_equal_size_carry_equally_much(nodes: int, each: int) -> None:
    for replicas in range(1, nodes):
        found = placed(first_nodes(nodes * each, nodes), replicas)
        held = [len(found.owners(rank)) - 1 for rank in range(nodes * each)]
        assert max(held) - min(held) <= 1, (replicas, held)


def test_the_ring_stays_the_ring_whatever_the_nodes_are() -> None:
    found = ring([0, 0, 1, 1], 1)
    assert found.holders == ((1,), (2,), (3,), (0,))
    assert found.node_losses_survived == 0  # rank 0's only copy is beside it
    assert ring([0, 1, 0, 1], 1).node_losses_survived == 1


@pytest.mark.parametrize(("size", "replicas"), [(1, 1), (3, 3), (2, 5), (2, -1)])
def test_more_replicas_than_others_are_refused(size: int, replicas: int) -> None:
    with pytest.raises(ValueError, match="need"):
        placed(list(range(size)), replicas)


def test_consecutive_ranks_share_a_node_and_none_is_empty() -> None:
    for size in range(1, 40):
        for nodes in range(1, size + 1):
            found = first_nodes(size, nodes)
            assert found == sorted(found)
            counts = [found.count(node) for node in range(nodes)]
            assert min(counts) >= 1
            assert max(counts) - min(counts) <= 1
            assert max(counts) == -(-size // nodes)
            assert node_of_place(size - 1, size, nodes) == nodes - 1
    assert ranks_beside(3, 6, 3) == [2, 3]


def test_spares_replace_any_one_node() -> None:
    for size in range(2, 30):
        for nodes in range(2, size + 1):
            spares = spares_for_a_node(size, nodes)
            assert spares % nodes == 0
            each = spares // nodes
            most = max(first_nodes(size, nodes).count(node) for node in range(nodes))
            assert (nodes - 1) * each >= most > (nodes - 1) * (each - 1)


def test_one_more_process_goes_where_there_are_fewest() -> None:
    assert least_used({2: 1, 0: 3, 1: 1}) == 1
    with pytest.raises(ValueError, match="empty"):
        least_used({})
