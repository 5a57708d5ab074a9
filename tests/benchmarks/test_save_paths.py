"""What each mechanism's save costs against the floor of its path, as ratios of alternated rounds.

One state for all: 204.8 MB in 100 tensors, as the paper's ResNet-50 with its momentum. A path is
measured by `in_turn`, which runs our action and its floors one after the other, over and over, in
one process, and by `said`, which prints the figures. Storage is here: FT1 and FT3; peers' memory is
in test_peer_paths.py.
"""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import cast

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.optim import SGD

from measure.interfaces.mechanism import Surroundings
from measure.mechanisms.asynchronous_disk import AsynchronousDisk
from measure.rank.context import Groups, RankContext
from measure.state import host_memory
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState, capture, copied
from measure.state.tensor_bytes import view_of
from measure.supervisor.store import hosted_store
from measure.workloads.catalogue import build
from tests.measure.mechanisms.saving import Kept
from tests.measure.state.states import FACTS, Alone

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.timeout(900),
]

TENSORS, NUMBERS = 100, 512_000
_ROUNDS = 15


class Large(Alone):
    """One rank whose state is 100 tensors: 50 parameters and their momentum. It is not trained."""

    def build(self) -> None:
        """See Architecture."""
        super().build()
        self.model = nn.ParameterList(torch.randn(NUMBERS) for _ in range(TENSORS // 2))
        optimizer = SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        self.optimizer = optimizer


@pytest.fixture(scope="module")
def large() -> Large:
    context = RankContext(0, 1, 7, torch.device("cpu"), "gloo", 1.0, cast("Groups", None))
    architecture = Large(context, build("transformer", "smoke", 7))
    architecture.build()
    return architecture


@dataclass(frozen=True)
class Action:
    """Something to be timed; `before`, and `after`, which puts things back, are not."""

    name: str
    run: Callable[[], object]
    after: Callable[[], object] = lambda: None
    before: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Timed:
    """Seconds of each round of one action."""

    name: str
    seconds: list[float]

    @property
    def median_s(self) -> float:
        """The middle one."""
        return median(self.seconds)

    def __str__(self) -> str:
        low, _, high = quantiles(self.seconds, n=4)
        spread = f"quartiles {low * 1e3:.1f} to {high * 1e3:.1f}"
        return f"{self.name} {self.median_s * 1e3:.1f} ms ({spread})"


def in_turn(*actions: Action, rounds: int = _ROUNDS) -> list[Timed]:
    """Every action once a round, in an order that is turned each time; a first round is left
    out."""
    seconds: dict[str, list[float]] = {action.name: [] for action in actions}
    for number in range(rounds + 1):
        turn = number % len(actions)
        for action in (*actions[turn:], *actions[:turn]):
            action.before()
            begin = time.perf_counter()
            action.run()
            took_s = time.perf_counter() - begin
            action.after()
            if number:
                seconds[action.name].append(took_s)
    return [Timed(name, found) for name, found in seconds.items()]


def said(ours: Timed, *floors: Timed) -> list[float]:
    """Prints all; returns our time against each floor's, as the median of the rounds' ratios."""
    ratios = []
    print(f"\n{ours}; n = {len(ours.seconds)}")
    for floor in floors:
        each = [mine / other for mine, other in zip(ours.seconds, floor.seconds, strict=True)]
        low, _, high = quantiles(each, n=4)
        ratios.append(median(each))
        print(
            f"  against {floor}: {ratios[-1]:.3f} of its time (quartiles {low:.3f} to"
            f" {high:.3f}), {1 / ratios[-1]:.3f} of its speed"
        )
    return ratios


def _raw_write(path: Path, state: RankState) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for tensor in state.tensors.values():
        os.write(descriptor, view_of(tensor))
    os.fsync(descriptor)
    os.close(descriptor)


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_ft1_against_a_raw_write_and_against_torch(tmp_path: Path, large: Large) -> None:
    """A shard of FT1, with digest, temporary name, both flushes and the rename; the same bytes
    written bare and flushed; and torch.distributed.checkpoint, which flushes as well."""
    state = capture(large, 1, FACTS)
    checkpoints = Checkpoints(tmp_path / "ours")
    checkpoints.open()
    library = tmp_path / "library"
    ours, raw, torchs = in_turn(
        Action(
            "FT1's shard",
            lambda: checkpoints.write(state),
            lambda: shutil.rmtree(next(checkpoints.folder.iterdir())),
        ),
        Action(
            "raw write with fsync",
            lambda: _raw_write(tmp_path / "raw", state),
            (tmp_path / "raw").unlink,
        ),
        Action(
            "torch.distributed.checkpoint.save",
            lambda: dcp.save(state.tensors, checkpoint_id=library, no_dist=True),
            lambda: shutil.rmtree(library),
        ),
    )
    against_raw, against_torch = said(ours, raw, torchs)
    assert against_raw < 1.5  # far above the figure, against a real mistake only
    assert against_torch < 1.5


def test_ft3_stalls_training_no_longer_than_a_memory_copy(tmp_path: Path, large: Large) -> None:
    """The whole of `after_step` in a due step, against copying the same tensors into buffers that
    have been touched. Writing is over before the next round begins."""
    state = capture(large, 1, FACTS)
    buffers = host_memory.buffers_like(state)
    with hosted_store() as port:
        mechanism, log, steps = AsynchronousDisk(), Kept(), iter(range(1000))
        mechanism.attach(large, _surroundings(tmp_path, port, log))
        mechanism.after_step(next(steps))  # makes the buffers
        mechanism._saves.wait(60.0)
        stall, copy, one = in_turn(
            Action(
                "FT3's stall",
                lambda: mechanism.after_step(next(steps)),
                lambda: mechanism._saves.wait(60.0),
            ),
            Action("memory copy", lambda: _copy(state, buffers)),
            Action("copy by the contract", lambda: copied(state, into=buffers)),
        )
        mechanism.detach()
    assert [event["event"] for event in log.events] == ["saved"] * (_ROUNDS + 2)
    against_copy, _ = said(stall, copy, one)
    background_s = median(event["background_s"] for event in log.events)
    print(f"  the save behind it takes {background_s * 1e3:.0f} ms")
    assert against_copy < 2.0  # far above the figure, against a real mistake only


def _copy(state: RankState, buffers: RankState) -> None:
    for name, tensor in state.tensors.items():
        buffers.tensors[name].copy_(tensor)


def _surroundings(folder: Path, port: int, log: Kept) -> Surroundings:
    def new_store() -> dist.Store:
        limit = timedelta(seconds=20)
        return dist.TCPStore("127.0.0.1", port, is_master=False, timeout=limit)

    return Surroundings(
        folder=folder,
        run_key="0" * 12,
        store=new_store(),
        new_store=new_store,
        generation=0,
        timeout_s=20.0,
        interval_steps=1,
        replicas=0,
        one_writer=False,
        goes_on_alone=False,
        somebody_lost=lambda: False,
        facts=FACTS,
        log=log,
    )
