"""What is asked of SLURM, as options of sbatch."""

import pytest

from advisor.errors import UserError
from advisor.launchers.cells import ranks_of
from advisor.launchers.slurm.settings import (
    SlurmSettings,
    sbatch_option,
    slurm_time,
)


def test_a_task_has_its_node_to_itself_unless_told_otherwise() -> None:
    assert SlurmSettings().options() == [
        *("--nodes=1", "--ntasks=1", "--exclusive", "--mem=0", "--requeue")
    ]


def test_a_task_that_shares_its_node_has_a_core_a_rank_unless_told_otherwise() -> None:
    jobs = [{"world_size": 8}, {"world_size": 4}, {"world_size": 9, "nodes": 2}]
    ranks = ranks_of({"job": job} for job in jobs)
    assert [ranks, ranks_of([{"job": jobs[2]}]), ranks_of([])] == [8, 5, 1]
    shared = SlurmSettings(share_nodes=True, ranks=ranks)
    assert shared.options() == ["--nodes=1", "--ntasks=1", "--cpus-per-task=8", "--requeue"]
    for own in ("--cpus-per-task=4", "-c4", "--cpus-per-gpu=2"):
        told = shared.changed({"sbatch": (own,)})
        assert told.options() == ["--nodes=1", "--ntasks=1", "--requeue", own]
    assert "--cpus-per-task=8" in shared.changed({"sbatch": ("--constraint=c",)}).options()


def test_what_was_given_is_there_and_further_options_come_last() -> None:
    given = {
        "partition": "gpu",
        "account": "physics",
        "qos": "long",
        "gpus_per_node": "h200:8",
        "time_s": 5400.0,
        "sbatch": ("--no-requeue", "--constraint=h200"),
    }
    assert SlurmSettings().changed(given).options()[5:] == [
        *("--partition=gpu", "--account=physics", "--qos=long", "--gpus-per-node=h200:8"),
        *("--time=0-01:30:00", "--no-requeue", "--constraint=h200"),
    ]


def test_settings_are_kept_as_json_and_changed_by_what_is_given_anew() -> None:
    first = SlurmSettings(partition="gpu", array_limit=3, sbatch=("--mem=9G",))
    kept = SlurmSettings.from_json({**first.as_json(), "of a later version": 1})
    assert kept == first
    assert kept.changed({"array_limit": 5, "sbatch": (), "time_s": None}) == SlurmSettings(
        partition="gpu", array_limit=5, sbatch=("--mem=9G",)
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(60, "0-00:01:00"), (59.2, "0-00:01:00"), (5400, "0-01:30:00"), (93784, "1-02:03:04")],
)
def test_time_as_slurm_has_it(seconds: float, said: str) -> None:
    assert slurm_time(seconds) == said


def test_short_cells_share_a_task() -> None:
    settings = SlurmSettings()
    assert settings.group_of(["smoke", "smoke"]) == 8
    assert settings.group_of(["smoke", "cpu"]) == 4
    assert settings.group_of(["cpu", "paper"]) == 1
    assert SlurmSettings(group=3).group_of(["paper"]) == 3


@pytest.mark.parametrize("option", ["--constraint=h200", "-Ch200", "--no-requeue", "--mem=0"])
def test_further_options(option: str) -> None:
    assert sbatch_option(option) == option


@pytest.mark.parametrize(
    "option",
    [
        *("constraint=h200", "--", "-", "--comment=a b", "--x='y'", "--x\n#SBATCH", "--array=1"),
        *("--output=/x", "-o/x", "-a1-3", "--nodes=2", "-N2", "--wait", "-pgpu", "--job-name=x"),
    ],
)
def test_options_that_sbatch_must_not_get(option: str) -> None:
    with pytest.raises(UserError):
        sbatch_option(option)


def test_no_more_tasks_run_at_once_than_there_are() -> None:
    settings = SlurmSettings(array_limit=3)
    assert [settings.at_once(["smoke"] * cells) for cells in (0, 1, 8, 9, 100)] == [1, 1, 1, 2, 3]


def test_tasks_on_several_nodes_have_one_task_a_node() -> None:
    assert SlurmSettings(partition="gpu").options(3) == [
        *("--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--exclusive", "--mem=0"),
        *("--requeue", "--partition=gpu"),
    ]
