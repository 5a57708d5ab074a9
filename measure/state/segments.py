"""Slots: one rank's state in shared memory, whole or not at all.

A slot is a file in /dev/shm of its holder. Its first 64 bytes are the head: the status, lengths,
and the digest of what describes the content; then the tensors' bytes, then that description, as
JSON. Whoever writes makes the slot invalid first, then writes tensors, description and head, and
the status last, in one store of eight bytes: a writer that is killed at any moment leaves a slot
that is valid as a whole or not valid. Nothing in a slot is ever run.

`filled` is what one rank has written and verified, `committed` what all have: a filled slot
counts as soon as any rank shows the committed one of the same save.
"""

import errno
import json
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from measure.state.contract import RankState
from measure.state.digest import canonical, combined, digests, of_bytes
from measure.state.errors import CorruptStateError, NoSpaceError
from measure.state.host_memory import available_bytes
from measure.state.layout import Layout, Place, StreamDigests, pieces
from measure.state.tensor_bytes import from_bytes, on_host, view_of

FORMAT = "failbench-slot-1"
DATA_AT = 64
_STATUS_BYTES = 8
_EMPTY, FILLED, COMMITTED = bytes(8), b"\xf1filled\n", b"\xc0commit\n"
_MAGIC = b"fbslot-1"
_HEAD = struct.Struct("<8sQQ16s16s")
"""What it is, bytes of the tensors, bytes of the description, its digest, the digest of these."""
_PIECE_BYTES = 1 << 20
"""Read for the digest and again for the copy while it is in the processor's cache."""
_NO_LIMIT = 1 << 62
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM}
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Content:
    """What a slot describes: whose state it is, of which step, in which generation of the group
    it was saved; `digest` is the state's."""

    holder: int
    owner: int
    generation: int
    digest: str
    plain: dict[str, Any]
    layout: Layout
    committed: bool = False

    @property
    def step(self) -> int:
        """How many steps were complete."""
        step: int = self.plain["step"]
        return step

    def encoded(self) -> bytes:
        """As it stands in the slot."""
        return canonical(
            {
                "format": FORMAT,
                "holder": self.holder,
                "owner": self.owner,
                "generation": self.generation,
                "digest": self.digest,
                "plain": self.plain,
                "tensors": self.layout.to_json(),
            }
        )


