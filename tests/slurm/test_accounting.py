"""`advisor mtbf` reads what a real SLURM's `sacct` prints, in both forms, of jobs that ended in
every way."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from advisor import cli
from advisor.failure_logs.formats.sacct import COMMAND
from advisor.launchers.slurm.scheduler import Scheduler
from advisor.launchers.slurm.states import Job
from tests.slurm import accounting, cluster
from tests.slurm.accounting import AccountedSlurm, instant_s
from tests.slurm.accounting_jobs import ROWS, History, happen

pytestmark = [
    pytest.mark.integration,
    pytest.mark.soak,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("slurm"),
]
_USED = {
    ("failure", "NODE_FAIL: a node failed"): 2,
    ("time at risk only", "COMPLETED: it ran to its end"): 6,
    ("time at risk only", "FAILED: the program ended with an error; abort, not among infra"): 3,
    ("time at risk only", "CANCELLED: cancelled; planned, not among infra"): 1,
    ("time at risk only", "PREEMPTED: preempted; planned, not among infra"): 1,
    ("time at risk only", "REQUEUED: requeued; planned, not among infra"): 1,
    ("time at risk only", "RUNNING: it still ran"): 1,
    ("time at risk only", "TIMEOUT: its time was up, which is no failure"): 1,
    ("excluded", "CANCELLED: it never started"): 1,
    ("excluded", "PENDING: it never started"): 1,
}
_Mtbf = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def history() -> Iterator[History]:
    """A cluster with accounting on which it all has happened, gone at the end with its files."""
    missing = cluster.missing_program() or accounting.missing_program()
    if missing or os.geteuid() != 0:
        why = f"no {missing} is installed (apt-get install slurm-wlm {accounting.PACKAGES})"
        cluster.unavailable(why if missing else "SLURM's daemons are started as root")
    with tempfile.TemporaryDirectory(prefix="advisor-slurm-") as folder:
        slurm = AccountedSlurm(Path(folder), nodes=3)
        with slurm:
            yield happen(slurm)


@pytest.fixture
def mtbf(history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Mtbf:
    """What `advisor mtbf` answers of a text, over the time in which it all happened."""

    def answer(text: str, *options: str) -> dict[str, Any]:
        path = tmp_path / "log"
        path.write_text(text, encoding="utf-8")
        window = f"{history.start_s}..{history.end_s}"
        arguments = ["mtbf", str(path), "--window", window, "--coalesce", "none"]
        assert cli.run([*arguments, "--output", "json", *options]) == 0, capsys.readouterr().err
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return answer


def test_every_row_is_what_happened(history: History, mtbf: _Mtbf) -> None:
    found = mtbf(_text(history))
    assert found["log_format"] == "sacct"
    assert {(p["use"], p["reason"]): p["rows"] for p in found["accounting"]} == _USED
    assert found["rows"] == len(ROWS)
    assert found["warnings"] == []
    assert found["node_mtbf"]["failures"] == 2
    failing = {node["name"]: node["failures"] for node in found["by_node"]["failing"]}
    assert failing == {"n2": 2, "n1": 1}


def test_the_time_at_risk_is_the_controllers_own(history: History, mtbf: _Mtbf) -> None:
    found = mtbf(_text(history))
    assert history.runs == sum(n for (use, _), n in _USED.items() if use != "excluded")
    assert found["node_mtbf"]["at_risk_s"] == history.node_s
    assert found["mtbf"]["at_risk_s"] == pytest.approx(history.work_s, rel=1e-12)


def test_what_failed_together_failed_once(history: History, mtbf: _Mtbf) -> None:
    assert mtbf(_text(history), "--coalesce", "5m")["mtbf"]["failures"] == 1


def test_the_other_counts(history: History, mtbf: _Mtbf) -> None:
    aborts = mtbf(_text(history), "--count", "infra+abort")
    assert (aborts["mtbf"]["failures"], aborts["kinds"]["planned"]) == (5, 3)
    announced = aborts["announcements"]
    assert (announced["announced"], announced["unannounced"]) == (1, 5)
    assert mtbf(_text(history), "--count", "all")["mtbf"]["failures"] == 8


def test_both_forms_agree(history: History, mtbf: _Mtbf) -> None:
    text = mtbf(_text(history))
    document = mtbf(history.slurm.sacct("--duplicates", "--json"))
    assert document.pop("log_format") == "sacct-json"
    assert text.pop("log_format") == "sacct"
    assert document == text


def test_times_in_another_zone_and_in_seconds(history: History, mtbf: _Mtbf) -> None:
    utc = _text(history)
    local = _text(history, TZ="EST5")
    assert local != utc
    assert mtbf(local, "--tz", "Etc/GMT+5") == mtbf(utc)
    seconds = _text(history, SLURM_TIME_FORMAT="%s")
    assert mtbf(seconds, "--tz", "Asia/Kathmandu") == mtbf(utc)


def test_steps_are_told_apart(history: History, mtbf: _Mtbf) -> None:
    without = mtbf(_text(history))
    command = [option for option in _options() if option != "--allocations"]
    found = mtbf(history.slurm.sacct(*command))
    steps = [part for part in found["accounting"] if "a step of a job" in part["reason"]]
    assert sum(part["rows"] for part in steps) == found["rows"] - without["rows"] > 0
    assert found["node_mtbf"] == without["node_mtbf"]


def test_a_size_that_was_only_asked_for_is_none(history: History, mtbf: _Mtbf) -> None:
    command = [option.replace("AllocNodes", "NNodes") for option in _options()]
    for counted in ("infra", "all"):
        found = mtbf(history.slurm.sacct(*command), "--count", counted)
        assert found == mtbf(_text(history), "--count", counted)


def test_without_duplicates_failures_are_lost(history: History, mtbf: _Mtbf) -> None:
    command = [option for option in _options() if option != "--duplicates"]
    found = mtbf(history.slurm.sacct(*command))
    assert (found["rows"], found["mtbf"]["failures"]) == (len(ROWS) - 3, 1)


def test_a_job_that_began_before_the_start_is_printed_whole(history: History) -> None:
    start = datetime.fromtimestamp(history.end_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    columns = ("-X", "-D", "-n", "-P", "--format=JobName,State,Start")
    lines = history.slurm.sacct(f"--starttime={start}", *columns).splitlines()
    running, waiting = sorted(line.split("|") for line in lines)
    assert running[:2] == ["endless", "RUNNING"]
    assert history.start_s < instant_s(running[2]) < history.end_s
    assert waiting == ["waiting", "PENDING", "Unknown"]


def test_the_launcher_finds_what_became_of_its_tasks(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = history.slurm
    monkeypatch.setenv("SLURM_CONF", slurm.environment()["SLURM_CONF"])
    lines = slurm.sacct("-X", "-n", "-P", "--name=array", "--format", "JobID").split()
    (job,) = {line.partition("_")[0] for line in lines}
    written_at = datetime.fromtimestamp(history.start_s, UTC).isoformat()
    states = Scheduler().accounted(Job(job, slurm.name, "array", written_at))
    assert [states[n].state for n in range(3)] == ["COMPLETED", "FAILED", "FAILED"]
    assert {state.nodes for state in states.values()} <= set(slurm.nodes)


def _text(history: History, **variables: str) -> str:
    """The documented command's output."""
    return history.slurm.sacct(*_options(), **variables)


def _options() -> list[str]:
    return COMMAND.split()[1:]
