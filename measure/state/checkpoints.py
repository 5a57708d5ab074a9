"""A folder of generations, `step-00000100/`: shards, and one manifest that is published last.

Without its manifest a generation is nothing. A shard's name has its digest, so that a step that
is saved a second time leaves the first one whole until the new manifest takes its place.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.state import durable, shard_file
from measure.state.contract import RankState, joined, own_part
from measure.state.digest import of_bytes
from measure.state.errors import (
    CorruptStateError,
    NoCheckpointError,
    NoSpaceError,
    StateError,
)
from measure.state.manifest import LARGEST_BYTES, Manifest, Receipt, Serves, decoded
from measure.state.retention import Retention
from measure.state.storage_waits import in_storage

_FOLDER = re.compile(r"step-(\d{8,18})")
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Generation:
    """A committed generation: where it lies, its manifest, and that file's digest."""

    folder: Path
    manifest: Manifest
    digest: str

    @property
    def step(self) -> int:
        """How many steps were complete when it was saved."""
        return self.manifest.step


@dataclass(frozen=True, slots=True)
class Rejected:
    """A generation that is not offered, and why."""

    step: int
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded: each rank's state, the generation, and the newer ones that were not."""

    generation: Generation
    states: Mapping[int, RankState]
    rejected: tuple[Rejected, ...]


def manifest_path(folder: Path) -> Path:
    """Where a generation in `folder` has its manifest."""
    return folder / _MANIFEST


