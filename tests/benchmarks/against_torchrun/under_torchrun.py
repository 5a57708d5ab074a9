"""One worker of A2 under torchrun: the harness's own architecture, workload and checkpoints, as a
training script would use them. Arguments: a Job as JSON."""

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from measure.architectures.a2 import RingAllReduce
from measure.interfaces.architecture import Architecture
from measure.mechanisms.periodic_disk import RETENTION, serves
from measure.rank.context import PairGroup, RankContext
from measure.state.agreement import save_together
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RunFacts, capture, restore
from measure.workloads.catalogue import build
from tests.benchmarks.against_torchrun.job import Job
from tests.benchmarks.against_torchrun.noted import Notes, die_with_parent

_FACTS = RunFacts("0" * 32, {"torch": torch.__version__})


class _Environment:
    """Groups as torchrun's environment variables describe them."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout = timedelta(seconds=timeout_s)

    def world(self) -> dist.ProcessGroup:
        dist.init_process_group("gloo", timeout=self._timeout)
        group = dist.group.WORLD
        assert group is not None
        return group

    def sub(self, ranks: Sequence[int]) -> dist.ProcessGroup:
        raise NotImplementedError

    def host_group(self) -> dist.ProcessGroup:
        raise NotImplementedError

    def pair(self, peer: int, label: str = "") -> PairGroup:
        raise NotImplementedError


def _built(job: Job, rank: int, world_size: int) -> Architecture:
    context = RankContext(
        rank,
        world_size,
        job.seed,
        torch.device("cpu"),
        "gloo",
        job.timeout_s,
        _Environment(job.timeout_s),
    )
    torch.manual_seed(job.seed)
    architecture = RingAllReduce(context, build(job.workload, job.profile, job.seed))
    architecture.build()
    return architecture


def _restored(architecture: Architecture, checkpoints: Checkpoints) -> int:
    """The step to go on at: that of the newest generation, or 0 without one."""
    found = checkpoints.generations()
    if not found:
        return 0
    state = checkpoints.load(found[0], architecture.context.rank)
    restore(architecture, state)
    return state.step


def _save(architecture: Architecture, checkpoints: Checkpoints, done: int, limit_s: float) -> None:
    """As FT1 does: one rank writes the model for all, every rank what is its own."""
    rank = architecture.context.rank
    state = capture(architecture, done, _FACTS)
    save_together(
        checkpoints,
        dist.distributed_c10d._get_default_store(),
        f"save-{done}",
        state,
        lambda: checkpoints.write(state, serves(rank, True)),
        {},
        limit_s,
    )
    if rank == 0:
        checkpoints.prune(RETENTION)


def main() -> None:
    """Trains to the end; the victim kills itself in its first life."""
    die_with_parent()
    torch.set_num_threads(1)
    job = Job.from_json(sys.argv[1])
    rank, life = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    notes = Notes(Path(job.folder), rank)
    architecture = _built(job, rank, int(os.environ["WORLD_SIZE"]))
    checkpoints = Checkpoints(Path(job.folder) / "checkpoints")
    if rank == 0:
        checkpoints.open()
    dist.barrier()
    first = _restored(architecture, checkpoints)
    for step in range(first, job.steps):
        if (life, rank, step) == (0, job.victim, job.strike_step):
            notes.strike()
        architecture.step()
        if (step + 1) % job.interval_steps == 0:
            _save(architecture, checkpoints, step + 1, job.timeout_s)
        notes.step(step, life=life)


if __name__ == "__main__":
    main()
