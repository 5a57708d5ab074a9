"""The module for torch.distributed.checkpoint, imported and used: what is saved comes back."""

import inspect
import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import emitted, run_module

TOOL = registry.tool("dcp")
pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")


@pytest.fixture
def module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., dict[str, Any]]]:
    """Makes the module for the given needs; its checkpoints are in `tmp_path`."""
    before = signal.getsignal(signal.SIGTERM)

    def make(*needs: Need) -> dict[str, Any]:
        found = emitted(TOOL, *needs)
        return run_module(found, found.part("checkpoint"), monkeypatch, tmp_path)

    yield make
    signal.signal(signal.SIGTERM, before)


def _state(value: float) -> dict[str, Any]:
    return {"weights": torch.full((8,), value), "step": int(value)}


def test_the_version_that_was_checked_is_the_one_that_is_here() -> None:
    assert torch.__version__.partition("+")[0] == TOOL.verified.version


def test_calls_are_as_the_signatures_have_them() -> None:
    assert {"checkpoint_id"} <= inspect.signature(dcp.save).parameters.keys()
    assert {"checkpoint_id"} <= inspect.signature(dcp.load).parameters.keys()
    in_background = inspect.signature(dcp.async_save).parameters.keys()
    assert {"checkpoint_id", "process_group"} <= in_background
    assert {"backend", "timeout"} <= inspect.signature(dist.init_process_group).parameters.keys()


def test_the_group_has_the_timeout(
    module: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **options: told.update(options))
    module(Need.NOTHING)["start"]()
    assert told == {"timeout": timedelta(seconds=30.5)}


@pytest.fixture(params=["alone", "in a group"])
def group(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without a process group, and in one, so that the collectives are called too."""
    if request.param == "alone":
        yield
        return
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("need", [Need.STORAGE, Need.BACKGROUND])
def test_it_saves_at_the_interval_and_restores_the_newest(
    need: Need, module: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    names = module(need)
    interval = names["INTERVAL_STEPS"]
    for step in (1, interval, interval + 1, 2 * interval):
        assert names["after_step"](step, lambda step=step: _state(step)) is True
    if need is Need.BACKGROUND:
        names["finish"]()
    assert {path.name for path in tmp_path.iterdir()} == {
        f"step-{interval}",
        f"step-{2 * interval}",
    }
    state = _state(0.0)
    assert names["restore"](state) == 2 * interval
    assert torch.equal(state["weights"], torch.full((8,), 2.0 * interval))
    assert state["step"] == 2 * interval


def test_a_checkpoint_that_was_cut_short_is_passed_over(
    module: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    names = module(Need.STORAGE)
    interval = names["INTERVAL_STEPS"]
    for step in (interval, 10 * interval):
        names["after_step"](step, lambda step=step: _state(step))
    (tmp_path / f"step-{10 * interval}" / ".metadata").unlink()
    assert names["restore"](_state(0.0)) == interval


def test_the_first_start_finds_nothing(module: Callable[..., dict[str, Any]]) -> None:
    state = _state(3.0)
    assert module(Need.STORAGE)["restore"](state) == 0
    assert state["step"] == 3


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("others", [(), (Need.STORAGE,), (Need.BACKGROUND,)])
def test_a_warning_saves_and_ends_the_training(
    others: tuple[Need, ...], module: Callable[..., dict[str, Any]]
) -> None:
    names = module(Need.WARNING, *others)
    names["listen"]()
    assert names["after_step"](4, lambda: _state(4.0)) is True
    assert names["restore"](_state(0.0)) == 0
    os.kill(os.getpid(), getattr(signal, names["SIGNAL"]))
    assert names["after_step"](5, lambda: _state(5.0)) is False
    state = _state(0.0)
    assert names["restore"](state) == 5
    assert torch.equal(state["weights"], torch.full((8,), 5.0))
