"""Hosts of their own for tests: skipped where there can be none, unless ADVISOR_REQUIRE_SERVICES=1.
They share two cores: their tests run on one worker, with those that start ranks."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.namespaces import Hosts, why_not

_HERE = Path(__file__).parent
_PORT = 29_400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("ranks"))


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Three hosts without agents."""
    missing = why_not()
    if missing and os.environ.get("ADVISOR_REQUIRE_SERVICES") == "1":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    tag = os.getpid()
    networks = tuple(f"10.{100 + tag % 100}.{2 * (tag // 100 % 120) + link}" for link in (0, 1))
    made = Hosts(f"fb{tag % 100_000}", (networks[0], networks[1]), _PORT, secrets.token_hex(16))
    try:
        made.make()
        yield made
    finally:
        made.remove()
