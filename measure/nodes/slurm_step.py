"""Agents on the nodes of a SLURM job: one step of the job, `srun --overlap`, one task a node.

The supervisor is where the batch script runs, on the first node. The agents know it by a key that
is drawn here: it is in the environment of the step, and on no command line, in no script and in no
log. A node that fails is SLURM's to notice: it ends the job, and has it begin again or not.
"""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from measure.errors import HarnessError, UsageError
from measure.nodes.command import AT, KEY, NODE, set_meanwhile
from measure.nodes.keeper import end
from measure.nodes.place import address_of, address_towards, reserved_port

_NODES, _JOB = "SLURM_JOB_NODELIST", "SLURM_JOB_ID"
_NARROW = (
    *("SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_THREADS_PER_CORE"),
    *("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"),
)
"""By any of these srun gives a step the cores of its tasks only: one, where nobody said more. Some
releases of SLURM do so by themselves, unless SLURM_WHOLE is set; others know no such variable."""
_ANSWERS_WITHIN_S = 60.0


def most_nodes(handed: Sequence[Any]) -> int:
    """How many nodes the cells of a task need, as they stand in its file."""
    return max((int(each["cell"]["job"].get("nodes", 1)) for each in handed), default=1)


@contextmanager
def agents_of_job(nodes: int, log: Path) -> Iterator[None]:
    """Has an agent on each node of the SLURM job that this process is in, for runs on so many of
    them; none is left afterwards. What agents and srun print goes to `log`.

    On one node, and outside of SLURM, nothing is started. UsageError where the job has too few
    nodes; HarnessError with srun's words where agents are missing.
    """
    if nodes == 1 or _JOB not in os.environ:
        yield
        return
    names = _lines(["scontrol", "show", "hostnames", os.environ.get(_NODES, "")])
    if len(names) < nodes:
        raise UsageError(
            f"these runs need {nodes} nodes, and SLURM job {os.environ[_JOB]} has {len(names)}:"
            f" send them with --nodes={nodes}"
        )
    host = _own_address(names[1])
    key = secrets.token_hex(16)
    with ExitStack() as stack:
        port = stack.enter_context(reserved_port(host))
        stack.enter_context(set_meanwhile({AT: f"{host}:{port}", KEY: key}))
        output = stack.enter_context(log.open("ab"))
        step = subprocess.Popen(
            step_command(nodes),
            env=step_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        stack.callback(end, step)
        try:
            yield
        except HarnessError as error:
            raise HarnessError(_with_last_line(str(error), log)) from error


def step_command(nodes: int) -> list[str]:
    """The command of the step. It shares what the job has with the batch script (`--overlap`),
    takes all cores of each node, and goes on where the task of one node ends."""
    return [
        *("srun", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"),
        *("--export=ALL", "--input=none", "--cpu-bind=none", "--mpi=none"),
        *("--kill-on-bad-exit=0", "--wait=0", "--unbuffered"),
        *(sys.executable, "-m", "measure.nodes", "--keep"),
    ]


def step_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the step: which node each agent is on, SLURM says, and its cores are all
    that the job has there."""
    kept = {name: value for name, value in environ.items() if name not in (NODE, *_NARROW)}
    return {**kept, "SLURM_WHOLE": "1"}


def node_address(text: str, name: str) -> str:
    """The address in what `scontrol show node` prints of a node; its name where there is none."""
    found = re.search(r"\bNodeAddr=(\S+)", text)
    return found.group(1) if found else name


def _own_address(other: str) -> str:
    """This node's address, as another node of the job reaches it."""
    said = "\n".join(_lines(["scontrol", "--oneliner", "show", "node", other]))
    told = node_address(said, other)
    try:
        return address_towards(address_of(told))
    except OSError as error:
        raise HarnessError(f"no way to node {other} ({told}) was found: {error}") from error


def _lines(command: Sequence[str]) -> list[str]:
    """What a command of SLURM's prints; HarnessError where it fails."""
    try:
        asked = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWERS_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"{command[0]} does not answer: {error}") from error
    if asked.returncode:
        raise HarnessError(f"{' '.join(command)}: {asked.stderr.strip()}")
    return asked.stdout.splitlines()


def _with_last_line(error: str, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return f"{error}; the agents' log ends with: {said[-1][:300]}" if said else error
