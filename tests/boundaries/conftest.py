"""Commands are started against the shipped data."""

from tests.advisor.conftest import shipped_database

__all__ = ["shipped_database"]
