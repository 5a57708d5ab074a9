"""The shipped evidence, read once through a real database."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.decide import decide
from advisor.defaults import resolve
from advisor.evidence import load_evidence, opened
from advisor.recommendation import Recommendation, Versions
from advisor.scenario import ScenarioInput
from db.records import ClusterEvidence

VERSIONS = Versions("test", "0001", "test")
Advisor = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def shipped_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the shipped clusters, made as a first use makes it."""
    path = tmp_path_factory.mktemp("shipped") / "advisor.db"
    with opened(str(path)):
        pass
    return path


@pytest.fixture(scope="session")
def matilda(shipped_database: Path) -> ClusterEvidence:
    """The paper's cluster."""
    with opened(str(shipped_database)) as engine:
        return load_evidence(engine, "matilda-8xv100")


@pytest.fixture
def advisor(
    shipped_database: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Advisor:
    """Runs a command against a copy of the shipped data: (exit code, stdout, stderr)."""
    shutil.copy(shipped_database, tmp_path / "advisor.db")
    monkeypatch.setenv("ADVISOR_DB_URL", str(tmp_path / "advisor.db"))

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        return code, *capsys.readouterr()

    return call


def recommend(evidence: ClusterEvidence, inputs: ScenarioInput) -> Recommendation:
    return decide(evidence, resolve(inputs, evidence), VERSIONS)
