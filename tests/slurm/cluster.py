"""A real SLURM of one's own: munged, slurmctld and several slurmd on this machine, as root.

Everything lies in one folder, listens on ports that were free, and is ended by the ids of the
processes that were started. A node is a slurmd with a name, `n1` and so on; it can be crashed.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
_PATIENCE_S = 60.0
_CONFIG = """
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=10
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=5
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=30
InactiveLimit=0
KillWait=8
MinJobAge=300
MaxArraySize=1001
JobRequeue=1
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=1 State=UP
"""


class SlurmCluster:
    """A running SLURM; its commands find it by `environment()`."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder, self.name = folder, f"test{secrets.token_hex(3)}"
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self._started: list[subprocess.Popen[bytes]] = []
        self._slurmds: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "SlurmCluster":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._slurmds:
            self.run("scancel", "--user=root", check=False)
        for node in self.nodes:
            self._kill_jobs_of(node)
        for process in [*self._slurmds.values(), *reversed(self._started)]:
            process.terminate()
        for process in [*self._slurmds.values(), *self._started]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def environment(self) -> dict[str, str]:
        """This process's, with the configuration of this cluster, and no other settings of SLURM's
        programs."""
        settings = ("SQUEUE_", "SBATCH_", "SLURM_")
        plain = {name: v for name, v in os.environ.items() if not name.startswith(settings)}
        return {**plain, "PATH": _path(), "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command: str, check: bool = True) -> str:
        """What a command of SLURM's prints."""
        ran = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, check=False, timeout=60
        )
        assert not check or ran.returncode == 0, f"{command}: {ran.stderr}"
        return ran.stdout

    def tasks(self, *states: str) -> list[str]:
        """The tasks in these states (any, if none), such as `12_3`, in the order of their ids."""
        chosen = ["--states=" + (",".join(states) or "all")]
        said = self.run("squeue", "-h", "-r", *chosen, "-o", "%F_%K")
        # Of an array that was cancelled, what was never a task is one line, with N/A for a number.
        tasks = [task for task in said.split() if task.partition("_")[2].isdigit()]
        return sorted(tasks, key=lambda task: [int(part) for part in task.split("_")])

    def crash(self, node: str) -> None:
        """Kills a node: its slurmd, and whatever runs there, at once."""
        self._slurmds[node].kill()
        self._slurmds.pop(node).wait()
        self._kill_jobs_of(node)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """The controller takes what it is sent, and does not answer."""
        controller = self._started[-1]
        controller.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            controller.send_signal(signal.SIGCONT)

    def start_node(self, node: str) -> None:
        """Starts a node, also one that was crashed."""
        (self.folder / "spool" / node).mkdir(parents=True, exist_ok=True)
        command = ["slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf")]
        self._slurmds[node] = self._popen(command, node)

    def mend(self) -> None:
        """Starts the nodes that were crashed, and waits until all are idle."""
        for node in self.nodes:
            if node not in self._slurmds:
                self.start_node(node)
            self.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
        self.wait_for_nodes()

    def wait_for_nodes(self, states: str = "idle") -> None:
        """Waits until all nodes are in one of these states."""
        self._wait(
            lambda: (
                set(self.run("sinfo", "-h", "-N", "-t", states, "-o", "%N").split())
                == set(self.nodes)
            ),
            f"the nodes to be {states}",
        )

    def _start(self) -> None:
        self.folder.chmod(0o755)
        self._start_munge()
        controller, *ports = _free_ports(1 + len(self.nodes))
        host = socket.gethostname().partition(".")[0]
        lines = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2"
            " RealMemory=1000 State=UNKNOWN"
            for node, port in zip(self.nodes, ports, strict=True)
        ]
        text = _CONFIG.format(
            name=self.name,
            host=host,
            controller_port=controller,
            folder=self.folder,
            nodes="\n".join(lines),
        )
        (self.folder / "slurm.conf").write_text(self._configured(text))
        self._start_services()
        (self.folder / "state").mkdir()
        config = str(self.folder / "slurm.conf")
        self._started.append(self._popen(["slurmctld", "-D", "-c", "-f", config], "slurmctld"))
        for node in self.nodes:
            self.start_node(node)
        self.wait_for_nodes()

    def _configured(self, text: str) -> str:
        """The configuration of a kind of cluster that has more than this one."""
        return text

    def _start_services(self) -> None:
        """What has to be there before the controller starts."""

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        command = ["munged", "--foreground", "--force", f"--key-file={key}"]
        command += [f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"]
        command += [f"--log-file={folder / 'log'}", f"--seed-file={folder / 'seed'}"]
        self._started.append(self._popen(command, "munged"))
        self._wait((folder / "socket").exists, "munged")

    def _popen(self, command: list[str], name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.out").open("ab") as out:
            return subprocess.Popen(
                command,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _kill_jobs_of(self, node: str) -> None:
        """Kills the job steps of a node, and all processes that they started there."""
        log = str(self.folder / f"{node}.log")
        config = f"SLURM_CONF={self.folder / 'slurm.conf'}".encode()
        marks = {config, f"SLURMD_NODENAME={node}".encode()}
        for _ in range(3):  # what was being started meanwhile
            for pid, environ in _environments():
                if marks <= environ or _has_open(pid, log):
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, f"waited for {what}: {self._last_words()}"
            time.sleep(0.1)

    def _last_words(self) -> Mapping[str, str]:
        logs = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
        return {log.name: log.read_text(errors="replace")[-300:] for log in logs}


def unavailable(reason: str) -> NoReturn:
    """Skips a test that needs a SLURM, or fails it where services are required."""
    if os.environ.get("ADVISOR_REQUIRE_SERVICES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def missing_program() -> str | None:
    """A program that SLURM needs and that is not installed; Debian keeps the daemons in sbin."""
    return next((name for name in PROGRAMS if shutil.which(name, path=_path()) is None), None)


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])


def _environments() -> Iterator[tuple[int, set[bytes]]]:
    """Every process but this one, with its environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                yield int(entry.name), set((entry / "environ").read_bytes().split(b"\0"))


def _has_open(pid: int, file: str) -> bool:
    """Whether the process is a job step that writes to this log."""
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() != "slurmstepd":
            return False
        links = [entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return file in map(str, links)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
