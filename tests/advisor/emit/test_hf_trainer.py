"""What is emitted for the Hugging Face Trainer, taken by its TrainingArguments."""

from pathlib import Path
from typing import Any

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import emitted, installed, run_module

TOOL = registry.tool("hf-trainer")


def names_of(monkeypatch: pytest.MonkeyPatch, folder: Path, *needs: Need) -> dict[str, Any]:
    installed("accelerate", "as transformers asks for it")
    installed("transformers", TOOL.verified.version)
    found = emitted(TOOL, *needs)
    return run_module(found, found.part("arguments"), monkeypatch, folder)


def test_the_version_that_was_checked_is_the_one_that_is_here() -> None:
    found = installed("transformers", TOOL.verified.version)
    assert found.__version__ == TOOL.verified.version


def test_its_arguments_take_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = names_of(monkeypatch, tmp_path, Need.STORAGE)["arguments"]
    assert arguments.output_dir == str(tmp_path)
    assert arguments.save_strategy == "steps"
    assert arguments.save_steps == 351
    assert arguments.save_total_limit == 2
    assert arguments.ddp_timeout == 31
    assert arguments.enable_jit_checkpoint is False


@pytest.mark.parametrize(
    ("needs", "strategy"),
    [((Need.WARNING,), "no"), ((Need.WARNING, Need.STORAGE), "steps"), ((Need.NOTHING,), "no")],
)
def test_a_warning_and_periodic_saves_are_apart(
    needs: tuple[Need, ...], strategy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = names_of(monkeypatch, tmp_path, *needs)["arguments"]
    assert arguments.save_strategy == strategy
    assert arguments.enable_jit_checkpoint is (Need.WARNING in needs)


def test_only_whole_checkpoints_are_gone_on_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    newest = names_of(monkeypatch, tmp_path, Need.STORAGE)["newest"]
    assert newest() is None
    for step in (351, 1053, 702, 10_530, 20_000):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (351, 1053, 702, 10_530):
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").touch()
    (tmp_path / "checkpoint-10530" / "checkpoint-is-incomplete.txt").touch()
    assert newest() == str(tmp_path / "checkpoint-1053")


@pytest.mark.parametrize(("lead_s", "is_short"), [(3.05, True), (3.2, False)])
def test_a_lead_shorter_than_its_wait_is_said(lead_s: float, is_short: bool) -> None:
    """Three seconds, and the step of 0.1 s that is under way."""
    remarks = emitted(TOOL, Need.WARNING, lead_s=lead_s).remarks
    assert any("too short" in remark for remark in remarks) == is_short
