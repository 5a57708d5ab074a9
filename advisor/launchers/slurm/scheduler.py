"""SLURM's own commands, run as it expects them: sbatch, squeue, sacct, scancel, scontrol.

A user's settings for how they print are taken away, and so is what a job leaves in the environment
of a person who works within one.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor.errors import AdvisorError, MissingToolError, UserError
from advisor.launchers.slurm.states import (
    SACCT_FORMAT,
    SQUEUE_FORMAT,
    Job,
    TaskState,
    parse_config,
    parse_refusal,
    parse_sacct,
    parse_squeue,
    parse_submitted,
)

_PATIENCE_S = 120.0
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT")
_PRINTING = ("SQUEUE_", "SACCT_", "SCONTROL_", "SLURM_")
_OURS = frozenset(
    f"SBATCH_{name}"
    for name in (
        *("ARRAY_INX", "ERROR", "EXCLUSIVE", "EXPORT", "JOB_NAME", "MEM_PER_NODE", "NO_REQUEUE"),
        *("OPEN_MODE", "OUTPUT", "REQUEUE", "WAIT"),
    )
)
"""Variables that would have the last word over the script."""
_AWAY = re.compile(
    "unable to contact|timed out|standby mode|zero bytes|connection (failure|refused|reset)"
    "|message (send|receive) failure|authentication error|temporarily|presently disabled"
    "|cannot be started|does not answer",
    re.IGNORECASE,
)
"""In what sbatch says where SLURM is away, or wants to be asked later."""
_FULL = re.compile("SubmitJob", re.IGNORECASE)
"""Limits of an association or a QOS: AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit, ..."""
_TOO_MANY = re.compile("SubmitJob|submit limit|invalid job array specification", re.IGNORECASE)
_VARIABLES = {"time": "TIMELIMIT", "gpus-per-node": "GPUS_PER_NODE", "constraint": "CONSTRAINT"}


class SilentSchedulerError(AdvisorError):
    """SLURM does not answer just now, or takes nothing: what was asked may be asked again. What was
    sent may be in its hands all the same."""


class TooManyTasksError(AdvisorError):
    """SLURM took nothing of an array: it is more than it lets this user, or anybody, have."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"SLURM takes no more tasks: {reason}")
        self.passes = bool(_FULL.search(reason))
        """Whether there is room again as soon as other tasks have ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is to be known of a cluster before work is cut for it."""

    cluster: str
    most_tasks: int
    """Of one array."""


