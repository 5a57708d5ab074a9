"""The catalogue's rows of a composed mechanism, such as ft4+ft2+ft1. Pure.

It has the tiers of its parts, the preferred first; everything about it follows from theirs.
"""

from collections.abc import Sequence
from typing import Any

from db.records import Cadence, PairStatus, TransferPath

FAMILY = "composed"
# What works most often decides when the whole works.
_CADENCES = (
    Cadence.EVERY_STEP,
    Cadence.PERIODIC,
    Cadence.ON_WARNING,
    Cadence.AFTER_FAILURE,
    Cadence.NEVER,
)
_STATUSES = (PairStatus.INFEASIBLE, PairStatus.DEGENERATE, PairStatus.VIABLE)

Row = dict[str, Any]


def mechanism_row(name: str, parts: Sequence[Row]) -> Row:
    """A row of `mechanisms` from those of the parts, which come in the order of the name."""
    busiest = min(parts, key=lambda part: _CADENCES.index(Cadence(part["cadence"])))
    names = " + ".join(part["mechanism"].upper() for part in parts)
    return {
        "mechanism": name,
        "name": names,
        "family": FAMILY,
        "description": (
            f"{len(parts)} tiers at once: {', '.join(part['name'] for part in parts)}; a recovery "
            "takes the newest state that any of them can give, the first of them where several can"
        ),
        "cadence": busiest["cadence"],
        "save_path": busiest["save_path"],
        "persist_path": _first_path(parts, "persist_path"),
        "restore_path": _first_path(parts, "restore_path"),
        "default_replicas": max(part["default_replicas"] for part in parts),
        "host_copies_per_replica": sum(part["host_copies_per_replica"] for part in parts),
        "device_copies_per_replica": sum(part["device_copies_per_replica"] for part in parts),
    }


def _first_path(parts: Sequence[Row], column: str) -> str:
    paths = (part[column] for part in parts)
    return next((path for path in paths if path != TransferPath.NONE), str(TransferPath.NONE))


def compatibility_rows(name: str, pairs: Sequence[Row]) -> list[Row]:
    """Rows of `compatibility`: with each architecture the worst that any part says."""
    worst: dict[str, Row] = {}
    for pair in sorted(pairs, key=lambda pair: (_rank(pair), pair["mechanism"])):
        worst.setdefault(pair["architecture"], pair)
    return [{**pair, "mechanism": name} for _, pair in sorted(worst.items())]


def _rank(pair: Row) -> int:
    return _STATUSES.index(PairStatus(pair["status"]))
