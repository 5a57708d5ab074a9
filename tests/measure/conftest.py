"""Tests that start ranks share two cores: they run on one worker, one after the other."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        starts_ranks = item.get_closest_marker("integration") is not None
        if starts_ranks and _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("ranks"))
