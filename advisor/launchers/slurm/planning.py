"""Has a plan made by a job, as the runs will be made.

The hardware and the software of the runs, also whether there are GPUs, are known on a compute node
only. That its plan arrives shows too that the folder is shared and that torch is there.
"""

import json
from collections.abc import Callable, Sequence

from advisor.errors import AdvisorError
from advisor.harness import Event, harness_environment
from advisor.launchers.planned import HARNESS, accepted
from advisor.launchers.slurm.place import Place, job_name
from advisor.launchers.slurm.scheduler import Scheduler, SilentSchedulerError
from advisor.launchers.slurm.script import Script
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.states import GONE, TaskState
from advisor.launchers.slurm.stopping import StopAsked

_PLAN, _LOG = "plan.json", "job-plan-0.log"


def plan_script(
    place: Place, campaign: str, arguments: Sequence[str], settings: SlurmSettings
) -> Script:
    """The job that makes the plan: the harness with the same arguments, on one node."""
    return Script(
        name=job_name(campaign, "plan"),
        tasks=1,
        at_once=1,
        log=place.folder / "job-plan-%a.log",
        command=[*HARNESS, "plan", f"--out={place.folder / _PLAN}", *arguments],
        environment=script_environment(),
        options=settings.options(),
        takes_number=False,
    )


def script_environment() -> dict[str, str]:
    """What the harness needs on a compute node, beside what sbatch hands on."""
    whole = harness_environment()
    return {name: whole[name] for name in ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONUNBUFFERED")}


def planned_there(
    scheduler: Scheduler,
    place: Place,
    campaign: str,
    stop: StopAsked,
    say: Callable[[str], None],
    poll_s: float,
) -> Event | None:
    """The plan that the job makes, once it is there; None after an interruption, which takes the
    job back. Raises UserError for what it refuses, AdvisorError where it ends without a plan."""
    path = place.folder / _PLAN
    job = place.job(campaign, "plan")
    say(f"SLURM job {job.job} makes the plan on a compute node")
    was_over, waits_for = False, ""
    while not stop.count:
        is_there = path.name in {entry.name for entry in place.folder.iterdir()}
        if is_there:
            return accepted(json.loads(path.read_text("utf-8")))
        try:
            state = scheduler.states(job).get(0, TaskState(GONE))
        except SilentSchedulerError:
            state = TaskState("")
        if state.is_over and was_over:
            raise AdvisorError(_without_plan(place, job.job, state))
        if state.waits and state.reason not in ("", waits_for):
            waits_for = state.reason
            say(f"in the queue: {waits_for}")
        was_over = state.is_over
        stop.wait(poll_s)
    scheduler.cancel(job)
    return None


def _without_plan(place: Place, job: str, state: TaskState) -> str:
    said = place.last_words(_LOG)
    log = place.folder / _LOG
    if said:
        return f"SLURM job {job} made no plan: {said} (more in {log})"
    return (
        f"SLURM job {job} made no plan, {state.words()}, and left nothing in {place.folder}: is"
        " this folder on a file system that the compute nodes share? choose one by --folder"
    )
