"""One rank's state in one file that cannot hold code.

The format is safetensors: eight bytes with the header's length, the header as JSON, the tensors'
bytes one after the other. Any safetensors reader opens it. It is written here, not by that
library, since the library takes the bytes by way of NumPy, wants a copy of each tensor, and
leaves no room between write and flush.

`__metadata__` has the plain part as JSON and the state's digest. The header is the one that the
writer makes of the state, byte for byte: whatever else stands there is refused.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from xxhash import xxh3_128

from measure.state.contract import RankState
from measure.state.digest import canonical, combined, digests
from measure.state.durable import draft, need_space
from measure.state.errors import CorruptStateError
from measure.state.tensor_bytes import from_bytes, on_host, size_bytes, view_of

SUFFIX = ".safetensors"
FORMAT = "failbench-state-1"
_LENGTH_BYTES = 8
_LARGEST_HEADER_BYTES = 1 << 26
_CHUNK_BYTES = 1 << 20
"""Read for the digest and again for the write while it is in the processor's cache."""
_NO_DIGEST = "0" * 32
_DIGEST_AT = _LENGTH_BYTES + len('{"__metadata__":{"digest":"')
_CODES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.float32: "F32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.float64: "F64",
}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is on the disk: its size, and the digest of the state in it."""

    path: Path
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What somebody else knows of a file: of its writer, or of a manifest."""

    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Raw:
    """A file's bytes as they were read: everything before the tensors, and the tensors'."""

    path: Path
    header: bytes
    data: Tensor


class Sink(Protocol):
    """What takes a file's content."""

    def write(self, data: memoryview | bytes) -> None:
        """Appends all of `data`."""

    def overwrite(self, data: bytes, offset: int) -> None:
        """Replaces the bytes at `offset`: a few."""


def write(folder: Path, name: Callable[[str], str], state: RankState) -> Written:
    """Writes the state into a file of `folder`, called `name(digest)`; for good, or not at all.

    NoSpaceError when there is no room (asked first, and found while writing); OSError otherwise;
    ValueError for a tensor type or a name that the format does not have.
    """
    order = _file_order(state.tensors)
    header = _header(state, order, _NO_DIGEST)
    total = len(header) + sum(size_bytes(state.tensors[n]) for n in order)
    need_space(folder, total)
    with draft(folder, name("new").removesuffix(SUFFIX)) as file:
        digest = _encode(file, state, order, header)
        path = file.publish(name(digest))
    return Written(path, total, digest)


def encode(into: Sink, state: RankState) -> str:
    """Writes the file's content into anything that takes bytes; returns the state's digest.

    ValueError as of `write`.
    """
    order = _file_order(state.tensors)
    return _encode(into, state, order, _header(state, order, _NO_DIGEST))


def encoded_bytes(state: RankState) -> int:
    """How many bytes `encode` writes."""
    order = _file_order(state.tensors)
    tensors = sum(size_bytes(state.tensors[name]) for name in order)
    return len(_header(state, order, _NO_DIGEST)) + tensors


def _encode(into: Sink, state: RankState, order: list[str], header: bytes) -> str:
    into.write(header)
    found = {name: _write_tensor(into, state.tensors[name]) for name in order}
    digest = combined(state, found).whole
    into.overwrite(digest.encode("ascii"), _DIGEST_AT)
    return digest


def read(path: Path, expected: Expected | None = None) -> RankState:
    """The state in the file, its digest verified, and what is `expected` compared first.

    CorruptStateError for anything that the writer did not write. Nothing in the file is run, and
    no memory is taken for a length that the file only claims.
    """
    return decode(read_raw(path, expected), expected)


def read_raw(path: Path, expected: Expected | None = None) -> Raw:
    """The first half of `read`: the file's bytes, in memory. CorruptStateError as of `read`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
            return Raw(path, *_read_parts(file, os.fstat(descriptor).st_size, expected))
    except OSError as error:
        raise CorruptStateError(path, error.strerror or "cannot be read") from error
    except _Refused as error:
        raise CorruptStateError(path, str(error)) from error


def decode(raw: Raw, expected: Expected | None = None) -> RankState:
    """The second half of `read`: the state in these bytes, verified; its tensors are views of
    them. CorruptStateError as of `read`."""
    try:
        return _decoded(raw.header, raw.data, expected)
    except _Refused as error:
        raise CorruptStateError(raw.path, str(error)) from error


_MALFORMED = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
    RuntimeError,
)
"""What json, the look-ups and torch's views raise for a header that makes no sense."""


