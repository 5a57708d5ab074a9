"""Names of a model's tensors that do not depend on what the model is wrapped in."""

from collections.abc import Iterator

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from measure.state.errors import StateMismatchError


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Every parameter once, under the first name that leads to it."""
    found: dict[int, tuple[str, nn.Parameter]] = {}
    for prefix, module in _modules(model, ""):
        for name, parameter in module.named_parameters(recurse=False):
            found.setdefault(id(parameter), (prefix + name, parameter))
    return dict(found.values())


def named_buffers(model: nn.Module) -> dict[str, Tensor]:
    """Every buffer once. Those that `state_dict` leaves out as well: training may change them.

    StateMismatchError where a module keeps state that is no tensor.
    """
    found: dict[int, tuple[str, Tensor]] = {}
    for prefix, module in _modules(model, ""):
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            raise StateMismatchError(
                f"{prefix or 'the model'} has extra state, which the state contract cannot hold"
            )
        for name, buffer in module.named_buffers(recurse=False):
            found.setdefault(id(buffer), (prefix + name, buffer))
    return dict(found.values())


def _modules(module: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    inner = _unwrapped(module)
    yield prefix, inner
    for name, child in inner.named_children():
        yield from _modules(child, f"{prefix}{name}.")


def _unwrapped(module: nn.Module) -> nn.Module:
    while True:
        compiled = getattr(module, "_orig_mod", None)  # of torch.compile
        if isinstance(module, DistributedDataParallel):
            module = module.module
        elif isinstance(compiled, nn.Module):
            module = compiled
        else:
            return module
