"""How a state's tensors lie one after the other in memory, and the digests of a stream of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from xxhash import xxh3_128

from measure.state.contract import RankState
from measure.state.digest import dtype_name
from measure.state.tensor_bytes import from_bytes, size_bytes

_TYPES = {dtype_name(t): t for t in vars(torch).values() if isinstance(t, torch.dtype)}


@dataclass(frozen=True, slots=True)
class Place:
    """One tensor: its bytes are `begin` to `end` of the memory."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All tensors of a state, without gaps, the widest types first, so that each is aligned."""

    places: tuple[Place, ...]

    @staticmethod
    def of(state: RankState) -> "Layout":
        """The layout of this state."""
        order = sorted(state.tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
        places, begin = [], 0
        for name, tensor in order:
            end = begin + size_bytes(tensor)
            places.append(Place(name, tensor.dtype, tuple(tensor.shape), begin, end))
            begin = end
        return Layout(tuple(places))

    @staticmethod
    def from_json(found: Any) -> "Layout":
        """What `to_json` gave; ValueError, TypeError or KeyError for anything else."""
        places, begin = [], 0
        for name, code, shape in found:
            dtype = _TYPES[code]
            end = begin + dtype.itemsize * _count(shape)
            places.append(Place(str(name), dtype, tuple(shape), begin, end))
            begin = end
        return Layout(tuple(places))

    def to_json(self) -> list[list[Any]]:
        """For JSON: name, type and shape of each."""
        return [[p.name, dtype_name(p.dtype), list(p.shape)] for p in self.places]

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return self.places[-1].end if self.places else 0

    def views(self, memory: Tensor) -> dict[str, Tensor]:
        """The tensors as they lie in `memory` (bytes,); they share it."""
        return {
            p.name: from_bytes(memory[p.begin : p.end], p.dtype, list(p.shape)) for p in self.places
        }


class StreamDigests:
    """The digest of each tensor of a layout, whose bytes are fed one piece after the other."""

    def __init__(self, layout: Layout) -> None:
        self._places = iter(layout.places)
        self._place: Place | None = None
        self._hashed = xxh3_128()
        self._done: dict[str, str] = {}
        self._at = 0
        self._next()

    def feed(self, piece: memoryview) -> None:
        """The next bytes, wherever tensors begin and end in them."""
        while piece and self._place is not None:
            count = min(len(piece), self._place.end - self._at)
            self._hashed.update(piece[:count])
            piece, self._at = piece[count:], self._at + count
            if self._at == self._place.end:
                self._done[self._place.name] = self._hashed.hexdigest()
                self._next()

    def found(self) -> dict[str, str]:
        """The digests by name, once every byte was fed."""
        assert self._place is None
        return self._done

    def _next(self) -> None:
        """Goes on to the next tensor that has bytes."""
        for place in self._places:
            self._place, self._hashed = place, xxh3_128()
            if place.end > place.begin:
                return
            self._done[place.name] = self._hashed.hexdigest()
        self._place = None


def pieces(begin: int, end: int, length: int) -> Iterator[tuple[int, int]]:
    """`begin` to `end` in pieces of `length`, the last one shorter."""
    for at in range(begin, end, length):
        yield at, min(at + length, end)


def _count(shape: list[int]) -> int:
    count = 1
    for side in shape:
        if type(side) is not int or side < 0:
            raise ValueError("a tensor's side is no length")
        count *= side
    return count
