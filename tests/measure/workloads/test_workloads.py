"""Models and data: equal wherever the seed is, learnable, and of the paper's sizes."""

import dataclasses

import numpy as np
import pytest
import torch

from measure.errors import UsageError
from measure.interfaces.workload import LayeredWorkload
from measure.profiles import PROFILES
from measure.workloads import sizes
from measure.workloads.catalogue import LAYERED, WORKLOADS, build
from measure.workloads.data import MarkovTokens, PrototypeImages, TeacherRegression
from measure.workloads.loader import Loader
from measure.workloads.resnet import ResidualNetwork

NAMES = [entry.workload for entry in WORKLOADS]
CPU = torch.device("cpu")


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_has_a_size(name: str) -> None:
    for profile in PROFILES:
        workload = build(name, profile, 0)
        assert workload.name == name
        assert workload.batch_per_rank > 0


def test_the_paper_profile_has_the_papers_batch() -> None:
    assert {build(name, "paper", 0).batch_per_rank for name in NAMES} == {32}


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'resnet'.*resnet50"):
        build("resnet", "smoke", 0)
    with pytest.raises(UsageError, match=r"'huge'.*paper, cpu, smoke"):
        build("resnet50", "huge", 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_everything(name: str) -> None:
    one, same, other = (build(name, "smoke", seed) for seed in (3, 3, 4))
    states = [w.model(CPU).state_dict() for w in (one, same, other)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    assert any(not torch.equal(states[0][key], states[2][key]) for key in states[0])
    samples = [w.dataset()[5] for w in (one, same, other)]
    assert torch.equal(samples[0][0], samples[1][0])
    assert torch.equal(samples[0][1], samples[1][1])
    assert not torch.equal(samples[0][0], samples[2][0])


@pytest.mark.parametrize("name", NAMES)
def test_making_a_model_leaves_torchs_own_random_numbers_alone(name: str) -> None:
    torch.manual_seed(11)
    wanted = torch.rand(3)
    torch.manual_seed(11)
    build(name, "smoke", 3).model(CPU)
    build(name, "smoke", 3).dataset()
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
@pytest.mark.parametrize("name", NAMES)
def test_one_process_learns(name: str, profile: str) -> None:
    workload = build(name, profile, 1)
    model = workload.model(CPU)
    assert model.training
    optimizer = workload.optimizer(model.parameters())
    loader = Loader(workload.dataset(), workload.batch_per_rank, 0, 1, 1)
    losses = []
    for _ in range(40):
        inputs, targets = loader.next()
        loss = workload.loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all()
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:3])


def test_resnet50_is_the_real_one_in_the_paper_profile() -> None:
    model = ResidualNetwork(sizes.RESNET50["paper"])
    parameters = sum(p.numel() for p in model.parameters())
    assert parameters == 25_557_032
    buffers = sum(b.numel() * b.element_size() for b in model.buffers())
    # With momentum; data/workloads.csv says 204.7 MB.
    assert (parameters * 8 + buffers) / 1e6 == pytest.approx(204.7, abs=0.05)
    assert sum(isinstance(m, torch.nn.Conv2d) for m in model.modules()) == 53  # 49 + 4 shortcuts
    assert model(torch.zeros(2, 3, 64, 64)).shape == (2, 1000)


@pytest.mark.parametrize(
    ("name", "share", "stated"),
    [
        ("megatron-mlp-a4", lambda s: s.blocks // 8 * block_numbers(s, 1), 2567.0),
        ("megatron-mlp-a5", lambda s: s.blocks * block_numbers(s, 8), 2616.9),
        ("megatron-mlp-a7", lambda s: s.blocks // 2 * block_numbers(s, 2), 2734.7),
        ("linear-m2", lambda s: s.width * (s.width + 1), 2592.0),
    ],
)
def test_paper_sizes_are_within_half_a_percent_of_what_is_stated(
    name: str, share: object, stated: float
) -> None:
    size = next(entry for entry in WORKLOADS if entry.workload == name).sizes["paper"]
    assert callable(share)
    numbers = share(size)
    assert numbers * 8 / 1e6 == pytest.approx(stated, rel=0.005)


def block_numbers(size: sizes.MlpSize, shards: int) -> int:
    """Numbers of a rank's shard of a block: two matrices, the inner bias, the outer bias."""
    return 2 * size.width * size.hidden // shards + size.hidden // shards + size.width


@pytest.mark.parametrize("name", LAYERED)
def test_blocks_make_up_the_whole_model(name: str) -> None:
    workload = build(name, "smoke", 2)
    assert isinstance(workload, LayeredWorkload)
    values = list(workload.model(CPU).parameters())
    alone = [t for i in range(workload.blocks) for t in workload.block_weights(i)]
    assert all(torch.equal(a, b) for a, b in zip(values, alone, strict=True))
    assert values[0].shape == (workload.hidden, workload.width)
    with pytest.raises(IndexError):
        workload.block_weights(workload.blocks)


@pytest.mark.parametrize("name", LAYERED)
def test_a_deep_stack_keeps_the_size_of_its_signal(name: str) -> None:
    """So that the sizes that no test can train (gigabytes) begin as well as the small ones."""
    workload = build(name, "cpu", 2)
    inputs = torch.randn(64, sizes.MLP_A4["cpu"].width)
    outputs = workload.model(CPU)(inputs)
    assert 0.5 < outputs.std().item() < 2.0


def test_images_show_their_class() -> None:
    images = PrototypeImages(16, 10, 200, 0)
    first, label = images[0]
    assert first.shape == (3, 16, 16)
    same = next(images[i][0] for i in range(1, 200) if images[i][1] == label)
    other = next(images[i][0] for i in range(1, 200) if images[i][1] != label)
    assert (first - same).square().mean() < (first - other).square().mean()
    with pytest.raises(ValueError, match="multiple of 8"):
        PrototypeImages(20, 10, 4, 0)


def test_a_token_is_followed_by_few() -> None:
    tokens = MarkovTokens(16, 32, 300, 0)
    follows: dict[int, set[int]] = {}
    for i in range(300):
        now, then = tokens[i]
        assert torch.equal(now[1:], then[:-1])
        for a, b in zip(now.tolist(), then.tolist(), strict=True):
            follows.setdefault(a, set()).add(b)
    assert max(map(len, follows.values())) <= MarkovTokens.SUCCESSORS


def test_memory_hardly_grows_with_the_width_of_a_sample() -> None:
    """65536 samples of 18000 numbers would be 4.7 GB."""
    size = sizes.LINEAR_M2["paper"]
    data = TeacherRegression(size.width, size.samples, 0)
    tensors = [t for t in vars(data).values() if isinstance(t, torch.Tensor)]
    tensors.append(vars(data)["_noise"]._numbers)
    assert sum(t.numel() * t.element_size() for t in tensors) < 30e6
    assert data[65535][0].shape == data[0][1].shape == (18000,)


def test_sizes_are_plain_numbers() -> None:
    for entry in WORKLOADS:
        for size in entry.sizes.values():
            assert dataclasses.is_dataclass(size)
