"""A block cut by width (Megatron-LM's MLP; paper, section II-A): column-parallel, row-parallel."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from measure.interfaces.workload import LayeredWorkload
from measure.rank.peer_waits import for_peers


class _ToShards(torch.autograd.Function):
    """Where every shard reads the same input: backward adds up what each shard makes of it."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        with for_peers():
            dist.all_reduce(total, group=ctx.group)
        return total, None


class _FromShards(torch.autograd.Function):
    """Where the shards' partial outputs are added up: backward hands each the same gradient."""

    @staticmethod
    def forward(ctx: Any, partial: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.mark_dirty(partial)
        with for_peers():
            dist.all_reduce(partial, group=group)
        return partial

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class ShardedBlock(nn.Module):
    """This rank's share of a block: `hidden / shards` of its inner features.

    `up` (hidden/shards, width), `up_bias` (hidden/shards,), `down` (width, hidden/shards). The
    output's bias (width,) is added once, after the sum: all ranks of `group` hold it, and get
    the same gradient for it.
    """

    def __init__(
        self, weights: tuple[Tensor, Tensor, Tensor, Tensor], group: dist.ProcessGroup
    ) -> None:
        super().__init__()
        up, up_bias, down, down_bias = weights
        self.up, self.up_bias = nn.Parameter(up), nn.Parameter(up_bias)
        self.down, self.down_bias = nn.Parameter(down), nn.Parameter(down_bias)
        self._group = group

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, width), the same on every rank of the group, to (batch, width), likewise."""
        shared: Tensor = _ToShards.apply(inputs, self._group)  # type: ignore[no-untyped-call]
        inner = functional.gelu(functional.linear(shared, self.up, self.up_bias))
        partial = functional.linear(inner, self.down)
        total: Tensor = _FromShards.apply(partial, self._group)  # type: ignore[no-untyped-call]
        return total + self.down_bias


def sharded_blocks(
    workload: LayeredWorkload,
    indices: range,
    shard: int,
    group: dist.ProcessGroup,
    device: torch.device,
) -> nn.Sequential:
    """Shard `shard` of the blocks `indices`, one for each rank of `group`, on `device`."""
    blocks = []
    for index in indices:
        up, up_bias, down, down_bias = workload.block_weights(index)
        share = workload.hidden // group.size()
        mine = slice(shard * share, (shard + 1) * share)
        parts = (up[mine], up_bias[mine], down[:, mine], down_bias)
        owned = tuple(part.to(device, copy=True).contiguous() for part in parts)
        blocks.append(ShardedBlock((owned[0], owned[1], owned[2], owned[3]), group))
    return nn.Sequential(*blocks)
