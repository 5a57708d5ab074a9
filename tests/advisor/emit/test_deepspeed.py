"""What is emitted for DeepSpeed, read by its config reader; calls as its signatures have them."""

import inspect
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import emitted, installed, run_module

TOOL = registry.tool("deepspeed")


class Engine:
    """Counts as DeepSpeed's engine does: one update of the weights for two micro-batches."""

    def __init__(self) -> None:
        self.micro_steps = 0
        self.saved: list[int] = []

    @property
    def global_steps(self) -> int:
        return self.micro_steps // 2

    def save_checkpoint(self, folder: str, client_state: dict[str, Any]) -> None:
        self.saved.append(self.micro_steps)

    def load_checkpoint(self, folder: str) -> tuple[str | None, dict[str, Any] | None]:
        if not self.saved:
            return None, None
        self.micro_steps = self.saved[-1]
        return folder, {"batch": self.micro_steps}


def names_of(monkeypatch: pytest.MonkeyPatch, folder: Path, *needs: Need) -> dict[str, Any]:
    installed("deepspeed", TOOL.verified.version)
    found = emitted(TOOL, *needs)
    return run_module(found, found.part("checkpoint"), monkeypatch, folder)


def test_the_version_that_was_checked_is_the_one_that_is_here() -> None:
    found = installed("deepspeed", TOOL.verified.version)
    assert found.__version__.strip() == TOOL.verified.version


def test_the_engine_has_what_is_called() -> None:
    engine = installed("deepspeed.runtime.engine", TOOL.verified.version).DeepSpeedEngine
    save = inspect.signature(engine.save_checkpoint).parameters
    assert {"save_dir", "client_state"} <= save.keys()
    assert "load_dir" in inspect.signature(engine.load_checkpoint).parameters
    assert "self.global_steps += " in inspect.getsource(engine)
    init = installed("deepspeed", TOOL.verified.version).init_distributed
    assert "timeout" in inspect.signature(init).parameters


def test_the_config_reader_takes_the_writer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = names_of(monkeypatch, tmp_path, Need.BACKGROUND)
    read: Callable[[dict[str, Any]], dict[str, Any]] = installed(
        "deepspeed.runtime.config", TOOL.verified.version
    ).get_checkpoint_config
    writer = read(names["CONFIG"])["writer"]
    assert (writer["type"], writer["decoupled"]) == ("PYTHON", True)


@pytest.mark.parametrize("need", [Need.STORAGE, Need.BACKGROUND])
def test_it_saves_once_at_the_interval(
    need: Need, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Right after the update of the weights, not between two micro-batches of one."""
    names, engine = names_of(monkeypatch, tmp_path, need), Engine()
    assert names["restore"](engine) == {}
    interval = names["INTERVAL_STEPS"]
    _train(names, engine, 4 * interval + 2)
    assert engine.saved == [2 * interval, 4 * interval]
    assert names["restore"](engine) == {"batch": 4 * interval}
    _train(names, engine, 2 * interval)
    assert engine.saved == [2 * interval, 4 * interval, 6 * interval]


def _train(names: dict[str, Any], engine: Engine, batches: int) -> None:
    for _ in range(batches):
        engine.micro_steps += 1
        assert names["after_step"](engine, {}) is True


def test_a_warning_saves_and_ends_the_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    names, engine = names_of(monkeypatch, tmp_path, Need.WARNING), Engine()
    names["DEVICE"] = "cpu"
    try:
        names["listen"]()
        assert names["after_step"](engine, {}) is True
        os.kill(os.getpid(), signal.SIGTERM)
        assert names["after_step"](engine, {}) is False
    finally:
        signal.signal(signal.SIGTERM, before)
    assert engine.saved == [0]
