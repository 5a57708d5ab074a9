"""What may import what, beyond what import-linter can say; and what starting a command costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_MEASURE_MAY_IMPORT = {*sys.stdlib_module_names, "measure", "torch", "safetensors", "xxhash"}
_SLOW = ("torch", "pandas", "streamlit", "scipy.stats", "alembic", "sqlalchemy.orm", "pydantic")


def imported(file: Path) -> set[str]:
    """Top-level packages that a file imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize(
    "file", sorted((_ROOT / "measure").rglob("*.py")), ids=lambda f: str(f.relative_to(_ROOT))
)
def test_measure_needs_nothing_that_compute_nodes_lack(file: Path) -> None:
    assert imported(file) <= _MEASURE_MAY_IMPORT


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"],
        ["interval", "--save-time", "60s", "--mtbf", "4h"],
    ],
    ids=lambda a: a[0],
)
def test_commands_import_nothing_slow(shipped_database: Path, arguments: list[str]) -> None:
    statement = (
        "import os, contextlib\n"
        f"os.environ['ADVISOR_DB_URL'] = {str(shipped_database)!r}\n"
        "from advisor.cli import run\n"
        "with contextlib.redirect_stdout(open(os.devnull, 'w')):\n"
        f"    assert run({arguments!r}) == 0"
    )
    loaded = modules_after(statement)
    assert "advisor.cli" in loaded
    assert loaded.isdisjoint(_SLOW)


def test_help_needs_no_database_and_no_numpy() -> None:
    loaded = modules_after("from advisor.cli import run\nassert run(['--version']) == 0")
    assert loaded.isdisjoint({*_SLOW, "sqlalchemy", "numpy", "rich"})
