"""Runs a suite of drills: what is expected as rows, then one campaign, judged as runs are stored.

The campaign is an ordinary one: whatever is killed, `advisor measure --resume` goes on with it.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from advisor.campaign_run import Measured
from advisor.drills.catalogue import BY_NAME
from advisor.drills.drill import DEFAULT_WORLD_SIZE, SCHEDULE_PREFIX
from advisor.drills.suite import (
    Chosen,
    Known,
    Suite,
    campaign_file,
    expected_row,
    known_of,
    schedule_file,
)
from advisor.harness import harness_command
from advisor.validation_run import Measure
from db.campaign_store import PlannedCell, now_utc
from db.drill_queries import drills_of_campaign
from db.drill_store import store_drills
from db.records import Drilled
from db.resources import resource_dir
from db.session import reading

_SCHEMAS = ("fault-schedule-1.schema.json", "campaign-1.schema.json")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How drills are run: where records go, the command that a person gave, the profile, the
    cluster's name, the world size and the device (None: as the harness has them)."""

    folder: Path
    command: str
    profile: str
    cluster: str | None = None
    world_size: int = DEFAULT_WORLD_SIZE
    device: str | None = None


def known_to_the_harness() -> Known:
    """What the harness of this installation understands, by the schemas beside it."""
    folder = resource_dir("data") / "schemas"
    schedules, campaigns = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in _SCHEMAS
    )
    return known_of(schedules, campaigns)


def run_suite(suite: Suite, wanted: Wanted, measure: Measure) -> Measured:
    """Runs all chosen drills, and stores what became of each. Raises what `measure` raises."""
    path = _written(suite.chosen, wanted)
    cluster = [] if wanted.cluster is None else [f"--cluster={wanted.cluster}"]
    command = harness_command(
        [
            f"--campaign-file={path}",
            "--order=fixed",
            *cluster,
            f"--folder={wanted.folder}",
            f"--command={wanted.command}",
        ]
    )
    return measure(command, wanted.folder, on_plan=_keep)


def drilled(engine: Engine, campaign: str) -> tuple[Drilled, ...]:
    """The drills of a campaign as they stand."""
    with reading(engine) as connection:
        return drills_of_campaign(connection, campaign)


def _written(chosen: Sequence[Chosen], wanted: Wanted) -> Path:
    """The campaign file; the fault schedules lie beside it, on the storage of the records."""
    place = wanted.folder / "drills" / _new_id()
    place.mkdir(parents=True)
    traces = {}
    for each in chosen:
        traces[each.drill.name] = str(_write(place, each.drill.name, schedule_file(each.drill)))
    common = {
        "profile": wanted.profile,
        "world-size": wanted.world_size,
        "device": wanted.device,
    }
    return _write(place, "suite", campaign_file(chosen, traces, common))


def _keep(engine: Engine, cells: Sequence[PlannedCell]) -> None:
    """Stores what is expected of each run as soon as it has an id, before any begins."""
    planned_at = now_utc()
    store_drills(engine, [_row(cell, planned_at) for cell in cells])


def _row(cell: PlannedCell, planned_at: str) -> dict[str, Any]:
    drill = BY_NAME[drill_name(cell.trace)]
    return {
        **expected_row(drill, drill.promises[cell.mechanism]),
        "run_id": cell.run_id,
        "campaign": cell.run_id.partition("/")[0],
        "mechanism": cell.mechanism,
        "planned_at": planned_at,
    }


def drill_name(trace: str | None) -> str:
    """The drill of a trace: `drill-crash@1a2b3c4d` is `crash`."""
    return (trace or "").partition("@")[0].removeprefix(SCHEDULE_PREFIX)


def _new_id() -> str:
    now = datetime.now(UTC)
    salt = f"drill {now.isoformat()} {os.getpid()}"
    return f"{now:%Y%m%d-%H%M%S}-{hashlib.sha256(salt.encode()).hexdigest()[:8]}"


def _write(place: Path, name: str, content: Mapping[str, Any]) -> Path:
    path = place / f"{name}.json"
    path.write_text(json.dumps(content, indent=2, allow_nan=False), encoding="utf-8")
    return path
