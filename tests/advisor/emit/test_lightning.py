"""What is emitted for Lightning, taken by its classes."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import emitted, installed, run_module

TOOL = registry.tool("lightning")


def names_of(monkeypatch: pytest.MonkeyPatch, folder: Path, *needs: Need) -> dict[str, Any]:
    installed("lightning.pytorch", TOOL.verified.version)
    found = emitted(TOOL, *needs)
    return run_module(found, found.part("trainer"), monkeypatch, folder)


def test_the_version_that_was_checked_is_the_one_that_is_here() -> None:
    assert installed("lightning", TOOL.verified.version).__version__ == TOOL.verified.version


@pytest.mark.parametrize(
    ("need", "interval", "kept"), [(Need.STORAGE, 351, 1), (Need.BACKGROUND, 553, -1)]
)
def test_its_classes_take_the_settings(
    need: Need, interval: int, kept: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trainer = names_of(monkeypatch, tmp_path, need)["TRAINER"]
    (checkpoint,) = trainer["callbacks"]
    assert checkpoint._every_n_train_steps == interval
    assert checkpoint._every_n_epochs == 0
    assert checkpoint.save_top_k == kept
    assert checkpoint.save_on_exception is False
    assert Path(checkpoint.dirpath) == tmp_path
    assert trainer["strategy"]._timeout == timedelta(seconds=30.5)
    plugins = [type(plugin).__name__ for plugin in trainer.get("plugins", [])]
    assert plugins == (["AsyncCheckpointIO"] if need is Need.BACKGROUND else [])


def test_the_newest_file_has_the_name_that_lightning_gives_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = names_of(monkeypatch, tmp_path, Need.STORAGE)
    assert names["newest"]() is None
    (checkpoint,) = names["TRAINER"]["callbacks"]
    for step in (351, 10_530, 702):
        Path(checkpoint.format_checkpoint_name({"step": step})).touch()
    assert names["newest"]().name == "step=10530.ckpt"


def test_a_warning_alone_saves_on_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (checkpoint,) = names_of(monkeypatch, tmp_path, Need.WARNING)["TRAINER"]["callbacks"]
    assert checkpoint.save_on_exception is True
    assert checkpoint._every_n_train_steps == 0
    assert checkpoint._every_n_epochs == 0
    (both,) = names_of(monkeypatch, tmp_path, Need.WARNING, Need.STORAGE)["TRAINER"]["callbacks"]
    assert both.save_on_exception is True
    assert both._every_n_train_steps == 351


def test_without_fault_tolerance_no_checkpoint_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trainer = names_of(monkeypatch, tmp_path, Need.NOTHING)["TRAINER"]
    assert trainer["enable_checkpointing"] is False
