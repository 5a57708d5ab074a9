"""Runs cells on this machine: one harness, which is handed one cell after the other."""

from collections.abc import Callable, Sequence
from pathlib import Path

from advisor.campaign_run import CampaignRun
from advisor.harness import Event, Harness, harness_command
from advisor.launchers.launcher import Ended
from db.campaign_store import CampaignLostError, OpenCell
from db.records import CellStatus

_MOST_DEATHS = 2
"""A cell in which the harness was killed so often has failed: it may be what kills it."""


class LocalLauncher:
    """A harness as a child process, and one more for each that is killed.

    `command` starts the first one; it says the plan where nothing is planned yet. A launcher whose
    harness is started otherwise is one of these with another `command_of` and `started`.
    """

    revives = True
    """Whether one more is started for one that was killed."""

    def __init__(
        self, command: Sequence[str] = (), on_interrupt: Callable[[], None] = lambda: None
    ) -> None:
        self._command, self.on_interrupt = command, on_interrupt
        self._cell: OpenCell | None = None
        self._deaths: dict[int, int] = {}

    def command_of(self, arguments: Sequence[str]) -> list[str]:
        """What starts a harness with these arguments."""
        return harness_command(arguments)

    def started(self, command: Sequence[str]) -> Harness:
        """A harness that was started by this command."""
        return Harness(command, on_interrupt=self.on_interrupt)

    def launch(self, run: CampaignRun) -> Ended:
        """Runs the cells in their order."""
        command = self._command if run.taken is None else self.command_of(_goes_on(run))
        while True:
            with self.started(command) as child:
                run.on_lost = child.interrupt
                if not self._follow(run, child) or not self.revives:
                    return child
            run.shown.say("the harness was killed; another one goes on")
            command = self.command_of(_goes_on(run))

    def _follow(self, run: CampaignRun, child: Harness) -> bool:
        """Hands the child cell after cell, until there is none or it ends; True if it was killed in
        the middle of a cell, and another harness should go on."""
        for event in child.events():
            run.shown.event(event)
            self._take(run, event, child)
        if run.is_lost:
            raise CampaignLostError(f"campaign {run.measured.campaign} was taken over")
        killed = (child.exit_code or 0) < 0 and not child.interrupts
        return killed and self._count_death(run)

    def _take(self, run: CampaignRun, event: Event, child: Harness) -> None:
        kind = event["event"]
        if kind == "plan":
            run.plan(event)
        elif kind == "ready":
            _store_found(run)
            run.show_plan()
        elif kind == "run-finished":
            run.store(self._in_hand(), Path(str(event["record"])))
        elif kind == "run-failed":
            run.settle(self._in_hand(), CellStatus.FAILED, str(event["reason"]))
        else:
            return
        self._hand_next(run, child)

    def _in_hand(self) -> OpenCell:
        cell, self._cell = self._cell, None
        assert cell is not None, "the harness ran a cell that it was not handed"
        return cell

    def _hand_next(self, run: CampaignRun, child: Harness) -> None:
        cell = None if child.interrupts or run.is_lost else run.next_cell()
        self._cell = cell
        if cell is None:
            child.hand_no_more()
            return
        child.hand({"run": cell.ordinal, "of": run.measured.planned, "cell": cell.parameters})

    def _count_death(self, run: CampaignRun) -> bool:
        if self._cell is None:
            return False
        cell = self._in_hand()
        self._deaths[cell.ordinal] = self._deaths.get(cell.ordinal, 0) + 1
        if self._deaths[cell.ordinal] >= _MOST_DEATHS:
            run.settle(
                cell, CellStatus.FAILED, f"the harness was killed in it {_MOST_DEATHS} times"
            )
        else:
            run.settle(cell, CellStatus.STALE, "the harness was killed")
        return True


def _store_found(run: CampaignRun) -> None:
    """Stores the runs that ended while nobody was there to store them."""
    for cell in run.open_cells():
        path = run.record_path(cell)
        if path.is_file():
            run.store(cell, path)


def _goes_on(run: CampaignRun) -> list[str]:
    """The arguments of a harness for cells that are planned already."""
    taken = run.taken
    assert taken is not None
    told = {
        "campaign": taken.campaign,
        "cluster": taken.cluster,
        "folder": taken.folder,
        "command": taken.command,
        "first-seed": taken.seed,
        "created-at": taken.created_at,
    }
    return [f"--{name}={value}" for name, value in told.items()]
