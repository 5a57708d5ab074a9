"""What is emitted for nvidia-resiliency-ext, read by its parser and its classes."""

from datetime import timedelta
from pathlib import Path

import pytest

from advisor.emit import registry
from advisor.emit.needs import Need
from tests.advisor.emit.plans import arguments, emitted, installed, run_module

TOOL = registry.tool("nvrx")
_PACKAGE = "nvidia_resiliency_ext"


def _module(name: str) -> object:
    return installed(f"{_PACKAGE}.{name}", TOOL.verified.version)


@pytest.mark.parametrize("need", [Need.STORAGE, Need.PEER, Need.SURVIVORS])
def test_the_launcher_takes_every_option(need: Need, tmp_path: Path) -> None:
    launcher = installed(f"{_PACKAGE}.fault_tolerance.launcher", TOOL.verified.version)
    config = installed(f"{_PACKAGE}.fault_tolerance.config", TOOL.verified.version)
    found = emitted(TOOL, need)
    told = arguments(found, found.part("launch"), tmp_path, "ft_launcher")
    parsed = launcher.get_args_parser().parse_args(["--nnodes=2", *told])
    assert parsed.max_restarts == 232
    assert parsed.training_script == "train.py"
    read = config.FaultToleranceConfig.from_args(parsed)
    assert read.rank_heartbeat_timeout == 30.5


@pytest.mark.parametrize(
    ("need", "interval", "factor"),
    [(Need.PEER, 1005, 2), (Need.PEERS, 1343, 3), (Need.EVERY_STEP, 1, 2)],
)
def test_copies_lie_on_other_nodes(
    need: Need, interval: int, factor: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _module("checkpointing.local.ckpt_managers.local_manager")
    found = emitted(TOOL, need)
    names = run_module(found, found.part("checkpoint"), monkeypatch, tmp_path)
    manager = names["manager"]
    assert manager.root_local_ckpt_dir == str(tmp_path)
    assert manager.repl_strategy.replication_jump == 4
    assert manager.repl_strategy.replication_factor == factor
    assert names["INTERVAL_STEPS"] == interval


def test_copies_are_made_at_the_interval_of_new_containers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its wrapper takes tensors of a GPU only, so here it is another one."""
    _module("checkpointing.local.ckpt_managers.local_manager")
    found = emitted(TOOL, Need.PEER)
    names = run_module(found, found.part("checkpoint"), monkeypatch, tmp_path)
    saved: list[tuple[dict[str, list[int]], int]] = []
    names["BasicTensorAwareStateDict"] = lambda state: state
    monkeypatch.setattr(names["manager"], "save", lambda state, step: saved.append((state, step)))
    state = {"weights": [1, 2]}
    for step in (1, 1004, 1005):
        names["after_step"](step, lambda: state)
    assert saved == [(state, 1005)]
    assert saved[0][0] is not state
    assert saved[0][0]["weights"] is not state["weights"]


@pytest.mark.parametrize("timeout_s", [0.5, 3.9, 30.5, 600.0, 100_000.0])
def test_the_wrapper_takes_the_timeouts(
    timeout_s: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its constructor checks that they are in order."""
    _module("inprocess")
    found = emitted(TOOL, Need.SURVIVORS, timeout_s=timeout_s)
    wrapper = run_module(found, found.part("wrapper"), monkeypatch, tmp_path)["wrap"]
    assert wrapper.soft_timeout == timedelta(seconds=max(timeout_s, 4.0))
    assert any("raised to 4 s" in remark for remark in found.remarks) == (timeout_s < 4.0)
