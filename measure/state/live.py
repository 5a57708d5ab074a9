"""The survivors' own memory as a tier: what they trained is still there when a peer is gone.

Only where every rank holds the same model. Ranks may have stopped one step apart: a collective
can end on some of them and break off on others. The newest that a rank with an optimizer
completed counts, and the others are brought to it, so that no update is lost or made twice.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer

from measure.interfaces.architecture import Architecture
from measure.interfaces.tier import Tier
from measure.state import rng
from measure.state.contract import OPTIMIZER, RNG, RankState, RunFacts, capture, part
from measure.state.digest import digests
from measure.state.errors import StateError
from measure.workloads.loader import Position


@dataclass(frozen=True, slots=True)
class Mark:
    """What goes on within a step, and has to be as it was when the last update was made."""

    position: Position
    generators: dict[str, Tensor]
    generators_plain: dict[str, Any]


class LiveState(Tier):
    """One rank's part of it. A state is live until `keep`, and is then what the rank offers.

    Buffers (running statistics) are taken as they are: on a rank that was in a forward pass they
    may have seen one batch that is read again.
    """

    name = "survivors' memory"

    def __init__(self) -> None:
        self._kept: RankState | None = None
        self._loaded: RankState | None = None
        self._base, self._trains = 0, True

    def follow(
        self, architecture: Architecture, facts: RunFacts, store: dist.Store, restores: bool
    ) -> None:
        """From now on the state is this architecture's: at once, or, if it `restores` first, from
        `went_back` on."""
        self._architecture, self._facts, self._store = architecture, facts, store
        self._updates, self._trains, self._loaded = 0, not restores, None
        self._mark = self._marked()
        optimizer = architecture.state().optimizer
        if optimizer is not None:
            optimizer.register_step_post_hook(self._updated)

    def step_done(self, step: int) -> None:
        """Step `step` is complete on this rank."""
        self._base, self._updates = step + 1, 0
        if self._architecture.state().optimizer is None:
            self._mark = self._marked()

    def keep(self) -> None:
        """The generation is over: what the rank has now is what it will offer. One that broke off
        before it had restored anything has nothing, and what was kept before stays."""
        if not self._trains:
            return
        state = capture(self._architecture, self._base + self._updates, self._facts)
        mark = self._mark
        data = {
            "epoch": mark.position.epoch,
            "permutation_seed": mark.position.permutation_seed,
            "offset": mark.position.offset,
        }
        tensors = {n: t for n, t in state.tensors.items() if not n.startswith(RNG)}
        tensors |= {RNG + name: tensor for name, tensor in mark.generators.items()}
        self._kept = RankState(tensors, {**state.plain, "data": data, "rng": mark.generators_plain})

    def offer(self) -> dict[str, Any]:
        """The steps complete and what proves the parameters, of a rank that could give its state
        to others; and whether it needs an optimizer's."""
        needs = self._architecture.state().optimizer is not None
        kept = self._kept
        if kept is None or kept.plain["optimizer"] is None:
            return {"needs_optimizer": needs}
        return {
            "needs_optimizer": needs,
            "step": kept.step,
            "parameters": digests(kept).parameters,
        }

    def candidates(self, offers: Sequence[dict[str, Any]]) -> list[int]:
        """The newest step, if all who have it have the same."""
        steps = [offer["step"] for offer in offers if "step" in offer]
        if not steps:
            return []
        proofs = {offer["parameters"] for offer in offers if offer.get("step") == max(steps)}
        return [max(steps)] if len(proofs) == 1 else []

    def load(self, step: int, offers: Sequence[dict[str, Any]]) -> RankState:
        """This rank's state at `step`: its own, or the one that the lowest rank that has it
        sends to all; with its own generators, which a rank that is new has freshly seeded."""
        holders = [rank for rank, offer in enumerate(offers) if offer.get("step") == step]
        context = self._architecture.context
        if len(holders) < len(offers):
            sent = self._shared(step, holders[0], any(o["needs_optimizer"] for o in offers))
        elif self._kept is None:
            raise StateError("this rank has kept no state")
        else:
            sent = self._kept
        state = self._with_own_generators(sent)
        plain = {**state.plain, "rank": context.rank, "world_size": context.world_size}
        self._loaded = self._without_optimizer(RankState(state.tensors, plain))
        return self._loaded

    def went_back(self, step: int) -> None:
        """See Tier. If nothing is trained from here, this is what the rank goes on to offer."""
        loaded = self._loaded
        if loaded is not None and loaded.step == step:
            position = Position(**loaded.plain["data"])
            self._mark = Mark(position, part(loaded, RNG), loaded.plain["rng"])
        self._base, self._updates = step, 0
        self._kept, self._loaded, self._trains = None, None, True

    def _updated(self, _optimizer: Optimizer, *_arguments: Any) -> None:
        self._updates += 1
        self._mark = self._marked()

    def _marked(self) -> Mark:
        generators, plain = rng.capture(self._architecture.context.device)
        return Mark(self._architecture.state().loader.position(), generators, plain)

    def _shared(self, step: int, source: int, with_optimizer: bool) -> RankState:
        """The source's state without its generators, on every rank. Over the default group."""
        mine = self._architecture.context.rank == source
        state = self._to_send(with_optimizer) if mine else None
        plain, layout = self._announced(f"live/{step}", state)
        device = self._architecture.context.device
        tensors: dict[str, Tensor] = {}
        for name, dtype, shape in layout:
            tensors[name] = (
                state.tensors[name].to(device).contiguous()
                if state is not None
                else torch.empty(shape, dtype=getattr(torch, dtype), device=device)
            )
        for together in _by_type(tensors):
            _broadcast(together, source)
        return RankState(tensors, plain)

    def _to_send(self, with_optimizer: bool) -> RankState:
        assert self._kept is not None
        left_out = (RNG,) if with_optimizer else (RNG, OPTIMIZER)
        tensors = {n: t for n, t in self._kept.tensors.items() if not n.startswith(left_out)}
        return RankState(tensors, self._kept.plain)

    def _announced(
        self, key: str, state: RankState | None
    ) -> tuple[dict[str, Any], list[tuple[str, str, list[int]]]]:
        """The plain part and the layout (name, type, shape) of what the source will send."""
        if state is not None:
            layout = [
                (n, str(t.dtype).removeprefix("torch."), list(t.shape))
                for n, t in state.tensors.items()
            ]
            self._store.set(key, json.dumps([state.plain, layout]))
        self._store.wait([key], timedelta(seconds=_ANNOUNCED_WITHIN_S))
        plain, layout = json.loads(self._store.get(key))
        return plain, layout

    def _with_own_generators(self, state: RankState) -> RankState:
        kept = self._kept
        if kept is not None:
            own = {n: t for n, t in kept.tensors.items() if n.startswith(RNG)}
            plain = kept.plain["rng"]
        else:
            found, plain = rng.capture(self._architecture.context.device)
            own = {RNG + name: tensor for name, tensor in found.items()}
        tensors = {n: t for n, t in state.tensors.items() if not n.startswith(RNG)}
        return RankState({**tensors, **own}, {**state.plain, "rng": plain})

    def _without_optimizer(self, state: RankState) -> RankState:
        """The state of a rank that holds none, where the one that was sent has one."""
        if self._architecture.state().optimizer is not None:
            return state
        tensors = {n: t for n, t in state.tensors.items() if not n.startswith(OPTIMIZER)}
        counts = {**state.plain["tensors"], "optimizer": 0}
        return RankState(tensors, {**state.plain, "optimizer": None, "tensors": counts})


_ANNOUNCED_WITHIN_S = 10.0


def _by_type(tensors: dict[str, Tensor]) -> list[list[Tensor]]:
    """The tensors of each type together: they travel as one message."""
    found: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors.values():
        found.setdefault(tensor.dtype, []).append(tensor)
    return list(found.values())


def _broadcast(tensors: list[Tensor], source: int) -> None:
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.broadcast(flat, src=source)
    begin = 0
    for tensor in tensors:
        tensor.copy_(flat[begin : begin + tensor.numel()].view(tensor.shape))
        begin += tensor.numel()
