"""Starts Streamlit's server with pages and measurements in place: `python -m app.serve FLAGS`.

The first reader waits neither for numpy and plotly to load nor for the database to be read.
"""

import logging
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from streamlit.web import cli

from db.errors import DatabaseError

_MAIN = Path(__file__).with_name("main.py")


def warm_up() -> None:
    """Loads the pages, and fills the caches that all sessions share with the cluster that is shown
    first."""
    # Streamlit remarks that no page is being drawn, which is so: already when pages are imported.
    logging.disable(logging.WARNING)
    import_module("app.router")
    from app import data
    from app.form import first_cluster

    # Whatever is wrong with the database is said on the page, to whoever opens it.
    with suppress(DatabaseError):
        names = data.clusters()
        if names:
            data.loaded(first_cluster(names))
    logging.disable(logging.NOTSET)


if __name__ == "__main__":
    warm_up()
    cli.main(["run", str(_MAIN), *sys.argv[1:]], prog_name="streamlit")
