"""One worker of the same training under torchft, as a replica group of its own. Arguments: its
rank, the address of the lighthouse, the folder where torchft is installed, a Job as JSON."""

import importlib
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from measure.workloads.catalogue import build
from measure.workloads.loader import Loader
from tests.benchmarks.against_torchrun.job import Job
from tests.benchmarks.against_torchrun.noted import Notes, die_with_parent

_START_LIMIT_S = 60.0


def _manager(job: Job, rank: int, lighthouse: str) -> Any:
    """Of a replica group of one; equal seeds make equal models, so none is sent at the start."""
    torchft = importlib.import_module("torchft")
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    limit = timedelta(seconds=job.timeout_s)
    manager = torchft.Manager(
        pg=torchft.ProcessGroupGloo(timeout=limit),
        load_state_dict=lambda state: None,
        state_dict=dict,
        min_replica_size=job.ranks - 1,
        timeout=limit,
        quorum_timeout=limit,
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=store.port,
        lighthouse_addr=lighthouse,
        replica_id=f"worker_{rank}",
        hostname="127.0.0.1",
        init_sync=False,
    )
    manager.hosted = store  # which lives as long as its manager
    return manager


def _meet(job: Job, rank: int) -> None:
    """No worker trains before all have come up."""
    folder = Path(job.folder)
    (folder / f"up-{rank}").touch()
    end = time.monotonic() + _START_LIMIT_S
    while sum(1 for _ in folder.glob("up-*")) < job.ranks:
        if time.monotonic() > end:
            sys.exit("the others did not come up")
        time.sleep(0.02)


def _train(job: Job, rank: int, manager: Any) -> None:
    workload = build(job.workload, job.profile, job.seed)
    torch.manual_seed(job.seed)
    model = workload.model(torch.device("cpu"))
    ddp = importlib.import_module("torchft.ddp").DistributedDataParallel(manager, model)
    inner = workload.optimizer(model.parameters())
    optimizer = importlib.import_module("torchft.optim").OptimizerWrapper(manager, inner)
    loader = Loader(workload.dataset(), workload.batch_per_rank, rank, job.ranks, job.seed)
    notes = Notes(Path(job.folder), rank)
    for step in range(job.steps):
        if (rank, step) == (job.victim, job.strike_step):
            notes.strike()
        inputs, targets = loader.next()
        before = manager.current_step()
        optimizer.zero_grad()
        workload.loss(ddp(inputs), targets).backward()
        optimizer.step()
        committed = manager.current_step() > before
        notes.step(step, committed=committed, ranks=manager.num_participants())


def main() -> None:
    """Trains to the end."""
    die_with_parent()
    rank, lighthouse, site = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    job = Job.from_json(sys.argv[4])
    sys.path.append(site)  # last: what both have comes from our own environment
    torch.set_num_threads(1)
    manager = _manager(job, rank, lighthouse)
    _meet(job, rank)
    _train(job, rank, manager)
    time.sleep(1.0)  # who leaves earlier is a loss to the others
    os._exit(0)  # threads of its own kept a worker alive that was done


if __name__ == "__main__":
    main()
