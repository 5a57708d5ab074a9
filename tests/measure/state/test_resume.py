"""Resume equals no interruption: every architecture, with real ranks, through a file."""

from pathlib import Path

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from tests.measure.ranks import Request, run_ranks
from tests.measure.state.bodies import Interrupted, Stretch, interrupted, replaced

pytestmark = pytest.mark.integration

_BEFORE, _AFTER = 3, 4
_RANKS = {"a1-sync": 3, "a1-async": 3, "a6": 3, "a7": 4}
_CASES = [(a.architecture, a.default_workload) for a in ARCHITECTURES] + [("a2", "transformer")]


@pytest.mark.parametrize(("architecture", "workload"), _CASES)
def test_restored_ranks_train_as_if_nothing_had_happened(
    tmp_path: Path, architecture: str, workload: str
) -> None:
    """In place in the same processes, and in new ones that have not made a step."""
    arguments = (_BEFORE, _AFTER, str(tmp_path))
    ranks = _RANKS.get(architecture, 2)
    first = run_ranks(Request(architecture, workload, interrupted, arguments), ranks)
    second = run_ranks(Request(architecture, workload, replaced, arguments), ranks)
    for rank, (run, new) in enumerate(zip(first, second, strict=True)):
        assert isinstance(run, Interrupted), run
        assert isinstance(new, Stretch), new
        assert run.restored == run.saved, rank
        assert run.resumed == run.straight, rank
        assert new == run.straight, rank
        assert not any("module." in name for name in run.names)
    if architecture.startswith("a1"):  # a worker has no optimizer
        held = [any(n.startswith("optimizer.") for n in run.names) for run in first]
        assert held == [True, False, False]
    drawn = {tuple(run.straight.draws) for run in first}
    assert len(drawn) == ranks, "each rank has generators of its own"
