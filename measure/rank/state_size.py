"""How many bytes one rank's training state has: parameters, buffers and optimizer tensors."""

from collections.abc import Iterator

from torch import Tensor

from measure.interfaces.architecture import TrainingState


def state_bytes(state: TrainingState) -> int:
    """Bytes of model and optimizer tensors, each counted once however often it is named."""
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in _tensors(state)
    }
    return sum(storages.values())


def _tensors(state: TrainingState) -> Iterator[Tensor]:
    yield from state.model.parameters()
    yield from state.model.buffers()
    if state.optimizer is not None:
        for kept in state.optimizer.state.values():
            yield from (value for value in kept.values() if isinstance(value, Tensor))
