"""The shipped evidence, read once through a real database."""

from pathlib import Path

import pytest

from advisor.decide import decide
from advisor.defaults import resolve
from advisor.evidence import load_evidence, opened
from advisor.recommendation import Recommendation, Versions
from advisor.scenario import ScenarioInput
from db.records import ClusterEvidence

VERSIONS = Versions("test", "0001", "test")


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


def recommend(evidence: ClusterEvidence, inputs: ScenarioInput) -> Recommendation:
    return decide(evidence, resolve(inputs, evidence), VERSIONS)
