"""Plugins of the whole suite."""

from hypothesis import settings

pytest_plugins = ["tests.db.postgres", "tests.db.databases"]

# A deadline of an example is a wall-clock assertion, which a busy machine fails.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
