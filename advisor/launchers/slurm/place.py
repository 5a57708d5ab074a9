"""The files by which a campaign is run under SLURM: the folder `slurm` beside its runs.

The folder must lie on a file system that the compute nodes share. `job-1.json` has the cells of
the tasks that were submitted first, `job-1.sh` is their script, `job-1.id` what sbatch answered,
`job-1-5.jsonl` the events of task 5, `job-1-5.log` what it printed. Whatever is killed, they tell
the next controller what was sent.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from advisor.errors import AdvisorError
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.states import Job, parse_submitted
from advisor.launchers.slurm.stopping import StopAsked, StoppedError
from advisor.launchers.whole_file import write_whole

KIND, VERSION = "failbench-tasks", 1
"""Of task files; `measure/task_file.py` reads them."""
_FOLDER = "slurm"
_LOCK_S = 0.1
"""How often the lock of a folder is tried that somebody else holds."""
PATIENCE_S = 300.0
"""sbatch tries for minutes where SLURM is busy."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as its tasks have to know it."""

    campaign: str
    command: str
    cluster: str
    folder: str
    seed: int
    created_at: str


@dataclass(frozen=True, slots=True)
class HandedCell:
    """A cell in the hands of a task."""

    ordinal: int
    of: int
    parameters: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"run": self.ordinal, "of": self.of, "cell": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class Heard:
    """What a task said so far."""

    running: int | None
    """The ordinal of the cell that it began and did not end."""
    finished: frozenset[int]
    failed: Mapping[int, str]
    """Why a cell broke, by our own fault: there is no record of it."""
    stopped: str
    """Why it stopped, if it said so."""
    started: bool
    """Whether it ever began on a node."""


class Place:
    """The folder of one campaign."""

    def __init__(self, campaign_folder: Path) -> None:
        self.folder = campaign_folder / _FOLDER

    def exists(self) -> bool:
        """Whether the campaign is run under SLURM."""
        return (self.folder / "settings.json").is_file()

    def make(self, settings: SlurmSettings) -> None:
        """Makes the folder, with the settings in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write("settings.json", json.dumps(settings.as_json()) + "\n")

    def settings(self) -> SlurmSettings:
        """Those that were written last. Raises AdvisorError."""
        path = self.folder / "settings.json"
        try:
            return SlurmSettings.from_json(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise AdvisorError(
                f"{path}: cannot read the settings of the campaign: {error}"
            ) from error

    def write(self, name: str, text: str) -> Path:
        """Writes a file for good: whole or not at all, whoever is killed."""
        path = self.folder / name
        write_whole(path, text)
        return path

    def numbers(self) -> list[int]:
        """The numbers of the task files, in their order."""
        matches = (re.fullmatch(r"job-(\d+)\.json", path.name) for path in self.folder.iterdir())
        return sorted(int(match.group(1)) for match in matches if match)

    def tasks(self, number: int) -> list[list[int]]:
        """The ordinals of the cells of each task of a task file. Raises AdvisorError."""
        path = self.folder / f"job-{number}.json"
        try:
            found = json.loads(path.read_text("utf-8"))
            return [[int(each["run"]) for each in task] for task in found["tasks"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AdvisorError(f"{path}: cannot read the tasks: {error!r}") from error

    def job(self, campaign: str, number: int | str) -> Job:
        """The job that a task file, or `plan`, was submitted as; an empty `job` if none is
        known."""
        path = self.folder / _named(number, ".id")
        answer = path.read_text("utf-8") if path.is_file() else ""
        job, cluster = parse_submitted(answer)
        written = (self.folder / _named(number, ".sh")).stat().st_mtime
        at = datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds")
        return Job(job, cluster, job_name(campaign, number), at)

    def note_job(self, number: int | str, job: str) -> None:
        """Notes a job that was found in the queue: who submitted it was killed before it could."""
        self.write(_named(number, ".id"), f"{job}\n")

    def heard(self, number: int, task: int) -> Heard:
        """What a task said; a line that is not whole yet is left for the next time."""
        path = self.folder / f"job-{number}-{task}.jsonl"
        try:
            lines = path.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return heard_in(lines)

    def last_words(self, log: str) -> str:
        """The line of a log that says what is wrong, else its last one."""
        try:
            text = (self.folder / log).read_text("utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        wrong = [line for line in lines if line.startswith("error: ")]
        return (wrong or lines or [""])[-1].removeprefix("error: ")[:500]

    @contextmanager
    def submitting(
        self,
        stop: StopAsked | None = None,
        say: Callable[[str], None] = lambda _: None,
        patience_s: float = PATIENCE_S,
    ) -> Iterator[int]:
        """Holds the lock of the folder, whose descriptor sbatch gets too: whoever goes on after a
        controller was killed waits until the sbatch of that one has ended.

        Raises StoppedError where somebody asks to stop meanwhile, AdvisorError where it takes too
        long or the file system has no locks.
        """
        path = self.folder / ".lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not _locks(descriptor, self.folder):
                say(f"waiting for the sbatch of another command, which holds {path}")
                _wait(descriptor, path, stop or StopAsked(), patience_s)
            yield descriptor
        finally:
            os.close(descriptor)


def _locks(descriptor: int, folder: Path) -> bool:
    """Whether the lock is ours now. Raises AdvisorError where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise AdvisorError(
            f"{folder}: files cannot be locked there ({error.strerror}): choose a folder on a file"
            " system with locks (flock) by --folder"
        ) from error
    return True


