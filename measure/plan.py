"""From what a person asked to the cells that will run; everything is checked here, before."""

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.architectures import registry as architectures
from measure.architectures.catalogue import ARCHITECTURES
from measure.campaign import Cell, Plan, with_seed
from measure.errors import UsageError
from measure.faults.schedule import Schedule, read_schedule
from measure.faults.traces import NO_FAULT, trace_named
from measure.interfaces.capabilities import MissingMeans
from measure.job_spec import Detector, JobSpec
from measure.matrix import classify
from measure.mechanisms import registry as mechanisms
from measure.profiles import Profile, profile_named
from measure.workloads import catalogue as workloads

_LARGEST_WORLD = 512


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked; None leaves it to the profile or to the architecture."""

    architectures: Sequence[str]
    mechanism: str
    trace: str
    profile: str
    seeds: int
    first_seed: int
    world_size: int
    group_timeout_s: float | None
    detector: Detector
    workload: str | None
    device: str
    steps: int | None
    lead_s: float | None


def cells_of(request: Request, campaign: str) -> list[Cell]:
    """The cells, seeds outermost, so that a machine that drifts drifts for all alike."""
    _in_range("world size", request.world_size, 1, _LARGEST_WORLD)
    _in_range("number of seeds", request.seeds, 1, 10_000)
    _in_range("first seed", request.first_seed, 0, 2**31)
    profile = profile_named(request.profile)
    if request.steps is not None:
        _in_range("number of steps", request.steps, 1, 10**7)
    schedule = _schedule(request, profile)
    chosen = [_cell(request, name, profile, schedule) for name in request.architectures]
    return [
        with_seed(cell, campaign, request.first_seed + number)
        for number in range(request.seeds)
        for cell in chosen
    ]


def plan_of(
    request: Request, campaign: str, cluster: str | None, folder: Path, command: str
) -> Plan:
    """The plan of a request; UsageError, in one line, if any part of it cannot be run. A cluster
    without a name gets this host's and the device's."""
    cells = cells_of(request, campaign)
    name = cluster or f"{socket.gethostname()}-{cells[0].job.device}"
    return Plan(campaign, command, name, folder, cells)


def all_architectures(names: Iterable[str]) -> list[str]:
    """The names, with `all` spelt out; none twice."""
    known = [entry.architecture for entry in ARCHITECTURES]
    given = [name.strip().lower() for several in names for name in several.split(",")]
    spelt = [found for name in given for found in (known if name == "all" else [name])]
    return list(dict.fromkeys(spelt))


def _schedule(request: Request, profile: Profile) -> Schedule:
    if request.lead_s is not None and (
        request.trace.endswith(".json") or request.trace.lower() == NO_FAULT
    ):
        raise UsageError("a lead belongs to a trace such as f1; a schedule states its own (lead_s)")
    if request.trace.endswith(".json"):
        schedule = read_schedule(Path(request.trace), request.world_size)
    else:
        schedule = trace_named(request.trace, profile, request.world_size, request.lead_s)
    steps = request.steps or profile.steps
    for number, event in enumerate(schedule.events):
        if event.step is not None and event.step >= steps:
            raise UsageError(
                f"fault {number} is to strike at step {event.step}, and the run has {steps} steps:"
                f" give --steps {event.step + 1} or more"
            )
    return schedule


def _cell(request: Request, name: str, profile: Profile, schedule: Schedule) -> Cell:
    entry = architectures.entry_named(name)
    mechanism = mechanisms.entry_named(request.mechanism)
    pair = classify(entry, mechanism)
    if pair.status == MissingMeans.INFEASIBLE.value:
        raise UsageError(f"{name} with {request.mechanism} is infeasible: {pair.reason}")
    plugin = mechanisms.load(request.mechanism)
    workload_name = request.workload or entry.default_workload
    if workload_name not in entry.workloads:
        raise UsageError(
            f"{name} does not train {workload_name!r}: it trains {', '.join(entry.workloads)}"
        )
    workload = workloads.build(workload_name, profile.name, request.first_seed)
    architectures.load(entry).check_shape(request.world_size, workload)
    device, backend = device_and_backend(request.device, request.world_size)
    return Cell(
        JobSpec(
            run_id="",
            architecture=name,
            mechanism=request.mechanism,
            workload=workload_name,
            profile=profile.name,
            schedule=schedule,
            seed=request.first_seed,
            world_size=request.world_size,
            steps=request.steps or profile.steps,
            dropped_steps=profile.dropped_steps,
            group_timeout_s=request.group_timeout_s or profile.group_timeout_s,
            round_limit_s=profile.round_limit_s,
            detector=request.detector,
            device=device,
            backend=backend,
            lead_s=request.lead_s,
            interval_steps=profile.interval_steps if plugin.recovers else None,
            spares=len(schedule.events) if plugin.recovers else 0,
        ),
        profile,
        workload.batch_per_rank,
    )


def device_and_backend(asked: str, world_size: int) -> tuple[str, str]:
    """(`cpu` or `cuda`, `gloo` or `nccl`): NCCL where each rank has a GPU of its own."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == "cuda" and not count:
        raise UsageError("no GPU is at hand: torch.cuda.is_available() is false; use --device cpu")
    if asked == "cpu" or not count:
        return "cpu", "gloo"
    return "cuda", "nccl" if count >= world_size else "gloo"


def _in_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"the {what} must be from {low} to {high}, not {value}")
