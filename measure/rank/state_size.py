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


def expected_state_bytes(state: TrainingState) -> int:
    """As `state_bytes` will be after the first step, in which optimizers make their tensors: two
    for each parameter where the optimizer is an Adam, one where it has momentum."""
    here = state_bytes(state)
    if state.optimizer is None or state.optimizer.state:
        return here
    each = {"betas": 2, "momentum": 1}
    parameters = sum(p.numel() * p.element_size() for p in state.model.parameters())
    copies = max((n for key, n in each.items() if state.optimizer.defaults.get(key)), default=0)
    return here + copies * parameters


def _tensors(state: TrainingState) -> Iterator[Tensor]:
    yield from state.model.parameters()
    yield from state.model.buffers()
    if state.optimizer is not None:
        for kept in state.optimizer.state.values():
            yield from (value for value in kept.values() if isinstance(value, Tensor))
