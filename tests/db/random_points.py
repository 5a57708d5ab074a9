"""Thousands of operating points at random conditions, under three software stacks, each of which
supersedes the one before; drawn from a seed."""

from random import Random
from typing import Any

from sqlalchemy import Connection

from db.models import Base

SOURCE = "failbench-2026"
STACKS = {"a-newest": None, "b-older": "a-newest", "c-oldest": "b-older"}
SIZES_BYTES = (50_000_000, 200_000_000, 900_000_000)
ARCHITECTURES = (*("a2",) * 5, *("a3",) * 3, "a7")
MECHANISMS = tuple(f"ft{number}" for number in range(1, 10))
_INTERVALS = {"ft1": (10, 100), "ft2": (10, 100), "ft3": (10, 100), "ft6": (10, 100)}
_OUTCOMES_OF = {"ft6": (*("complete",) * 30, "failed", "deadlock")}
_STACKS_OF = {"ft5": (None, "b-older", "c-oldest")}
"""Not measured again under the newest."""


def insert_random_points(connection: Connection, random: Random, cluster: str, count: int) -> None:
    """So many points of the cluster, with their numbers; nine in ten numbers are there."""
    tables = Base.metadata.tables
    stacks = [{"software_stack": name, "superseded_by": by} for name, by in STACKS.items()]
    connection.execute(
        tables["software_stacks"].insert(), [{**each, "cluster": cluster} for each in stacks]
    )
    points = [_point(random, cluster, number) for number in range(count)]
    values = [value for point in points for value in _values(random, point)]
    connection.execute(tables["operating_points"].insert(), points)
    connection.execute(tables["operating_point_values"].insert(), values)


def _point(random: Random, cluster: str, number: int) -> dict[str, Any]:
    mechanism = random.choice(MECHANISMS)
    # Many of one size, some a little off, and some at sizes of their own.
    size = random.choice(SIZES_BYTES) + random.choice((0, 0, 0, 1_000, random.randrange(10**8)))
    return {
        # In no order of anything else.
        "point_id": f"{random.randrange(10**6):06}-{number}-{random.choice('aBß_-')}",
        "cluster": cluster,
        "software_stack": random.choice(_STACKS_OF.get(mechanism, (None, *STACKS, "a-newest"))),
        "architecture": random.choice(ARCHITECTURES),
        "mechanism": mechanism,
        "workload": random.choice(("resnet50", "resnet50", "resnet50", "linear-m2")),
        "state_bytes": size,
        "interval_steps": random.choice(_INTERVALS.get(mechanism, (None,))),
        "replicas": random.choice((0, 1, 2)),
        "lead_s": None,
        "trace": random.choice((None, "F1", "F1", "F2")),
        "storage": None,
        "group_timeout_s": None,
        "world_size": 8,
        "outcome": random.choice(_OUTCOMES_OF.get(mechanism, ("complete",))),
        "note": "",
    }


def _values(random: Random, point: dict[str, Any]) -> list[dict[str, Any]]:
    if point["outcome"] != "complete":
        return []
    drawn = {
        "overhead_fraction": random.uniform(-0.01, 0.2),
        "save_s": random.uniform(0.01, 1.0),
        "restore_s": random.uniform(0.1, 5.0),
        "recovery_s": random.uniform(5.0, 20.0),
        "lost_steps": float(random.randrange(100)),
        "resumed_fraction": random.choice((1.0, 1.0, 0.5)),
    }
    if point["mechanism"] == "ft9":
        drawn = {
            "samples_per_s_per_rank": random.uniform(200.0, 400.0),
            "detection_s": random.uniform(1.0, 600.0),
            "resumed_fraction": random.choice((0.0, 1.0)),
        }
    return [
        {
            "point_id": point["point_id"],
            "quantity": quantity,
            "value": value,
            "n": random.randrange(1, 6),
            "dispersion": abs(value) * random.uniform(0.01, 0.3),
            "dispersion_kind": "ci95_half_width",
            "evidence": "measured",
            "source_id": SOURCE,
        }
        for quantity, value in drawn.items()
        if random.random() < 0.9
    ]
