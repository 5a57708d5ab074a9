"""Recoveries that lead nowhere are counted."""

from measure.rank.heartbeat import Beat
from measure.supervisor.progress import Progress


def test_recoveries_without_a_new_step_are_counted() -> None:
    progress = Progress()

    def noted(*steps: int, counts: bool = True) -> int:
        return progress.note([Beat(0.0, reached, 0.0) for reached in steps], counts)

    assert noted(0, 3) == 0
    assert [noted(3, 2), noted(3, 3), noted(1, 1)] == [1, 2, 3]
    assert noted(3, 3, counts=False) == 3
    assert noted(4, 1) == 0
    assert noted(2, 2) == 1
