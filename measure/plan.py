"""From what a person asked to the cells that will run; everything is checked here, before."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from measure.architectures import registry as architectures
from measure.architectures.catalogue import ARCHITECTURES
from measure.campaign import Cell, Plan
from measure.errors import UsageError
from measure.faults.needs import check_moments, check_pair
from measure.faults.schedule import FaultKind, Schedule, read_schedule
from measure.faults.traces import NO_FAULT, PAPER_TRACES, trace_named
from measure.interfaces.capabilities import (
    ArchitectureEntry,
    Cadence,
    Capability,
    MechanismEntry,
    MissingMeans,
    Way,
)
from measure.job_spec import Detector, JobSpec
from measure.matrix import classify
from measure.mechanisms import registry as mechanisms
from measure.mechanisms.catalogue import MECHANISMS
from measure.monitors.catalogue import settings_of
from measure.nodes.command import AT
from measure.nodes.messages import SILENT_S
from measure.nodes.placement import spares_for_a_node
from measure.nodes.remote import is_local
from measure.profiles import Profile, profile_named
from measure.sequence import shuffled
from measure.workloads import catalogue as workloads

_LARGEST_WORLD = 512


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked; None leaves it to the profile or to the architecture."""

    architectures: Sequence[str]
    mechanisms: Sequence[str]
    traces: Sequence[str]
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
    """None: as long as the profile says where a mechanism needs a warning, no warning otherwise;
    0: none."""
    interval_steps: int | None = None
    replicas: int | None = None
    way: Way | None = None
    nodes: int = 1
    """How many nodes the ranks are on, each with an agent and lost as a whole."""
    monitors: Sequence[str] = ()
    """What looks for failures that are not losses, by names such as `digest:10`."""
    kept: int | None = None
    """States that each tier keeps at least."""
    where: str = ""
    """What stands before a complaint: the file and the block that this was asked in."""


def cells_of(request: Request) -> list[Cell]:
    """The cells of one request, without run ids; seeds outermost, so that in this order too a
    machine that drifts drifts for all alike. UsageError, in one line, if any cannot be run."""
    _in_range("world size", request.world_size, 1, _LARGEST_WORLD)
    _in_range("number of seeds", request.seeds, 1, 10_000)
    _in_range("first seed", request.first_seed, 0, 2**31)
    profile = profile_named(request.profile)
    for what, count, most in (
        ("number of steps", request.steps, 10**7),
        ("interval", request.interval_steps, 10**7),
        ("number of replicas", request.replicas, request.world_size - 1),
        ("number of nodes", request.nodes, request.world_size),
        ("number of kept states", request.kept, 1_000),
    ):
        if count is not None:
            _in_range(what, count, 1, most)
    asked = [
        cell
        for name in request.architectures
        for mechanism in request.mechanisms
        for trace in request.traces
        if (cell := _cell(request, name, mechanism, trace, profile)) is not None
    ]
    if not asked:
        raise UsageError(_why_nothing(request))
    return [
        replace(cell, job=replace(cell.job, seed=request.first_seed + number))
        for number in range(request.seeds)
        for cell in asked
    ]


def plan_of(
    requests: Request | Sequence[Request],
    campaign: str,
    cluster: str | None,
    folder: Path,
    command: str,
    order_seed: int | None = None,
) -> Plan:
    """The plan of one or several requests; UsageError, in one line, if any part of it cannot be
    run. A cluster without a name gets this host's and the device's; `order_seed` shuffles."""
    several = [requests] if isinstance(requests, Request) else requests
    cells = named([cell for request in several for cell in _asked(request)], campaign)
    if order_seed is not None:
        _in_range("order seed", order_seed, 0, 2**31)
        cells = shuffled(cells, order_seed, is_baseline)
    name = cluster or f"{socket.gethostname()}-{cells[0].job.device}"
    first_seed = min(cell.job.seed for cell in cells)
    return Plan(campaign, command, name, folder, cells, first_seed, order_seed)


