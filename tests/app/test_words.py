"""The app speaks of its own fields: options of the command line appear in shown commands only."""

import ast
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.router import PAGES
from tests.app.conftest import Page, texts
from tests.app.test_same_as_command_line import fill, scenario

_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = re.compile(r"\\?`[^`]*`")
_OPTION = re.compile(r"--[a-z]")
_SCENARIOS, _SEED = 30, 7


def options_in(text: str) -> list[str]:
    """The lines that name an option outside a command in backticks."""
    return [line for line in text.splitlines() if _OPTION.search(_COMMAND.sub("", line))]


def said(shown: AppTest) -> str:
    """All that a page says in words; commands to copy and field values are something else."""
    kinds = ("header", "subheader", "markdown", "caption", "info", "warning", "error")
    words = [str(element.value) for kind in kinds for element in getattr(shown, kind)]
    cells = [str(cell) for table in shown.table for row in table.value.to_numpy() for cell in row]
    return "\n".join([*words, *cells])


def test_options_are_found() -> None:
    assert options_in("give --mtbf") == ["give --mtbf"]
    assert options_in("run \\`advisor db upgrade --db x\\` first") == []


def test_no_answer_names_an_option(page: Page) -> None:
    chance, shown = random.Random(_SEED), page("recommend")
    for _ in range(_SCENARIOS):
        asked = scenario(chance)
        fill(shown, asked)
        shown.run()
        assert options_in(said(shown)) == [], asked


@pytest.mark.parametrize("path", [path for _, path, _, _ in PAGES])
@pytest.mark.parametrize(
    "address",
    [
        {"mtbf": "", "warning_coverage": "90%"},
        {"mtbf": "soon", "interval": "often", "max_overhead": "5", "storage_read": "fast"},
        {"architecture": "a9", "mechanism": "zzz", "nosuch": "1"},
        {"architecture": "a6", "nodes": "5"},
        {"warning_coverage": "90%"},
        {"q": "select nothing", "x": "restore", "id": "gone"},
    ],
)
def test_no_mistake_is_told_with_an_option(
    page: Page, path: str, address: dict[str, str | list[str]]
) -> None:
    assert options_in(said(page(path, **address))) == []


def test_no_trouble_with_the_database_is_told_with_an_option(
    page: Page, shipped_database: Path, tmp_path: Path
) -> None:
    for change in (
        "UPDATE alembic_version SET version_num = '9999'",
        "UPDATE alembic_version SET version_num = 'other'",
        "DROP TABLE alembic_version",
        "DELETE FROM operating_point_values WHERE quantity IN ('step_time_s', 'detection_s')",
    ):
        own = Path(shutil.copy(shipped_database, tmp_path / "own.db"))
        with closing(sqlite3.connect(own)) as connection:
            connection.execute(change)
            connection.commit()
        shown = page("recommend", own)
        assert shown.error, change
        assert options_in(said(shown)) == [], change
    (tmp_path / "text.db").write_text("no database" * 100)
    for path in (tmp_path / "text.db", tmp_path, tmp_path / "none.db"):
        assert "--" not in texts(page("recommend", path))


_MAKE_COMMANDS = (
    "advisor/emit/settings_for.py",
    "advisor/report.py",
    "advisor/reports/pdf.py",
    "advisor/reports/simulation_words.py",
    "advisor/uncertainty/measuring.py",
)


def test_no_message_that_the_app_could_show_names_an_option() -> None:
    files = _loaded_files()
    assert _ROOT / "db" / "schema.py" in files
    found = [
        f"{path.relative_to(_ROOT)}: {text}"
        for path in files
        if str(path.relative_to(_ROOT)) not in _MAKE_COMMANDS
        for text in _literals(ast.parse(path.read_text(encoding="utf-8")))
        if options_in(" ".join(text.split())) and not text.startswith("advisor ")
    ]
    assert found == []


def _loaded_files() -> list[Path]:
    """Our modules that the app loads; what only the command line needs is not among them."""
    program = """
import logging, sys
logging.disable()
import app.router
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("advisor", "app", "db"):
        print(module.__file__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in done.stdout.splitlines()]


def _literals(node: ast.AST) -> Iterator[str]:
    """Every text of the code, those with placeholders as one; docstrings are no messages."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _literals(child)
