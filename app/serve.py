"""Starts Streamlit's server with pages and measurements in place: `python -m app.serve FLAGS`.

The first reader waits neither for numpy and plotly to load nor for the database to be read.
"""

import logging
import sys
from contextlib import suppress
from pathlib import Path

from streamlit.web import cli

import app.router
from app import data
from db.errors import DatabaseError

_MAIN = Path(app.router.__file__).with_name("main.py")


def warm_up() -> None:
    """Fills the caches that all sessions share, with the first cluster's evidence."""
    # Streamlit remarks that no page is being drawn, which is so.
    logging.disable(logging.WARNING)
    # Whatever is wrong with the database is said on the page, to whoever opens it.
    with suppress(DatabaseError):
        for cluster in data.clusters()[:1]:
            data.loaded(cluster)
    logging.disable(logging.NOTSET)


if __name__ == "__main__":
    warm_up()
    cli.main(["run", str(_MAIN), *sys.argv[1:]], prog_name="streamlit")
