"""What is emitted for Megatron-LM. Its training scripts are in no package: where a checkout is on
the path, its own parser reads the options."""

import argparse
from pathlib import Path

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import arguments, emitted, installed

TOOL = registry.tool("megatron")
_NEEDS = [
    (Need.STORAGE,),
    (Need.BACKGROUND,),
    (Need.PEER,),
    (Need.PEERS, Need.STORAGE),
    (Need.EVERY_STEP,),
    (Need.WARNING, Need.STORAGE),
    (Need.NOTHING,),
]


def _told(folder: Path, *needs: Need) -> list[str]:
    found = emitted(TOOL, *needs)
    told = arguments(found, found.part("options"), folder)
    assert told.pop(0) == "train.py"
    return told


@pytest.mark.parametrize("needs", _NEEDS, ids=lambda needs: "+".join(needs))
def test_its_parser_takes_every_option(needs: tuple[Need, ...], tmp_path: Path) -> None:
    megatron = installed("megatron.training.arguments", TOOL.verified.version)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    megatron.add_megatron_arguments(parser)
    parsed = parser.parse_args(_told(tmp_path, *needs))
    assert parsed.distributed_timeout_seconds_after_init == 31


def test_copies_and_checkpoints_have_intervals_of_their_own(tmp_path: Path) -> None:
    told = _told(tmp_path, Need.PEERS, Need.STORAGE)
    assert {
        "--save-interval=351",
        "--non-persistent-save-interval=1343",
        "--replication",
        "--replication-jump=4",
        "--replication-factor=3",
        "--save=/a folder/of 'CHECKPOINT_DIR'",
        "--non-persistent-local-ckpt-dir=/a folder/of 'LOCAL_CHECKPOINT_DIR'",
    } <= set(told)


def test_copies_alone_need_the_shared_folder_too(tmp_path: Path) -> None:
    """Its training loop saves copies only where --save is set, and loads only where --load is."""
    told = _told(tmp_path, Need.PEER)
    folder = "/a folder/of 'CHECKPOINT_DIR'"
    assert {f"--save={folder}", f"--load={folder}"} <= set(told)
    assert not any(option.startswith("--save-interval") for option in told)


def test_only_a_save_in_the_background_is_asynchronous(tmp_path: Path) -> None:
    assert "--async-save" in _told(tmp_path, Need.BACKGROUND)
    assert "--async-save" not in _told(tmp_path, Need.STORAGE)
