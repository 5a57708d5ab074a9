"""What a process of torchrun is told, and what the hosts tell each other; tests/hosts has real
torchruns."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
import torch.distributed as dist

from measure.cli import main
from measure.errors import HarnessError, UsageError
from measure.nodes import torchrun
from measure.nodes.command import AT, KEY
from measure.nodes.torchrun import Hosts, Told, told_by_torchrun

TOLD = {
    "RANK": "1",
    "WORLD_SIZE": "3",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29500",
}


def test_what_torchrun_says() -> None:
    assert told_by_torchrun(TOLD) == Told(1, 3, "10.0.0.1")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"RANK": ""}, "torchrun starts this: torchrun --nnodes 2"),
        ({"MASTER_PORT": "x"}, "torchrun starts this: torchrun --nnodes 2"),
        ({"LOCAL_WORLD_SIZE": "4"}, "4 processes a host: give it --nproc-per-node 1"),
    ],
)
def test_other_ways_to_start_it_are_refused(changed: Mapping[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        told_by_torchrun({**TOLD, **changed})


def test_without_torchrun_it_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in TOLD:
        monkeypatch.delenv(name, raising=False)
    assert main(["torchrun", "--architecture", "a2"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: torchrun starts this: ")
    assert said.count("\n") == 1


def test_a_folder_that_a_host_does_not_see_is_refused_on_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.delenv(AT, raising=False)
    # The other host sees a folder of this name, in which nothing of the first one's is.
    monkeypatch.setattr(torchrun, "_is_seen", lambda _probe: False)
    store = dist.HashStore()
    store.set_timeout(timedelta(seconds=30))
    other, refused = Hosts(Told(1, 2, "127.0.0.1"), store), []

    def serve() -> None:
        try:
            other.serve()
        except UsageError as error:
            refused.append(str(error))

    serving = threading.Thread(target=serve)
    serving.start()
    first = Hosts(Told(0, 2, "127.0.0.1"), store)
    with (
        pytest.raises(UsageError, match=r"does not see .* by --folder"),
        first.supervising(tmp_path),
    ):
        pytest.fail("no run may begin")
    serving.join()
    assert len(refused) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_first_host_that_is_gone_is_said() -> None:
    store = dist.HashStore()
    store.set_timeout(timedelta(milliseconds=100))  # nobody will say anything
    with pytest.raises(HarnessError, match="the first host's torchrun has ended"):
        Hosts(Told(2, 3, "127.0.0.1"), store).serve()


def test_a_file_shows_that_a_folder_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchrun, "_SEES_WITHIN_S", 0.0)
    assert not torchrun._is_seen(tmp_path / "no" / "file")
    (tmp_path / "there").touch()
    assert torchrun._is_seen(tmp_path / "there")
    assert not torchrun._is_seen(tmp_path / "elsewhere")


def test_one_host_needs_no_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(AT, raising=False)
    with Hosts(Told(0, 1, "127.0.0.1"), dist.HashStore()).supervising(tmp_path):
        assert list(tmp_path.iterdir()) == []
