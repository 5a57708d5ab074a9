"""When the software stacks of a cluster were measured, and marks that this contradicts.

Times are those at which runs started, of the runs that make operating points.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from db.records import SoftwareStack

NO_EVIDENCE = {
    "validating": "advisor validate %",
    "drilling": "advisor drill%",
}
"""What the commands are like of campaigns whose runs make no points: they check something."""
EVIDENCE = """
FROM runs r
JOIN campaigns g ON g.campaign = r.campaign
WHERE r.cluster = :cluster AND r.validity = 'valid' AND r.outcome IS NOT NULL
  AND g.command NOT LIKE :validating AND g.command NOT LIKE :drilling
  AND NOT EXISTS (SELECT 1 FROM run_monitors m WHERE m.run_id = r.run_id)
"""
"""The runs of a cluster that make operating points, for NO_EVIDENCE and `cluster`. A run of schema
0001 has no outcome, and none of the conditions that tell points apart; one with monitors has their
cost, which no point may have."""
_MEASURED = f"""
SELECT r.software_stack, MIN(r.started_at) AS first_at, MAX(r.started_at) AS last_at
{EVIDENCE}
  AND r.software_stack IS NOT NULL
GROUP BY r.software_stack
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """When a stack was measured: when its first and its last run started."""

    software_stack: str
    first_at: str
    last_at: str


def measured_stacks(connection: Connection, cluster: str) -> tuple[Measured, ...]:
    """The stacks of a cluster whose runs are here. What is read of stacks after it has them all."""
    values = {"cluster": cluster, **NO_EVIDENCE}
    found = connection.execute(text(_MEASURED), values).mappings()
    return tuple(Measured(**row) for row in found)


def contradicted(
    measured: Collection[Measured], stacks: Mapping[str, SoftwareStack]
) -> tuple[tuple[str, str], ...]:
    """Marks that no harvest would make now, (old, newer): the older stack was still measured when
    the newer one was, or is again. Pure."""
    return tuple(
        (old.software_stack, newer.software_stack)
        for old, newer in _marked(measured, stacks)
        if old.last_at >= newer.first_at
    )


def measured_again(
    measured: Collection[Measured], stacks: Mapping[str, SoftwareStack]
) -> tuple[tuple[str, str], ...]:
    """Those of them, (old, newer), whose older stack was measured last: it was gone back to. Pure.

    Where both were measured in turn, and the newer one last, a person may well have marked so.
    """
    return tuple(
        (old.software_stack, newer.software_stack)
        for old, newer in _marked(measured, stacks)
        if old.last_at > newer.last_at
    )


def _marked(
    measured: Collection[Measured], stacks: Mapping[str, SoftwareStack]
) -> Iterator[tuple[Measured, Measured]]:
    """Each marked stack with the one that is marked as newer, where the runs of both are here."""
    by_name = {each.software_stack: each for each in measured}
    for name in sorted(by_name):
        newer = by_name.get(stacks[name].superseded_by or "")
        if newer is not None:
            yield by_name[name], newer
