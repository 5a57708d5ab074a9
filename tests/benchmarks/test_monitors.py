"""What monitors cost: of a step, as ratios of alternated blocks of one run, and of a digest."""

from statistics import median

import pytest
import torch
from xxhash import xxh3_128

from measure.monitors.fingerprints import of_tensors, optimizer_tensors
from measure.state.tensor_bytes import view_of
from tests.benchmarks.monitors_body import in_blocks
from tests.benchmarks.test_save_paths import Action, Large, in_turn, large, said
from tests.measure.ranks import Request, run_ranks

__all__ = ["large"]

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

_RANKS, _PAIRS = 4, 8


@pytest.mark.usefixtures("one_thread")
def test_the_digest_of_a_large_state_against_a_copy_and_the_bare_hash(large: Large) -> None:
    """204.8 MB: parameters and momentum, as `digest` reads them at a check."""
    assert large.optimizer is not None
    tensors = [*large.model.parameters(), *optimizer_tensors(large.optimizer)]
    into = [torch.empty_like(tensor) for tensor in tensors]

    def copy() -> None:
        for target, tensor in zip(into, tensors, strict=True):
            target.copy_(tensor.detach())

    def bare() -> None:
        for tensor in tensors:
            xxh3_128(view_of(tensor.detach())).digest()

    ours, copied, hashed = in_turn(
        Action("fingerprint", lambda: of_tensors(tensors)),
        Action("copy", copy),
        Action("xxh3 of each tensor", bare),
    )
    ratios = said(ours, copied, hashed)
    assert ratios[1] < 2.0  # far above the figure, against a real mistake only


@pytest.mark.parametrize("architecture", ["a2", "a4"])
@pytest.mark.parametrize("monitors", ["digest:10", "digest:1", "values:10", "stragglers:10"])
def test_steps_under_a_monitor_against_bare_ones(architecture: str, monitors: str) -> None:
    """The median step under a monitor against the same steps without it, 4 ranks, `cpu`."""
    workload = {"a2": "resnet50", "a4": "megatron-mlp-a4"}[architecture]
    request = Request(architecture, workload, in_blocks, (monitors, 10, _PAIRS), profile="cpu")
    answers = run_ranks(request, _RANKS, deadline_s=500)
    watched = median(step for answer in answers for step in answer[0])
    bare = median(step for answer in answers for step in answer[1])
    print(
        f"\n{architecture}, {monitors}: a step under it {watched * 1e3:.2f} ms, bare"
        f" {bare * 1e3:.2f} ms: ratio {watched / bare:.4f} ({_PAIRS} blocks of 10 of each)"
    )
    assert watched / bare < 2.0  # far above the figure, against a real mistake only
