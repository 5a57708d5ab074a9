"""Three hosts on one machine: a network namespace, a host name, addresses, a shared memory and a
clock of its own each, on two bridges, by links that can be cut. Needs root and the tools `ip`,
`nsenter` and `unshare`."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from measure.nodes.command import AT, KEY

TOOLS = ("ip", "nsenter", "unshare", "mount", "umount")
COUNT = 3
_ROOT = Path(__file__).parents[2]
_ENDS_WITHIN_S = 15.0
_BOOT = "/proc/sys/kernel/random/boot_id"
AHEAD_S = (5_000, 0, 90_000)
"""How far the clock (CLOCK_MONOTONIC) of each host is ahead of this machine's."""


@dataclass
class Hosts:
    """The hosts; `place` is where their agents find the supervisor, which is outside of them."""

    name: str
    networks: tuple[str, str]
    """Of the two links of each host, eth0 and eth1: the first three numbers of their addresses."""
    port: int
    key: str
    agents: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="fb-hosts-")))

    @property
    def place(self) -> str:
        """HOST:PORT."""
        return f"{self.networks[0]}.254:{self.port}"

    def host(self, number: int) -> str:
        """The name of a host, which is its namespace's too."""
        return f"{self.name}h{number}"

    def address(self, number: int) -> str:
        """A host's address on its first link."""
        return f"{self.networks[0]}.{number + 1}"

    def memory(self, number: int) -> Path:
        """The shared memory of a host, which outlives its processes."""
        return self.folder / f"memory-{number}"

    def make(self) -> None:
        """Hosts, bridges and links, with a way from each host to everywhere."""
        for number in range(COUNT):
            run("ip", "netns", "add", self.host(number))
            run("ip", "-n", self.host(number), "link", "set", "lo", "up")
            self.memory(number).mkdir()
            run("mount", "-t", "tmpfs", "tmpfs", str(self.memory(number)))
            (self.folder / f"boot-{number}").write_text(f"{uuid.uuid4()}\n")
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")  # which refuses at once
        for which, network in enumerate(self.networks):
            bridge = f"{self.name}b{which}"
            run("ip", "link", "add", bridge, "type", "bridge")
            run("ip", "addr", "add", f"{network}.254/24", "dev", bridge)
            run("ip", "link", "set", bridge, "up")
            for number in range(COUNT):
                self._connect(number, which, bridge)
        for number in range(COUNT):
            run("ip", "-n", self.host(number), "route", "add", "default", *self._way_out())

    def _way_out(self) -> tuple[str, ...]:
        return ("via", f"{self.networks[0]}.254", "metric", "7")

    def _connect(self, number: int, which: int, bridge: str) -> None:
        host, inside, outside = self.host(number), f"eth{which}", f"{self.name}v{number}{which}"
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", host)
        run("ip", "link", "set", outside, "master", bridge, "up")
        address = f"{self.networks[which]}.{number + 1}/24"
        run("ip", "-n", host, "addr", "add", address, "dev", inside)
        run("ip", "-n", host, "link", "set", inside, "up")

    def ways(self, number: int) -> str:
        """The ways out of a host as it has them now, none through a link that is down."""
        return run("ip", "-n", self.host(number), "route")

    def start_agents(self, output: Path, *options: str) -> None:
        """An agent on each host, for one run."""
        for number in range(COUNT):
            inside = (
                f"hostname {self.host(number)} && mount --bind {self.memory(number)} /dev/shm &&"
                f" mount --bind {self.folder}/boot-{number} {_BOOT} &&"
                f" mount --bind {self.folder}/resolv.conf /etc/resolv.conf &&"
                f" exec {sys.executable} -m measure.nodes --once --node {number} "
                + " ".join(options)
            )
            clock = ("--time", f"--monotonic={AHEAD_S[number]}", "--fork", "--kill-child")
            with (output / f"agent-{number}.out").open("wb") as out:
                self.agents[number] = subprocess.Popen(
                    [
                        *("nsenter", f"--net=/run/netns/{self.host(number)}"),
                        *("unshare", "--uts", "--mount", *clock, "sh", "-c", inside),
                    ],
                    cwd=_ROOT,
                    env={**os.environ, AT: self.place, KEY: self.key, "PYTHONPATH": str(_ROOT)},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )

    def processes(self, number: int) -> list[int]:
        """What runs on a host."""
        return [int(pid) for pid in run("ip", "netns", "pids", self.host(number)).split()]

    def end_agents(self) -> list[int]:
        """Waits for all agents to end; which processes of the hosts are left then, before they
        are killed."""
        deadline = time.monotonic() + _ENDS_WITHIN_S
        for agent in self.agents.values():
            try:
                agent.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue
        left = [pid for number in range(COUNT) for pid in self.processes(number)]
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left = [pid for number in range(COUNT) for pid in self.processes(number)]
        for pid in left:
            os.kill(pid, 9)
        for agent in self.agents.values():
            agent.wait()
        self.agents = {}
        return left

    def remove(self) -> None:
        """All of it, whatever was made."""
        if self.agents:
            self.end_agents()
        made = run("ip", "netns", "list").split()
        for host in (self.host(number) for number in range(COUNT)):
            if host in made:
                run("ip", "netns", "del", host)
        for number in range(COUNT):
            memory = str(self.memory(number))
            subprocess.run(["umount", "--lazy", memory], capture_output=True, check=False)
        shutil.rmtree(self.folder)
        for which in range(len(self.networks)):
            bridge = f"{self.name}b{which}"
            subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)


def run(*command: str) -> str:
    """What a tool says; AssertionError with its complaint."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout


def why_not() -> str:
    """What is missing for hosts of one's own; empty if nothing is."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {', '.join(missing)} here"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"fbprobe{os.getpid()}"
    tried = subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False)
    if tried.returncode:
        return f"no network namespaces here: {tried.stderr.decode().strip()}"
    run("ip", "netns", "del", probe)
    clock = ["unshare", "--mount", "--time", "--monotonic=1", "--fork", "true"]
    tried = subprocess.run(clock, capture_output=True, check=False)
    return tried.stderr.decode().strip()