class _Refused(Exception):  # noqa: N818 - becomes a CorruptStateError with the path
    pass


def _file_order(tensors: Mapping[str, Tensor]) -> list[str]:
    """The widest types first, so that each tensor is aligned wherever the data begin."""
    return sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))


def _header(state: RankState, order: list[str], digest: str) -> bytes:
    """The file's beginning, up to the first tensor's bytes."""
    entries: dict[str, Any] = {}
    begin = 0
    for name in order:
        tensor = state.tensors[name]
        if tensor.dtype not in _CODES:
            raise ValueError(f"{name} is {tensor.dtype}, which the file format does not have")
        end = begin + size_bytes(tensor)
        entries[name] = {
            "dtype": _CODES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    plain = canonical(state.plain).decode()
    entries["__metadata__"] = {"digest": digest, "format": FORMAT, "plain": plain}
    text = canonical(entries)
    text += b" " * (-len(text) % _LENGTH_BYTES)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text


def _write_tensor(file: Sink, tensor: Tensor) -> str:
    host = on_host(tensor)
    view, hashed = view_of(host), xxh3_128()
    for begin in range(0, len(view), _CHUNK_BYTES):
        chunk = view[begin : begin + _CHUNK_BYTES]
        hashed.update(chunk)
        file.write(chunk)
    return hashed.hexdigest()


def _read_parts(file: Any, size: int, expected: Expected | None) -> tuple[bytes, Tensor]:
    """(everything before the data, the data), each as long as the file really is."""
    if expected is not None and size != expected.size_bytes:
        raise _Refused(f"has {size} bytes, not {expected.size_bytes}")
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if not 2 <= length <= min(size - _LENGTH_BYTES, _LARGEST_HEADER_BYTES):
        raise _Refused("is no state file: it does not begin with a header's length")
    header = file.read(length)
    data = torch.empty(size - _LENGTH_BYTES - length, dtype=torch.uint8)
    left = view_of(data)
    while left:
        count = file.readinto(left)
        if not count:
            raise _Refused("became shorter while it was read")
        left = left[count:]
    return length.to_bytes(_LENGTH_BYTES, "little") + header, data


def _decoded(header: bytes, data: Tensor, expected: Expected | None) -> RankState:
    try:
        entries = json.loads(header[_LENGTH_BYTES:])
        metadata = entries.pop("__metadata__")
        state = RankState(_tensors(entries, data), json.loads(metadata["plain"]))
        found = digests(state).whole
        same = _header(state, _file_order(state.tensors), found) == header
    except _MALFORMED as error:
        raise _Refused(f"has a damaged header ({type(error).__name__})") from error
    if not same:
        raise _Refused("has a damaged header, or values that do not match the digest in it")
    if expected is not None and found != expected.digest:
        raise _Refused(f"holds another state: its digest is {found}, not {expected.digest}")
    return state


def _tensors(entries: dict[str, Any], data: Tensor) -> dict[str, Tensor]:
    """Views of `data`, one after the other; ValueError unless they fill it."""
    tensors = {}
    place = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        dtype, shape = _TYPES[entry["dtype"]], entry["shape"]
        length = dtype.itemsize
        for side in shape:
            if type(side) is not int or side < 0:
                raise ValueError("a tensor's side is no length")
            length *= side
        if begin != place or end != begin + length or end > len(data):
            raise ValueError("the tensors do not lie one after the other")
        tensors[name] = from_bytes(data[begin:end], dtype, shape)
        place = end
    if place != len(data):
        raise ValueError("there is more than the tensors")
    return tensors


def remove(path: Path) -> None:
    """Removes a file that may be gone already."""
    with suppress(FileNotFoundError):
        path.unlink()
