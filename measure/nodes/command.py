"""`python -m measure node`: the agent of one node, for runs whose supervisor is on another host.

Whoever starts jobs on the hosts (SLURM, ssh) starts one on each; it serves one run after the other.
"""

import argparse
import os
import time

from measure.errors import UsageError
from measure.nodes.agent import Agent, Chosen, hello, warmed
from measure.nodes.line import Line, call
from measure.nodes.messages import Orders

AT, KEY, NODE = "FAILBENCH_NODES_AT", "FAILBENCH_NODE_KEY", "FAILBENCH_NODE"
"""Where the supervisor of runs on several nodes is (HOST:PORT); what both sides have to know; which
node this is."""
LEAST_KEY_LENGTH = 16
_CALLS_AGAIN_S = 0.3
_CALL_LIMIT_S = 5.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m measure node`."""
    parser.set_defaults(action=serve)
    parser.add_argument("--supervisor", help=f"HOST:PORT of the supervisor; default: ${AT}")
    parser.add_argument("--node", type=int, help=f"which node this is, from 0; default: ${NODE}")
    parser.add_argument("--interface", default="", help="carries the training; default: found")
    parser.add_argument(
        "--recovery-interface", default="", help="carries saves and restores; default: the same"
    )
    parser.add_argument("--once", action="store_true", help="serve one run only")
    parser.add_argument(
        "--patience", type=float, default=600.0, help="seconds to wait for a run; default: 600"
    )


def serve(options: argparse.Namespace, _command: str) -> int:
    """Serves runs until none comes within the patience; the exit code. UsageError if none came."""
    host, port = place(options.supervisor or os.environ.get(AT, ""))
    key, node = key_told(), _node(options)
    chosen = Chosen(options.interface, options.recovery_interface)
    starter, served = warmed(), 0
    while (line := _reached(host, port, key, options.patience)) is not None:
        said = hello(node, line.address, chosen)
        orders = _ordered(line, said.to_json())
        if orders is not None:
            Agent(line, said, orders, starter).serve()
            served += 1
        line.close()
        if options.once and served:
            break
    if not served:
        raise UsageError(
            f"no run came from {host}:{port} within {options.patience:g} s, or its key is another"
        )
    return 0


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
    told = os.environ.get(NODE, "") if options.node is None else str(options.node)
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


def _ordered(line: Line, hello: dict[str, object]) -> Orders | None:
    """What is to be run here; None if the supervisor was gone before it said so."""
    try:
        line.say("hello", **hello)
        order = line.hear()
    except (EOFError, OSError):
        return None
    if order.pop("said") == "refused":
        raise UsageError(str(order["why"]))
    return Orders(**order)
