"""Runs `python -m measure`."""

import sys

from measure.cli import main

if __name__ == "__main__":
    sys.exit(main())
