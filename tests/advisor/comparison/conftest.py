"""A cluster that this program measured, beside the paper's."""

from pathlib import Path

import pytest

from advisor.evidence import load_evidence, opened
from db.records import ClusterEvidence

OURS = "2-cores-8-ranks"


@pytest.fixture(scope="session")
def ours(shipped_database: Path) -> ClusterEvidence:
    """One that ships."""
    with opened(str(shipped_database)) as engine:
        return load_evidence(engine, OURS)
