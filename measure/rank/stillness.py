"""Whether this process does nothing and nothing can come: a thread that waits for good looks like
that, while one that is only short of a processor is runnable. One that reads or writes files says
so: what it waits for comes, however long a file system sleeps over it."""

import threading
from pathlib import Path

from measure.state.storage_waits import is_in_storage

_TASKS = Path("/proc/self/task")
_SAMPLES = 8


class Stillness:
    """Asked again and again by one thread; `lasts` once all others have slept in so many samples
    in a row, none of them in storage, the main one without having been woken in between."""

    def __init__(self) -> None:
        self._before: tuple[str, ...] | None = None
        self._samples = 0

    def lasts(self) -> bool:
        """Takes a sample."""
        waits = not is_in_storage() and _all_others_sleep()
        found = _main_switches() if waits else None
        self._samples = self._samples + 1 if found is not None and found == self._before else 0
        self._before = found
        return self._samples >= _SAMPLES


def _all_others_sleep() -> bool:
    own = str(threading.get_native_id())
    states = (_state(task) for task in _TASKS.iterdir() if task.name != own)
    return all(state in ("S", "") for state in states)


def _state(task: Path) -> str:
    """R: runs, or waits for a processor; S: sleeps; D: waits for a device; empty: has ended."""
    try:
        # After the name, which stands in parentheses and may contain anything.
        return (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _main_switches() -> tuple[str, ...]:
    """How often the main thread went to sleep, or had to let others run."""
    main = threading.main_thread().native_id
    lines = (_TASKS / str(main) / "status").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if "ctxt_switches" in line)
