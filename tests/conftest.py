"""Plugins of the whole suite."""

pytest_plugins = ["tests.db.postgres", "tests.db.databases"]
