"""What a controller makes of what SLURM says, does not say, and refuses."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.campaign_run import CampaignRun
from advisor.errors import AdvisorError, UserError
from advisor.launchers.slurm.following import Follower, task_script, task_text
from advisor.launchers.slurm.launched import go_on
from advisor.launchers.slurm.place import Place
from advisor.launchers.slurm.scheduler import Limits, Scheduler
from advisor.launchers.slurm.settings import SlurmSettings
from advisor.launchers.slurm.stopping import StopAsked
from db.campaign_queries import campaign_cells
from db.errors import UnreadableError
from db.session import open_engine, reading
from tests.advisor.launchers.slurm.answering import Answering, listed, refused
from tests.db import run_records

CAMPAIGN = run_records.CAMPAIGN
NAME = f"failbench-{CAMPAIGN}"
TIMED_OUT = refused("Socket timed out on send/recv operation")
FULL = "echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; " + refused(
    "Job violates accounting/QOS policy (job submit limit, users size and/or time limits)"
)


class Said:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, event: Mapping[str, Any]) -> None:
        pass

    def say(self, line: str) -> None:
        self.lines.append(line)


class Controlled:
    """A campaign of a few cells with a Follower, which looks often, and the SLURM that answers."""

    def __init__(self, url: str, folder: Path, slurm: Answering) -> None:
        self.folder, self.slurm, self.said = folder, slurm, Said()
        self.engine = open_engine(url)
        self.run = CampaignRun(lambda: self.engine, self.said, folder)
        self.place, self.settings, self.stop = (
            Place(folder / CAMPAIGN),
            SlurmSettings(group=1),
            StopAsked(),
        )

    def plan(self, cells: int) -> None:
        self.run.plan(run_records.planned(cells, profile="smoke", world_size=8))
        self.place.make(self.settings)

    def follow(self) -> None:
        limits = Limits("mybox", 1001)
        Follower(
            self.run, Scheduler(), limits, self.place, self.settings, self.stop, poll_s=0.01
        ).follow()

    def was_sent(self) -> None:
        """As an earlier controller left it: all cells in one array, job 12."""
        cells = self.run.open_cells()
        groups = [[cell] for cell in cells]
        script = task_script(self.place, CAMPAIGN, 1, len(groups), self.settings)
        self.place.write("job-1.sh", script.text())
        self.place.write("job-1.json", task_text(self.run, groups))
        self.place.write("job-1.id", "12\n")

    def happened(self, task: int, *events: Mapping[str, Any], file: int = 1) -> None:
        """What a task says."""
        with (self.place.folder / f"job-{file}-{task}.jsonl").open("a") as said:
            said.writelines(f"{json.dumps(event)}\n" for event in events)

    def record(self, seed: int) -> Path:
        """The record of a run that ended; the path where it belongs, beside which it lies."""
        path = self.folder / CAMPAIGN / f"a2-ft9-f1-s{seed}" / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("written.json").write_text(json.dumps(run_records.record(seed=seed)))
        return path

    def cells(self) -> list[tuple[str, str]]:
        """Status and reason of each cell."""
        with reading(self.engine) as connection:
            found = campaign_cells(connection, CAMPAIGN)
        return [(str(cell.status), cell.reason) for cell in found]


@pytest.fixture
def controlled(
    tmp_path: Path, sqlite_templates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Controlled]:
    shutil.copy(sqlite_templates["shipped"], tmp_path / "advisor.db")
    slurm = Answering(tmp_path / "bin", monkeypatch)
    made = Controlled(f"sqlite:///{tmp_path / 'advisor.db'}", tmp_path / "runs", slurm)
    with made.run:
        yield made
    made.engine.dispose()


def arrays(controlled: Controlled) -> list[str]:
    """How many tasks the scripts ask for, in their order."""
    scripts = [controlled.place.folder / f"job-{n}.sh" for n in controlled.place.numbers()]
    lines = [line for script in scripts for line in script.read_text().splitlines()]
    return [line.partition("--array=")[2] for line in lines if "--array=" in line]


DONE = ({"event": "task-started"}, {"event": "run-finished", "run": 1})


def test_a_record_that_cannot_be_read_for_a_moment_is_stored_later(controlled: Controlled) -> None:
    """A link to nothing: its name is in the folder, and reading it fails."""
    controlled.plan(1)
    record = controlled.record(0)
    record.symlink_to("nowhere")
    controlled.happened(0, *DONE)
    there, over = listed(f"{NAME}-1", "RUNNING"), listed(f"{NAME}-1", "COMPLETED")
    controlled.slurm.to("sbatch", "echo 12")
    appears = f"mv {record.with_name('written.json')} {record}"
    controlled.slurm.to("squeue", there, there, f"{appears}\n{there}", over)
    controlled.follow()
    assert controlled.cells() == [("complete", "")]


def test_a_record_that_is_never_handed_over_leaves_its_cell_open(controlled: Controlled) -> None:
    controlled.plan(1)
    controlled.record(0).mkdir()  # reading it fails, whoever asks
    controlled.happened(0, *DONE)
    controlled.slurm.to("sbatch", "echo 12")
    controlled.slurm.to("squeue", listed(f"{NAME}-1", "COMPLETED"))
    controlled.follow()
    ((status, why),) = controlled.cells()
    assert status == "stale"
    assert why.startswith("its task ended without a record of it (COMPLETED, on n1)")
    (cell,) = controlled.run.open_cells()
    with pytest.raises(UnreadableError, match="cannot be read: Is a directory"):
        controlled.run.store(cell, controlled.run.record_path(cell))
    assert controlled.cells() == [(status, why)]


def test_what_sbatch_did_not_say_is_found_by_its_name(controlled: Controlled) -> None:
    controlled.plan(1)
    controlled.slurm.to("sbatch", TIMED_OUT)
    # It was taken after SLURM had said that there is none.
    controlled.slurm.to("squeue", "exit 1", "exit 0", f"echo '12|{NAME}-1'", kind="find")
    controlled.slurm.to("squeue", listed(f"{NAME}-1", "CANCELLED"))
    controlled.follow()
    assert controlled.slurm.calls("sbatch") == 1
    assert controlled.cells()[0][1] == "its task was cancelled (CANCELLED, on n1), SLURM job 12_0"
    (said,) = [line for line in controlled.said.lines if "trying again" in line]
    assert said == (
        "SLURM does not take jobs: Batch job submission failed: Socket timed out on send/recv"
        " operation; trying again"
    )


def test_what_slurm_did_not_take_is_sent_again_as_it_was(controlled: Controlled) -> None:
    controlled.plan(2)
    away = refused("Unable to contact slurm controller (connect failure)")
    controlled.slurm.to("sbatch", TIMED_OUT, away, away, "echo 12")
    controlled.slurm.to("squeue", listed(f"{NAME}-1", "CANCELLED", "CANCELLED"))
    controlled.follow()
    assert controlled.slurm.calls("sbatch") == 4
    assert arrays(controlled) == ["0-1%8"]
    assert [status for status, _ in controlled.cells()] == ["stale", "stale"]
    assert sum("trying again" in line for line in controlled.said.lines) == 1


def test_an_array_that_is_too_large_for_a_limit_is_halved_and_the_rest_follows(
    controlled: Controlled,
) -> None:
    controlled.plan(4)
    first = listed(f"{NAME}-1", "FAILED", "FAILED")
    second = listed(f"{NAME}-2", "CANCELLED", "CANCELLED", job=13)
    for task in (0, 1):
        controlled.happened(
            task, {"event": "task-started"}, {"event": "run-started", "run": task + 1}
        )
        controlled.happened(task, {"event": "run-failed", "run": task + 1, "reason": "a bug"})
    controlled.slurm.to("squeue", f"{first}\n{second}")
    controlled.slurm.to("sbatch", FULL, "echo 12", "echo 13")
    controlled.follow()
    assert arrays(controlled) == ["0-1%8", "0-1%8"]
    assert [status for status, _ in controlled.cells()] == ["failed", "failed", "stale", "stale"]


def test_a_task_that_there_is_no_room_for_waits(controlled: Controlled) -> None:
    controlled.plan(1)
    controlled.slurm.to("sbatch", FULL, FULL, FULL, "echo 12")
    controlled.slurm.to("squeue", listed(f"{NAME}-1", "CANCELLED"))
    controlled.follow()
    assert controlled.slurm.calls("sbatch") == 4
    assert controlled.cells()[0][0] == "stale"
    (said,) = [line for line in controlled.said.lines if "trying again" in line]
    assert said.startswith("SLURM takes no more tasks: QOSMaxSubmitJobPerUserLimit; ")


@pytest.mark.parametrize(
    "reason", ["Invalid job array specification", "User's group not permitted to use this"]
)
def test_what_slurm_will_never_take_ends_the_command(controlled: Controlled, reason: str) -> None:
    controlled.plan(1)
    controlled.slurm.to("sbatch", refused(reason.replace("'", "")))
    with pytest.raises(AdvisorError, match=reason.replace("'", "")):
        controlled.follow()
    assert controlled.slurm.calls("sbatch") == 1


def test_a_task_that_looks_over_once_is_not_sent_again(controlled: Controlled) -> None:
    """A requeued one does, and then runs its cells."""
    controlled.plan(1)
    controlled.was_sent()
    controlled.happened(0, *DONE)
    over, runs = listed(f"{NAME}-1", "NODE_FAIL"), listed(f"{NAME}-1", "RUNNING")
    record = controlled.record(0)
    appears = f"mv {record.with_name('written.json')} {record}"
    controlled.slurm.to("squeue", over, runs, f"{appears}\n{runs}", over)
    controlled.follow()
    assert controlled.slurm.calls("sbatch") == 0
    assert controlled.cells() == [("complete", "")]


def test_a_task_that_has_ended_for_good_is_sent_again(controlled: Controlled) -> None:
    controlled.plan(2)
    controlled.was_sent()
    controlled.slurm.to("sbatch", "echo 13")
    before = listed(f"{NAME}-1", "CANCELLED", "RUNNING")
    after = listed(f"{NAME}-2", "CANCELLED", job=13)
    over = listed(f"{NAME}-1", "CANCELLED", "CANCELLED")
    controlled.slurm.to("squeue", before, before, f"{over}\n{after}")
    controlled.follow()
    assert arrays(controlled) == ["0-1%8", "0-0%8"]
    assert [why.rpartition(" ")[2] for _, why in controlled.cells()] == ["13_0", "12_1"]
    assert "1 task is still at it, sent by an earlier command" in controlled.said.lines


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ((), "its task was cancelled (CANCELLED), SLURM job 12_0"),
        (
            ({"event": "task-started"}, {"event": "run-started", "run": 1}),
            "the scheduler does not know its task any more, SLURM job 12_0",
        ),
    ],
)
def test_a_task_that_vanishes_was_cancelled_only_if_it_never_began(
    controlled: Controlled, events: tuple[Mapping[str, Any], ...], why: str
) -> None:
    controlled.plan(1)
    controlled.happened(0, *events)
    controlled.slurm.to("sbatch", "echo 12")
    controlled.slurm.to("squeue", listed(f"{NAME}-1", "PENDING"), "exit 0")
    controlled.follow()
    assert controlled.cells() == [("stale", why)]


def test_options_that_slurm_refuses_do_not_replace_those_of_before(controlled: Controlled) -> None:
    controlled.plan(1)
    controlled.slurm.to("scontrol", "echo 'MaxArraySize = 1001'")
    wrong = "invalid partition specified: nowhere"
    controlled.slurm.to("sbatch", f"echo 'sbatch: error: {wrong}' >&2; exit 1")
    with pytest.raises(UserError, match=f"SLURM could not run this: {wrong}"):
        go_on(controlled.run, {"partition": "nowhere"})
    assert controlled.place.settings() == controlled.settings
    controlled.slurm.to("sbatch", refused("Socket timed out on send/recv operation"))
    with pytest.raises(AdvisorError, match="SLURM does not answer: ") as raised:
        go_on(controlled.run, {"partition": "nowhere"})
    assert raised.value.exit_code == 1
    assert controlled.place.settings() == controlled.settings
