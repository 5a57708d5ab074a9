"""What proves that two states are equal: a digest of the whole, and one of each part.

xxh3 with 128 bits: it finds what breaks by accident, at the speed of memory. It is no defence
against who wants to deceive.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from xxhash import xxh3_128

from measure.state.contract import BUFFERS, OPTIMIZER, PARAMETERS, RNG, RankState
from measure.state.tensor_bytes import on_host, view_of

_PREFIXES = {"parameters": PARAMETERS, "buffers": BUFFERS, "optimizer": OPTIMIZER, "rng": RNG}
_PLAIN = {
    "optimizer": ("optimizer", "scheduler", "scaler"),
    "rng": ("rng",),
    "position": ("step", "data"),
}
_IN_PARTS = {key for keys in _PLAIN.values() for key in keys}


@dataclass(frozen=True, slots=True)
class Digests:
    """32 hexadecimal digits a part. What replicas must agree on: `parameters`, `optimizer` and
    `position`; `buffers` where no rank moves them by itself."""

    parameters: str
    buffers: str
    optimizer: str
    rng: str
    position: str
    """Step, epoch, shuffle and offset."""
    facts: str
    """Everything else that is plain: rank, world size, sharding, versions, configuration."""

    @property
    def whole(self) -> str:
        """The digest of the state."""
        return of_bytes(canonical(asdict(self)))


def digests(state: RankState) -> Digests:
    """The state's digests; a tensor counts by its name, type, shape and values, wherever and
    however it lies in memory."""
    return combined(state, {name: tensor_digest(t) for name, t in state.tensors.items()})


def tensor_digest(tensor: Tensor) -> str:
    """The digest of a tensor's values alone."""
    host = on_host(tensor)
    return xxh3_128(view_of(host)).hexdigest()


def combined(state: RankState, tensor_digests: Mapping[str, str]) -> Digests:
    """The state's digests from those of its tensors; ValueError for a name outside the contract."""
    entries: dict[str, list[list[Any]]] = {name: [] for name in _PREFIXES}
    for name, tensor in state.tensors.items():
        entry = [name, dtype_name(tensor.dtype), list(tensor.shape), tensor_digests[name]]
        entries[_part_of(name)].append(entry)

    def of(name: str, keys: Iterable[str]) -> str:
        plain = {key: state.plain[key] for key in keys if key in state.plain}
        return of_bytes(canonical([sorted(entries.get(name, [])), plain]))

    parts = {name: of(name, _PLAIN.get(name, ())) for name in (*_PREFIXES, "position")}
    return Digests(**parts, facts=of("facts", state.plain.keys() - _IN_PARTS))


def canonical(value: object) -> bytes:
    """JSON in which equal values are equal bytes; ValueError for NaN and infinity."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def of_bytes(data: bytes) -> str:
    """The digest of these bytes."""
    return xxh3_128(data).hexdigest()


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def _part_of(name: str) -> str:
    for part, prefix in _PREFIXES.items():
        if name.startswith(prefix):
            return part
    raise ValueError(f"{name!r} is no name of the state contract")
