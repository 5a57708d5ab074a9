"""The one file that makes a generation valid: which shards it has, and what they must be."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from measure.state.digest import canonical, of_bytes

FORMAT = 1
LARGEST_BYTES = 1 << 24
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.safetensors")


class Serves(StrEnum):
    """Whom a shard serves."""

    ALL = "all"
    """Its rank's whole state, and the model and the optimizer of every rank with a part only."""
    OWN = "own"
    """Its rank's whole state."""
    PART = "part"
    """What no other rank has of its rank's state; the rest is in the shard that serves all."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A shard that is on the disk."""

    rank: int
    serves: Serves
    file: str
    """Its name in the generation's folder."""
    size_bytes: int
    digest: str
    """The digest of the state in it."""

    def to_json(self) -> dict[str, Any]:
        """The receipt as JSON can hold it."""
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> "Receipt":
        """The receipt that `to_json` gave; ValueError for anything else."""
        try:
            receipt = Receipt(**{**found, "serves": Serves(found["serves"])})
        except (TypeError, KeyError) as error:
            raise ValueError("a shard's entry is damaged") from error
        numbers = (receipt.rank, receipt.size_bytes)
        if any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError("a shard's entry has no valid rank or size")
        if not _FILE_NAME.fullmatch(str(receipt.file)):
            raise ValueError("a shard's entry names no file of the folder")
        return receipt


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation consists of; `lineage` is what the caller says of how it came about."""

    step: int
    world_size: int
    shards: tuple[Receipt, ...]
    lineage: Mapping[str, Any]

    def lacking(self) -> str:
        """What keeps this from being a complete generation, in words; empty if nothing does."""
        ranks = sorted(shard.rank for shard in self.shards)
        if ranks != list(range(self.world_size)):
            missing = sorted(set(range(self.world_size)) - set(ranks))
            return f"rank {missing[0]}'s shard is missing" if missing else "a rank has two shards"
        return self._lacking_for_parts()

    def _lacking_for_parts(self) -> str:
        serving = sum(shard.serves is Serves.ALL for shard in self.shards)
        if serving > 1:
            return "two shards serve all"
        if not serving and any(shard.serves is Serves.PART for shard in self.shards):
            return "the shard that serves all is missing"
        return ""

    def of_rank(self, rank: int) -> Receipt:
        """The rank's own shard; ValueError if there is no such rank."""
        for shard in self.shards:
            if shard.rank == rank:
                return shard
        raise ValueError(f"the generation has no rank {rank}: it has {self.world_size}")

    def serving_all(self) -> Receipt:
        """The shard that serves every rank with a part only."""
        return next(shard for shard in self.shards if shard.serves is Serves.ALL)

    def encoded(self) -> bytes:
        """The file's content, with a digest of itself."""
        content = {
            "format": FORMAT,
            "step": self.step,
            "world_size": self.world_size,
            "shards": [shard.to_json() for shard in self.shards],
            "lineage": dict(self.lineage),
        }
        return canonical({**content, "digest": of_bytes(canonical(content))})


def decoded(raw: bytes) -> Manifest:
    """The manifest that `encoded` wrote; ValueError in words for anything else."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("the manifest is damaged") from error
    if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
        raise ValueError(f"the manifest has format {found['format']!r}, known is {FORMAT}")
    try:
        manifest = Manifest(
            found["step"], found["world_size"], _shards(found["shards"]), found["lineage"]
        )
        same = manifest.encoded() == raw
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("the manifest is damaged") from error
    if not same:
        raise ValueError("the manifest is damaged: it does not match its digest")
    return manifest


def _shards(found: Sequence[Mapping[str, Any]]) -> tuple[Receipt, ...]:
    return tuple(Receipt.from_json(entry) for entry in found)
