"""Follows the tasks of a campaign: sends what is open, hears what became of it, marks the cells.

What a cell showed is judged by its record alone, never by the state of a job: a job can be
COMPLETED without a result, and NODE_FAIL with one. States only say when to stop waiting, and why.
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from advisor.campaign_run import CampaignRun
from advisor.errors import AdvisorError
from advisor.launchers.cells import by_nodes, profiles_of
from advisor.launchers.slurm.place import (
    Campaign,
    HandedCell,
    Heard,
    Place,
    job_name,
    task_file,
)
from advisor.launchers.slurm.planning import script_environment
from advisor.launchers.slurm.scheduler import (
    Limits,
    Scheduler,
    SilentSchedulerError,
    TooManyTasksError,
)
from advisor.launchers.slurm.script import Script
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.states import CANCELLED, GONE, Job, TaskState
from advisor.launchers.slurm.stopping import StopAsked, StoppedError
from advisor.units import counted
from db.campaign_store import CampaignLostError, OpenCell
from db.errors import AnotherClusterError, UnreadableError
from db.ingest import ASIDE
from db.records import CellStatus
from db.run_record import INTERRUPTED, Record

T = TypeVar("T")
_MOST_CRASHES = 2
"""A cell in which its task broke so often has failed: it may be what breaks it."""


@dataclass(slots=True)
class Task:
    """A task that may still do something."""

    job: Job
    file: int
    number: int
    cells: dict[int, OpenCell]
    """Those that are not settled, by ordinal."""
    begun: set[int] = field(default_factory=set)
    waited: bool = False
    """Whether it was in the queue the last time that SLURM listed it. Without accounting nothing
    is left of a task that is cancelled there."""
    was_over: bool = False
    """Whether SLURM said the last time that it has ended. Once is not enough: a task that is
    requeued looks so for a moment, and a record may reach us later than the end of its job."""

    @property
    def name(self) -> str:
        return f"{self.job.job}_{self.number}"


@dataclass(slots=True)
class Outgoing:
    """An array that SLURM has not taken yet; whether it has is not always known."""

    file: int
    nodes: int
    """Of each task."""
    groups: Sequence[Sequence[OpenCell]]
    """The cells of each task."""
    was_sent: bool = False
    """Whether it may be in SLURM's hands: what it would run must not change any more."""
    was_missed: bool = False
    """Whether SLURM said since that it does not know it. Once is not enough: what was sent to a
    controller that was silent is taken when it wakes up, perhaps after it has said so."""


