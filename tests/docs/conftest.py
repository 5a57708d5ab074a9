"""A user's home with the shipped database, as the first command leaves it."""

import shutil
from pathlib import Path

import pytest

from advisor.evidence import opened
from db.session import default_path
from tests.db import run_records

_LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "failure_logs"


@pytest.fixture(scope="session")
def first_use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file, made and filled by a first use."""
    path = tmp_path_factory.mktemp("first-use") / "advisor.db"
    with opened(str(path)):
        pass
    return path


@pytest.fixture
def home(first_use: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory and $HOME, with a fresh copy of the database where it belongs.

    Beside them the records of three runs, in the folder `runs`, and failure logs.
    """
    for variable in ("ADVISOR_DB_URL", "XDG_DATA_HOME", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    database = default_path()
    database.parent.mkdir(parents=True)
    shutil.copy(first_use, database)
    records = (run_records.record(seed=seed, rate=39.0 + seed) for seed in range(3))
    run_records.write(tmp_path / "runs", *records)
    shutil.copy(_LOGS / "llama3_counts.csv", tmp_path / "interruptions.csv")
    for name in ("sacct.txt", "sacct_22_05.txt"):
        shutil.copy(_LOGS / name, tmp_path)
    return tmp_path
