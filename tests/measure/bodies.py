"""What ranks do in the tests of architectures. Results are plain numpy: they cross processes."""

import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy.typing as npt

from measure.interfaces.architecture import Architecture


@dataclass(frozen=True)
class Trained:
    """What one rank did, and what it holds at the end."""

    losses: list[float | None]
    samples: list[int]
    state: dict[str, npt.NDArray[Any]]
    has_optimizer: bool
    position: dict[str, int]
    lost: dict[int, str]
    seconds: float
    error: str = ""
    """Why it stopped before its last step."""


def train(architecture: Architecture, steps: int) -> Trained:
    """Trains `steps` steps."""
    return _run(architecture, steps, lambda _: None)


def train_with_a_kill(architecture: Architecture, steps: int, victim: int, at: int) -> Trained:
    """The victim kills itself before step `at`."""
    return _run(architecture, steps, _strikes(architecture, victim, at, signal.SIGKILL))


def train_with_a_stop(architecture: Architecture, steps: int, victim: int, at: int) -> Trained:
    """The victim stops itself before step `at`: silent, with its connections open.

    Steps are slow, so that those who go on still train when the limit is over.
    """
    strike = _strikes(architecture, victim, at, signal.SIGSTOP)

    def before(step: int) -> None:
        time.sleep(0.2)
        strike(step)

    return _run(architecture, steps, before)


def train_with_word(architecture: Architecture, steps: int, victim: int, at: int) -> Trained:
    """As `train_with_a_stop`, but the others are told before the same step."""
    strike = _strikes(architecture, victim, at, signal.SIGSTOP)

    def before(step: int) -> None:
        strike(step)
        if step == at:
            architecture.peer_lost(victim)

    return _run(architecture, steps, before)


def _strikes(architecture: Architecture, victim: int, at: int, sent: signal.Signals) -> Any:
    def before(step: int) -> None:
        if architecture.context.rank == victim and step == at:
            os.kill(os.getpid(), sent)

    return before


def _run(architecture: Architecture, steps: int, before: Any) -> Trained:
    begin = time.monotonic()
    losses: list[float | None] = []
    samples: list[int] = []
    error = ""
    for step in range(steps):
        before(step)
        try:
            result = architecture.step()
        except RuntimeError as raised:
            error = str(raised)
            break
        losses.append(result.loss)
        samples.append(result.samples)
    state = architecture.state()
    return Trained(
        losses,
        samples,
        {name: tensor.numpy() for name, tensor in state.model.state_dict().items()},
        state.optimizer is not None,
        asdict(state.loader.position()),
        architecture.lost_peers(),
        time.monotonic() - begin,
        error,
    )