class Follower:
    """One controller's view of the tasks of its campaign."""

    def __init__(
        self,
        run: CampaignRun,
        scheduler: Scheduler,
        limits: Limits,
        place: Place,
        settings: SlurmSettings,
        stop: StopAsked,
        poll_s: float,
    ) -> None:
        self._run, self._scheduler, self._limits = run, scheduler, limits
        self._place, self._settings = place, settings
        self._stop, self._poll_s = stop, poll_s
        self._tasks: list[Task] = []
        self._outgoing: Outgoing | None = None
        self._most = limits.most_tasks
        """Tasks of an array that SLURM is likely to take."""
        self._given_up: set[int] = set()
        """Cells that stay open: somebody, or something outside, ended their task."""
        self._crashes: Counter[int] = Counter()
        self._opened: Counter[str] = Counter()
        """Why cells are open again that were given up since it was last said."""
        self._is_silent, self._waiting = False, ""

    def follow(self) -> None:
        """Until every cell is settled or given up, or somebody asks to stop: what is in SLURM's
        hands then goes on there. Raises CampaignLostError."""
        with suppress(StoppedError):
            self._follow()
        self._say_what_goes_on()

    def _follow(self) -> None:
        self._adopt()
        self._submit()
        while (self._tasks or self._outgoing) and not self._stop.count:
            if self._run.is_lost:
                raise CampaignLostError(f"campaign {self._run.measured.campaign} was taken over")
            self._look()
            if not self._tasks and not self._outgoing:
                self._submit()  # those that are to be tried again, and more seeds
            if self._tasks or self._outgoing:
                self._stop.wait(self._poll_s)
            if self._outgoing:
                self._submit()  # once more

    # What there is already

    def _adopt(self) -> None:
        """Finds the tasks that an earlier controller sent, and that may still do something, and
        stores what ended while nobody looked. Raises SilentSchedulerError: without an answer they
        could be sent twice."""
        self._tasks = self._found()
        self._store_found()
        if any(task.was_over for task in self._tasks):
            self._look_again()
            self._store_found()
        if self._tasks:
            self._run.shown.say(f"{_tasks_of(self._tasks)} still at it, sent by an earlier command")

    def _found(self) -> list[Task]:
        """The tasks of open cells that SLURM knows, also those that have ended."""
        found = []
        left = {cell.ordinal: cell for cell in self._run.open_cells()}
        with self._place.submitting(self._stop, self._run.shown.say):
            for file in self._place.numbers():
                tasks = self._place.tasks(file)
                if left.keys().isdisjoint(ordinal for task in tasks for ordinal in task):
                    continue
                job = self._submitted(file)
                if job is None:
                    continue
                for number, state in self._scheduler.states(job).items():
                    cells = {o: left[o] for o in tasks[number] if o in left}
                    if cells:
                        found.append(Task(job, file, number, cells, was_over=state.is_over))
        return found

    def _look_again(self) -> None:
        """Leaves out the tasks that have ended, which SLURM has to say twice: one that is requeued
        looks so for a moment, and its cells would be sent while it runs them."""
        self._stop.wait(self._poll_s)
        jobs = {task.job for task in self._tasks if task.was_over}
        states = {job: self._scheduler.states(job) for job in jobs}
        for task in self._tasks:
            if task.was_over:
                state = states[task.job].get(task.number)
                task.was_over = state is None or state.is_over
        self._tasks = [task for task in self._tasks if not task.was_over]

    def _submitted(self, file: int) -> Job | None:
        """The job of a task file; None where it was never sent, or nobody knows it any more."""
        campaign = self._run.measured.campaign
        job = self._place.job(campaign, file)
        if job.job:
            return job
        found = self._scheduler.find(job.name)
        if found is None:
            return None
        self._place.note_job(file, found)
        return self._place.job(campaign, file)

    def _store_found(self) -> None:
        """Stores the runs that ended while nobody looked; after the tasks were asked for, so that
        none ends unseen in between."""
        for cell in self._run.open_cells():
            if self._store(cell):
                for task in self._tasks:
                    task.cells.pop(cell.ordinal, None)
        self._tasks = [task for task in self._tasks if task.cells]
        self._given_up.clear()  # what ran on other hardware is put aside, and sent again

    # Sending

    def _submit(self) -> None:
        """Sends the open cells that no task has, as one array; those that it has no room for wait
        until it is over. What SLURM does not take just now stays in `_outgoing`."""
        if self._stop.count:
            return
        self._outgoing = self._outgoing or self._next()
        while self._outgoing is not None:
            try:
                job = self._send(self._outgoing)
            except TooManyTasksError as error:
                if not self._has_halved(self._outgoing, error):
                    return
            except SilentSchedulerError as error:
                self._say_once(f"{error}; trying again")
                return
            else:
                self._has_sent(job, self._outgoing)
                self._outgoing = None

    def _next(self) -> Outgoing | None:
        """The next array: of cells on one number of nodes, those on another wait until it is over.
        None where there is nothing to be sent."""
        cells = self._unsent()
        if not cells and not self._tasks and not self._given_up and self._run.add_seeds():
            cells = self._unsent()
        if not cells:
            return None
        nodes, cells = next(iter(by_nodes(cells).items()))
        size = self._settings.group_of(profiles_of(cell.parameters for cell in cells))
        file = max(self._place.numbers(), default=0) + 1
        return Outgoing(file, nodes, grouped(cells, size, self._most))

    def _has_sent(self, job: Job, array: Outgoing) -> None:
        self._is_silent, self._most = False, min(2 * self._most, self._limits.most_tasks)
        self._tasks += [
            Task(job, array.file, number, {cell.ordinal: cell for cell in group}, waited=True)
            for number, group in enumerate(array.groups)
        ]
        on = "" if array.nodes == 1 else f", on {array.nodes} nodes each"
        size = max(map(len, array.groups))
        of = "" if size == 1 else f", of up to {size} cells each"
        self._run.shown.say(
            f"SLURM job {job.job}: {counted(len(array.groups), 'task')}{on}{of}, at most"
            f" {self._settings.array_limit} at once"
        )

    def _has_halved(self, array: Outgoing, error: TooManyTasksError) -> bool:
        """Halves an array that SLURM refused; False where it is one task, which has to wait. Raises
        the error where there will never be room for that one."""
        if len(array.groups) > 1:
            self._most = len(array.groups) // 2
            array.groups = array.groups[: self._most]
            return True
        if not error.passes:
            raise error
        self._say_once(f"{error}; trying again")
        return False

    def _unsent(self) -> list[OpenCell]:
        sent = {ordinal for task in self._tasks for ordinal in task.cells}
        without = sent | self._given_up
        return [cell for cell in self._run.open_cells() if cell.ordinal not in without]

    def _send(self, array: Outgoing) -> Job:
        """Has SLURM take the array, unless it did before, when its answer was lost."""
        file, campaign = array.file, self._run.measured.campaign
        script = task_script(
            self._place, campaign, file, len(array.groups), self._settings, array.nodes
        )
        answer, path = self._place.folder / f"job-{file}.id", self._place.folder / f"job-{file}.sh"
        with self._place.submitting(self._stop, self._run.shown.say) as held:
            if array.was_sent:
                if job := self._found_late(array):
                    return job
            else:
                self._place.write(path.name, script.text())
                self._place.write(f"job-{file}.json", task_text(self._run, array.groups))
            array.was_sent, array.was_missed = True, False
            try:
                self._scheduler.submit(path, script.options, answer, held)
            except TooManyTasksError:
                array.was_sent = False  # for certain
                raise
        job = self._submitted(file)
        if job is None:
            raise AdvisorError(f"sbatch does not say which job it made: {answer}")
        return job

    def _found_late(self, array: Outgoing) -> Job | None:
        """The job of an array of which nobody knows whether SLURM took it; None where it did not.
        Raises SilentSchedulerError where that has to be asked again."""
        job = self._submitted(array.file)
        if job is None and not array.was_missed:
            array.was_missed = True
            raise SilentSchedulerError("SLURM does not know the job yet")
        return job

    # Hearing

    def _look(self) -> None:
        """Looks once at every task: what it said, whether it is over."""
        try:
            states = {job: self._states(job) for job in {task.job for task in self._tasks}}
        except SilentSchedulerError as error:
            self._say_once(f"{error}; asking again")
            return
        self._is_silent = bool(self._outgoing)
        for task in self._tasks:
            self._look_at(task, states[task.job][task.number])
        self._tasks = [task for task in self._tasks if task.cells]
        self._show([states[task.job][task.number] for task in self._tasks])

    def _states(self, job: Job) -> dict[int, TaskState]:
        """The states of all tasks of a job: those that left the queue are asked of the accounting,
        if there is one. What it takes for running, though it is in no queue, is gone."""
        found = self._scheduler.states(job)
        missing = [t for t in self._tasks if t.job == job and t.number not in found]
        if not missing:
            return found
        accounted = self._scheduler.accounted(job).items()
        over = {number: state for number, state in accounted if state.is_over}
        for task in missing:
            # One that never began on a node can only have been taken out of the queue.
            began = not task.waited or self._place.heard(task.file, task.number).started
            gone = TaskState(GONE if began else CANCELLED)
            found[task.number] = over.get(task.number, gone)
        return found

    def _look_at(self, task: Task, state: TaskState) -> None:
        if not state.waits:  # else it has not begun, or begins anew
            heard = self._place.heard(task.file, task.number)
            self._hear(task, heard)
            if state.is_over and task.was_over:
                self._close(task, state, heard)
        if not state.is_over:
            task.waited = state.waits
        task.was_over = state.is_over

    def _hear(self, task: Task, heard: Heard) -> None:
        running = task.cells.get(heard.running or 0)
        if running is not None and running.ordinal not in task.begun:
            task.begun.add(running.ordinal)
            self._run.begin(running)
        for ordinal in heard.finished & task.cells.keys():
            if self._store(task.cells[ordinal]):
                del task.cells[ordinal]
        for ordinal in heard.failed.keys() & task.cells.keys():
            self._fail(task.cells.pop(ordinal), heard.failed[ordinal])

    def _close(self, task: Task, state: TaskState, heard: Heard) -> None:
        """The task has ended: what of its cells has no result says why."""
        with suppress(OSError):
            _read_anew(self._place.folder.parent)
        is_crash = state.is_crash and not heard.stopped
        what = heard.stopped if state.is_crash and heard.stopped else state.words()
        why = f"{what}, SLURM job {task.name}"
        if is_crash and (said := self._place.last_words(f"job-{task.file}-{task.number}.log")):
            why = f"{why}: {said}"
        for ordinal, cell in task.cells.items():
            if self._store(cell):
                continue
            if not is_crash or heard.running is None:
                self._given_up.add(ordinal)
                self._run.settle(cell, CellStatus.STALE, why)
                self._opened[what] += 1
            elif heard.running == ordinal:
                self._count_crash(cell, why)
            # Else the task broke in another of its cells: this one goes with the next array.
        task.cells.clear()

    def _count_crash(self, cell: OpenCell, why: str) -> None:
        self._crashes[cell.ordinal] += 1
        if self._crashes[cell.ordinal] >= _MOST_CRASHES:
            self._fail(cell, f"its task broke in it {_MOST_CRASHES} times, at last: {why}")
        else:
            self._run.settle(cell, CellStatus.STALE, why)

    def _fail(self, cell: OpenCell, why: str) -> None:
        self._run.begin(cell)
        self._run.settle(cell, CellStatus.FAILED, why)
        self._show_begun(cell)
        self._run.shown.event({"event": "run-failed", "run": cell.ordinal, "reason": why})

    def _store(self, cell: OpenCell) -> bool:
        """Stores the cell's record if it is there, of a run that came to its end; whether the cell
        needs no more looking after. A record that cannot be read just now is not there yet."""
        path = self._run.record_path(cell)
        if not _has_ended(path):
            return False
        self._run.begin(cell)
        try:
            record = self._run.store(cell, path)
        except UnreadableError:
            return False
        except AnotherClusterError as error:
            # One odd node of a partition is no reason to stop; the run can be made elsewhere.
            self._given_up.add(cell.ordinal)
            self._run.shown.say(f"not stored: {error}")
            _put_aside(path.parent)
            return True
        self._show_result(cell, path, record)
        return True

    # Showing

    def _say_once(self, line: str) -> None:
        """Says that SLURM does not do what was asked, until it does."""
        if not self._is_silent:
            self._run.shown.say(line)
        self._is_silent = True

    def _show(self, now: Sequence[TaskState]) -> None:
        for what, cells in self._opened.items():
            self._run.shown.say(f"{counted(cells, 'cell')} open again: {what}")
        self._opened.clear()
        waiting = [state for state in now if state.waits]
        busy = len(now) - len(waiting)
        words = f"{counted(busy, 'task')} at it, {len(waiting)} in the queue"
        self._run.shown.event({"event": "phase", "run": 0, "phase": words})
        reasons = ", ".join(sorted({state.reason for state in waiting if state.reason}))
        waits = f"in the queue: {reasons}" if waiting and not busy and reasons else ""
        if waits and waits != self._waiting:
            self._run.shown.say(waits)
        self._waiting = waits

    def _show_begun(self, cell: OpenCell) -> None:
        parameters = cell.parameters
        names = ("architecture", "mechanism", "trace", "seed")
        about = {name: parameters[name] for name in names}
        of = self._run.measured.planned
        self._run.shown.event({"event": "run-started", "run": cell.ordinal, "of": of, **about})

    def _show_result(self, cell: OpenCell, path: Path, record: Record | None) -> None:
        """Begin and end of a run at once: runs of several tasks would be mixed otherwise."""
        self._show_begun(cell)
        if record is None:
            reason = "its record was refused"
            self._run.shown.event({"event": "run-failed", "run": cell.ordinal, "reason": reason})
            return
        self._run.shown.event(
            {
                "event": "run-finished",
                "run": cell.ordinal,
                "record": str(path),
                "outcome": str(record.outcome),
                "validity": str(record.validity),
                "reasons": list(record.validity_reasons),
                "wall_s": record.wall_s,
            }
        )

    def _say_what_goes_on(self) -> None:
        jobs = " ".join(sorted({task.job.job for task in self._tasks}))
        if jobs:
            self._run.shown.say(
                f"{_tasks_of(self._tasks)} in SLURM's hands, and go on: `scancel {jobs}` would end"
                " them"
            )