def _asked(request: Request) -> list[Cell]:
    try:
        return cells_of(request)
    except UsageError as error:
        raise type(error)(f"{request.where}{error}") from error


def is_baseline(cell: Cell) -> bool:
    """Whether nothing is switched on that could slow the training down, or bring it back."""
    return not mechanisms.entry_named(cell.job.mechanism).ways


def named(cells: Sequence[Cell], campaign: str) -> list[Cell]:
    """The cells under their run ids, none twice: `campaign/a2-ft1-f1-s0`. Cells that differ in
    what the id does not say (an interval, a lead) have a few digits of their digest in it."""
    found = {(_stem(cell), _digest(cell), cell.job.seed): cell for cell in cells}
    digests: dict[str, set[str]] = {}
    for stem, digest, _ in found:
        digests.setdefault(stem, set()).add(digest)
    return [
        replace(cell, job=replace(cell.job, run_id=f"{campaign}/{name}-s{seed}"))
        for (stem, digest, seed), cell in found.items()
        for name in [stem if len(digests[stem]) == 1 else f"{stem}-{digest[:6]}"]
    ]


def _stem(cell: Cell) -> str:
    job = cell.job
    trace = (job.schedule.name or "none").lower().replace(" ", "-")
    return f"{job.architecture}-{job.mechanism}-{trace}"


def _digest(cell: Cell) -> str:
    """What tells a cell's configuration from another's, whatever its seed and its id."""
    return replace(cell.job, run_id="", seed=0).digest()


def all_architectures(names: Iterable[str]) -> list[str]:
    """The names, with `all` spelt out, and `seven`: the paper's, A1 as its synchronous one."""
    known = [entry.architecture for entry in ARCHITECTURES]
    groups = {"all": known, "seven": [name for name in known if name != "a1-async"]}
    return _spelt_out(names, groups)


