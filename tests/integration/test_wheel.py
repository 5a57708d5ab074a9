"""The wheel alone, in an empty environment and an empty directory, gives a working command."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def called(arguments: list[str], directory: Path, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ADVISOR"))}
    ran = subprocess.run(
        arguments,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=240,
        env=clean | environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout, with the build backend that is installed."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    called(build, _ROOT)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `advisor` command of a new environment that holds the wheel and what it needs."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    called([*pip, "--constraint", str(_ROOT / "constraints.txt"), str(wheel)], home)
    return home / "bin" / "advisor"


def test_it_answers_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    ask = ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]
    printed = called([str(installed), *ask], tmp_path, XDG_DATA_HOME=str(tmp_path / "home"))
    assert printed.startswith("FT1 Periodic disk checkpoint")
    assert [p.name for p in (tmp_path / "home" / "failbench-advisor").iterdir()] == ["advisor.db"]
    checked = called(
        [str(installed), "db", "check"], tmp_path, XDG_DATA_HOME=str(tmp_path / "home")
    )
    assert "sound" in checked
    listed = called(
        [str(installed), "clusters", "--format", "csv"],
        tmp_path,
        XDG_DATA_HOME=str(tmp_path / "home"),
    )
    shipped = {path.stem for path in (_ROOT / "data" / "clusters").glob("*.json")}
    assert {line.partition(",")[0] for line in listed.splitlines()[1:]} == {
        *shipped,
        "matilda-8xv100",
    }


def test_a_folder_named_db_in_the_directory_does_no_harm(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "__init__.py").write_text("raise RuntimeError('the wrong db')")
    printed = called([str(installed), "interval", "--save-time", "60s", "--mtbf", "4h"], tmp_path)
    assert "21.9 min" in printed
    python = str(installed.parent / "python")
    ran = subprocess.run(
        [python, "-m", "advisor", "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "hides this program's own package 'db'" in ran.stderr


def test_advice_does_not_bring_torch(installed: Path, tmp_path: Path) -> None:
    listed = called([str(installed.parent / "python"), "-m", "pip", "list"], tmp_path).lower()
    for heavy in ("torch", "streamlit", "pandas"):
        assert f"\n{heavy} " not in listed
