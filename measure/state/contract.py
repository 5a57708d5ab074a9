"""What makes up one rank's state: enough to go on as if nothing had happened (seed 002).

Tensors have flat names: `model.parameters.*`, `model.buffers.*`, `optimizer.<parameter>.<key>`,
`rng.*`. Buffers stand apart since replicas agree on the parameters only: DistributedDataParallel
sends rank 0's buffers around before each forward pass, and each rank's own batch normalization
moves them on afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from measure.interfaces.architecture import Architecture
from measure.results.environment import environment
from measure.state import optimizer_state, rng
from measure.state.errors import StateMismatchError
from measure.state.names import named_buffers, named_parameters
from measure.state.optimizer_state import described
from measure.workloads.loader import Position

PARAMETERS, BUFFERS, OPTIMIZER, RNG = "model.parameters.", "model.buffers.", "optimizer.", "rng."
_SHARED = (PARAMETERS, BUFFERS, OPTIMIZER)


@dataclass(frozen=True, slots=True)
class RankState:
    """One rank's state: `tensors` by flat name, and `plain`, which JSON can hold."""

    tensors: dict[str, Tensor]
    plain: dict[str, Any]

    @property
    def step(self) -> int:
        """How many steps are complete: the number of the next one, counted from 0."""
        step: int = self.plain["step"]
        return step

    @property
    def rank(self) -> int:
        """The global rank."""
        rank: int = self.plain["rank"]
        return rank

    @property
    def world_size(self) -> int:
        """Ranks of the run when this was captured."""
        size: int = self.plain["world_size"]
        return size


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the caller knows of the run; everything JSON can hold."""

    configuration: str
    """A digest of the job's configuration: what is restored into another one shows."""
    versions: Mapping[str, str]
    """package, torch, python and code commit; `versions_here()` unless they were handed on."""
    sharding: Mapping[str, Any] = field(default_factory=dict)
    """Which part of the model this rank holds, and its groups."""


def versions_here() -> dict[str, str]:
    """The versions of this process. Asks git once: a rank should be told instead."""
    here = environment()
    return {
        "package": here["package_version"],
        "torch": here["torch"],
        "python": here["python"],
        "commit": here["commit"],
    }


def capture(architecture: Architecture, step: int, facts: RunFacts) -> RankState:
    """This rank's state after `step` complete steps, between two steps. No communication.

    Model and optimizer tensors are the live ones: `copied` keeps them. StateMismatchError where
    there is state that the contract cannot hold.
    """
    training, context = architecture.state(), architecture.context
    parameters, buffers = named_parameters(training.model), named_buffers(training.model)
    kept: dict[str, Tensor] = {}
    optimizer: dict[str, Any] | None = None
    if training.optimizer is not None:
        kept, optimizer = optimizer_state.capture(training.optimizer, parameters)
    generators, generators_plain = rng.capture(context.device)
    position = training.loader.position()
    plain = {
        "step": step,
        "data": {
            "epoch": position.epoch,
            "permutation_seed": position.permutation_seed,
            "offset": position.offset,
        },
        "optimizer": optimizer,
        "scheduler": None,  # no workload has either
        "scaler": None,
        "rng": generators_plain,
        "rank": context.rank,
        "world_size": context.world_size,
        "batch_per_rank": architecture.workload.batch_per_rank,
        "sharding": dict(facts.sharding),
        "versions": dict(facts.versions),
        "configuration": facts.configuration,
        "tensors": {
            "parameters": len(parameters),
            "buffers": len(buffers),
            "optimizer": len(kept),
        },
    }
    tensors: dict[str, Tensor] = {PARAMETERS + name: p.detach() for name, p in parameters.items()}
    tensors |= {BUFFERS + name: buffer for name, buffer in buffers.items()}
    tensors |= {OPTIMIZER + name: tensor for name, tensor in kept.items()}
    tensors |= {RNG + name: tensor for name, tensor in generators.items()}
    return RankState(tensors, plain)


