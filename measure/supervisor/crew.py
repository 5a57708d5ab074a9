"""The processes of a run, a slot each: started, told, heard, given up on, and ended for certain."""

from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from measure.rank.control import hear, say
from measure.supervisor import ranks as processes
from measure.supervisor.observed import Observed, RankView
from measure.supervisor.ranks import RankProcess


class Crew:
    """`launch` starts the process of a slot (`rank`); there are `slots` of them at most. What is
    seen of each stands in `seen.ranks`, by slot."""

    def __init__(self, seen: Observed, launch: Callable[..., RankProcess], slots: int) -> None:
        self._seen, self._launch, self._slots = seen, launch, slots
        self._open: dict[Connection, RankView] = {}
        self._started: list[RankProcess] = []

    def start(self, spares: int) -> None:
        """Starts those that the run begins with, and so many that stand by."""
        for view in list(self._seen.ranks):
            self._launch_slot(view)
        for _ in range(spares):
            self._launch_slot(self._new_slot())

    def launch_another(self) -> None:
        """A process that may take a free place, as long as there are slots left."""
        if len(self._seen.ranks) < self._slots:
            self._launch_slot(self._new_slot())

    def _new_slot(self) -> RankView:
        view = RankView(len(self._seen.ranks), member=False)
        self._seen.ranks.append(view)
        return view

    def _launch_slot(self, view: RankView) -> None:
        started = self._launch(rank=view.rank)
        self._started.append(started)
        self._open[started.pipe] = view

    def heard(self, within_s: float) -> Iterator[tuple[RankView, dict[str, Any] | None]]:
        """Who says what within that time; None instead of a message: it is dead."""
        for ready in wait(list(self._open), within_s):
            pipe = cast("Connection", ready)
            view = self._open[pipe]
            message: dict[str, Any] | None
            try:
                message = hear(pipe)
            except (EOFError, OSError):
                del self._open[pipe]
                message = None
            yield view, message

    def tell(self, view: RankView, message: str, **fields: Any) -> None:
        """Tells one, if it is still there."""
        for pipe, each in self._open.items():
            if each is view:
                say(pipe, message, **fields)

    def tell_all(self, message: str, **fields: Any) -> None:
        """Tells everybody who is still there, spares included."""
        for pipe in self._open:
            say(pipe, message, **fields)

    def give_up_on(self, views: Sequence[RankView]) -> None:
        """Ends these processes: others are to take their places."""
        for view in views:
            view.given_up = True
            next(s for s in self._started if s.rank == view.rank).process.kill()

    def end(self, grace_s: float) -> None:
        """Ends every process: those that can exit by themselves, the others by SIGKILL. Notes how
        each ended."""
        can_exit = [s for s in self._started if _can_exit(self._seen.ranks[s.rank])]
        for started in can_exit:
            say(started.pipe, "end")
        blocked = [started for started in self._started if started not in can_exit]
        killed = processes.end(blocked, 0.0) | processes.end(can_exit, grace_s)
        for started in self._started:
            view = self._seen.ranks[started.rank]
            view.exit_code = started.process.exitcode
            view.killed_by_supervisor = view.given_up or started.rank in killed
            started.process.close()


def _can_exit(view: RankView) -> bool:
    """It waits for orders, or is gone; the others may be blocked in a collective."""
    idle_spare = not view.member and view.ready
    return (not view.active and not view.stuck) or idle_spare or bool(view.infeasible)
