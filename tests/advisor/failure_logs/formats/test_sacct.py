"""`sacct --parsable2`: states, steps, requeues, doubles, rows that cannot be read."""

from collections import Counter

import pytest

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, parse_zone
from advisor.failure_logs.records import Entry, Kind, Log
from db.records import FailureScope
from tests.advisor.failure_logs.samples import log_of, sample

_HEADER = "JobID|State|Start|End|Elapsed|NNodes\n"


def entry(row: str, clock: Clock | None = None) -> Entry:
    (found,) = log_of(_HEADER + row + "\n", clock=clock).entries
    return found


@pytest.fixture(scope="module")
def log() -> Log:
    return sample("sacct.txt")


def test_steps_are_no_jobs(log: Log) -> None:
    assert (log.format, log.scope, log.systems) == ("sacct", FailureScope.JOB, None)
    assert [e.row for e in log.entries if "step" in e.excluded] == [2, 3, 4]


def test_a_requeued_job_has_two_runs(log: Log) -> None:
    failed, again = log.entries[4], log.entries[5]
    assert failed.interruption is not None
    assert failed.interruption.kind is Kind.INFRA
    assert failed.interruption.nodes == ("n03", "n04", "n05", "n06")
    assert failed.at_risk is not None
    assert failed.at_risk.nodes == 4
    assert again.interruption is None
    assert again.at_risk is not None
    assert again.at_risk.names[-1] == "n07"


def test_what_was_cancelled_by_somebody_is_planned(log: Log) -> None:
    found = log.entries[6].interruption
    assert found is not None
    assert (found.kind, found.announced) == (Kind.PLANNED, False)
    preempted = log.entries[13].interruption
    assert preempted is not None
    assert (preempted.kind, preempted.announced) == (Kind.PLANNED, True)


def test_what_never_started_is_excluded(log: Log) -> None:
    assert "never started" in log.entries[8].excluded
    assert "never started" in log.entries[9].excluded


def test_of_two_rows_of_one_run_the_later_is_used(log: Log) -> None:
    assert "same run" in log.entries[11].excluded
    assert log.entries[12].says.startswith("TIMEOUT")


def test_rows_that_cannot_be_read(log: Log) -> None:
    assert "CURSED" in log.entries[15].excluded
    assert "before it starts" in log.entries[16].excluded
    assert "11 fields" in log.entries[17].excluded


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("CANCELLED+", Kind.PLANNED),
        ("OUT_OF_ME+", Kind.ABORT),
        ("BOOT_FAIL", Kind.INFRA),
        ("REQUEUED", Kind.PLANNED),
    ],
)
def test_states(state: str, kind: Kind) -> None:
    found = entry(f"1|{state}|2024-01-01T00:00:00|2024-01-01T01:00:00|01:00:00|2").interruption
    assert found is not None
    assert found.kind is kind


@pytest.mark.parametrize("state", ["C+", "node_fail", "", "COMPLETEDX"])
def test_a_state_that_is_not_known_is_said(state: str) -> None:
    found = entry(f"1|{state}|2024-01-01T00:00:00|2024-01-01T01:00:00|01:00:00|2")
    assert "not known" in found.excluded


def test_elapsed_tells_the_two_hours_of_a_clock_change_apart() -> None:
    row = "1|NODE_FAIL|2024-11-03T01:30:00|2024-11-03T01:40:00|01:10:00|2"
    clock = Clock(parse_zone("America/New_York"))
    found = entry(row, clock).at_risk
    assert found is not None
    assert found.end_s is not None
    assert found.end_s - found.start_s == 70 * 60
    assert clock.twice == 2


def test_a_running_job_is_at_risk_for_as_long_as_it_has_run() -> None:
    found = entry("1|RUNNING|2024-01-01T00:00:00|Unknown|1-01:00:00|2").at_risk
    assert found is not None
    assert found.end_s == found.start_s + 25 * 3600


@pytest.mark.parametrize(
    "row",
    [
        "1|COMPLETED|2024-01-01T00:00:00|Unknown||2",
        "1|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00|01:00:00|many",
        "1|COMPLETED|yesterday|2024-01-01T01:00:00|01:00:00|2",
        "1|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00|an hour|2",
        "1|COMPLETED",
    ],
)
def test_malformed_rows_are_kept_with_the_reason(row: str) -> None:
    assert entry(row).excluded.startswith("malformed: ")


def test_lines_that_end_with_a_bar() -> None:
    text = _HEADER.replace("\n", "|\n") + "1|COMPLETED|1700000100|1700003700|01:00:00|2|\n"
    (found,) = log_of(text).entries
    assert found.at_risk is not None


def test_a_job_without_nodes_never_started_though_it_has_a_start_and_a_size() -> None:
    row = "1|CANCELLED by 0|1700000100|1700000100|0|3|None assigned"
    (found,) = log_of("JobID|State|Start|End|ElapsedRaw|NNodes|NodeList\n" + row).entries
    assert found.excluded == "CANCELLED: it never started"


def test_hidden_requeues_are_noted() -> None:
    log = log_of(
        "JobID|State|Start|End|Restarts\n"
        "1|COMPLETED|1700000100|1700000200|2\n1.batch|COMPLETED|1700000100|1700000200|2\n2|COMPLETED|1700000100|1700000200|0\n"
    )
    (note,) = log.notes
    assert "not in the file: 2," in note


def test_columns_that_are_missing() -> None:
    with pytest.raises(UserError, match=r"Start.*--parsable2"):
        log_of("JobID|JobName|State\n1|a|COMPLETED\n")
    with pytest.raises(UserError, match="--parsable2"):
        log_of("JobID  State  Start\n-----  -----  -----\n1  COMPLETED  100\n", "sacct")
    with pytest.raises(UserError, match="twice"):
        log_of("JobID|State|Start|End|State\n1|COMPLETED|1700000100|1700000200|FAILED\n")


def test_what_a_real_sacct_printed_is_the_same_in_both_forms() -> None:
    text, document = sample("sacct_22_05.txt"), sample("sacct_22_05.json")
    assert (text.format, document.format) == ("sacct", "sacct-json")
    assert (text.notes, document.notes) == ((), ())

    def found(log: Log) -> list[tuple[object, ...]]:
        said = [(e.says, e.excluded, e.at_risk, e.interruption) for e in log.entries]
        return sorted(said, key=repr)

    assert found(text) == found(document)
    assert Counter(e.says.partition(":")[0] for e in text.entries) == {
        "COMPLETED": 6,
        "FAILED": 3,
        "CANCELLED": 2,
        "NODE_FAIL": 2,
        "PENDING": 1,
        "PREEMPTED": 1,
        "REQUEUED": 1,
        "RUNNING": 1,
        "TIMEOUT": 1,
    }
    lost = [e.at_risk for e in text.entries if e.says == "NODE_FAIL: a node failed"]
    assert [span and (span.names, span.nodes) for span in lost] == [(("n1", "n2"), 2), (("n2",), 1)]
    assert {span and span.end_s and span.end_s - span.start_s for span in lost} == {28.0}
