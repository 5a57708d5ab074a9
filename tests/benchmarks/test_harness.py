"""What the harness costs, as a ratio of alternated steps in one run."""

from pathlib import Path
from statistics import median

import pytest

from measure.rank.heartbeat import create
from tests.benchmarks.harness_body import both_loops
from tests.measure.ranks import Request, run_ranks

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

_RANKS = 8
_PAIRS = 400


@pytest.mark.parametrize(("architecture", "workload"), [("a2", "resnet50"), ("a6", "resnet50")])
def test_ft9_in_the_harness_against_the_bare_loop(
    tmp_path: Path, architecture: str, workload: str
) -> None:
    """The median step inside the harness against the same loop without it, 8 ranks, `cpu`."""
    create(tmp_path / "heartbeats", _RANKS)
    request = Request(architecture, workload, both_loops, (str(tmp_path), _PAIRS), profile="cpu")
    answers = run_ranks(request, _RANKS, deadline_s=500)
    inside = median(step for answer in answers for step in answer[0])
    bare = median(step for answer in answers for step in answer[1])
    print(
        f"\n{architecture}: a step in the harness {inside * 1e3:.2f} ms, bare {bare * 1e3:.2f} ms: "
        f"ratio {inside / bare:.4f} ({_PAIRS} steps of each, in turn, {_RANKS} ranks)"
    )
    assert inside / bare < 1.10  # far above the figure, against a real mistake only
