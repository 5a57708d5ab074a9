"""Jobs that end in each way that there is, as the accounting has to tell of them afterwards."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tests.slurm.accounting import URGENT, AccountedSlurm, instant_s
from tests.slurm.running import wait_until

ROWS = (
    *(("array", "COMPLETED"), ("array", "FAILED"), ("array", "FAILED")),
    ("cancelled", "CANCELLED by 0"),
    ("ended", "COMPLETED"),
    ("endless", "RUNNING"),
    ("failed", "FAILED"),
    ("limited", "TIMEOUT"),
    ("lost", "NODE_FAIL"),
    *(("moved", "COMPLETED"), ("moved", "NODE_FAIL")),
    *(("preempted", "COMPLETED"), ("preempted", "PREEMPTED")),
    *(("requeued", "COMPLETED"), ("requeued", "REQUEUED")),
    ("urgent", "COMPLETED"),
    ("waiting", "PENDING"),
    ("withdrawn", "CANCELLED by 0"),
)
"""What becomes of every run of every job, by the job's name, sorted."""
_ENDLESS = "exec sleep 900"
_ENDLESS_ONCE = f'[ "${{SLURM_RESTART_COUNT:-0}}" -eq 0 ] || exit 0; {_ENDLESS}'
_AT_LEAST_S = 1.5
"""How long what is to be struck has run, so that SLURM's whole seconds show some of it."""


@dataclass(frozen=True, slots=True)
class History:
    """What happened on a cluster, as those know it who made it happen; times in seconds since
    1970."""

    slurm: AccountedSlurm
    start_s: int
    """Before the first job was sent."""
    end_s: int
    """After all that was to end had ended."""
    runs: int
    """That were at risk."""
    work_s: float
    """Time at risk of jobs, by the controller's own account."""
    node_s: float
    """The same, of nodes."""


@dataclass(slots=True)
class _Jobs:
    """Jobs by the names that they are given."""

    slurm: AccountedSlurm
    ids: dict[str, str] = field(default_factory=dict)

    def send(self, name: str, script: str, *options: str) -> None:
        quiet = ("--output=/dev/null", "--chdir=/", f"--job-name={name}", f"--wrap={script}")
        said = self.slurm.run("sbatch", "--parsable", *options, *quiet)
        self.ids[name] = said.strip()

    def states(self, name: str) -> set[str]:
        """The controller's, of all tasks."""
        asked = ("squeue", "-h", "-r", "--states=all", f"--jobs={self.ids[name]}", "-o", "%T")
        return set(self.slurm.run(*asked).split())

    def wait_for(self, **states: str) -> None:
        """Until every job of these is in its state, all its tasks in one of several."""
        for name, state in states.items():
            wanted = set(state.split())
            wait_until(self._are_in(name, wanted), f"the job {name} to be {state}")

    def _are_in(self, name: str, wanted: set[str]) -> Callable[[], bool]:
        def is_so() -> bool:
            found = self.states(name)
            return bool(found) and found <= wanted

        return is_so

    def told(self) -> tuple[tuple[str, str], ...]:
        """Name and state of each run, by the accounting, sorted."""
        asked = ("--allocations", "--duplicates", "-n", "-P", "--format", "JobName,State")
        lines = self.slurm.sacct(*asked).splitlines()
        found = [line.partition("|") for line in lines]
        return tuple(sorted((name, state) for name, _, state in found))


def happen(slurm: AccountedSlurm) -> History:
    """Sends the jobs, and sees that each ends as it has to."""
    start_s, jobs = int(time.time()), _Jobs(slurm)
    _end_by_themselves(jobs)
    _be_preempted(jobs)
    _be_struck(jobs)
    _never_start(jobs)
    with suppress(AssertionError):  # the next line says what is different
        wait_until(lambda: jobs.told() == ROWS, "the accounting")
    assert jobs.told() == ROWS
    end_s = int(time.time()) + 1
    wait_until(lambda: time.time() > end_s + 1, "the end of the window")
    spans = [(run.start_s, run.end_s, run.nodes) for run in slurm.ended_runs()]
    spans.append((_start_s(slurm, jobs.ids), end_s, 1))
    return History(
        *(slurm, start_s, end_s, len(spans)),
        work_s=sum(end - start for start, end, _ in spans),
        node_s=sum((end - start) * nodes for start, end, nodes in spans),
    )


def _end_by_themselves(jobs: _Jobs) -> None:
    jobs.send("ended", "srun sleep 1", "--nodes=2")
    jobs.send("failed", "exit 3")
    jobs.send("array", "sleep 1; exit $SLURM_ARRAY_TASK_ID", "--array=0-2")
    jobs.wait_for(ended="COMPLETED", failed="FAILED", array="COMPLETED FAILED")


def _be_preempted(jobs: _Jobs) -> None:
    jobs.send("preempted", _ENDLESS_ONCE, "--nodelist=n3", "--requeue")
    jobs.wait_for(preempted="RUNNING")
    time.sleep(_AT_LEAST_S)
    whole = ("--nodelist=n3", "--nodes=1", "--ntasks=2")
    jobs.send("urgent", "sleep 1", f"--partition={URGENT}", *whole)
    jobs.wait_for(urgent="COMPLETED")


def _be_struck(jobs: _Jobs) -> None:
    """By a node's death, a user, a time limit and a requeue, while one goes on."""
    slurm = jobs.slurm
    jobs.send("lost", _ENDLESS, "--nodes=2", "--nodelist=n1,n2", "--no-requeue")
    jobs.send("moved", _ENDLESS_ONCE, "--nodelist=n2", "--requeue")
    jobs.send("endless", _ENDLESS, "--nodelist=n1")
    jobs.send("cancelled", _ENDLESS, "--nodelist=n3")
    jobs.send("limited", _ENDLESS, "--nodelist=n3", "--time=5")
    running = ("lost", "moved", "endless", "cancelled", "limited")
    jobs.wait_for(**dict.fromkeys(running, "RUNNING"))
    time.sleep(_AT_LEAST_S)
    slurm.crash("n2")
    slurm.run("scancel", jobs.ids["cancelled"])
    slurm.run("scontrol", "update", f"jobid={jobs.ids['limited']}", "EndTime=now+2")
    jobs.send("requeued", _ENDLESS_ONCE, "--nodelist=n3", "--requeue")
    jobs.wait_for(requeued="RUNNING")
    time.sleep(_AT_LEAST_S)
    slurm.run("scontrol", "requeue", jobs.ids["requeued"])
    jobs.wait_for(lost="NODE_FAIL", cancelled="CANCELLED", limited="TIMEOUT")
    slurm.start_node("n2")
    slurm.run("scontrol", "update", "nodename=n2", "state=resume", check=False)
    jobs.wait_for(moved="COMPLETED", requeued="COMPLETED", preempted="COMPLETED")


def _never_start(jobs: _Jobs) -> None:
    """For want of the node on which a job still runs."""
    for name in ("waiting", "withdrawn"):
        jobs.send(name, "exit 0", "--nodes=3", "--exclusive")
        jobs.wait_for(**{name: "PENDING"})
    jobs.slurm.run("scancel", jobs.ids["withdrawn"])
    jobs.wait_for(withdrawn="CANCELLED")


def _start_s(slurm: AccountedSlurm, ids: Mapping[str, str]) -> float:
    """When the one that goes on has started, by the controller."""
    asked = ("squeue", "-h", f"--jobs={ids['endless']}", "--Format=StartTime")
    return instant_s(slurm.run(*asked).strip())
