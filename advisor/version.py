"""The version of the installed program."""

from importlib.metadata import PackageNotFoundError, version


def advisor_version() -> str:
    """The distribution's version; `unknown` when the code runs without being installed."""
    try:
        return version("failbench-advisor")
    except PackageNotFoundError:
        return "unknown"
