"""A disk that loses power: what was flushed is there, the rest may be.

Notes the calls of a writer, and lays out what a disk may hold if the power goes after any of
them. A file's content is sure as of its last flush, a name as of its folder's last flush; what
came after is there, is not, or (content) is cut or zeros.
"""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.measure.state.os_calls import CALLS, Patch

Names = dict[str, "File | Folder"]


@dataclass
class File:
    """Content now, and as of the last flush."""

    data: bytearray = field(default_factory=bytearray)
    flushed: bytes = b""


@dataclass
class Folder:
    """Names now, and as of the last flush."""

    names: Names = field(default_factory=dict)
    flushed: Names = field(default_factory=dict)


Choose = Callable[[str, list[Any]], Any]


class LossyDisk:
    """Follows what the store does below `root`; `on_call` is called after each call."""

    def __init__(self, root: Path, on_call: Callable[[str], None]) -> None:
        self._root, self._on_call = root, on_call
        self._tree = _scan(root)
        self._open: dict[int, File | Folder] = {}

    def listen(self, patch: Patch) -> None:
        """Puts itself between the store and the operating system."""
        for name in CALLS:
            patch(name, self._hooked(name, getattr(os, name)))

    def lay_out(self, target: Path, choose: Choose) -> None:
        """Makes the folder `target` as the disk may be after a loss of power."""
        _lay_out(self._tree, target, choose)

    def _hooked(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = original(*arguments, **named)
            getattr(self, f"_on_{name}")(result, *arguments)
            self._on_call(name)
            return result

        return call

    def _open_file(self, path: Path, flags: int) -> "File | Folder":
        if path == self._root:
            return self._tree
        names = self._folder(path.parent).names
        if flags & os.O_CREAT:
            names[path.name] = File()
        return names[path.name]

    def _on_open(self, descriptor: int, path: Any, flags: int, *_: Any) -> None:
        self._open[descriptor] = self._open_file(Path(path), flags)

    def _on_write(self, count: int, descriptor: int, data: Any) -> None:
        file = self._open[descriptor]
        assert isinstance(file, File)
        file.data += bytes(data)[:count]

    def _on_pwrite(self, count: int, descriptor: int, data: Any, offset: int) -> None:
        file = self._open[descriptor]
        assert isinstance(file, File)
        file.data[offset : offset + count] = data

    def _on_fsync(self, _: None, descriptor: int) -> None:
        found = self._open[descriptor]
        if isinstance(found, File):
            found.flushed = bytes(found.data)
        else:
            found.flushed = dict(found.names)

    def _on_rename(self, _: None, source: Any, target: Any) -> None:
        moved = self._folder(Path(source).parent).names.pop(Path(source).name)
        self._folder(Path(target).parent).names[Path(target).name] = moved

    def _on_mkdir(self, _: None, path: Any, *__: Any) -> None:
        self._folder(Path(path).parent).names[Path(path).name] = Folder()

    def _on_unlink(self, _: None, path: Any) -> None:
        del self._folder(Path(path).parent).names[Path(path).name]

    def _on_rmdir(self, _: None, path: Any) -> None:
        self._on_unlink(None, path)

    def _folder(self, path: Path) -> Folder:
        folder = self._tree
        for part in path.relative_to(self._root).parts:
            inner = folder.names[part]
            assert isinstance(inner, Folder)
            folder = inner
        return folder


def _scan(path: Path) -> Folder:
    """What is there at the beginning is on the disk."""
    names: Names = {}
    for entry in path.iterdir():
        if entry.is_dir():
            names[entry.name] = _scan(entry)
        else:
            content = entry.read_bytes()
            names[entry.name] = File(bytearray(content), content)
    return Folder(names, dict(names))


def _lay_out(folder: Folder, target: Path, choose: Choose) -> None:
    target.mkdir()
    for name in sorted(folder.names.keys() | folder.flushed.keys()):
        now, sure = folder.names.get(name), folder.flushed.get(name)
        found = now if now is sure else choose("name", [sure, now])
        if isinstance(found, Folder):
            _lay_out(found, target / name, choose)
        elif found is not None:
            data = bytes(found.data)
            kinds = [found.flushed, bytes(len(data)), data[: len(data) // 2], b"", data]
            content = data if data == found.flushed else choose("content", kinds)
            (target / name).write_bytes(content)


def choices() -> list[Choose]:
    """Nothing that is not sure; every name without its content; everything; and ten by chance."""

    def by_chance(seed: int) -> Choose:
        drawn = random.Random(seed)
        return lambda _, options: drawn.choice(options)

    return [
        lambda _, options: options[0],
        lambda _, options: options[1],
        lambda _, options: options[-1],
        *(by_chance(seed) for seed in range(10)),
    ]
