"""Processes by slot: started up to a limit, told and heard by their control lines, ended."""

import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, cast

from measure.rank.control import hear, say
from measure.supervisor.crew import Crew
from measure.supervisor.observed import Observed
from measure.supervisor.ranks import RankProcess


@dataclass
class FakeProcess:
    """One that ends only by a kill, unless it has an exit code already."""

    exitcode: int | None = None

    def kill(self) -> None:
        self.exitcode = -9

    def join(self, timeout: float | None = None) -> None:
        """It is waited for in vain, or is over."""

    def close(self) -> None:
        assert self.exitcode is not None


class Fake:
    """A crew of two members with the ranks' ends of their lines."""

    def __init__(self, slots: int = 8, exit_codes: tuple[int | None, ...] = ()) -> None:
        self.seen, self.lines = Observed(0.0, 2), dict[int, Connection]()
        self.processes: dict[int, FakeProcess] = {}
        self._exit_codes = dict(enumerate(exit_codes))
        self.crew = Crew(self.seen, self._launch, slots)

    def _launch(self, rank: int) -> RankProcess:
        ours, self.lines[rank] = multiprocessing.Pipe()
        self.processes[rank] = FakeProcess(self._exit_codes.get(rank))
        return RankProcess(rank, cast("Any", self.processes[rank]), ours)


def test_there_are_no_more_processes_than_slots() -> None:
    fake = Fake(slots=4)
    fake.crew.start(spares=1)
    assert [(view.rank, view.member) for view in fake.seen.ranks] == [
        (0, True),
        (1, True),
        (2, False),
    ]
    for _ in range(3):
        fake.crew.launch_another()
    assert sorted(fake.lines) == [0, 1, 2, 3]
    assert not fake.seen.ranks[3].member


def test_each_is_heard_and_told_by_its_own_line() -> None:
    fake = Fake()
    fake.crew.start(spares=1)
    dead, one, spare = fake.seen.ranks
    assert list(fake.crew.heard(0.0)) == []
    say(fake.lines[1], "ready")
    assert list(fake.crew.heard(0.0)) == [(one, {"said": "ready"})]
    fake.lines[0].close()
    assert list(fake.crew.heard(0.0)) == [(dead, None)]
    assert list(fake.crew.heard(0.0)) == []
    fake.crew.tell_all("lost", rank=0)
    fake.crew.tell(spare, "form", rank=0)
    fake.crew.tell(dead, "form", rank=1)
    assert hear(fake.lines[1]) == {"said": "lost", "rank": 0}
    assert [hear(fake.lines[2])["said"] for _ in range(2)] == ["lost", "form"]
    assert not fake.lines[1].poll(0.0)


def test_who_can_exit_is_asked_to_and_the_others_are_killed() -> None:
    fake = Fake(exit_codes=(0,))
    fake.crew.start(spares=1)
    done, busy, given_up = fake.seen.ranks
    done.finished_at = 1.0
    fake.crew.give_up_on([given_up])
    assert fake.processes[2].exitcode == -9
    fake.crew.end(0.0)
    assert hear(fake.lines[0]) == {"said": "end"}
    assert [view.exit_code for view in (done, busy, given_up)] == [0, -9, -9]
    assert [v.killed_by_supervisor for v in (done, busy, given_up)] == [False, True, True]
