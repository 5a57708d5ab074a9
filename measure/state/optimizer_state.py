"""An optimizer's state under the names of its parameters."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from measure.state.errors import StateMismatchError

Parameters = Mapping[str, nn.Parameter]


def capture(
    optimizer: Optimizer, parameters: Parameters
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """(tensors `<parameter>.<key>`, live; type, groups and what state is plain)."""
    names = {id(parameter): name for name, parameter in parameters.items()}
    tensors: dict[str, Tensor] = {}
    scalars: dict[str, dict[str, Any]] = {}
    for parameter, kept in optimizer.state.items():
        name = _name(names, parameter)
        for key, value in kept.items():
            if isinstance(value, Tensor):
                tensors[f"{name}.{key}"] = value
            else:
                scalars.setdefault(name, {})[key] = _plain(key, value)
    groups = [_plain_group(group, names) for group in optimizer.param_groups]
    plain = {"type": type(optimizer).__name__, "groups": groups, "state": scalars}
    return tensors, plain


def check(
    optimizer: Optimizer,
    parameters: Parameters,
    tensors: Mapping[str, Tensor],
    plain: Mapping[str, Any],
) -> None:
    """StateMismatchError with the first difference; a tensor that the optimizer has not made yet
    must have its parameter's shape, or be a scalar."""
    if type(optimizer).__name__ != plain["type"]:
        raise StateMismatchError(
            f"the optimizer is {type(optimizer).__name__}, the state is of {plain['type']}"
        )
    names = {id(parameter): name for name, parameter in parameters.items()}
    here = [_plain_group(group, names) for group in optimizer.param_groups]
    if len(here) != len(plain["groups"]):
        raise StateMismatchError(
            f"the optimizer has {len(here)} groups, the state {len(plain['groups'])}"
        )
    for index, (mine, saved) in enumerate(zip(here, plain["groups"], strict=True)):
        if mine["params"] != saved["params"]:
            raise StateMismatchError(f"group {index} of the optimizer has other parameters")
        if different := mine.keys() ^ saved.keys():
            raise StateMismatchError(
                f"group {index} of the optimizer: {min(different)} is on one side only"
            )
    for name in plain["state"]:
        _parameter(parameters, name)
    for name, tensor in tensors.items():
        _check_tensor(optimizer, parameters, name, tensor)


def restore(
    optimizer: Optimizer,
    parameters: Parameters,
    tensors: Mapping[str, Tensor],
    plain: Mapping[str, Any],
) -> None:
    """Puts the state back, into the tensors that the optimizer has already where it has them."""
    for group, saved in zip(optimizer.param_groups, plain["groups"], strict=True):
        for key, value in saved.items():
            if key != "params":
                group[key] = tuple(value) if isinstance(group[key], tuple) else value
    wanted: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, scalars in plain["state"].items():
        wanted[name].update(scalars)
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition(".")
        wanted[parameter_name][key] = tensor
    on_device = {id(p): _steps_on_device(g) for g in optimizer.param_groups for p in g["params"]}
    for name, parameter in parameters.items():
        kept = optimizer.state.pop(parameter, {})
        if name in wanted:
            optimizer.state[parameter] = {
                key: _put(value, kept.get(key), parameter, on_device[id(parameter)])
                for key, value in wanted[name].items()
            }


def _put(value: Any, kept: Any, parameter: nn.Parameter, steps_on_device: bool) -> Any:
    """`value`, in the memory of `kept` if that is a tensor; a new tensor otherwise."""
    if not isinstance(value, Tensor):
        return value
    if not isinstance(kept, Tensor):
        if value.shape == parameter.shape:
            kept = torch.empty_like(parameter, dtype=value.dtype, requires_grad=False)
        else:  # a count of steps, which torch keeps on the CPU unless told otherwise
            device = parameter.device if steps_on_device else "cpu"
            kept = torch.empty((), dtype=value.dtype, device=device)
    kept.copy_(value)
    return kept


def _steps_on_device(group: Mapping[str, Any]) -> bool:
    return bool(group.get("capturable") or group.get("fused"))


def _check_tensor(optimizer: Optimizer, parameters: Parameters, name: str, tensor: Tensor) -> None:
    parameter_name, _, key = name.rpartition(".")
    parameter = _parameter(parameters, parameter_name)
    kept = optimizer.state.get(parameter, {}).get(key)
    if isinstance(kept, Tensor):
        if (kept.shape, kept.dtype) != (tensor.shape, tensor.dtype):
            raise StateMismatchError(
                f"optimizer.{name} is {described(kept)} here, {described(tensor)} in the state"
            )
    elif tensor.dim() and tensor.shape != parameter.shape:
        raise StateMismatchError(
            f"optimizer.{name} is {described(tensor)} in the state, its parameter "
            f"{described(parameter)}"
        )


def described(tensor: Tensor) -> str:
    """Type and shape as an error says them: `float32 [3, 4]`."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _parameter(parameters: Parameters, name: str) -> nn.Parameter:
    if name not in parameters:
        raise StateMismatchError(f"optimizer.{name}: the model has no such parameter")
    return parameters[name]


def _plain_group(group: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, Any]:
    plain = {key: _plain(key, value) for key, value in group.items() if key != "params"}
    return {**plain, "params": [_name(names, parameter) for parameter in group["params"]]}


def _name(names: Mapping[int, str], parameter: object) -> str:
    if id(parameter) not in names:
        raise StateMismatchError("the optimizer has a parameter that is none of the model's")
    return names[id(parameter)]


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(key, part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise StateMismatchError(
        f"the optimizer's {key} is a {type(value).__name__}, which the state contract cannot hold"
    )
