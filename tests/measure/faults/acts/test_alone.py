"""Acts on a model or a file of one process: what needs no group to show."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import nn

from measure.faults.acts.act import CannotStrikeError, Scene
from measure.faults.acts.catalogue import ACTS
from measure.faults.kinds import FaultKind
from measure.interfaces.architecture import Architecture
from measure.state import durable
from measure.state.errors import NoSpaceError


def scene(model: nn.Module | None = None) -> Scene:
    """A rank without an optimizer, as a worker of a parameter server is."""
    state = SimpleNamespace(model=model, optimizer=None)
    architecture = cast("Architecture", SimpleNamespace(state=lambda: state))
    return Scene(architecture, Path("nowhere"), "0123456789ab")


def flipped(model: nn.Module, seed: int) -> str:
    """The tensor of whose gradient a bit was flipped in one step."""
    said: list[Any] = []
    act = ACTS[FaultKind.FLIP_GRADIENT]({"seed": seed, "bit": 3}, 0)
    act.strike(scene(model), said.append)
    model(torch.ones(1, 30)).sum().backward()
    act.after_step(0.1)
    (found,) = said
    return str(found["tensor"])


def test_each_element_of_a_workers_gradients_is_as_likely_as_any_other() -> None:
    """Not each tensor: a bias is small."""
    model = nn.Linear(30, 10)
    biased = sum(flipped(model, seed) == "bias" for seed in range(400))
    assert biased / 400 == pytest.approx(10 / 310, abs=0.03)


def test_what_has_not_changed_cannot_be_put_back() -> None:
    model = nn.Linear(3, 3)
    act = ACTS[FaultKind.PARTIAL_RESTORE]({}, 0)
    act.foresee(scene(model))
    with pytest.raises(CannotStrikeError, match="no parameter has changed"):
        act.strike(scene(model), lambda said: None)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    act.strike(scene(model), lambda said: None)


@pytest.fixture
def _unhindered() -> Iterator[None]:
    yield
    durable._hindrances.clear()


@pytest.mark.usefixtures("_unhindered")
def test_a_slow_disk_is_slow_where_a_file_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written goes to memory first, which is no disk's time."""
    paused: list[float] = []
    ACTS[FaultKind.SLOW_STORAGE]({"factor": 3.0}, 0).strike(scene(), lambda said: None)
    monkeypatch.setattr("measure.faults.acts.storage.time.sleep", paused.append)
    monkeypatch.setattr("measure.state.durable.os.fsync", lambda _: _spend(0.05))
    durable.write_file(tmp_path / "file", b"content")
    assert sum(paused) >= 2.0 * 0.05


def _spend(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.usefixtures("_unhindered")
def test_a_disk_that_is_slow_and_full_is_both(tmp_path: Path) -> None:
    for kind, params in ((FaultKind.FULL_STORAGE, {}), (FaultKind.SLOW_STORAGE, {"pause_s": 0.01})):
        ACTS[kind](params, 0).strike(scene(), lambda said: None)
    with pytest.raises(NoSpaceError):
        durable.write_file(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []
