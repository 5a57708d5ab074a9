"""What SLURM prints, read; the lines are SLURM 22.05's."""

import pytest

from advisor.launchers.slurm.states import (
    ENDINGS,
    GONE,
    Job,
    TaskState,
    parse_config,
    parse_refusal,
    parse_sacct,
    parse_squeue,
    parse_submitted,
    parse_tasks,
)

JOB = Job("12", "", "failbench-c-1", "2026-11-30T20:00:00+00:00")


def line(tasks: str, state: str, **changes: str) -> str:
    told = {
        "job": "12",
        "tasks": tasks,
        "state": state,
        "at": "2026-11-30T20:00:01",
        "name": "failbench-c-1",
        "nodes": "",
        "reason": "None",
    }
    return "|".join({**told, **changes}.values())


def test_squeue_one_line_a_task() -> None:
    text = "\n".join(
        [
            line("0", "RUNNING", nodes="n1"),
            line("1", "PENDING", reason="JobArrayTaskLimit"),
            line("2", "TIMEOUT", nodes="n2", reason="TimeLimit"),
        ]
    )
    assert parse_squeue(text, JOB) == {
        0: TaskState("RUNNING", "n1"),
        1: TaskState("PENDING", "", "JobArrayTaskLimit"),
        2: TaskState("TIMEOUT", "n2", "TimeLimit"),
    }


def test_squeue_may_list_tasks_together() -> None:
    found = parse_squeue(line("[3-5,9%2]", "PENDING", reason="Priority"), JOB)
    assert set(found) == {3, 4, 5, 9}


def test_other_jobs_and_other_lines_are_left_out() -> None:
    text = "\n".join(
        [
            "CLUSTER: here",
            line("0", "RUNNING", job="13"),
            line("1", "RUNNING", name="failbench-other-1"),
            line("2", "RUNNING", at="2026-11-29T20:00:01"),  # an id that was used before
            line("N/A", "RUNNING"),
            "",
        ]
    )
    assert parse_squeue(text, JOB) == {}


def test_a_requeued_task_was_submitted_later_and_is_the_same() -> None:
    assert set(parse_squeue(line("0", "PENDING", at="2026-12-02T08:00:00"), JOB)) == {0}


def test_clocks_may_differ_a_little() -> None:
    assert set(parse_squeue(line("0", "RUNNING", at="2026-11-30T19:55:00"), JOB)) == {0}


def test_sacct_the_last_line_of_a_task_counts() -> None:
    text = "\n".join(
        [
            "12_0|NODE_FAIL|2026-11-30T20:00:01|failbench-c-1|n1",
            "12_0|COMPLETED|2026-11-30T20:10:01|failbench-c-1|n3",
            "12_1|CANCELLED by 1000|2026-11-30T20:00:01|failbench-c-1|None assigned",
            "12_[2-3%8]|CANCELLED by 0|2026-11-30T20:00:01|failbench-c-1|None assigned",
            "7_0|FAILED|2026-11-30T20:00:01|failbench-c-1|n1",
        ]
    )
    assert parse_sacct(text, JOB) == {
        0: TaskState("COMPLETED", "n3"),
        1: TaskState("CANCELLED"),
        2: TaskState("CANCELLED"),
        3: TaskState("CANCELLED"),
    }


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("5", [5]),
        ("[0-3,7%2]", [0, 1, 2, 3, 7]),
        ("0-10:5", [0, 5, 10]),
        ("[4]", [4]),
        ("N/A", []),
        ("", []),
        ("1-...", []),
    ],
)
def test_lists_of_tasks(text: str, numbers: list[int]) -> None:
    assert list(parse_tasks(text)) == numbers


@pytest.mark.parametrize("state", ENDINGS)
def test_an_ending_says_what_it_was(state: str) -> None:
    ended = TaskState(state, "n2")
    assert ended.is_over
    assert not ended.waits
    assert ended.words() == f"{ENDINGS[state]} ({state}, on n2)"


@pytest.mark.parametrize("state", ["PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD"])
def test_what_waits_is_not_over(state: str) -> None:
    assert TaskState(state).waits
    assert not TaskState(state).is_over


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING", "SUSPENDED", "OF_A_LATER_VERSION"])
def test_in_any_other_state_a_task_may_still_do_something(state: str) -> None:
    assert not TaskState(state).is_over
    assert not TaskState(state).waits


def test_only_a_task_that_broke_by_itself_is_tried_again() -> None:
    crashes = {state for state in (*ENDINGS, GONE) if TaskState(state).is_crash}
    assert crashes == {"COMPLETED", "FAILED", "OUT_OF_MEMORY"}


def test_a_task_that_nobody_knows_is_over() -> None:
    gone = TaskState(GONE)
    assert gone.is_over
    assert gone.words() == "the scheduler does not know its task any more"


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("12\n", ("12", "")),
        ("12;east\n", ("12", "east")),
        ("Welcome to this cluster\n12\n", ("12", "")),
        ("", ("", "")),
        ("error\n", ("", "")),
    ],
)
def test_the_answer_of_sbatch(text: str, job: tuple[str, str]) -> None:
    assert parse_submitted(text) == job


def test_configuration() -> None:
    text = "Configuration data as of 2026\nClusterName             = east\nMaxArraySize = 1001\n"
    assert parse_config(text, "ClusterName") == "east"
    assert parse_config(text, "MaxArraySize") == "1001"
    assert parse_config(text, "Max") == ""


def test_what_sbatch_objects_to_is_one_line() -> None:
    text = (
        "sbatch: error: Memory specification can not be satisfied\n"
        "allocation failure: Requested node configuration is not available\n"
    )
    assert parse_refusal(text) == (
        "Memory specification can not be satisfied; Requested node configuration is not available"
    )
    assert parse_refusal("\n") == "it gives no reason"