def restore(architecture: Architecture, state: RankState) -> None:
    """Makes `state` this rank's, in place. No communication.

    StateMismatchError with the first difference, before anything is changed, unless the state is
    this rank's, of a run of this size, and every name, shape and type agrees.
    """
    _check_address(architecture, state)
    training, device = architecture.state(), architecture.context.device
    parameters, buffers = named_parameters(training.model), named_buffers(training.model)
    _check_tensors(PARAMETERS, parameters, state)
    _check_tensors(BUFFERS, buffers, state)
    kept, generators = part(state, OPTIMIZER), part(state, RNG)
    optimizer, saved = training.optimizer, state.plain["optimizer"]
    if (optimizer is None) != (saved is None):
        where = "the state" if optimizer is None else "this rank"
        raise StateMismatchError(f"only {where} has an optimizer")
    _check_count("optimizer", len(kept), state)
    if optimizer is not None:
        optimizer_state.check(optimizer, parameters, kept, saved)
    rng.check(device, generators, state.plain["rng"])

    with torch.no_grad():
        for prefix, mine in ((PARAMETERS, parameters), (BUFFERS, buffers)):
            for name, tensor in mine.items():
                tensor.copy_(state.tensors[prefix + name])
        if optimizer is not None:
            optimizer_state.restore(optimizer, parameters, kept, saved)
    training.loader.restore(Position(**state.plain["data"]))
    rng.restore(device, generators, state.plain["rng"])


def part(state: RankState, prefix: str) -> dict[str, Tensor]:
    """The tensors whose name begins with `prefix`, without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in state.tensors.items()
        if name.startswith(prefix)
    }


def copied(state: RankState, into: RankState | None = None) -> RankState:
    """A copy that training does not change: new tensors, or those of `into`, an earlier copy of
    the same layout (memory that has been touched: several times as fast)."""
    if into is None:
        return RankState({n: t.detach().clone() for n, t in state.tensors.items()}, state.plain)
    if into.tensors.keys() != state.tensors.keys():
        raise StateMismatchError("the buffers are of a state with other tensors")
    for name, tensor in state.tensors.items():
        into.tensors[name].copy_(tensor.detach())
    return RankState(into.tensors, state.plain)


def own_part(state: RankState) -> RankState:
    """What no other rank has where model and optimizer are replicated: a few kilobytes."""
    own = {name: tensor for name, tensor in state.tensors.items() if name.startswith(RNG)}
    return state if len(own) == len(state.tensors) else replace(state, tensors=own)


def joined(shared: RankState, own: RankState) -> RankState:
    """A rank's whole state from its `own_part` and another rank's whole state at the same step.

    The optimizer is taken over if the rank has one. StateMismatchError if anything is lacking.
    """
    if shared.step != own.step:
        raise StateMismatchError(
            f"rank {shared.rank}'s state is of step {shared.step}, rank {own.rank}'s of {own.step}"
        )
    wanted = _SHARED if own.plain["optimizer"] is not None else _SHARED[:2]
    tensors = {n: t for n, t in shared.tensors.items() if n.startswith(wanted)}
    whole = RankState({**tensors, **own.tensors}, own.plain)
    for prefix, name in zip(_SHARED, ("parameters", "buffers", "optimizer"), strict=True):
        _check_count(name, len(part(whole, prefix)), whole)
    return whole


def readdressed(state: RankState, rank: int, world_size: int) -> RankState:
    """The state for a run of another size, where it is `rank`'s.

    Its generators go with it: whoever gives one state to two ranks must seed one of them anew.
    """
    return replace(state, plain={**state.plain, "rank": rank, "world_size": world_size})


def _check_address(architecture: Architecture, state: RankState) -> None:
    context = architecture.context
    here, saved = (context.rank, context.world_size), (state.rank, state.world_size)
    if here != saved:
        raise StateMismatchError(
            f"the state is of rank {saved[0]} of {saved[1]}, this is rank {here[0]} of {here[1]}"
        )


def _check_tensors(prefix: str, here: Mapping[str, Tensor], state: RankState) -> None:
    saved = part(state, prefix)
    if different := here.keys() ^ saved.keys():
        name = min(different)
        where = "this model" if name in here else "the state"
        raise StateMismatchError(f"only {where} has {prefix}{name}")
    for name, tensor in here.items():
        if (tensor.shape, tensor.dtype) != (saved[name].shape, saved[name].dtype):
            raise StateMismatchError(
                f"{prefix}{name} is {described(tensor)} here, {described(saved[name])} in the state"
            )


def _check_count(name: str, count: int, state: RankState) -> None:
    planned = state.plain["tensors"][name]
    if count != planned:
        raise StateMismatchError(f"the state has {count} {name} tensors of its {planned}")
