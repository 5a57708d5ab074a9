"""The random number generators of one rank: Python's, torch's, the device's, NumPy's."""

import importlib
import random
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from measure.state.errors import StateMismatchError

_NUMPY = "numpy.random"


def capture(device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """(tensors `torch`, `cuda`, `numpy`, each as bytes; what of it is plain).

    Of CUDA only this rank's device: asking for the others would make a context on each.
    """
    tensors = {"torch": torch.get_rng_state()}
    if device.type == "cuda":
        tensors["cuda"] = torch.cuda.get_rng_state(device)
    version, numbers, gauss = random.getstate()
    plain: dict[str, Any] = {"python": [version, list(numbers), gauss], "numpy": None}
    numpy_random: Any = sys.modules.get(_NUMPY)
    if numpy_random is not None:  # if nobody has imported it, nobody has drawn from it
        kind, keys, position, has_gauss, cached = numpy_random.get_state()
        tensors["numpy"] = torch.frombuffer(bytearray(keys.tobytes()), dtype=torch.uint8)
        plain["numpy"] = [kind, position, has_gauss, cached]
    return tensors, plain


def check(device: torch.device, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
    """StateMismatchError unless `restore` can set each generator that there is here."""
    here, _ = capture(device)
    for name in ("torch", "cuda"):
        if (name in here) != (name in tensors):
            where = "this rank" if name in here else "the state"
            raise StateMismatchError(f"only {where} has a generator rng.{name}")
    for name in here.keys() & tensors.keys():
        if here[name].shape != tensors[name].shape or tensors[name].dtype != torch.uint8:
            raise StateMismatchError(f"rng.{name} is of another kind of generator")
    if (plain["numpy"] is None) == ("numpy" in tensors):
        raise StateMismatchError("rng.numpy is there in part only")


def restore(device: torch.device, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
    """Sets every generator of this process to the state captured."""
    # Of a view into a larger buffer, as out of a file, torch 2.13 reads from another place: it
    # multiplies the view's offset by the size of the whole state. A copy has no offset.
    torch.set_rng_state(tensors["torch"].clone())
    if "cuda" in tensors:
        torch.cuda.set_rng_state(tensors["cuda"].clone(), device)
    version, numbers, gauss = plain["python"]
    random.setstate((version, tuple(numbers), gauss))
    if plain["numpy"] is not None:
        _restore_numpy(tensors["numpy"], *plain["numpy"])


def _restore_numpy(keys: Tensor, kind: str, position: int, has_gauss: int, cached: float) -> None:
    # It had been imported where the state was captured: it has to be here too, even if the
    # training comes to import it later only, since that would leave it with a seed of its own.
    numpy_random: Any = importlib.import_module(_NUMPY)
    words = memoryview(bytes(keys.tolist())).cast("I")
    numpy_random.set_state((kind, list(words), position, has_gauss, cached))
