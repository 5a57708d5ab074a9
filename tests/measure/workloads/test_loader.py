"""Which samples a rank reads, across epochs, and after the ranks have changed in number."""

import json
from dataclasses import asdict

import pytest
import torch
from torch import Tensor
from torch.utils.data import Dataset

from measure.workloads.loader import Loader, Position

SIZE = 48


class Numbers(Dataset[tuple[Tensor, Tensor]]):
    """Sample i is (i, 2i)."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return torch.tensor([index]), torch.tensor(2 * index)


def loaders(shards: int, batch: int, seed: int = 1) -> list[Loader]:
    return [Loader(Numbers(), batch, shard, shards, seed) for shard in range(shards)]


def read(group: list[Loader], steps: int) -> list[int]:
    return [i for _ in range(steps) for loader in group for i in loader.next_ids()]


@pytest.mark.parametrize(("shards", "batch"), [(1, 4), (3, 4), (4, 2), (8, 6)])
def test_an_epoch_has_each_sample_once(shards: int, batch: int) -> None:
    group = loaders(shards, batch)
    steps = SIZE // (shards * batch)
    first, second = read(group, steps), read(group, steps)
    assert sorted(first) == sorted(second) == list(range(SIZE))
    assert first != second


@pytest.mark.parametrize(("before", "after"), [(4, 3), (4, 2), (3, 1), (2, 8), (6, 5)])
def test_other_shards_go_on_with_what_is_left(before: int, after: int) -> None:
    """With 2 samples a shard and 12 or 24 left; whatever does not fill a step is left out."""
    group = loaders(before, 2)
    used = read(group, SIZE // 2 // (2 * before))
    position = group[0].position()
    assert {loader.position() for loader in group} == {position}
    others = loaders(after, 2, seed=99)
    for loader in others:
        loader.restore(Position(**json.loads(json.dumps(asdict(position)))))
    steps = (SIZE - len(used)) // (2 * after)
    rest = read(others, steps)
    together = used + rest
    assert len(set(together)) == len(together) == len(used) + steps * 2 * after
    assert SIZE - len(together) < 2 * after
    assert others[0].position().epoch == 0
    others[0].next_ids()
    assert others[0].position().epoch == 1


def test_a_restored_loader_reads_what_the_first_would_have_read() -> None:
    one, other = Loader(Numbers(), 4, 0, 2, 1), Loader(Numbers(), 4, 0, 2, 1)
    read([one], 8)  # into the second epoch
    other.restore(one.position())
    assert read([one], 10) == read([other], 10)


def test_the_order_depends_on_the_seed_and_the_epoch_alone() -> None:
    assert read(loaders(2, 4), 12) == read(loaders(2, 4), 12)
    assert read(loaders(2, 4), 6) != read(loaders(2, 4, seed=2), 6)


def test_a_batch_is_inputs_and_targets() -> None:
    ids = Loader(Numbers(), 4, 1, 2, 1).next_ids()
    inputs, targets = Loader(Numbers(), 4, 1, 2, 1).next()
    assert inputs.tolist() == [[i] for i in ids]
    assert targets.tolist() == [2 * i for i in ids]


def test_more_than_there_is_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="7 shards of 8 samples need more than 48"):
        Loader(Numbers(), 8, 0, 7, 1)
    with pytest.raises(ValueError, match="shard 2 of 2"):
        Loader(Numbers(), 8, 2, 2, 1)


def test_a_position_beyond_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="offset 49 of 48"):
        Loader(Numbers(), 8, 0, 1, 1).restore(Position(0, 1, 49))