class Slot:
    """The memory of rank `holder` for one state of rank `owner`; mapped once, and kept."""

    def __init__(self, path: Path, holder: int, owner: int) -> None:
        self.path, self.holder, self.owner = path, holder, owner
        self._map: mmap.mmap | None = None
        self._memory = torch.empty(0, dtype=torch.uint8)
        self.status = _EMPTY
        """Of what is written here; known without reading it again."""
        self.order = (-1, -1)
        """(generation, step) of that."""

    @property
    def capacity(self) -> int:
        """Bytes that are reserved, the head's included."""
        return len(self._memory)

    def reserve(self, capacity: int) -> None:
        """Takes real pages for `capacity` bytes at least, now; what is in the slot stays.

        NoSpaceError where there are none.
        """
        if self.capacity >= capacity:
            return
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = -(-max(capacity, os.fstat(descriptor).st_size) // mmap.PAGESIZE) * mmap.PAGESIZE
            os.posix_fallocate(descriptor, 0, size)
            self._take(descriptor, size)
        except OSError as error:
            if error.errno in _FULL:
                why = f"{self.path.parent}: no room for {capacity} bytes of {self.path.name}"
                raise NoSpaceError(why) from error
            raise
        finally:
            os.close(descriptor)

    def open(self) -> None:
        """Maps what is there already, if anything is; takes no memory."""
        with suppress(FileNotFoundError):
            size = self.path.stat().st_size
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if size:
                    self._take(descriptor, size)
            finally:
                os.close(descriptor)

    def begin(self, size_bytes: int) -> Tensor:
        """Makes the slot invalid; returns the memory for so many bytes of tensors."""
        self.invalidate()
        self.reserve(DATA_AT + size_bytes)
        return self._memory[DATA_AT : DATA_AT + size_bytes]

    def fill(self, content: Content) -> None:
        """Describes the tensors' bytes that were written since `begin`: the slot is filled."""
        description = content.encoded()
        at = DATA_AT + content.layout.size_bytes
        self.reserve(at + len(description))
        self.write(at, description)
        self.write(_STATUS_BYTES, _head(content.layout.size_bytes, description))
        self.write(0, FILLED)
        self.status, self.order = FILLED, (content.generation, content.step)

    def commit(self) -> None:
        """All ranks have filled theirs."""
        self.write(0, COMMITTED)
        self.status = COMMITTED

    def invalidate(self) -> None:
        """What is in the slot counts no more."""
        if self._map is not None and self._map[:_STATUS_BYTES] != _EMPTY:
            self.write(0, _EMPTY)
        self.status, self.order = _EMPTY, (-1, -1)

    def write(self, at: int, data: Any) -> None:
        """Every byte that this process writes passes here (what comes from peers or from a device
        does not)."""
        assert self._map is not None
        self._map[at : at + len(data)] = data

    def copy_from_device(self, place: Place, tensor: Tensor) -> Tensor:
        """Copies a tensor of a device to its place; returns the copy, which lies in the slot."""
        memory = self._memory[DATA_AT + place.begin : DATA_AT + place.end]
        copy = from_bytes(memory, place.dtype, list(place.shape))
        copy.copy_(tensor.detach())
        return copy

    def described(self) -> Content | None:
        """What the slot describes, verified, the tensors' bytes unread; None where it is empty.

        CorruptStateError for anything that no writer left.
        """
        if not self._map:
            return None
        try:
            content = self._described()
        except _MALFORMED as error:
            raise self._corrupt(f"has a damaged description ({type(error).__name__})") from error
        self.status = _EMPTY
        if content is not None:
            self.status = COMMITTED if content.committed else FILLED
            self.order = (content.generation, content.step)
        return content

    def read(self) -> tuple[Content, RankState] | None:
        """The state in the slot, verified: its tensors lie in the slot. None where it is empty;
        CorruptStateError for anything that no writer left."""
        try:
            return self._read()
        except CorruptStateError:
            self.status, self.order = _EMPTY, (-1, -1)  # the first to be overwritten
            raise

    def _read(self) -> tuple[Content, RankState] | None:
        content = self.described()
        if content is None:
            return None
        state = RankState(content.layout.views(self.payload(content)), content.plain)
        try:
            found = digests(state).whole
        except _MALFORMED as error:
            raise self._corrupt(f"describes no state ({type(error).__name__})") from error
        if found != content.digest:
            raise self._corrupt(f"holds another state: its digest is {found}")
        return content, state

    def payload(self, content: Content) -> Tensor:
        """The tensors' bytes."""
        return self._memory[DATA_AT : DATA_AT + content.layout.size_bytes]

    def close(self) -> None:
        """Forgets the memory here; it stays for whoever opens it."""
        _unpin(self._memory)
        self._memory = torch.empty(0, dtype=torch.uint8)
        self._map = None

    def _take(self, descriptor: int, size: int) -> None:
        """Maps the file, each page touched."""
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        _unpin(self._memory)
        self._map = mmap.mmap(descriptor, size, flags)
        self._memory = torch.frombuffer(self._map, dtype=torch.uint8)
        _pin(self._memory)

    def _described(self) -> Content | None:
        assert self._map is not None
        self._check_size()
        status = self._map[:_STATUS_BYTES]
        if status == _EMPTY:
            return None
        if status not in (FILLED, COMMITTED):
            raise self._corrupt("has a damaged status")
        head = self._map[_STATUS_BYTES:DATA_AT]
        _, size, length, *_ = _HEAD.unpack(head)
        end = DATA_AT + size + length
        if end > len(self._map):
            raise self._corrupt("claims more bytes than it has")
        description = self._map[DATA_AT + size : end]
        if head != _head(size, description):
            raise self._corrupt("has a damaged head or description")
        return self._parsed(description, size, status == COMMITTED)

    def _parsed(self, description: bytes, size: int, committed: bool) -> Content:
        found = json.loads(description)
        layout = Layout.from_json(found["tensors"])
        if found["format"] != FORMAT or layout.size_bytes != size:
            raise self._corrupt("is of another format")
        if (found["holder"], found["owner"]) != (self.holder, self.owner):
            raise self._corrupt(f"is rank {found['owner']}'s state in {found['holder']}'s memory")
        return Content(
            found["holder"],
            found["owner"],
            int(found["generation"]),
            found["digest"],
            found["plain"],
            layout,
            committed,
        )

    def _check_size(self) -> None:
        """To read behind the end of a file that was cut ends the process."""
        assert self._map is not None
        try:
            found = self._map.size()  # the file's, as it is now
        except OSError:
            found = 0
        if found < max(len(self._map), DATA_AT):
            raise self._corrupt(f"has {found} bytes of its {len(self._map)}")

    def _corrupt(self, what: str) -> CorruptStateError:
        return CorruptStateError(self.path, what)


def copied_in(slot: Slot, state: RankState, layout: Layout, found: StreamDigests) -> Iterator[int]:
    """Copies a state's tensors into a slot that was begun; yields how many bytes are there.

    Digests are of the tensors, not of the copy, so that a copy that went wrong shows (of a
    device's tensors they are of the copy: the slot's pages are locked for them, and nothing is
    faster than to copy there at once).
    """
    for place in layout.places:
        tensor = state.tensors[place.name]
        if _is_on_device(tensor):
            found.feed(view_of(slot.copy_from_device(place, tensor)))
            yield place.end
            continue
        host = on_host(tensor)
        view = view_of(host)
        for begin, end in pieces(0, len(view), _PIECE_BYTES):
            found.feed(view[begin:end])
            slot.write(DATA_AT + place.begin + begin, view[begin:end])
            yield place.begin + end


def content_of(
    state: RankState, layout: Layout, found: StreamDigests, holder: int, generation: int
) -> Content:
    """The description of a state whose tensors have these digests."""
    digest = combined(state, found.found()).whole
    return Content(holder, state.rank, generation, digest, state.plain, layout)


def free_bytes(folder: Path) -> int:
    """What new pages in `folder`, which is in memory, may still take."""
    found = os.statvfs(folder)
    groups = [_left_to_control_group(group) for group in _control_groups()]
    return min(found.f_bavail * found.f_frsize, available_bytes(), *groups)


def _control_groups(root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """This process's control group (version 2) and all around it: each may have a limit, of a
    batch system or a container. Past one the kernel kills instead of refusing."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return [root]
    path = next((line[3:] for line in lines if line.startswith("0::")), "/")
    inner = root / path.strip("/")
    return [inner, *(folder for folder in inner.parents if folder.is_relative_to(root))]


def _left_to_control_group(folder: Path) -> int:
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        stat = (folder / "memory.stat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return _NO_LIMIT
    reclaimable = int(stat[stat.index("inactive_file") + 1]) if "inactive_file" in stat else 0
    return _NO_LIMIT if limit == "max" else max(0, int(limit) - used + reclaimable)


def _head(size: int, description: bytes) -> bytes:
    digest = bytes.fromhex(of_bytes(description))
    begin = struct.pack("<8sQQ16s", _MAGIC, size, len(description), digest)
    return begin + bytes.fromhex(of_bytes(begin))


def _is_on_device(tensor: Tensor) -> bool:
    return tensor.device.type != "cpu"


def _pin(memory: Tensor) -> None:
    """Page-locks the memory where a GPU is to copy from and to it. Never ran on the machines
    that this was developed on: they have none."""
    if torch.cuda.is_available():
        torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), len(memory), 0)


def _unpin(memory: Tensor) -> None:
    if len(memory) and torch.cuda.is_available():
        torch.cuda.cudart().cudaHostUnregister(memory.data_ptr())
