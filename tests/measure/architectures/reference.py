"""The same trainings in one process, written plainly: what the architectures must amount to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from measure.interfaces.workload import Workload
from measure.workloads.loader import Loader

State = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Reference:
    """`losses[step][shard]`, and each model's parameters at the end."""

    losses: list[list[float]]
    parameters: list[State]


def data_parallel(workload: Workload, shards: int, steps: int, seed: int) -> Reference:
    """One model; its gradient is the mean of the shards' gradients, each a batch by itself."""
    model = workload.model(torch.device("cpu"))
    optimizer = workload.optimizer(model.parameters())
    batches = _global_batches(workload, shards, seed)
    losses: list[list[float]] = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses.append([])
        for inputs, targets in next(batches):
            loss = workload.loss(model(inputs), targets)
            (loss / shards).backward()
            losses[-1].append(loss.item())
        optimizer.step()
    return Reference(losses, [_parameters(model)])


def gossip(workload: Workload, ranks: int, steps: int, seed: int) -> Reference:
    """D-PSGD on a ring: everybody's own step, then the mean with both neighbours."""
    models = [workload.model(torch.device("cpu")) for _ in range(ranks)]
    optimizers = [workload.optimizer(model.parameters()) for model in models]
    batches = _global_batches(workload, ranks, seed)
    losses: list[list[float]] = []
    for _ in range(steps):
        losses.append([])
        for model, optimizer, (inputs, targets) in zip(
            models, optimizers, next(batches), strict=True
        ):
            loss = workload.loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
        _mix(models)
    return Reference(losses, [_parameters(model) for model in models])


@torch.no_grad()
def _mix(models: list[nn.Module]) -> None:
    before = [[p.clone() for p in model.parameters()] for model in models]
    for rank, model in enumerate(models):
        left, right = before[rank - 1], before[(rank + 1) % len(models)]
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_((before[rank][i] + left[i] + right[i]) / 3)


def _global_batches(workload: Workload, shards: int, seed: int) -> Any:
    """One step's batches, a shard each: a reader of the whole global batch, cut in order."""
    size = workload.batch_per_rank
    reader = Loader(workload.dataset(), size * shards, 0, 1, seed)
    while True:
        inputs, targets = reader.next()
        yield list(zip(inputs.split(size), targets.split(size), strict=True))


def _parameters(model: nn.Module) -> State:
    return {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


def joined(parts: list[npt.NDArray[Any]], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Shards of one tensor, put together along the axis that gives `shape`; equal copies if each
    has that shape already."""
    if all(part.shape == shape for part in parts):
        for part in parts[1:]:
            np.testing.assert_array_equal(part, parts[0])
        return parts[0]
    for axis in range(len(shape)):
        if sum(part.shape[axis] for part in parts) == shape[axis]:
            return np.concatenate(parts, axis)
    raise AssertionError(f"{[part.shape for part in parts]} do not make up {shape}")
