"""What SLURM prints of jobs, and what the states mean. Pure: text in, dataclasses out.

Only plain text with named fields is read: `--json` changes from version to version.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SQUEUE_FORMAT = "%F|%K|%T|%V|%j|%N|%r"
"""Array's job, its task or tasks, state, submitted at, name, nodes, reason."""
SACCT_FORMAT = "JobID,State,Submit,JobName,NodeList"
_CLOCKS_DIFFER = timedelta(minutes=10)
"""Job ids begin anew at 1 on a controller that lost its state: a job that was submitted before its
task file was written is another one. The two clocks may differ by so much."""

ENDINGS: Mapping[str, str] = {
    "BOOT_FAIL": "its node did not start",
    "CANCELLED": "its task was cancelled",
    "COMPLETED": "its task ended without a record of it",
    "DEADLINE": "its task's deadline passed",
    "FAILED": "its task failed",
    "NODE_FAIL": "its node failed",
    "OUT_OF_MEMORY": "its task was killed for want of memory",
    "PREEMPTED": "its task was preempted",
    "REVOKED": "its task was revoked",
    "TIMEOUT": "its task's time limit passed: give more by --time",
}
"""States in which a task ends for good, unless it is requeued, in words. In any other state, also
one that a later version invents, a task may still do something."""
CANCELLED = "CANCELLED"
GONE = "GONE"
"""Our own: the scheduler does not know the task any more, and no accounting tells what became of
it."""
_CRASHES = ("COMPLETED", "FAILED", "OUT_OF_MEMORY")
_WAITS = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT")


@dataclass(frozen=True, slots=True)
class Job:
    """A job array, so that no other is mistaken for it: its name has the campaign's, with random
    digits, and the number of its task file. `cluster` is empty for the one that is asked anyway."""

    job: str
    cluster: str
    name: str
    written_at: str
    """When its task file was written, UTC: it was submitted after that."""

    def is_it(self, job: str, name: str, submitted_at: str) -> bool:
        """Whether a line of SLURM's is about this job. A requeued task is submitted anew, later."""
        if (job, name) != (self.job, self.name):
            return False
        try:
            submitted = datetime.fromisoformat(submitted_at).replace(tzinfo=UTC)
        except ValueError:
            return True
        written = datetime.fromisoformat(self.written_at)
        return submitted >= written - _CLOCKS_DIFFER


@dataclass(frozen=True, slots=True)
class TaskState:
    """Where a task stands, in SLURM's word, and on which nodes and why."""

    state: str
    nodes: str = ""
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended; it may still be requeued a moment later."""
        return self.state in ENDINGS or self.state == GONE

    @property
    def waits(self) -> bool:
        """Whether it is in the queue."""
        return self.state in _WAITS

    @property
    def is_crash(self) -> bool:
        """Whether the task itself broke, rather than being ended from outside."""
        return self.state in _CRASHES

    def words(self) -> str:
        """Why a cell of this task has no result."""
        if self.state == GONE:
            return "the scheduler does not know its task any more"
        said = ENDINGS.get(self.state, f"its task is {self.state}")
        return f"{said} ({self.state}, on {self.nodes})" if self.nodes else f"{said} ({self.state})"


def parse_squeue(text: str, job: Job) -> dict[int, TaskState]:
    """The tasks of a job in `squeue -h -o` of SQUEUE_FORMAT; other lines are left out."""
    found: dict[int, TaskState] = {}
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) != 7:
            continue
        number, tasks, state, submitted_at, name, nodes, reason = fields
        if job.is_it(number, name, submitted_at):
            for task in parse_tasks(tasks):
                found[task] = TaskState(state, nodes, "" if reason == "None" else reason)
    return found


def parse_sacct(text: str, job: Job) -> dict[int, TaskState]:
    """The same of `sacct -n -P -X -o` of SACCT_FORMAT, where a cancelled task is `CANCELLED by 0`;
    of a requeued task the last line counts."""
    found: dict[int, TaskState] = {}
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) != 5:
            continue
        job_id, state, submitted_at, name, nodes = fields
        number, _, tasks = job_id.partition("_")
        if state and job.is_it(number, name, submitted_at):
            told = "" if nodes == "None assigned" else nodes
            for task in parse_tasks(tasks):
                found[task] = TaskState(state.split()[0], told)
    return found


def parse_tasks(text: str) -> Iterator[int]:
    """The numbers in `5`, `[0-3,7%2]` or `0-10:5`; none where there is no number (`N/A`)."""
    listed = text.strip().strip("[]").partition("%")[0]
    for part in listed.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part.strip())
        if match:
            first, last, step = match.groups()
            yield from range(int(first), int(last or first) + 1, int(step or 1))


def parse_config(text: str, name: str) -> str:
    """A value of `scontrol show config`, empty where it is not there."""
    match = re.search(rf"^{re.escape(name)}\s*=\s*(.*?)\s*$", text, re.MULTILINE)
    return match.group(1) if match else ""


def parse_submitted(text: str) -> tuple[str, str]:
    """Job and cluster (empty: the usual one) of `sbatch --parsable`; empty where it says none."""
    lines = text.strip().splitlines()
    job, _, cluster = (lines[-1] if lines else "").partition(";")
    return (job, cluster) if job.isdigit() else ("", "")


def parse_refusal(text: str) -> str:
    """What sbatch objects to, in one line, out of what it says on stderr."""
    lines = [line.removeprefix("sbatch: ").removeprefix("error: ") for line in text.splitlines()]
    said = [line.removeprefix("allocation failure: ").strip() for line in lines if line.strip()]
    return "; ".join(dict.fromkeys(said)) or "it gives no reason"
