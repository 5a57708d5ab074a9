"""A data loader whose position can be stored, and dealt out again to another number of ranks."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.data import Dataset, default_collate


@dataclass(frozen=True, slots=True)
class Position:
    """Where the training stands in its data: `offset` samples of epoch `epoch` are used up, over
    all shards, in the order that `permutation_seed` gives."""

    epoch: int
    permutation_seed: int
    offset: int


class Loader:
    """This rank's batches: shard `shard` of each global batch, from a fresh order every epoch.

    The global batch is `batch x shards` consecutive samples of the epoch's order; the shard takes
    `batch` consecutive ones of these. An epoch's rest that does not fill a global batch is left
    out. Shards that are given the same position read disjoint samples.
    """

    def __init__(
        self,
        dataset: Dataset[tuple[Tensor, Tensor]],
        batch: int,
        shard: int,
        shards: int,
        seed: int,
    ) -> None:
        self._dataset = dataset
        self._size = len(dataset)  # type: ignore[arg-type]
        if batch * shards > self._size:
            raise ValueError(f"{shards} shards of {batch} samples need more than {self._size}")
        if not 0 <= shard < shards:
            raise ValueError(f"there is no shard {shard} of {shards}")
        self._batch, self._shard, self._shards, self._seed = batch, shard, shards, seed
        self._epoch, self._offset = 0, 0
        self._order = self._ordered()

    def next_ids(self) -> list[int]:
        """The sample ids of this shard's next batch; moves on."""
        step = self._batch * self._shards
        if self._offset + step > self._size:
            self._epoch, self._offset = self._epoch + 1, 0
            self._order = self._ordered()
        begin = self._offset + self._shard * self._batch
        self._offset += step
        return self._order[begin : begin + self._batch]

    def next(self) -> tuple[Tensor, Tensor]:
        """The next batch: (inputs, targets), each with `batch` first."""
        inputs, targets = default_collate([self._dataset[i] for i in self.next_ids()])
        return inputs, targets

    @property
    def global_batch(self) -> int:
        """Samples of one step over all shards."""
        return self._batch * self._shards

    def position(self) -> Position:
        """Where the next batch begins."""
        return Position(self._epoch, self._seed, self._offset)

    def restore(self, position: Position) -> None:
        """Goes on from `position`, which a loader with other shards may have stored.

        ValueError if the position lies beyond this loader's data set.
        """
        if not 0 <= position.offset <= self._size:
            raise ValueError(f"offset {position.offset} of {self._size} samples")
        self._epoch, self._seed, self._offset = (
            position.epoch,
            position.permutation_seed,
            position.offset,
        )
        self._order = self._ordered()

    def _ordered(self) -> list[int]:
        # One generator an epoch: the order of epoch e does not depend on how e was reached.
        generator = torch.Generator().manual_seed((self._seed << 20) + self._epoch)
        order: list[int] = torch.randperm(self._size, generator=generator).tolist()
        return order
