"""A SLURM with accounting: a slurmdbd, and behind it a MariaDB of its own.

The database runs as a user without rights, listens on a port of 127.0.0.1 that was free, and is
gone with the cluster's folder. The controller keeps its own account of ended jobs besides.
"""

import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.slurm import cluster
from tests.slurm.cluster import SlurmCluster

PROGRAMS = ("mariadbd", "mariadb-install-db", "slurmdbd", "sacctmgr", "sacct")
PACKAGES = "mariadb-server slurmdbd"
URGENT = "urgent"
"""A partition whose jobs take the place of others, which are requeued."""
_OWNER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
_FIRST = """\
CREATE DATABASE slurm_acct_db;
CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';
"""
_SLURMDBD = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_acct_db
"""
_ACCOUNTING = """accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
"""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of a job as the controller itself noted its end; times in seconds since 1970."""

    name: str
    start_s: float
    end_s: float
    nodes: int


class AccountedSlurm(SlurmCluster):
    """A cluster whose jobs `sacct` tells of. All its clocks show UTC."""

    def __init__(self, folder: Path, nodes: int) -> None:
        super().__init__(folder, nodes)
        self._password = secrets.token_hex(16)
        self._port, self._database_port = 0, 0

    def environment(self) -> dict[str, str]:
        """As that of any cluster, without a user's settings of sacct, in UTC."""
        found = {k: v for k, v in super().environment().items() if not k.startswith("SACCT_")}
        return {**found, "TZ": "UTC", "LC_ALL": "C"}

    def sacct(self, *options: str, **variables: str) -> str:
        """What sacct prints of all jobs of the last days, under these variables."""
        command = ["sacct", "--allusers", "--starttime=now-2days", *options]
        ran = subprocess.run(
            command,
            env={**self.environment(), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        return ran.stdout

    def ended_runs(self) -> list[EndedRun]:
        """The runs that have ended, as the controller wrote them down without the accounting; not
        those that never started."""
        lines = (self.folder / "ended.txt").read_text().splitlines()
        return [run for run in map(_ended_run, lines) if run is not None]

    def _configured(self, text: str) -> str:
        self._port, self._database_port = cluster._free_ports(2)
        accounting = _ACCOUNTING.format(folder=self.folder, port=self._port)
        changed = {
            "AccountingStorageType=accounting_storage/none": f"AccountingStorageType={accounting}",
            "JobCompType=jobcomp/none": "JobCompType=jobcomp/filetxt\n"
            f"JobCompLoc={self.folder}/ended.txt",
        }
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        return f"{text}PartitionName={URGENT} Nodes=ALL PriorityTier=10 State=UP\n"

    def _start_services(self) -> None:
        self._start_database()
        self._start_slurmdbd()
        self.run("sacctmgr", "-i", "add", "cluster", self.name)

    def _start_database(self) -> None:
        data, first = self.folder / "mariadb", self.folder / "first.sql"
        data.mkdir(mode=0o700)
        first.touch(mode=0o400)
        first.write_text(_FIRST.format(password=self._password))
        for path in (data, first):
            shutil.chown(path, "nobody", "nogroup")
        common = ["--no-defaults", f"--datadir={data}"]
        made = subprocess.run(
            [*_OWNER, "mariadb-install-db", *common, "--skip-test-db", f"--tmpdir={data}"],
            env=self.environment(),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        options = [f"--socket={data}/socket", f"--pid-file={data}/pid", f"--tmpdir={data}"]
        options += ["--bind-address=127.0.0.1", f"--port={self._database_port}"]
        options += ["--skip-name-resolve", "--skip-log-bin", f"--init-file={first}"]
        options += ["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"]
        self._started.append(self._popen([*_OWNER, "mariadbd", *common, *options], "mariadbd"))
        self._wait(lambda: _answers(self._database_port), "MariaDB")

    def _start_slurmdbd(self) -> None:
        config = self.folder / "slurmdbd.conf"
        config.touch(mode=0o600)
        config.write_text(
            _SLURMDBD.format(
                folder=self.folder,
                host=socket.gethostname().partition(".")[0],
                port=self._port,
                database_port=self._database_port,
                password=self._password,
            )
        )
        self._started.append(self._popen(["slurmdbd", "-D"], "slurmdbd"))
        self._wait(lambda: _answers(self._port), "slurmdbd")


def missing_program() -> str | None:
    """A program that accounting needs and that is not installed."""
    return next((p for p in PROGRAMS if shutil.which(p, path=cluster._path()) is None), None)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
    return False


def _ended_run(line: str) -> EndedRun | None:
    """A line of the plugin jobcomp/filetxt, such as `JobId=1 Name=a StartTime=...`."""
    said = dict(_fields(line))
    if said["NodeList"] in ("", "(null)"):
        return None
    start_s, end_s = (instant_s(said[name]) for name in ("StartTime", "EndTime"))
    return EndedRun(said["Name"], start_s, end_s, int(said["NodeCnt"]))


def _fields(line: str) -> Iterator[tuple[str, str]]:
    for part in line.split():
        name, _, value = part.partition("=")
        yield name, value


def instant_s(utc: str) -> float:
    """A time of SLURM's on such a cluster, in seconds since 1970."""
    return datetime.fromisoformat(f"{utc}+00:00").timestamp()
