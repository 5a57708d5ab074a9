"""What SLURM's commands really print, as it is read here."""

from pathlib import Path

import pytest

from advisor.launchers.slurm.place import Place
from advisor.launchers.slurm.scheduler import Scheduler, SilentSchedulerError, TooManyTasksError
from advisor.launchers.slurm.script import Script
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.states import Job
from tests.slurm.cluster import SlurmCluster
from tests.slurm.running import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("slurm"),
]


def sent(tmp_path: Path, command: list[str], tasks: int = 2, at_once: int = 2) -> Job:
    """An array in SLURM's hands, as the launcher sends it."""
    place, settings = Place(tmp_path / "1 folder, #2"), SlurmSettings()
    place.make(settings)
    log, options = place.folder / "job-1-%a.log", settings.options()
    script = Script("failbench-test-1", tasks, at_once, log, command, {"MINE": "a b"}, options)
    path = place.write("job-1.sh", script.text())
    with place.submitting() as held:
        Scheduler().submit(path, options, place.folder / "job-1.id", held)
    return place.job("test", 1)


def test_limits(slurm: SlurmCluster) -> None:
    limits = Scheduler().limits()
    assert (limits.cluster, limits.most_tasks) == (slurm.name, 1001)


def test_a_job_is_known_by_id_name_and_time(slurm: SlurmCluster, tmp_path: Path) -> None:
    job = sent(tmp_path, ["sh", "-c", 'echo "$MINE $0"; sleep 300'], tasks=200, at_once=1)
    scheduler = Scheduler()
    assert scheduler.find(job.name) == job.job
    wait_until(lambda: slurm.tasks("RUNNING") == [f"{job.job}_0"], "the first task")
    states = scheduler.states(job)
    assert set(states) == set(range(200))
    assert (states[0].state, states[0].nodes, states[199].state) == ("RUNNING", "n1", "PENDING")
    later = Job(job.job, "", job.name, "2999-01-01T00:00:00+00:00")
    assert scheduler.states(later) == {}
    assert scheduler.states(Job(job.job, "", "another", job.written_at)) == {}
    assert scheduler.states(Job("999999", "", job.name, job.written_at)) == {}
    scheduler.cancel(job)
    wait_until(lambda: not slurm.tasks("RUNNING", "COMPLETING"), "the end")
    ends = scheduler.states(job)
    assert {state.state for state in ends.values()} == {"CANCELLED"}
    assert set(ends) == set(range(200))
    log = tmp_path / "1 folder, #2" / "slurm" / "job-1-0.log"
    assert log.read_text().splitlines()[0] == "a b 0"


def test_a_requeued_task_is_still_the_job_and_not_over(slurm: SlurmCluster, tmp_path: Path) -> None:
    job = sent(tmp_path, ["sleep", "300"], tasks=1)
    scheduler, task = Scheduler(), f"{job.job}_0"
    wait_until(lambda: slurm.tasks("RUNNING") == [task], "the task")
    slurm.run("scontrol", "requeue", task)
    wait_until(lambda: scheduler.states(job)[0].state == "PENDING", "the queue")
    assert scheduler.states(job)[0].waits
    wait_until(lambda: slurm.tasks("RUNNING") == [task], "the second start")


def test_settings_of_a_user_do_not_get_in_the_way(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "SQUEUE_FORMAT": "%i",
        "SQUEUE_STATES": "PD",
        "SQUEUE_USERS": "nobody",
        "SLURM_TIME_FORMAT": "relative",
        "SBATCH_WAIT": "1",
        "SBATCH_JOB_NAME": "mine",
        "SBATCH_ARRAY_INX": "7-9",
        "SBATCH_OUTPUT": "/nowhere/at/all",
        "SLURM_JOB_ID": "77",
        "TZ": "Asia/Kathmandu",
    }.items():
        monkeypatch.setenv(name, value)
    job = sent(tmp_path, ["sleep", "300"])
    wait_until(lambda: len(slurm.tasks("RUNNING")) == 2, "two tasks")
    states = Scheduler().states(job)
    assert {number: state.state for number, state in states.items()} == {
        0: "RUNNING",
        1: "RUNNING",
    }


def test_more_tasks_than_slurm_takes_are_told_from_other_refusals(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    with pytest.raises(TooManyTasksError, match="Invalid job array specification"):
        sent(tmp_path, ["sleep", "300"], tasks=1002)
    assert slurm.tasks("PENDING", "RUNNING") == []


@pytest.mark.soak
def test_what_was_sent_to_a_silent_controller_is_known_by_its_name(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    with slurm.silent(), pytest.raises(SilentSchedulerError, match="timed out"):
        sent(tmp_path, ["sleep", "300"])
    scheduler = Scheduler()
    wait_until(lambda: scheduler.find("failbench-test-1") is not None, "the job")
