"""What notices failures that are not losses: the interface of every monitor.

A loss is noticed by a detector (measure.job_spec.Detector); a rank that lives, and yet computes
something wrong or too slowly, by a monitor.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch.distributed as dist

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Log

Kind = Literal["divergence", "corruption", "not-finite", "loss-spike", "straggler"]
"""What is suspected: `divergence`, that ranks which must be equal differ; `corruption`, that a
state changed while nobody trained it, or holds numbers that training does not make."""
Severity = Literal["stop", "report"]
"""`stop`: nobody may train on with this state; `report`: training goes on, and somebody is told."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What one monitor found."""

    monitor: str
    step: int
    """Where it was noticed: so many steps were done."""
    proved_step: int
    """The last number of steps done at which this monitor proved the state good; 0: the
    beginning."""
    ranks: tuple[int, ...]
    """The suspects, as ranks of the group; empty where nobody can tell."""
    why: str
    kind: Kind
    severity: Severity = "stop"

    def as_json(self) -> dict[str, Any]:
        """Its fields, as logs and the supervisor are told them."""
        return {**asdict(self), "ranks": list(self.ranks)}


class SuspectError(Exception):
    """Raised in the training thread of every rank that must stop."""

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self.suspicion = suspicion

    def __str__(self) -> str:
        return f"{self.suspicion.monitor}: {self.suspicion.why}"


class Monitor:
    """Hooks named after moments, all called from the training thread of every rank. One object a
    process: `attach` and `detach` frame each generation of the group.

    A monitor changes nothing of the training. What it finds it raises as SuspectError, or, where
    training is to go on, hands to `report`. It writes one event `monitor` a check into the log:
    monitor, step (steps done), s (the seconds that it took since its last check, all told), and
    bytes (what it read).
    """

    name = ""
    report: Callable[[Suspicion], None] = staticmethod(lambda suspicion: None)
    """Hears what is only to be reported; set by whoever attaches the monitor."""

    def attach(
        self,
        architecture: Architecture,
        store: dist.Store,
        generation: int,
        timeout_s: float,
        log: Log,
    ) -> None:
        """Before the first step of a generation; its state is restored. A peer that is silent for
        `timeout_s` while ranks compare something is lost."""

    def before_step(self, step: int, own_s: float) -> None:
        """Step `step` (from 0) comes next. `own_s` seconds the rank was busy with what comes
        before a step and waits for nobody."""

    def after_step(self, step: int, seconds: float, loss: float | None) -> None:
        """Step `step` is complete on this rank, after `seconds`, with this loss where the rank
        scores; before the mechanism saves anything of it. May compare with all ranks: every rank
        calls it after the same steps."""

    def detach(self) -> None:
        """The generation is over on this rank."""
