"""What is emitted for torchtitan, read by tyro into torchtitan's own config classes."""

from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import arguments, emitted, installed

TOOL = registry.tool("torchtitan")


def parsed(told: list[str]) -> Any:
    """The two sections of torchtitan's configuration that are set, as its ConfigManager reads
    them."""
    version = TOOL.verified.version
    checkpoint = installed("torchtitan.components.checkpointer", version).CheckpointManager.Config
    comm = installed("torchtitan.config.configs", version).CommConfig
    both = make_dataclass(
        "Both",
        [
            ("checkpoint", checkpoint, field(default_factory=checkpoint)),
            ("comm", comm, field(default_factory=comm)),
        ],
    )
    return installed("tyro", version).cli(both, args=told)


@pytest.mark.parametrize(
    ("need", "interval", "mode"),
    [
        (Need.STORAGE, 351, "disabled"),
        (Need.BACKGROUND, 553, "async_with_pinned_mem"),
    ],
)
def test_the_config_classes_take_every_option(
    need: Need, interval: int, mode: str, tmp_path: Path
) -> None:
    found = emitted(TOOL, need)
    told = arguments(found, found.part("options"), tmp_path)
    assert told.pop(0) == "train.py"
    config = parsed(told)
    assert config.checkpoint.enable is True
    assert config.checkpoint.interval == interval
    assert config.checkpoint.async_mode == mode
    assert config.checkpoint.keep_latest_k == 2
    assert config.comm.train_timeout_seconds == 31


def test_without_fault_tolerance_no_checkpoint_is_made(tmp_path: Path) -> None:
    found = emitted(TOOL, Need.NOTHING)
    told = arguments(found, found.part("options"), tmp_path)
    assert parsed(told[1:]).checkpoint.enable is False
