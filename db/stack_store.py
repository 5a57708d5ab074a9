"""Software stacks in the database: added with what was measured under them, and marked as
superseded, by hand or because a newer one was measured after them."""

from collections.abc import Collection
from urllib.parse import quote

from sqlalchemy import Connection, Engine, RowMapping, select, text, update

from db.errors import InvalidDataError, NotFoundError
from db.hardware import added_or_stored
from db.models import Base
from db.queries import software_stacks
from db.records import SoftwareStack
from db.run_record import EnvironmentPart
from db.run_rows import measured_stack
from db.session import write
from db.stack_times import Measured, contradicted, measured_stacks
from db.stacks import newer_stacks

_STACKS = Base.metadata.tables["software_stacks"]
_VERSIONS = ("python", "cuda", "nccl")
_WITH_POINTS = """
SELECT DISTINCT software_stack
FROM operating_points
WHERE cluster = :cluster AND software_stack IS NOT NULL
"""


def add_stack(connection: Connection, cluster: str, environment: EnvironmentPart) -> str:
    """The id of the stack with these versions, which is added unless it is there.

    It is named after its torch; where another stack has that name already, since its Python, CUDA
    or NCCL is another one, after all of them.
    """
    row = measured_stack(cluster, environment)
    stored = added_or_stored(connection, "software_stacks", row)
    if all(stored[name] == row[name] for name in _VERSIONS):
        return str(row["software_stack"])
    row["software_stack"] = _long_name(row)
    return str(added_or_stored(connection, "software_stacks", row)["software_stack"])


def _long_name(row: dict[str, str]) -> str:
    """What is in no id is escaped: a version is any text."""
    versions = [(name, quote(row[name])) for name in _VERSIONS if row[name]]
    return ",".join((row["software_stack"], *(f"{name}-{version}" for name, version in versions)))


def stacks_with_points(connection: Connection, cluster: str) -> frozenset[str]:
    """The stacks of a cluster that have operating points."""
    return frozenset(connection.execute(text(_WITH_POINTS), {"cluster": cluster}).scalars())


def supersede_older(
    connection: Connection, cluster: str, new: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """Marks every stack whose last run was before the first one of a newer stack; (old, newer).

    Only where one of the two is among the `new` stacks, so that a mark that was taken off by hand
    stays off. Stacks whose runs overlap in time are left alone, as are those whose runs are
    elsewhere.
    """
    if not new:
        return ()
    # First the runs: a stack that another process adds meanwhile is among the stacks then.
    measured = measured_stacks(connection, cluster)
    marked = successions(measured, software_stacks(connection, cluster), new)
    for old, newer in marked:
        _mark(connection, old, newer)
    return marked


def contradicted_marks(connection: Connection, cluster: str) -> tuple[tuple[str, str], ...]:
    """The marks, (old, newer), that the runs of the two stacks contradict by now; left as they are,
    since a person may have made them."""
    measured = measured_stacks(connection, cluster)
    return contradicted(measured, software_stacks(connection, cluster))


def successions(
    measured: Collection[Measured], stacks: dict[str, SoftwareStack], new: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """What `supersede_older` marks: each stack with the next one that was measured after it. Pure.

    What is marked already stays as it is.
    """
    newer = newer_stacks(stacks)
    marked = []
    for old in sorted(measured, key=lambda each: each.software_stack):
        if stacks[old.software_stack].superseded_by is not None:
            continue
        later = [
            each
            for each in measured
            if each.first_at > old.last_at
            and (old.software_stack in new or each.software_stack in new)
            and old.software_stack not in newer.get(each.software_stack, ())
        ]
        if later:
            following = min(later, key=lambda each: (each.first_at, each.software_stack))
            marked.append((old.software_stack, following.software_stack))
    return tuple(marked)


def supersede(engine: Engine, old: str, newer: str) -> str | None:
    """Marks a stack as superseded by a newer one of its cluster; what superseded it before.

    Raises NotFoundError, which lists the stacks that there are, and InvalidDataError where the two
    are of different clusters or the newer one is superseded by the old one.
    """
    return write(engine, lambda connection: _supersede(connection, old, newer))


def _supersede(connection: Connection, old: str, newer: str) -> str | None:
    cluster = _stack(connection, old)["cluster"]
    stacks = software_stacks(connection, cluster)
    if newer not in stacks:
        _stack(connection, newer)
        raise InvalidDataError(
            f"{newer!r} is a software stack of another cluster; those of {cluster!r} are "
            f"{', '.join(sorted(stacks))}"
        )
    if newer == old or old in newer_stacks(stacks).get(newer, ()):
        raise InvalidDataError(_ring(old, newer))
    _mark(connection, old, newer)
    return stacks[old].superseded_by


def _ring(old: str, newer: str) -> str:
    if newer == old:
        return f"{old!r} cannot supersede itself: name the newer software stack second"
    return (
        f"{newer!r} is superseded by {old!r}: take that mark off first, with "
        f"`advisor db supersede --undo {newer}`"
    )


def reinstate(engine: Engine, name: str) -> str | None:
    """Takes the mark off a stack; what superseded it, None if nothing did. Raises NotFoundError."""
    before: str | None = None

    def change(connection: Connection) -> str | None:
        nonlocal before
        # Again None where it was committed, and the answer was lost.
        before = _stack(connection, name)["superseded_by"] or before
        _mark(connection, name, None)
        return before

    return write(engine, change)


def _stack(connection: Connection, name: str) -> RowMapping:
    found = connection.execute(select(_STACKS).where(_STACKS.c.software_stack == name))
    row = found.mappings().one_or_none()
    if row is None:
        known = sorted(connection.execute(select(_STACKS.c.software_stack)).scalars())
        there_is = f"there is {', '.join(known)}" if known else "there is none yet"
        raise NotFoundError(f"no software stack {name!r} in the database; {there_is}")
    return row


def _mark(connection: Connection, old: str, newer: str | None) -> None:
    same = _STACKS.c.software_stack == old
    connection.execute(update(_STACKS).where(same).values(superseded_by=newer))
