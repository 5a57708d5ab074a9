"""What an answer says of the software that its figures were measured under. Pure."""

from collections.abc import Iterable, Iterator

from advisor.characterization import kept
from advisor.recommendation import Candidate
from db.records import ClusterEvidence


def stack_warnings(evidence: ClusterEvidence, candidates: Iterable[Candidate]) -> Iterator[str]:
    """Which candidates rest on a superseded software stack; which superseded stack was gone back
    to; and which stacks count alike although nothing says which is the newer one."""
    yield from _superseded(evidence, candidates)
    yield from map(_gone_back_to, evidence.gone_back_to)
    alike = unordered_stacks(evidence)
    if alike:
        yield (
            f"points of {len(alike)} software stacks count alike, since none of them is marked as "
            f"superseded: {', '.join(alike)}; `advisor db supersede OLD NEWER` says which is"
        )


def _superseded(evidence: ClusterEvidence, candidates: Iterable[Candidate]) -> Iterator[str]:
    names = [c.mechanism.upper() for c in candidates if c.is_superseded]
    newest = {u.superseded_by for c in candidates for u in c.used if u.superseded_by}
    if names:
        yield superseded_words(newest, names)


def superseded_words(newest: Iterable[str], names: Iterable[str]) -> str:
    """Of what is marked in a table: the newest stacks, and what was not measured under them."""
    return (
        f"where marked †, figures were measured under software that is superseded by "
        f"{', '.join(sorted(newest))}, and not again since: {', '.join(names)}"
    )


def _gone_back_to(mark: tuple[str, str]) -> str:
    old, newer = mark
    return (
        f"{old} was measured last, and is marked as superseded by {newer}: where both were "
        f"measured, its points are set aside; `advisor db supersede --undo {old}` lets them count"
    )


@kept
def unordered_stacks(evidence: ClusterEvidence) -> tuple[str, ...]:
    """The software stacks of the points that count, where they are several and none of them is
    marked as superseded; sorted."""
    found = {p.software_stack for p in evidence.points if p.superseded_by is None}
    names = sorted(name for name in found if name is not None)
    return tuple(names) if len(names) > 1 else ()
