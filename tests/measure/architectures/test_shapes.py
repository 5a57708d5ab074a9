"""What is refused before anything starts, and the small parts that need no processes."""

import os
import subprocess
import sys

import pytest
import torch

from measure.architectures.a3 import Tree
from measure.architectures.a6 import ring_neighbours
from measure.architectures.a7 import Place
from measure.architectures.catalogue import ARCHITECTURES
from measure.architectures.flat import FlatModel
from measure.architectures.pipeline import micro_batches, stage_blocks
from measure.architectures.registry import entry_named, load
from measure.architectures.replicated import nccl_setting
from measure.errors import ShapeError, UsageError
from measure.interfaces.architecture import Architecture
from measure.profiles import PROFILES
from measure.workloads.catalogue import build

EVERY = [entry.architecture for entry in ARCHITECTURES]


def check(name: str, world_size: int, profile: str = "smoke", workload: str = "") -> None:
    entry = entry_named(name)
    load(entry).check_shape(world_size, build(workload or entry.default_workload, profile, 0))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", EVERY)
def test_eight_ranks_fit_every_architecture(name: str, profile: str) -> None:
    assert issubclass(load(entry_named(name)), Architecture)
    check(name, 8, profile)


@pytest.mark.parametrize(
    ("name", "world_size", "says"),
    [
        ("a1-sync", 1, "at least 2 ranks"),
        ("a1-async", 0, "at least 2 ranks"),
        ("a2", 1, "at least 2 ranks"),
        ("a3", 1, "at least 2 ranks"),
        ("a4", 1, "at least 2 ranks"),
        ("a4", 9, "at most 8 ranks fit"),
        ("a5", 1, "at least 2 ranks"),
        ("a5", 7, "these can: 1, 2, 3, 4, 6, 8"),
        ("a6", 2, "at least 3 ranks"),
        ("a7", 6, "4, 8 or 12 ranks fit"),
        ("a7", 0, "4, 8 or 12 ranks fit"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(name: str, world_size: int, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        check(name, world_size)


@pytest.mark.parametrize("name", ["a4", "a5", "a7"])
def test_a_model_without_layers_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="resnet50 cannot be cut into layers"):
        check(name, 8, workload="resnet50")
    assert "resnet50" not in entry_named(name).workloads


@pytest.mark.parametrize("name", EVERY)
def test_every_listed_workload_fits(name: str) -> None:
    fewest_blocks = 2  # of any layered workload
    for workload in entry_named(name).workloads:
        check(name, fewest_blocks if name == "a4" else 8, workload=workload)


def test_an_unknown_architecture_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'a8'.*a1-sync.*a7"):
        entry_named("a8")


def test_the_catalogues_need_no_torch() -> None:
    code = (
        "import sys, measure.architectures.registry, measure.workloads.catalogue\n"
        "print('torch' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.stdout == "False\n"


@pytest.mark.parametrize(("stages", "blocks"), [(8, 8), (3, 8), (5, 8), (2, 4), (7, 8)])
def test_stages_cover_the_blocks_evenly(stages: int, blocks: int) -> None:
    cut = [stage_blocks(stage, stages, blocks) for stage in range(stages)]
    assert [block for stage in cut for block in stage] == list(range(blocks))
    sizes = {len(stage) for stage in cut}
    assert max(sizes) - min(sizes) <= 1


def test_micro_batches_are_equal_and_hold_four_samples_if_they_can() -> None:
    assert {batch: micro_batches(batch) for batch in (1, 3, 4, 8, 10, 16, 32)} == {
        1: 1,
        3: 1,
        4: 1,
        8: 2,
        10: 2,
        16: 4,
        32: 8,
    }


@pytest.mark.parametrize("world_size", range(3, 14))
def test_rings_form_without_deadlock(world_size: int) -> None:
    """Every rank forms its pairs in its order, and a pair is formed when both have come to it."""
    waiting = {rank: list(ring_neighbours(rank, world_size)) for rank in range(world_size)}
    assert all(
        set(peers) == {(rank + 1) % world_size, (rank - 1) % world_size}
        for rank, peers in waiting.items()
    )
    while any(waiting.values()):
        met = [
            (rank, peers[0])
            for rank, peers in waiting.items()
            if peers and waiting[peers[0]][:1] == [rank]
        ]
        assert met, f"deadlock: {waiting}"
        for rank, _ in met:
            waiting[rank].pop(0)


@pytest.mark.parametrize("world_size", [2, 3, 5, 8, 12])
def test_the_tree_spans_every_rank(world_size: int) -> None:
    trees = [Tree(rank, world_size, None) for rank in range(world_size)]  # type: ignore[arg-type]
    assert [tree.parent for tree in trees] == [None, *((r - 1) // 2 for r in range(1, world_size))]
    for rank, tree in enumerate(trees):
        assert tree.children == [r for r in range(world_size) if trees[r].parent == rank]
        assert len(tree.children) <= 2


def test_places_of_the_mesh() -> None:
    assert [Place.of(rank).rank for rank in range(16)] == list(range(16))
    assert Place.of(6) == Place(replica=1, stage=1, shard=0)
    assert Place.of(6).neighbour(-1) == 4
    assert Place.of(6).neighbour(1) is None


def test_a_flat_model_shares_its_memory_and_carries_its_buffers() -> None:
    workload = build("resnet50", "smoke", 1)
    model = workload.model(torch.device("cpu"))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    flat = FlatModel(model)
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    flat.weights.zero_()
    assert all(not parameter.any() for parameter in model.parameters())
    flat.weight_gradients.fill_(2.0)
    assert all(bool((p.grad == 2).all()) for p in model.parameters() if p.grad is not None)
    message = torch.full_like(flat.parameters, 3.0)
    flat.unpack_buffers(message)
    assert all(bool((buffer == 3).all()) for buffer in model.buffers())
    flat.pack_buffers(flat.parameters)
    assert torch.equal(flat.parameters[flat.size :], message[flat.size :])


def test_a_flat_model_is_of_one_kind_of_number() -> None:
    with pytest.raises(TypeError, match="float64"):
        FlatModel(torch.nn.Linear(2, 2).double())


def test_nccl_is_told_about_all_reduce_alone_where_it_can_be() -> None:
    assert nccl_setting("Tree", (2, 20)) == "Tree"  # the paper's version
    assert nccl_setting("Tree", (2, 24)) == nccl_setting("Tree", (3, 0)) == "allreduce:Tree"
