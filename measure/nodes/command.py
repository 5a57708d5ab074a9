"""`python -m measure node`: the agent of one node, for runs whose supervisor is on another host.

Whoever starts jobs on the hosts (SLURM, torchrun, ssh) starts one on each; it serves one run after
the other. With --keep it is started again whenever a fault of the whole node killed it, and waits
for runs until it is ended.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from measure.errors import UsageError
from measure.nodes.agent import Agent, Chosen, hello, warmed
from measure.nodes.keeper import die_with, keep
from measure.nodes.line import Line, call
from measure.nodes.messages import Orders

AT, KEY, NODE = "FAILBENCH_NODES_AT", "FAILBENCH_NODE_KEY", "FAILBENCH_NODE"
"""Where the supervisor of runs on several nodes is (HOST:PORT); what both sides have to know; which
node this is."""
INTERFACE, RECOVERY_INTERFACE = "FAILBENCH_INTERFACE", "FAILBENCH_RECOVERY_INTERFACE"
"""Which interfaces carry the training, and saves and restores, where agents are started for one."""
LEAST_KEY_LENGTH = 16
_SLURMS_NODE = "SLURM_NODEID"
_PATIENCE_S = 600.0
_CALLS_AGAIN_S = 0.3
_CALL_LIMIT_S = 5.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m measure node`."""
    parser.set_defaults(action=serve)
    parser.add_argument("--supervisor", help=f"HOST:PORT of the supervisor; default: ${AT}")
    parser.add_argument(
        "--node", type=int, help=f"which node this is, from 0; default: ${NODE}, ${_SLURMS_NODE}"
    )
    parser.add_argument(
        "--interface",
        default=os.environ.get(INTERFACE, ""),
        help=f"carries the training; default: ${INTERFACE}, or found",
    )
    parser.add_argument(
        "--recovery-interface",
        default=os.environ.get(RECOVERY_INTERFACE, ""),
        help=f"carries saves and restores; default: ${RECOVERY_INTERFACE}, or the same",
    )
    parser.add_argument("--once", action="store_true", help="serve one run only")
    parser.add_argument(
        "--patience", type=float, help="seconds to wait for a run; default: 600, for ever if kept"
    )
    parser.add_argument(
        "--keep", action="store_true", help="start another agent where one was killed"
    )
    parser.add_argument("--dies-with", type=int, help=argparse.SUPPRESS)


def serve(options: argparse.Namespace, _command: str) -> int:
    """Serves runs until none comes within the patience; the exit code. UsageError if none came."""
    if options.dies_with is not None:
        die_with(options.dies_with)
    host, port = place(options.supervisor or os.environ.get(AT, ""))
    key, node = key_told(), _node(options)
    chosen = Chosen(options.interface, options.recovery_interface)
    if options.keep:
        return keep(_kept(f"{host}:{port}", node, chosen))
    is_kept = options.dies_with is not None
    patience_s = options.patience or (math.inf if is_kept else _PATIENCE_S)
    starter, served = warmed(), 0
    while (line := _reached(host, port, key, patience_s)) is not None:
        said = hello(node, line.address, chosen)
        orders = _ordered(line, said.to_json(), waits=is_kept)
        if orders is not None:
            Agent(line, said, orders, starter).serve()
            served += 1
        line.close()
        if options.once and served:
            break
    if not served:
        raise UsageError(
            f"no run came from {host}:{port} within {patience_s:g} s, or its key is another"
        )
    return 0


def _kept(supervisor: str, node: int, chosen: Chosen) -> list[str]:
    """The command of an agent that is kept by this process."""
    return [
        *(sys.executable, "-m", "measure.nodes", f"--supervisor={supervisor}", f"--node={node}"),
        f"--interface={chosen.interface}",
        f"--recovery-interface={chosen.recovery_interface}",
        f"--dies-with={os.getpid()}",
    ]


@contextmanager
def set_meanwhile(told: Mapping[str, str]) -> Iterator[None]:
    """Sets these variables of the environment while the block lasts."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def place(text: str) -> tuple[str, int]:
    """(host, port); UsageError with what would be valid otherwise."""
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageError(
            f"{text!r} is no place of a supervisor: give HOST:PORT, such as 10.0.0.1:29400,"
            f" with --supervisor or in {AT}"
        )
    return host, int(port)


def key_told() -> bytes:
    """What supervisor and agents have to know, from the environment; UsageError without one."""
    key = os.environ.get(KEY, "")
    if len(key) < LEAST_KEY_LENGTH:
        raise UsageError(
            f"{KEY}: set it to a secret of {LEAST_KEY_LENGTH} letters or more, the same for the"
            " supervisor and for every node"
        )
    return key.encode()


def _node(options: argparse.Namespace) -> int:
    variables = (os.environ.get(name) for name in (NODE, _SLURMS_NODE))
    told = next(filter(None, variables), "") if options.node is None else str(options.node)
    if not (told.isascii() and told.isdigit()):
        raise UsageError(f"say which node this is, from 0: with --node or in {NODE}")
    return int(told)


def _reached(host: str, port: int, key: bytes, patience_s: float) -> Line | None:
    """The line to the next run's supervisor; None if there is none for so long."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            line = call(host, port, key, _CALL_LIMIT_S)
        except OSError:
            line = None
        if line is not None:
            return line
        time.sleep(_CALLS_AGAIN_S)
    return None


def _ordered(line: Line, hello: dict[str, object], *, waits: bool) -> Orders | None:
    """What is to be run here; None if the supervisor was gone before it said so, or, for one that
    `waits`, wants this node for another run only."""
    try:
        line.say("hello", **hello)
        order = line.hear()
    except (EOFError, OSError):
        return None
    if order.pop("said") != "refused":
        return Orders(**order)
    if not waits:
        raise UsageError(str(order["why"]))
    time.sleep(_CALLS_AGAIN_S)
    return None
