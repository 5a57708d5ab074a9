"""Which ranks differ from those that they must be equal to. Pure; stdlib only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """What one rank shows of its state: digests by part. Ranks with the same `copy` hold the same
    parts, and must show equal digests of each part that they show."""

    rank: int
    copy: int
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """Ranks that must be equal are not. `ranks` are those that differ from a majority; empty where
    there is none, as between two: then nobody can tell who is right."""

    ranks: tuple[int, ...]
    why: str


def difference(held: Sequence[Held]) -> Difference | None:
    """What keeps these states from being what they should be; None if nothing does.

    A rank is a suspect if more than half of the ranks that show the same part agree on another
    digest of it.
    """
    suspects: set[int] = set()
    said = []
    for copy, part in sorted({(each.copy, part) for each in held for part in each.digests}):
        shown = {e.rank: e.digests[part] for e in held if e.copy == copy and part in e.digests}
        if len(set(shown.values())) < 2:
            continue
        minority = _minority(shown)
        suspects.update(minority)
        said.append(_words(part, shown, minority))
    return Difference(tuple(sorted(suspects)), "; ".join(said)) if said else None


def _minority(shown: Mapping[int, str]) -> list[int]:
    """The ranks that differ from more than half of all; none where no digest has so many."""
    digests = list(shown.values())
    usual = max(set(digests), key=digests.count)
    if 2 * digests.count(usual) <= len(digests):
        return []
    return sorted(rank for rank, digest in shown.items() if digest != usual)


def _words(part: str, shown: Mapping[int, str], minority: Sequence[int]) -> str:
    if minority:
        others = len(shown) - len(minority)
        return f"{part}: {_ranks(minority)} from the {others} others that hold the same"
    return f"{part}: {_ranks(sorted(shown))} from each other, and nobody can tell who is right"


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]} differs"
    return f"ranks {', '.join(map(str, ranks))} differ"
