"""Saves a recommendation with everything that is needed to print it again, word for word."""

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, text

from db.schema import HEAD
from db.session import write

_SCENARIO = """
INSERT INTO scenarios (scenario_id, name, created_at, inputs, inputs_sha256)
VALUES (:scenario_id, :name, :created_at, :inputs, :inputs_sha256)
ON CONFLICT (scenario_id) DO NOTHING
"""
_RECOMMENDATION = """
INSERT INTO recommendations (recommendation_id, scenario_id, cluster, created_at, result,
  advisor_version, schema_revision, data_version)
VALUES (:recommendation_id, :scenario_id, :cluster, :created_at, :result,
  :advisor_version, :schema_revision, :data_version)
ON CONFLICT (recommendation_id) DO NOTHING
"""
_POINT = """
INSERT INTO recommendation_points (recommendation_id, point_id, snapshot)
VALUES (:recommendation_id, :point_id, :snapshot)
ON CONFLICT (recommendation_id, point_id) DO NOTHING
"""


def save_recommendation(
    engine: Engine,
    *,
    cluster: str,
    inputs: Mapping[str, Any],
    result: Mapping[str, Any],
    points: Mapping[str, Mapping[str, Any]],
    advisor_version: str,
    data_version: str = "",
    scenario_name: str = "",
) -> str:
    """Saves the answer and returns its id, such as 20260131-1a2b3c4d.

    `inputs`, `result` and each snapshot in `points` (by point id) must be plain JSON; ValueError
    if one holds NaN or an infinity. The same question asked twice is one scenario.
    """
    now = datetime.now(UTC)
    asked, answered = canonical_json(inputs), canonical_json(result)
    digest = _sha256(asked)
    row = {
        "recommendation_id": _recommendation_id(now, asked + answered),
        "scenario_id": _sha256(scenario_name + "\n" + asked)[:16],
        "name": scenario_name,
        "cluster": cluster,
        "created_at": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "inputs": asked,
        "inputs_sha256": digest,
        "result": answered,
        "advisor_version": advisor_version,
        "schema_revision": HEAD,
        "data_version": data_version,
    }
    write(engine, lambda connection: _insert(connection, row, points))
    return str(row["recommendation_id"])


def canonical_json(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no spaces, so that equal values have equal digests."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _insert(
    connection: Connection, row: Mapping[str, Any], points: Mapping[str, Mapping[str, Any]]
) -> None:
    connection.execute(text(_SCENARIO), row)
    connection.execute(text(_RECOMMENDATION), row)
    snapshots = [
        {
            "recommendation_id": row["recommendation_id"],
            "point_id": point_id,
            "snapshot": canonical_json(snapshot),
        }
        for point_id, snapshot in points.items()
    ]
    if snapshots:
        connection.execute(text(_POINT), snapshots)


def _recommendation_id(now: datetime, content: str) -> str:
    # The instant and the process make two equal answers, given twice, two recommendations.
    salt = f"{now.isoformat()} {os.getpid()}"
    return f"{now:%Y%m%d}-{_sha256(salt + content)[:8]}"


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
