"""Where run records go: the option, and the folder where it is left out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from advisor.errors import UserError
from db.text import is_text

F = TypeVar("F", bound=Callable[..., Any])


def folder_option(what: str) -> Callable[[F], F]:
    """The option `--folder`; `what` says what is done there."""
    return click.option(
        "--folder",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"{what}  [default: runs, beside your own database]",
    )


def records_folder(stated: Path | None) -> Path:
    """The folder that was stated, else `runs` beside the user's own database; absolute.

    Raises UserError where its whole name is no text: the database keeps it.
    """
    from db.urls import default_path

    folder = (stated or default_path().parent / "runs").absolute()
    if not is_text(str(folder)):
        raise UserError(f"the folder {str(folder)!r} is no text in UTF-8: choose one by --folder")
    return folder
