"""`advisor app`: starts the web app on this machine."""

import os
import sys
from importlib.util import find_spec

import click

from advisor.commands.options import database_option
from advisor.errors import MissingToolError

_LOCAL = "127.0.0.1"


@click.command(name="app")
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True)
@click.option(
    "--address",
    default=_LOCAL,
    show_default=True,
    help="Listen here. The app has no passwords: another address shows it to whoever reaches it.",
)
@database_option
def command(port: int, address: str, db_url: str | None) -> None:
    """Serve the app to this machine's browsers, until interrupted."""
    from advisor.evidence import opened
    from db.session import database_url

    if find_spec("streamlit") is None or find_spec("plotly") is None:
        raise MissingToolError("the app needs an extra: pip install 'failbench-advisor[app]'")
    url = database_url(db_url)
    # Creates a SQLite database that is not there, and says at once what is wrong with another.
    with opened(url):
        pass
    click.echo(f"the app listens on http://{address}:{port} (stop it with Ctrl-C)")
    sys.stdout.flush()
    # In place of this process, so that whoever stops it stops the server.
    command_line = server_command(port, address)
    os.execve(command_line[0], command_line, _environment(url))  # noqa: S606


def server_command(port: int, address: str) -> list[str]:
    """The command that serves the app; everything that must not be left to defaults is stated."""
    return [
        sys.executable,
        "-m",
        "app.serve",
        f"--server.port={port}",
        f"--server.address={address}",
        "--server.headless=true",
        "--browser.gatherUsageStats=false",
        # Each field starts with what it holds, on purpose: app/address.py.
        "--global.disableWidgetStateDuplicationWarning=true",
    ]


_QUIET = {"STREAMLIT_LOGGER_LEVEL": "error"}


def _environment(url: str) -> dict[str, str]:
    # Python's -P keeps a folder named `app` in the current directory from being served instead.
    return {**os.environ, "ADVISOR_DB_URL": url, "PYTHONSAFEPATH": "1", **_QUIET}