def submitting_environment(
    options: Sequence[str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Without what would override these options of a script, or belongs to the job that somebody
    submits from."""
    stated = {option.lstrip("-").partition("=")[0] for option in options}
    variables = {_VARIABLES.get(name, name.upper().replace("-", "_")) for name in stated}
    overriding = _OURS | {f"SBATCH_{name}" for name in variables}
    return {
        name: value
        for name, value in environment.items()
        if name not in overriding and (name in _KEPT or not name.startswith(_PRINTING))
    }


def asking_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For commands whose answers are read: times in UTC, lists of tasks whole, in plain English."""
    return {
        **submitting_environment((), environment),
        "TZ": "UTC",
        "LC_ALL": "C",
        "SLURM_BITSTR_LEN": "0",
    }


class Scheduler:
    """The SLURM that the commands of this machine speak to."""

    def limits(self) -> Limits:
        """The cluster's name and limits. Raises MissingToolError where there is no SLURM."""
        for name in ("sbatch", "squeue", "scontrol", "scancel"):
            if shutil.which(name) is None:
                raise MissingToolError(
                    f"there is no {name} here: --launcher slurm is for a machine from which jobs"
                    " are sent to SLURM"
                )
        asked = self._asked(["scontrol", "show", "config"])
        if asked.returncode:
            raise AdvisorError(f"SLURM does not answer: {_last_line(asked.stderr)}")
        most = parse_config(asked.stdout, "MaxArraySize")
        cluster = parse_config(asked.stdout, "ClusterName")
        return Limits(cluster, max(1, int(most)) if most.isdigit() else 1)

    def test(self, script: str, options: Sequence[str]) -> None:
        """Raises UserError where SLURM could never run a script of this text, SilentSchedulerError
        where it cannot be asked. That it has enough tasks of this user just now is no fault."""
        asked = self._asked(["sbatch", "--test-only"], submitting_environment(options), script)
        said = parse_refusal(asked.stderr)
        if asked.returncode and not _FULL.search(said):
            if _AWAY.search(said):
                raise SilentSchedulerError(f"SLURM does not answer: {said}")
            raise UserError(f"SLURM could not run this: {said}")

    def submit(self, script: Path, options: Sequence[str], answer: Path, held: int) -> None:
        """Submits the script; what sbatch prints lands in the file `answer`, and the descriptor
        `held` stays open until it has ended, also if this process is killed meanwhile.

        Raises AdvisorError where SLURM did not take it: SilentSchedulerError where nobody knows and
        it may be tried again, TooManyTasksError where fewer tasks would have been taken.
        """
        with answer.open("wb") as printed:
            asked = _run(
                ["sbatch", "--parsable", str(script)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=submitting_environment(options),
                pass_fds=(held,),
                # Ctrl-C at a terminal is for us: what was begun is to be ended, and known.
                start_new_session=True,
            )
        if asked.returncode and not parse_submitted(answer.read_text("utf-8"))[0]:
            raise _refused(parse_refusal(asked.stderr))

    def find(self, name: str) -> str | None:
        """The array of this name that SLURM knows, if it knows one."""
        asked = self._asked(["squeue", "-h", "--states=all", f"--name={name}", "-o", "%F|%j"])
        if asked.returncode:
            raise SilentSchedulerError(f"SLURM does not answer: {_last_line(asked.stderr)}")
        found = [line.strip().partition("|") for line in asked.stdout.splitlines()]
        jobs = {job for job, _, said in found if said == name and job.isdigit()}
        return max(jobs, key=int, default=None)

    def states(self, job: Job) -> dict[int, TaskState]:
        """The tasks that SLURM knows, ended ones for some minutes (MinJobAge). Raises
        SilentSchedulerError."""
        asked = self._asked(
            [
                "squeue",
                "-h",
                "-r",
                "--states=all",
                *_cluster(job),
                f"--jobs={job.job}",
                "-o",
                SQUEUE_FORMAT,
            ]
        )
        if asked.returncode and "Invalid job id" not in asked.stderr:
            raise SilentSchedulerError(f"SLURM does not answer: {_last_line(asked.stderr)}")
        return parse_squeue(asked.stdout, job)

    def accounted(self, job: Job) -> dict[int, TaskState]:
        """The tasks that the accounting knows, how long ago they may be; none where there is no
        accounting."""
        if shutil.which("sacct") is None:
            return {}
        asked = self._asked(
            [
                "sacct",
                "-n",
                "-P",
                "-X",
                *_cluster(job),
                f"--jobs={job.job}",
                "-o",
                SACCT_FORMAT,
                f"--starttime={job.written_at[:10]}",
            ]
        )
        return {} if asked.returncode else parse_sacct(asked.stdout, job)

    def cancel(self, job: Job) -> None:
        """Takes the whole array back."""
        self._asked(["scancel", *_cluster(job), job.job])

    @staticmethod
    def _asked(
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        handed: str = "",
    ) -> "subprocess.CompletedProcess[str]":
        return _run(
            list(command),
            input=handed,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=asking_environment() if environment is None else environment,
            timeout=_PATIENCE_S,
            start_new_session=True,
        )


def _run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """As subprocess.run; a program that cannot be started, or does not end, is an answer too."""
    try:
        return subprocess.run(list(command), check=False, **options)
    except subprocess.TimeoutExpired as error:
        said = f"{command[0]} does not answer within {error.timeout:.0f} s"
    except OSError as error:
        said = f"{command[0]} cannot be started: {error.strerror}"
    return subprocess.CompletedProcess(list(command), 1, "", said)


def _refused(reason: str) -> AdvisorError:
    """What it means that sbatch sent nothing."""
    if _TOO_MANY.search(reason):
        return TooManyTasksError(reason)
    if _AWAY.search(reason):
        return SilentSchedulerError(f"SLURM does not take jobs: {reason}")
    return AdvisorError(f"SLURM did not take the job: {reason}")


def _cluster(job: Job) -> list[str]:
    return [f"--clusters={job.cluster}"] if job.cluster else []


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"
