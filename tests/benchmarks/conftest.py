"""The benchmarks use the shipped evidence as the advisor's tests do."""

from collections.abc import Iterator

import pytest
import torch

from tests.advisor.conftest import matilda, shipped_database

__all__ = ["matilda", "shipped_database"]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """torch computes and copies in one thread, as a rank does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
