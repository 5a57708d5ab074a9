"""A name server that does not answer holds up no rank for long: libraries look up names of
addresses when they connect."""

import os
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from measure.nodes.agent import warmed

pytestmark = pytest.mark.integration

_ROOT = Path(__file__).parents[3]
_ASKS = "from tests.measure.nodes.test_name_servers import of_a_rank; print(of_a_rank())"


def _says_its_options(pipe: Connection) -> None:
    pipe.send(os.environ.get("RES_OPTIONS"))


def of_a_rank() -> str:
    """The options of the resolver in a process that an agent started. In a process without a fork
    server, since there is one only in each."""
    started = warmed().start_process(_says_its_options, (), 0)
    said: str = started.pipe.recv()
    started.process.join()
    return said


@pytest.mark.parametrize(
    ("of_user", "expected"),
    [({}, "timeout:1 attempts:2"), ({"RES_OPTIONS": "timeout:3"}, "timeout:3")],
    ids=["by default", "of a user"],
)
def test_ranks_of_a_node_do_not_wait_long_for_names(of_user: dict[str, str], expected: str) -> None:
    without = {name: value for name, value in os.environ.items() if name != "RES_OPTIONS"}
    said = subprocess.run(
        [sys.executable, "-c", _ASKS],
        cwd=_ROOT,
        env={**without, **of_user},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert said.stdout.strip() == expected
