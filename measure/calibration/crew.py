"""The processes that do the work: started from the fork server as ranks are, one order at a time.

The coordinating process only waits, so that what is timed has the cores.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.errors import HarnessError
from measure.rank.control import hear, say
from measure.supervisor.ranks import RankProcess, RankStarter, end, ended_by

_PATIENCE_S = 120.0
_TOGETHER_AFTER_S = 0.004
"""How far ahead a common start lies: orders reach all processes before."""
_GRACE_S = 2.0

Order = tuple[int, str, Mapping[str, Any]]
"""Which process, which operation, with which arguments."""


class Crew:
    """Some processes, and what they share: a folder on the storage, a store, names in memory.

    with Crew(starter, 2, folder, port, run_key) as crew:
        crew.ask(0, "memory.copy", size=10**6)
    """

    def __init__(
        self, starter: RankStarter, size: int, folder: Path, store_port: int, run_key: str
    ) -> None:
        self.starter, self.folder, self.store_port, self.run_key = (
            starter,
            folder,
            store_port,
            run_key,
        )
        self._processes: list[RankProcess] = []
        from measure.calibration.worker import run_worker  # which knows the paths, which know us

        for rank in range(size):
            arguments = (rank, str(folder), store_port, run_key)
            self._processes.append(starter.start_process(run_worker, arguments, rank))

    def __enter__(self) -> "Crew":
        try:
            for process in self._processes:
                self._answer(process)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._processes)

    def close(self) -> None:
        """Ends every process; none is left."""
        for process in self._processes:
            say(process.pipe, "end")
        end(self._processes, _GRACE_S)
        self._processes = []

    def ask(self, rank: int, operation: str, **arguments: Any) -> Any:
        """What the operation returned. HarnessError, in one line, if it failed."""
        (found,) = self.ask_all([(rank, operation, arguments)])
        return found

    def ask_all(self, orders: Sequence[Order]) -> list[Any]:
        """The same for several processes, which work at the same time."""
        for rank, operation, arguments in orders:
            say(self._processes[rank].pipe, operation, arguments=dict(arguments))
        return [self._answer(self._processes[rank]) for rank, _, _ in orders]

    def timed(self, rank: int, operation: str, **arguments: Any) -> float:
        """How long one process took for an operation that times itself (s)."""
        begin, finish = self.ask(rank, operation, **arguments)
        return float(finish - begin)

    def timed_all(self, orders: Sequence[Order]) -> float:
        """From the common start until the last process was done (s)."""
        at = time.monotonic() + _TOGETHER_AFTER_S
        spans = self.ask_all([(rank, what, {**given, "at": at}) for rank, what, given in orders])
        return float(max(finish for _, finish in spans) - max(begin for begin, _ in spans))

    def _answer(self, process: RankProcess) -> Any:
        try:
            if not process.pipe.poll(_PATIENCE_S):
                raise HarnessError(f"a process was silent for {_PATIENCE_S:.0f} s")
            found = hear(process.pipe)
        except (EOFError, OSError) as error:
            process.process.join(_GRACE_S)
            how = ended_by(process.process.exitcode)
            raise HarnessError(f"a process of the calibration is gone: {how}") from error
        if found["said"] == "failed":
            raise HarnessError(f"a process of the calibration failed: {found['error']}")
        return found.get("result")
