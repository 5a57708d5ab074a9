"""Faults of the training itself: lost updates, states that are wrong in part, flipped bits."""

import importlib
import random
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from measure.faults.acts.act import Act, CannotStrikeError, Scene, Told
from measure.faults.acts.bits import flip_in_tensors
from measure.state import optimizer_state
from measure.state.names import named_buffers, named_parameters


class SkippedUpdate(Act):
    """After the step, parameters and optimizer are put back to before it. What was sent to peers
    meanwhile stays with them."""

    _parameters: Mapping[str, nn.Parameter]
    _told: Told | None = None

    def strike(self, at: Scene, told: Told) -> None:
        """Keeps a copy; the step comes next."""
        state = at.architecture.state()
        self._told, self._optimizer = told, state.optimizer
        self._parameters = named_parameters(state.model)
        self._kept = {name: p.detach().clone() for name, p in self._parameters.items()}
        self._kept_of_optimizer: dict[str, Tensor] = {}
        if state.optimizer is not None:
            tensors, self._plain = optimizer_state.capture(state.optimizer, self._parameters)
            self._kept_of_optimizer = {name: tensor.clone() for name, tensor in tensors.items()}

    def after_step(self, step_s: float) -> None:
        """Puts the copy back."""
        if self._told is None:
            return
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(self._kept[name])
            if self._optimizer is not None:
                optimizer_state.restore(
                    self._optimizer, self._parameters, self._kept_of_optimizer, self._plain
                )
        self._told({"tensors": len(self._kept)})
        self.detach()

    def detach(self) -> None:
        """Forgets the copy."""
        self._told, self._optimizer = None, None
        self._parameters, self._kept, self._kept_of_optimizer = {}, {}, {}


class WrongRng(Act):
    """Draws from every generator that the training may use."""

    def strike(self, at: Scene, told: Told) -> None:
        """Python's, torch's, the device's, and NumPy's where somebody has loaded it."""
        device = at.architecture.context.device
        random.random()  # noqa: S311 - that is the fault
        torch.rand(1)
        drawn = ["python", "torch"]
        if device.type == "cuda":
            torch.rand(1, device=device)
            drawn.append("cuda")
        if "numpy.random" in sys.modules:
            numpy_random: Any = importlib.import_module("numpy.random")
            numpy_random.random()
            drawn.append("numpy")
        told({"generators": drawn})


class PartialRestore(Act):
    """Half of the parameters, chosen by the seed, are as they were up to three steps before."""

    _kept: Mapping[str, Tensor] | None = None

    def foresee(self, at: Scene) -> None:
        """Keeps them."""
        if self._kept is None:
            found = named_parameters(at.architecture.state().model)
            names = self.random.sample(sorted(found), max(1, len(found) // 2))
            self._kept = {name: found[name].detach().clone() for name in names}

    def strike(self, at: Scene, told: Told) -> None:
        """Puts them back."""
        if self._kept is None:
            raise CannotStrikeError("no step was made here before this one")
        found = named_parameters(at.architecture.state().model)
        if all(torch.equal(found[name], tensor) for name, tensor in self._kept.items()):
            raise CannotStrikeError("no parameter has changed in the steps before this one")
        with torch.no_grad():
            for name, tensor in self._kept.items():
                found[name].copy_(tensor)
        told({"tensors": sorted(self._kept)})
        self._kept = {}


class FlipParameter(Act):
    """Flips a bit of a parameter."""

    def strike(self, at: Scene, told: Told) -> None:
        """At rest, between two steps."""
        tensors = dict(named_parameters(at.architecture.state().model))
        told(flip_in_tensors(tensors, self.random, self.params.get("bit")))


class FlipBuffer(Act):
    """Flips a bit of the optimizer's tensors or of the model's buffers."""

    def strike(self, at: Scene, told: Told) -> None:
        """At rest, between two steps."""
        state = at.architecture.state()
        tensors = {f"buffer {name}": t for name, t in named_buffers(state.model).items()}
        if state.optimizer is not None:
            parameters = named_parameters(state.model)
            of_optimizer, _ = optimizer_state.capture(state.optimizer, parameters)
            tensors |= {f"optimizer {name}": tensor for name, tensor in of_optimizer.items()}
        told(flip_in_tensors(tensors, self.random, self.params.get("bit")))


class FlipGradient(Act):
    """Flips a bit of a gradient: where this rank has an optimizer, as that begins to use it, when
    peers have had their part; otherwise as it is computed, before it is handed in."""

    _hook: Any = None

    def strike(self, at: Scene, told: Told) -> None:
        """The gradient comes in the step that is next."""
        state = at.architecture.state()
        parameters = named_parameters(state.model)
        done = False

        def flip(found: Mapping[str, nn.Parameter]) -> None:
            nonlocal done
            gradients = {n: p.grad for n, p in found.items() if p.grad is not None}
            if gradients and not done:
                done = True
                told(flip_in_tensors(gradients, self.random, self.params.get("bit")))

        if state.optimizer is not None:
            self._hook = state.optimizer.register_step_pre_hook(lambda *_: flip(parameters))
            return
        trained = sorted(name for name, p in parameters.items() if p.requires_grad)
        sizes = [parameters[name].numel() for name in trained]
        (chosen,) = self.random.choices(trained, sizes)  # each element as likely as any other
        mine = {chosen: parameters[chosen]}
        self._hook = mine[chosen].register_post_accumulate_grad_hook(lambda _: flip(mine))

    def after_step(self, step_s: float) -> None:
        """The gradient has come, or never will."""
        self.detach()

    def detach(self) -> None:
        """Unhooks."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
