"""The benchmarks use the shipped evidence as the advisor's tests do."""

from tests.advisor.conftest import matilda, shipped_database

__all__ = ["matilda", "shipped_database"]
