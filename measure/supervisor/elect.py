"""Who takes part in the next generation: survivors keep their ranks, spares take the free ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from measure.job_spec import JobSpec
from measure.supervisor.observed import RankView


@dataclass(frozen=True, slots=True)
class Election:
    """Replacements, each with the rank that it is to play; and the way this recovery takes."""

    replacements: tuple[tuple[RankView, int], ...]
    way: str


def elect(
    everybody: Sequence[RankView], living: Sequence[RankView], job: JobSpec
) -> Election | None:
    """The next generation; None when there are too few spares for the ranks that are free."""
    free = sorted(set(range(job.world_size)) - {view.plays for view in living})
    spares = [v for v in everybody if not v.member and v.ready and v.died_at is None]
    if len(spares) < len(free):
        return None
    return Election(tuple(zip(spares, free, strict=False)), "spare")
