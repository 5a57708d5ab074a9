"""Hosts that torchrun brings together, one process on each: what that process does there.

The process of rank 0 runs cells, as `python -m measure run` does, and the supervisor of each; all
keep an agent (`kept_agent`). They find each other through torchrun's own store, which knows nobody
by a key: whoever reaches it reads what is there, as anybody who reaches it could take part in a
training of torchrun's. With the same FAILBENCH_NODE_KEY set on all hosts, no key is put there.

In the store: `first` is the first host's address as the others see it, `run` what they must know
(JSON), `objects/N` why host N cannot take part, `over` that there are no more runs, `ended/N` that
the agent of host N has ended.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from measure.errors import HarnessError, UsageError
from measure.nodes.command import AT, KEY, key_told, set_meanwhile
from measure.nodes.keeper import kept_agent
from measure.nodes.place import address_of, reserved_port

_PREFIX = "failbench"
_SEES_WITHIN_S = 20.0
"""A network file system may remember for so long what was in a folder."""
_LOOKS_S = 0.3
_ENDS_WITHIN_S = 20.0
_TOLD = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"),
    *("ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT"),
)
"""What torchrun tells its processes; theirs is none of our ranks' business."""


@dataclass(frozen=True, slots=True)
class Told:
    """What torchrun told this process."""

    host: int
    """From 0."""
    hosts: int
    first: str
    """Name or address of the first host."""


def told_by_torchrun(environment: Mapping[str, str]) -> Told:
    """What torchrun says in the environment; UsageError where it did not start this process, or
    started several on a host."""
    try:
        numbers = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT")
        host, hosts, per_host, _ = (int(environment[name]) for name in numbers)
        told = Told(host, hosts, environment["MASTER_ADDR"])
    except (KeyError, ValueError):
        raise UsageError(
            "torchrun starts this: torchrun --nnodes 2 --node-rank 0 --nproc-per-node 1"
            " --master-addr 10.0.0.1 -m measure torchrun --architecture a2, and the same with"
            " --node-rank 1 on the other host"
        ) from None
    if per_host != 1:
        raise UsageError(
            f"torchrun started {per_host} processes a host: give it --nproc-per-node 1; ranks are"
            " started by the harness"
        )
    return told


class Hosts:
    """The hosts of a torchrun, as one of them sees the others."""

    def __init__(self, told: Told, store: dist.Store) -> None:
        self.host, self.count, self._first = told.host, told.hosts, told.first
        self._store = store

    @contextmanager
    def supervising(self, folder: Path) -> Iterator[None]:
        """On the first host: agents of all hosts come to the runs that are made in this block.
        Afterwards the other hosts are told that all is over. UsageError where a host cannot take
        part: the folder has to be on storage that all share."""
        if self.count == 1:
            yield
            return
        is_drawn = not os.environ.get(KEY)
        key = secrets.token_hex(16) if is_drawn else key_told().decode()
        host = self._store.get("first").decode()
        with ExitStack() as stack:
            at = f"{host}:{stack.enter_context(reserved_port(host))}"
            stack.callback(self._end)
            with _probe(folder.resolve()) as probe:
                run = {"at": at, "key": key if is_drawn else "", "probe": str(probe)}
                self._store.set("run", json.dumps(run))
                for other in range(1, self.count):
                    objection = self._store.get(f"objects/{other}").decode()
                    if objection:
                        raise UsageError(objection)
            environment = {AT: at, KEY: key}
            stack.enter_context(set_meanwhile(environment))
            stack.enter_context(kept_agent(0, environment))
            yield

    def serve(self) -> int:
        """On another host: keeps an agent until all is over; the exit code. UsageError where it
        cannot take part, HarnessError where the first host is gone."""
        try:
            if self.host == 1:
                self._store.set("first", address_of(self._first))
            run = json.loads(self._store.get("run"))
            try:
                self._keep_agent(run["at"], run["key"], Path(run["probe"]))
            finally:
                self._store.set(f"ended/{self.host}", "")
        except (RuntimeError, OSError) as error:
            raise HarnessError(f"the first host's torchrun has ended: {error}") from error
        return 0

    def _keep_agent(self, at: str, key: str, probe: Path) -> None:
        objection = _objection(key, probe)
        self._store.set(f"objects/{self.host}", objection)
        if objection:
            raise UsageError(objection)
        with kept_agent(self.host, {AT: at, KEY: key or key_told().decode()}) as keeper:
            while not self._store.check(["over"]):
                if keeper.poll() is not None:
                    raise HarnessError("the agent of this host has ended; its words are above")
                time.sleep(_LOOKS_S)

    def _end(self) -> None:
        """Tells the others, and waits for them a little: the store may end with this process."""
        ended = [f"ended/{other}" for other in range(1, self.count)]
        with suppress(RuntimeError):
            self._store.set("over", "")
            self._store.wait(ended, timedelta(seconds=_ENDS_WITHIN_S))


def joined() -> Hosts:
    """The hosts, from within a process that torchrun started; what it told is taken out of the
    environment, so that ranks do not hear it. UsageError otherwise."""
    told = told_by_torchrun(os.environ)
    try:
        store, _, _ = next(iter(rendezvous("env://")))
    except (RuntimeError, ValueError) as error:
        raise HarnessError(f"torchrun's store does not answer: {error}") from error
    for name in [name for name in os.environ if name in _TOLD or name.startswith("TORCHELASTIC_")]:
        del os.environ[name]
    return Hosts(told, dist.PrefixStore(_PREFIX, store))


@contextmanager
def _probe(folder: Path) -> Iterator[Path]:
    """A file that says to who sees it that this folder is shared."""
    probe = folder / f".shared-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
    except OSError as error:
        raise UsageError(f"{folder}: cannot write run records here: {error.strerror}") from error
    try:
        yield probe
    finally:
        probe.unlink(missing_ok=True)


def _is_seen(probe: Path) -> bool:
    deadline = time.monotonic() + _SEES_WITHIN_S
    while True:
        with suppress(OSError):
            # Reading the folder asks a network file system anew.
            if any(entry.name == probe.name for entry in probe.parent.iterdir()):
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOKS_S)


def _objection(key: str, probe: Path) -> str:
    """Why this host cannot be a node, in one line; empty if it can."""
    host = f"host {socket.gethostname()}"
    if not _is_seen(probe):
        return (
            f"{host} does not see {probe.parent} of the first host: choose a folder on storage that"
            " all hosts share, by --folder"
        )
    try:
        if not key:
            key_told()
    except UsageError as error:
        return f"{host}: {error}"
    return ""