class Checkpoints:
    """The generations in one folder, which ranks on several hosts may share. Whoever calls here is
    in storage meanwhile (measure.state.storage_waits)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @in_storage()
    def open(self) -> list[Path]:
        """Makes the folder if need be and removes what dead writers left; returns that. Called
        when a run starts, by one rank of each host."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        durable.make_folder(self.folder)
        durable.flush_folder(self.folder.parent)
        return [gone for folder in self._folders() for gone in durable.sweep(folder)]

    @in_storage()
    def write(self, state: RankState, serves: Serves = Serves.OWN) -> Receipt:
        """Writes a rank's shard of the generation `state.step`; every rank for itself.

        NoSpaceError or OSError when that fails: then nothing of the shard is left.
        """
        folder = self._folder_of(state.step)
        durable.make_folder(folder)  # `publish` flushes the name of it
        stem = f"rank-{state.rank:05d}"
        written = shard_file.write(
            folder,
            lambda digest: f"{stem}-{digest[:16]}{shard_file.SUFFIX}",
            own_part(state) if serves is Serves.PART else state,
        )
        return Receipt(state.rank, serves, written.path.name, written.size_bytes, written.digest)

    @in_storage()
    def publish(
        self, step: int, world_size: int, receipts: Iterable[Receipt], lineage: Mapping[str, Any]
    ) -> Generation:
        """Commits the generation; one rank, once every rank has reported its receipt.

        `lineage` is anything JSON can hold. StateError if a shard is missing or its file is not
        as its receipt says; NoSpaceError or OSError if the manifest cannot be written.
        """
        shards = tuple(sorted(receipts, key=lambda receipt: receipt.rank))
        manifest = Manifest(step, world_size, shards, lineage)
        folder = self._folder_of(step)
        if lacking := manifest.lacking() or _lacking_files(folder, manifest):
            raise StateError(f"step {step} is not committed: {lacking}")
        raw = manifest.encoded()
        durable.flush_folder(self.folder)
        durable.write_file(folder / _MANIFEST, raw)
        shard_file.remove(folder / _poison_marker(of_bytes(raw)))  # of an equal one, saved before
        return Generation(folder, manifest, of_bytes(raw))

    @in_storage()
    def generations(self) -> list[Generation]:
        """Every generation that may be offered, newest first: committed, all its files there
        with their sizes, and not poisoned. Their content is not read."""
        return [found for found in self._examined() if isinstance(found, Generation)]

    @in_storage()
    def rejected(self) -> list[Rejected]:
        """The others, newest first, with the reason."""
        return [found for found in self._examined() if isinstance(found, Rejected)]

    @in_storage()
    def load(self, generation: Generation, rank: int) -> RankState:
        """The rank's whole state, verified. CorruptStateError if a shard is not what the manifest
        says; ValueError if the generation has no such rank."""
        manifest = generation.manifest
        receipt = manifest.of_rank(rank)
        state = _verified(generation, receipt)
        if receipt.serves is not Serves.PART:
            return state
        serving = manifest.serving_all()
        try:
            return joined(_verified(generation, serving), state)
        except StateError as error:
            raise CorruptStateError(generation.folder / receipt.file, str(error)) from error

    @in_storage()
    def newest(self, ranks: Collection[int]) -> Loaded:
        """The states of `ranks` from the newest generation whose shards all verify, also those
        of other ranks: half of a generation is none.

        NoCheckpointError if there is none: whether anything was lost is for the caller to judge,
        who must not start anew in silence.
        """
        rejected: list[Rejected] = []
        for found in self._examined():
            if isinstance(found, Rejected):
                rejected.append(found)
                continue
            try:
                states = self._load_all(found, ranks)
            except CorruptStateError as error:
                rejected.append(Rejected(found.step, f"{error.path.name} {error.what}"))
            else:
                return Loaded(found, states, tuple(rejected))
        raise NoCheckpointError(self.folder, [(r.step, r.why) for r in rejected])

    @in_storage()
    def prune(self, retention: Retention, proved: Collection[int] = ()) -> list[int]:
        """Removes what `retention` does not keep (see there for `proved`), and what never was
        committed and is older than the newest commit; returns the steps. One rank, after a commit,
        with no save under way.

        Poisoned and damaged generations do not count, and stay: they are evidence.
        """
        offered = self.generations()
        if not offered:
            return []
        kept = retention.kept([generation.step for generation in offered], proved)
        for generation in offered:
            if generation.step in kept:
                self._remove_strays(generation)
        gone = {generation.step for generation in offered} - kept
        gone |= set(self._uncommitted(before=offered[0].step))
        for step in gone:
            _remove_generation(self._folder_of(step))
        return sorted(gone)

    @in_storage()
    def poison(self, first_step: int, reason: str) -> list[int]:
        """Marks every committed generation of step `first_step` and later: none of them is
        offered again. Returns their steps. A generation saved anew at such a step is not marked.

        Also for who goes on from a generation that is not the newest, with its step plus one:
        otherwise the run that it leaves behind could be taken for its own.
        """
        marked = []
        for step, folder in self._steps():
            with suppress(ValueError):  # what cannot be read is not offered anyway
                raw = _manifest_bytes(folder) if step >= first_step else None
                if raw is not None:
                    _mark(folder, of_bytes(raw), reason)
                    marked.append(step)
        return sorted(marked)

    def _folder_of(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def _folders(self) -> Iterator[Path]:
        return (folder for _, folder in self._steps())

    def _steps(self) -> list[tuple[int, Path]]:
        """(step, folder) of everything that looks like a generation, newest first."""
        found = []
        for folder in self.folder.iterdir():
            named = _FOLDER.fullmatch(folder.name)
            step = int(named[1]) if named else -1
            if folder == self._folder_of(step) and folder.is_dir():
                found.append((step, folder))
        return sorted(found, reverse=True)

    def _examined(self) -> Iterator[Generation | Rejected]:
        for step, folder in self._steps():
            try:
                yield _examine(step, folder)
            except ValueError as error:
                yield Rejected(step, str(error))

    def _load_all(self, generation: Generation, ranks: Collection[int]) -> dict[int, RankState]:
        if absent := sorted(set(ranks) - set(range(generation.manifest.world_size))):
            generation.manifest.of_rank(absent[0])  # which says what is wrong
        states = {}
        for receipt in generation.manifest.shards:
            if receipt.rank in ranks:
                states[receipt.rank] = self.load(generation, receipt.rank)
            else:
                _verified(generation, receipt)
        return states

    def _uncommitted(self, before: int) -> Iterator[int]:
        for step, folder in self._steps():
            if step < before and not (folder / _MANIFEST).exists():
                yield step

    def _remove_strays(self, generation: Generation) -> None:
        """Shards of an earlier commit or attempt at the same step, and forgotten drafts."""
        named = {shard.file for shard in generation.manifest.shards}
        for path in list(generation.folder.iterdir()):
            if path.name not in named and not path.name.endswith(".json"):
                shard_file.remove(path)


def _examine(step: int, folder: Path) -> Generation:
    """The generation in `folder`; ValueError says why it is not to be offered."""
    raw = _manifest_bytes(folder)
    if raw is None:
        raise ValueError("never committed: it has no manifest")
    digest = of_bytes(raw)
    if (folder / _poison_marker(digest)).exists():
        raise ValueError(f"poisoned: {_reason(folder / _poison_marker(digest))}")
    manifest = decoded(raw)
    if manifest.step != step:
        raise ValueError(f"the manifest is of step {manifest.step}")
    if lacking := manifest.lacking() or _lacking_files(folder, manifest):
        raise ValueError(lacking)
    return Generation(folder, manifest, digest)


def _manifest_bytes(folder: Path) -> bytes | None:
    """The manifest as it stands; None if there is none, ValueError if it cannot be one."""
    try:
        with (folder / _MANIFEST).open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(f"the manifest cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST_BYTES:
        raise ValueError(f"the manifest has more than {LARGEST_BYTES} bytes")
    return raw


def _lacking_files(folder: Path, manifest: Manifest) -> str:
    """The first file that is not there with its size, in words; empty if all are."""
    for shard in manifest.shards:
        try:
            size = (folder / shard.file).stat().st_size
        except OSError as error:
            return f"{shard.file}: {error.strerror}"
        if size != shard.size_bytes:
            return f"{shard.file} has {size} bytes, not {shard.size_bytes}"
    return ""


def _verified(generation: Generation, receipt: Receipt) -> RankState:
    """The state in a shard, which is what the receipt and the manifest say."""
    path = generation.folder / receipt.file
    state = shard_file.read(path, shard_file.Expected(receipt.size_bytes, receipt.digest))
    manifest = generation.manifest
    there = tuple(state.plain.get(key) for key in ("step", "rank", "world_size"))
    if there != (manifest.step, receipt.rank, manifest.world_size):
        raise CorruptStateError(path, "is of another step, rank or world size")
    return state


def _poison_marker(digest: str) -> str:
    return f"poisoned-{digest}.json"


def _mark(folder: Path, digest: str, reason: str) -> None:
    """Marks the generation of this manifest; the first reason stays. On a full disk there is no
    room for a mark: then the manifest gets another name, which takes none, and without it a
    generation is nothing."""
    marker = folder / _poison_marker(digest)
    if marker.exists():
        return
    try:
        durable.write_file(marker, reason.encode())
    except NoSpaceError:
        (folder / _MANIFEST).rename(folder / f"poisoned-manifest-{digest}.json")
        durable.flush_folder(folder)


def _reason(marker: Path) -> str:
    try:
        return marker.read_text(encoding="utf-8", errors="replace")[:300]
    except OSError:
        return "no reason can be read"


def _remove_generation(folder: Path) -> None:
    """The manifest first, for good: what is left by a kill in between was never committed."""
    shard_file.remove(folder / _MANIFEST)
    durable.flush_folder(folder)
    for path in list(folder.iterdir()):
        shard_file.remove(path)
    folder.rmdir()
    durable.flush_folder(folder.parent)
