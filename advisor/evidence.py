"""Gets the evidence out of the database; with saved.py, all of the core that uses its engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from advisor.decide import DEFAULT_AXES, decide
from advisor.defaults import DEFAULT_CLUSTER, resolve
from advisor.recommendation import Recommendation, Versions
from advisor.scenario import Scenario, ScenarioInput
from advisor.version import advisor_version
from db.queries import cluster_evidence, cluster_names, evidence_version
from db.records import ClusterEvidence
from db.schema import HEAD, check_schema
from db.session import database_url, open_engine, reading, sqlite_path


@dataclass(frozen=True, slots=True)
class Question:
    """A resolved scenario with the evidence that answers it."""

    evidence: ClusterEvidence
    scenario: Scenario


@contextmanager
def opened(url: str | None) -> Iterator[Engine]:
    """The database, with the schema of this program; closed at the end.

    A SQLite file that is not there yet is created and filled with the shipped clusters, and
    published only if the body succeeds: a mistaken first question leaves nothing behind.
    Raises the errors of `db.errors`.
    """
    full = database_url(url)
    path = sqlite_path(full)
    if path is not None and not path.exists():
        # Imported here: creating a database needs alembic, reading one does not.
        from db.first_use import hidden_database

        with hidden_database(full) as hidden, _engine(hidden) as engine:
            yield engine
        return
    with _engine(full) as engine:
        check_schema(engine)
        yield engine


def ask(engine: Engine, inputs: ScenarioInput) -> Question:
    """Evidence of the scenario's cluster, and the scenario with its defaults filled in."""
    evidence = load_evidence(engine, inputs.cluster)
    return Question(evidence, resolve(inputs, evidence))


def answer(question: Question, axes: tuple[str, ...] = DEFAULT_AXES) -> Recommendation:
    """The recommendation, with the versions of what it was computed by and from."""
    versions = Versions(
        advisor_version=advisor_version(),
        schema_revision=HEAD,
        data_version=evidence_version(question.evidence),
    )
    return decide(question.evidence, question.scenario, versions, axes)


def load_evidence(engine: Engine, cluster: str | None) -> ClusterEvidence:
    """All that is known of a cluster; None is the default one. Raises NotFoundError."""
    with reading(engine) as connection:
        return cluster_evidence(connection, cluster or DEFAULT_CLUSTER)


def every_evidence(engine: Engine) -> list[ClusterEvidence]:
    """All that is known of each cluster, by name."""
    with reading(engine) as connection:
        return [cluster_evidence(connection, name) for name in cluster_names(connection)]


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()
