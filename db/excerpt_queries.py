"""Reads an excerpt (db/excerpt.py): walks one index past the architecture's points to count their
kinds, then goes in it straight to the nearest of each. Changes nothing."""

from collections.abc import Iterable, Mapping
from functools import cache

from sqlalchemy import Connection, TextClause, text

from db.excerpt import (
    SAME,
    Near,
    PointKind,
    Row,
    chosen,
    counting_kinds,
    same_capabilities,
    set_aside_kinds,
    shares,
)
from db.records import Architecture, Cadence, Excerpt, Mechanism, SoftwareStack

_SOME = text("""
SELECT COUNT(*) FROM (
  SELECT 1 AS there FROM operating_points WHERE cluster = :cluster LIMIT :most
) AS counted
""")

_SAME = ", ".join(SAME)
_KINDS = text(f"""
SELECT {_SAME},
  COUNT(*) AS points, MIN(state_bytes) AS smallest_bytes, MAX(state_bytes) AS largest_bytes
FROM operating_points
WHERE cluster = :cluster AND architecture = :architecture
GROUP BY {_SAME}
""")  # noqa: S608 - names of columns

_ONE = text("""
SELECT point_id FROM operating_points
WHERE cluster = :cluster AND architecture = :architecture LIMIT 1
""")


def has_more_than(connection: Connection, cluster: str, most: int) -> bool:
    """Whether the cluster has more operating points than that; counts no further."""
    found = connection.execute(_SOME, {"cluster": cluster, "most": most + 1}).scalar_one()
    return bool(found > most)


def read_excerpt(
    connection: Connection,
    cluster: str,
    near: Near,
    architectures: Mapping[str, Architecture],
    mechanisms: Mapping[str, Mechanism],
    stacks: Mapping[str, SoftwareStack],
    most: int,
) -> tuple[Excerpt | None, set[str]]:
    """What is read, and the points' ids, with those of baselines that are set aside; of an
    architecture that the cluster did not measure None, and a point of each one that it did, so that
    an answer can name them."""
    names: tuple[str, ...] = ()
    if near.architecture in architectures:
        names = (near.architecture, *same_capabilities(architectures, near.architecture))
    every = _kinds(connection, cluster, names)
    kinds = counting_kinds(every, stacks)
    own = [kind.smallest_bytes for kind in kinds if kind.architecture == near.architecture]
    if not own:
        return None, _one_of_each(connection, cluster, architectures)
    state_bytes = near.state_bytes or min(own)
    kept = shares(kinds, near, state_bytes, most)
    ids = _ids(connection, cluster, kept, state_bytes)
    held = sum(kind.points for kind in kinds)
    part = Excerpt(names, state_bytes, held, len(ids))
    baselines = {name for name, each in mechanisms.items() if each.cadence is Cadence.NEVER}
    old = set_aside_kinds(every, kept, stacks, baselines)
    return part, ids | _ids(connection, cluster, shares(old, near, state_bytes, most), state_bytes)


def _ids(
    connection: Connection, cluster: str, kept: Mapping[PointKind, int], state_bytes: int
) -> set[str]:
    ids: set[str] = set()
    for kind, share in kept.items():
        rows = _nearest(connection, cluster, kind, share, state_bytes)
        ids |= chosen(rows, kind, share, state_bytes)
    return ids


def _kinds(connection: Connection, cluster: str, architectures: Iterable[str]) -> list[PointKind]:
    # One architecture at a time: its kinds then stand in the index in the order of the groups.
    return [
        PointKind(**row)
        for name in architectures
        for row in connection.execute(_KINDS, {"cluster": cluster, "architecture": name}).mappings()
    ]


def _nearest(
    connection: Connection, cluster: str, kind: PointKind, share: int, state_bytes: int
) -> list[Row]:
    """So many of the kind on either side of the size, and the first at its ends."""
    missing = frozenset(name for name in SAME if getattr(kind, name) is None)
    values = {name: getattr(kind, name) for name in SAME if name not in missing}
    sizes = {"smallest": kind.smallest_bytes, "largest": kind.largest_bytes, "size": state_bytes}
    statement = _nearest_statement(missing, connection.dialect.name == "postgresql")
    found = connection.execute(statement, {"cluster": cluster, "share": share, **values, **sizes})
    return [(size, point_id) for size, point_id in found]


@cache
def _nearest_statement(missing: frozenset[str], is_postgresql: bool) -> TextClause:
    """Names are compared as SQLite does, byte by byte, so that both databases choose alike."""
    name = 'point_id COLLATE "C"' if is_postgresql else "point_id"
    same = " AND ".join(
        f"{each} IS NULL" if each in missing else f"{each} = :{each}" for each in SAME
    )
    where = f"WHERE cluster = :cluster AND {same}"
    parts = (
        ("nearest_above", f"state_bytes >= :size ORDER BY state_bytes, {name} LIMIT :share"),
        ("nearest_below", f"state_bytes < :size ORDER BY state_bytes DESC, {name} LIMIT :share"),
        ("smallest_size", f"state_bytes = :smallest ORDER BY {name} LIMIT 1"),
        ("largest_size", f"state_bytes = :largest ORDER BY {name} LIMIT 1"),
    )
    return text(
        " UNION ALL ".join(
            "SELECT state_bytes, point_id FROM (SELECT state_bytes, point_id "  # noqa: S608
            f"FROM operating_points {where} AND {condition}) AS {part}"
            for part, condition in parts
        )
    )


def _one_of_each(connection: Connection, cluster: str, architectures: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in architectures:
        one = connection.execute(_ONE, {"cluster": cluster, "architecture": name})
        found.update(one.scalars())
    return found