def _wait(descriptor: int, path: Path, stop: StopAsked, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not _locks(descriptor, path.parent):
        if stop.count:
            raise StoppedError
        if time.monotonic() > deadline:
            raise AdvisorError(
                f"{path}: another command's sbatch has held it for {patience_s:.0f} s: end that one"
            )
        stop.wait(_LOCK_S)


def job_name(campaign: str, number: int | str) -> str:
    """The name of a job: no other has it, whenever and wherever."""
    return f"failbench-{campaign}-{number}"


def _named(number: int | str, suffix: str) -> str:
    return f"job-{number}{suffix}"


def task_file(campaign: Campaign, tasks: Sequence[Sequence[HandedCell]]) -> str:
    """The text of a task file, one task a line."""
    head = json.dumps(
        {
            "campaign": campaign.campaign,
            "command": campaign.command,
            "cluster": campaign.cluster,
            "folder": campaign.folder,
            "seed": campaign.seed,
            "created_at": campaign.created_at,
        }
    )
    lines = [json.dumps([cell.as_json() for cell in task]) for task in tasks]
    joined = ",\n".join(f"  {line}" for line in lines)
    start = f'{{"file": "{KIND}", "version": {VERSION}, "campaign": {head},\n "tasks": [\n'
    return f"{start}{joined}\n ]}}\n"


def heard_in(lines: Sequence[str]) -> Heard:
    """What the events of a task say; a line that is no event says nothing."""
    running: int | None = None
    finished: set[int] = set()
    failed: dict[int, str] = {}
    stopped, started = "", False
    for event in map(_event, lines):
        kind, run = event.get("event"), int(event.get("run", 0))
        if kind == "task-started":  # perhaps once more: what stopped it before is over
            running, stopped, started = None, "", True
        elif kind == "run-started":
            running = run
            finished.discard(run)
            failed.pop(run, None)
        elif kind == "run-finished":
            running = None
            finished.add(run)
        elif kind == "run-failed":
            running = None
            failed[run] = str(event["reason"])
        elif kind == "stopped":
            stopped = str(event["reason"])
        elif kind == "end" and event.get("signal"):
            stopped = f"it was told to stop by {event['signal']}"
    return Heard(running, frozenset(finished), failed, stopped, started)


def _event(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
