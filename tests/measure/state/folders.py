"""Folders of checkpoints for the tests, and what a loader makes of them."""

from functools import cache
from pathlib import Path

from measure.state.checkpoints import Checkpoints, Generation
from measure.state.digest import Digests, digests
from measure.state.errors import NoCheckpointError
from tests.measure.state.states import small_state

RANKS = 2


def save(checkpoints: Checkpoints, step: int, content: int | None = None) -> Generation:
    """Saves `small_state(content)` of every rank as the generation `step`."""
    receipts = []
    for rank in range(RANKS):
        state = small_state(step if content is None else content, rank, RANKS)
        state.plain["step"] = step
        receipts.append(checkpoints.write(state))
    return checkpoints.publish(step, RANKS, receipts, {"saved": step})


def two_generations(folder: Path) -> Checkpoints:
    """Steps 1 and 2, committed."""
    checkpoints = Checkpoints(folder)
    checkpoints.open()
    save(checkpoints, 1)
    save(checkpoints, 2)
    return checkpoints


def loaded_step(checkpoints: Checkpoints) -> int:
    """The step of what the loader returns, 0 if it finds none; AssertionError for a third thing:
    a state that nobody saved."""
    try:
        loaded = checkpoints.newest(range(RANKS))
    except NoCheckpointError:
        return 0
    for rank, state in loaded.states.items():
        assert digests(state) == _saved(loaded.generation.step, rank)
    return loaded.generation.step


@cache
def _saved(step: int, rank: int) -> Digests:
    return digests(small_state(step, rank, RANKS))