def task_script(
    place: Place, campaign: str, file: int, tasks: int, settings: SlurmSettings, nodes: int = 1
) -> Script:
    """The script of a task file, whose tasks are on so many nodes each. Where those are several, a
    task has an agent started on each (measure/nodes/slurm_step.py)."""
    command = [sys.executable, "-m", "measure", "task", str(place.folder / f"job-{file}.json")]
    return Script(
        name=job_name(campaign, file),
        tasks=tasks,
        at_once=settings.array_limit,
        log=place.folder / f"job-{file}-%a.log",
        command=command,
        environment=script_environment(),
        options=settings.options(nodes),
    )


def task_text(run: CampaignRun, groups: Sequence[Sequence[OpenCell]]) -> str:
    """The task file of these groups of cells."""
    taken = run.taken
    assert taken is not None
    campaign = Campaign(
        taken.campaign, taken.command, taken.cluster, taken.folder, taken.seed, taken.created_at
    )
    of = run.measured.planned
    handed = [[HandedCell(c.ordinal, of, c.parameters) for c in group] for group in groups]
    return task_file(campaign, handed)


def grouped(cells: Sequence[T], size: int, most: int) -> list[Sequence[T]]:
    """The cells of each task, `size` of them, of `most` tasks at most."""
    return [cells[at : at + size] for at in range(0, len(cells), size)][:most]


def _has_ended(path: Path) -> bool:
    """Whether the record is there and does not say that its run was interrupted. What a network
    file system does not hand over just now, or was put aside meanwhile, is not there."""
    try:
        if path.name not in _read_anew(path.parent):
            return False
        return INTERRUPTED not in json.loads(path.read_text("utf-8"))["validity_reasons"]
    except OSError:
        return False
    except (ValueError, KeyError, TypeError):
        return True  # whoever stores it says what is wrong with it


def _read_anew(folder: Path) -> set[str]:
    """The names in a folder. Reading it asks a network file system anew, which may remember for a
    minute that a file was not there."""
    return {entry.name for entry in folder.iterdir()}


def _put_aside(folder: Path) -> None:
    """Gives a run's folder another name, as the harness does before it runs a cell again."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}{ASIDE}{number}")).exists():
        number += 1
    folder.rename(aside)


def _tasks_of(tasks: Sequence[Task]) -> str:
    return f"{counted(len(tasks), 'task')} {'is' if len(tasks) == 1 else 'are'}"
