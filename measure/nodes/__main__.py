"""`python -m measure.nodes`: the agent of a node, as `python -m measure node`, without torch in the
agent's own process: its fork server alone needs it."""

import argparse
import sys

from measure.errors import UsageError
from measure.nodes.command import add_options, serve


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser("python -m measure.nodes", description=__doc__)
    add_options(parser)
    try:
        return serve(parser.parse_args(), "")
    except UsageError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
