"""Task files: what a scheduler's tasks are to run, as JSON that can still be read in years.

{"file": "failbench-tasks", "version": 1,
 "campaign": {"campaign", "command", "cluster", "folder", "seed", "created_at"},
 "tasks": [[{"run": 1, "of": 24, "cell": {...}}, ...], ...]}

A task is a list of cells as `Campaign.serve` takes them; its number is its place in the list. It
says what it does in a file of its own beside the task file, one JSON object a line.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.campaign import Emit, Plan
from measure.errors import UsageError
from measure.results.run_record import utc

KIND, VERSION = "failbench-tasks", 1


@dataclass(frozen=True, slots=True)
class Task:
    """One task: the campaign that it belongs to (without cells) and the cells that it runs."""

    plan: Plan
    handed: Sequence[Mapping[str, Any]]


def read_task(path: Path, number: int) -> Task:
    """The task of this number. UsageError, one line, where the file has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found["file"], found["version"]) != (KIND, VERSION):
            raise UsageError(f"{path}: it is a {found['file']} of version {found['version']}")
        tasks, campaign = found["tasks"], found["campaign"]
        plan = Plan(
            campaign["campaign"],
            campaign["command"],
            campaign["cluster"],
            Path(campaign["folder"]),
            cells=(),
            seed=int(campaign["seed"]),
            created_at=campaign["created_at"],
        )
    except OSError as error:
        raise UsageError(f"{path}: cannot read the tasks: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: it is no file of tasks: {error!r}") from error
    if not 0 <= number < len(tasks):
        raise UsageError(f"{path}: there is no task {number}: there are 0 to {len(tasks) - 1}")
    return Task(plan, tasks[number])


def events_path(path: Path, number: int) -> Path:
    """Where the task says what it does: `job-1-5.jsonl` beside `job-1.json`."""
    return path.with_name(f"{path.stem}-{number}.jsonl")


def agents_log(path: Path, number: int) -> Path:
    """What the agents of a task on several nodes print: `job-1-5-nodes.log` beside `job-1.json`."""
    return path.with_name(f"{path.stem}-{number}-nodes.log")


def emit_to(path: Path) -> Emit:
    """Appends each event as a line. The file is closed in between: what another host sees of a file
    on a shared file system is what was closed."""

    def emit(event: str, fields: dict[str, Any]) -> None:
        line = json.dumps({"event": event, "at": utc(datetime.now(UTC)), **fields})
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    return emit
