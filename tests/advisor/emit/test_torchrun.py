"""What is emitted for torchrun, read by torchrun's own parser."""

from pathlib import Path

import pytest
import torch
from torch.distributed.run import get_args_parser, parse_min_max_nnodes

from advisor.emit import registry
from advisor.emit.needs import Need
from advisor.emit.writers.command import option
from tests.advisor.emit.plans import arguments, emitted

TOOL = registry.tool("torchrun")


def test_the_version_that_was_checked_is_the_one_that_is_here() -> None:
    assert torch.__version__.partition("+")[0] == TOOL.verified.version


@pytest.mark.parametrize("need", [Need.STORAGE, Need.BACKGROUND])
def test_the_parser_takes_every_option(need: Need, tmp_path: Path) -> None:
    found = emitted(TOOL, need)
    told = arguments(found, found.part("launch"), tmp_path, "torchrun")
    parsed = get_args_parser().parse_args(["--nnodes=2", *told])
    assert parsed.max_restarts == 232
    assert parsed.rdzv_backend == "c10d"
    assert parsed.rdzv_endpoint == "/a folder/of 'RDZV_ENDPOINT'"
    assert parsed.training_script == "train.py"
    assert parsed.shutdown_timeout is None
    assert parse_min_max_nnodes(parsed.nnodes) == (2, 2)


def test_on_a_warning_processes_are_given_the_lead(tmp_path: Path) -> None:
    found = emitted(TOOL, Need.WARNING, lead_s=59.2)
    told = arguments(found, found.part("launch"), tmp_path, "torchrun")
    parsed = get_args_parser().parse_args(told)
    assert parsed.shutdown_timeout == 60
    assert "SIGTERM" in parsed.signals_to_handle


def test_no_option_is_one_that_the_parser_does_not_know() -> None:
    known = {name for action in get_args_parser()._actions for name in action.option_strings}
    for need in (Need.STORAGE, Need.WARNING, Need.NOTHING):
        part = emitted(TOOL, need).part("launch")
        assert {option(each).partition("=")[0] for each in part.settings} <= known