def _spelt_out(names: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Lists with commas taken apart and groups spelt out, in small letters; none twice."""
    given = [name.strip().lower() for several in names for name in several.split(",")]
    return list(dict.fromkeys(found for name in given for found in groups.get(name, [name])))


def all_mechanisms(names: Iterable[str]) -> list[str]:
    """The names, with `all` spelt out; none twice."""
    return _spelt_out(names, {"all": [entry.mechanism for entry in MECHANISMS]})


def all_traces(names: Iterable[str]) -> list[str]:
    """The names and files, with `all` spelt out (F1 to F3); none twice."""
    given = [name.strip() for several in names for name in several.split(",")]
    spelt = [n for name in given for n in (PAPER_TRACES if name.lower() == "all" else [name])]
    return list(dict.fromkeys(spelt))


def _schedule(request: Request, trace: str, profile: Profile, warned: bool) -> Schedule:
    named = not trace.endswith(".json") and trace.lower() != NO_FAULT
    if request.lead_s is not None and not named:
        raise UsageError("a lead belongs to a trace such as f1; a schedule states its own (lead_s)")
    if trace.endswith(".json"):
        schedule = read_schedule(Path(trace), request.world_size, request.nodes)
    else:
        lead_s = profile.lead_s if request.lead_s is None and warned else request.lead_s
        schedule = trace_named(trace, profile, request.world_size, lead_s or None)
    _check_links(schedule)
    steps = request.steps or profile.steps
    for number, event in enumerate(schedule.events):
        if event.step is not None and event.step >= steps:
            raise UsageError(
                f"fault {number} is to strike at step {event.step}, and the run has {steps} steps:"
                f" give --steps {event.step + 1} or more"
            )
    return schedule


def _cell(
    request: Request, name: str, mechanism_name: str, trace: str, profile: Profile
) -> Cell | None:
    """The cell; None for a degenerate pair, which is another mechanism's under its own name.

    An infeasible one is tried like any other: what it says is its result.
    """
    entry = architectures.entry_named(name)
    mechanism = mechanisms.entry_named(mechanism_name)
    if classify(entry, mechanism).status == MissingMeans.DEGENERATE.value:
        return None
    schedule = _schedule(request, trace, profile, mechanism.wants_warning)
    check_pair(schedule, entry, mechanism)
    steps = request.steps or profile.steps
    interval_steps = _interval_steps(request, mechanism, profile)
    check_moments(schedule, mechanism, interval_steps, steps)
    way = _way(request, entry, mechanism)
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
            mechanism=mechanism.mechanism,
            workload=workload_name,
            profile=profile.name,
            schedule=schedule,
            seed=request.first_seed,
            world_size=request.world_size,
            steps=steps,
            dropped_steps=profile.dropped_steps,
            group_timeout_s=_group_timeout_s(request, profile),
            round_limit_s=profile.round_limit_s,
            detector=request.detector,
            device=device,
            backend=backend,
            lead_s=schedule.events[0].lead_s if schedule.events else None,
            interval_steps=interval_steps,
            spares=_spares(request, schedule) if way is Way.SPARE else 0,
            way=way,
            replicas=(request.replicas or mechanism.replicas) if mechanism.replicas else 0,
            alternates=mechanism.works_while_training,
            nodes=request.nodes,
            monitors=tuple(str(setting) for setting in settings_of(request.monitors)),
            kept=request.kept if mechanism.ways else None,
        ),
        profile,
        workload.batch_per_rank,
    )


def _way(request: Request, entry: ArchitectureEntry, mechanism: MechanismEntry) -> Way | None:
    """How training is brought back: as asked; otherwise an architecture that goes on by itself is
    left to it, and the others take the mechanism's usual way."""
    alone = Capability.CONTINUES_AFTER_LOSS in entry.capabilities
    if request.way is None:
        return None if alone or not mechanism.ways else mechanism.ways[0]
    if request.way is Way.SMALLER and alone:
        raise UsageError(f"{entry.architecture} goes on by itself as a smaller group: leave --way")
    if request.way not in mechanism.ways:
        known = ", ".join(way.value for way in mechanism.ways) or "none: it does not recover"
        raise UsageError(
            f"{mechanism.mechanism} does not recover by way of {request.way.value!r}: its ways are"
            f" {known}"
        )
    return request.way


def _spares(request: Request, schedule: Schedule) -> int:
    """One for each lost rank; for a lost node so many on each that those on the others suffice."""
    ending = [event for event in schedule.events if event.ends_its_rank]
    of_nodes = [event for event in ending if event.kind.strikes_a_node]
    if not of_nodes:
        return len(ending)
    each = spares_for_a_node(request.world_size, request.nodes)
    return len(ending) - len(of_nodes) + each * len(of_nodes)


def _group_timeout_s(request: Request, profile: Profile) -> float:
    """As asked, or the profile's; on several nodes the supervisor must notice a cut link first."""
    least_s = 2.0 * SILENT_S if request.nodes > 1 else 0.0
    asked_s = request.group_timeout_s
    if asked_s is not None and asked_s < least_s:
        raise UsageError(
            f"the group timeout must be {least_s:g} s or more on several nodes, so that a cut link"
            f" is noticed before it, not {asked_s:g} s"
        )
    return asked_s or max(profile.group_timeout_s, least_s)


def _check_links(schedule: Schedule) -> None:
    """Nodes that are parts of this host have no link that could be cut."""
    cut = [event for event in schedule.events if event.kind is FaultKind.PARTITION]
    if cut and is_local():
        raise UsageError(
            "a partition needs nodes that are hosts of their own: start `python -m measure node` on"
            f" each, and name the place where they find this process in {AT}"
        )


def _interval_steps(request: Request, mechanism: MechanismEntry, profile: Profile) -> int | None:
    if mechanism.saves_at_intervals:
        return request.interval_steps or profile.interval_steps
    return 1 if mechanism.cadence is Cadence.EVERY_STEP else None


def _why_nothing(request: Request) -> str:
    pairs = [
        classify(architectures.entry_named(name), mechanisms.entry_named(mechanism))
        for name in request.architectures
        for mechanism in request.mechanisms
    ]
    return f"nothing is left to run: {pairs[0].reason}" if pairs else "nothing was asked for"


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
