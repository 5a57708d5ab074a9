"""Heartbeats: what a slot says of a rank, and where in a step it is."""

from pathlib import Path

import pytest

from measure.rank.heartbeat import Beat, Heartbeat, HeartbeatReader, Where, create


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (Where.BEFORE, "before step 8"),
        (Where.IN, "in step 8"),
        (Where.AFTER, "after step 8"),
        (Where.ELSEWHERE, ""),
    ],
)
def test_a_slot_says_where_its_rank_is(tmp_path: Path, where: Where, said: str) -> None:
    path = tmp_path / "heartbeats"
    create(path, 3)
    mine = Heartbeat(path, 1)
    mine.step_done(8)
    mine.at(where, 8)
    reader = HeartbeatReader(path, 3)
    before, here, after = reader.read()
    assert (mine.where, here.where, here.steps) == (said, said, 8)
    assert before == after == Beat(0.0, 0, 0.0)
    reader.close()
