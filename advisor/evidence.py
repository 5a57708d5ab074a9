"""Gets the evidence out of the database; with saved.py, all of the core that uses its engine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine

from advisor.decide import DEFAULT_AXES, decide
from advisor.defaults import DEFAULT_CLUSTER, resolve
from advisor.drills.marks import with_marks
from advisor.recommendation import Recommendation, Versions
from advisor.scenario import Scenario, ScenarioInput
from advisor.version import advisor_version
from db.excerpt import Near
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
    return ask_by(lambda near: load_evidence(engine, inputs.cluster, near), inputs)


def ask_by(read: Callable[[Near], ClusterEvidence], inputs: ScenarioInput) -> Question:
    """The same by somebody who keeps what was read: `read` gives what is known near a question."""
    evidence = read(near_to(inputs))
    scenario = resolve(inputs, evidence)
    excerpt = evidence.excerpt
    if excerpt is not None and excerpt.state_bytes != scenario.state_bytes:
        # The state size came out of the evidence: an excerpt is near to the one that is answered.
        evidence = read(near_to(scenario))
        scenario = resolve(inputs, evidence)
    return Question(evidence, scenario)


def near_to(asked: ScenarioInput | Scenario) -> Near:
    """What of a cluster with very many operating points such a question reads."""
    return Near(asked.architecture, asked.state_bytes)


def answer(question: Question, axes: tuple[str, ...] = DEFAULT_AXES) -> Recommendation:
    """The recommendation, with the versions of what it was computed by and from, and what drills
    say today of its candidates."""
    versions = Versions(
        advisor_version=advisor_version(),
        schema_revision=HEAD,
        data_version=evidence_version(question.evidence),
    )
    found = decide(question.evidence, question.scenario, versions, axes)
    return with_marks(found, question.evidence.drills, datetime.now(UTC))


def load_evidence(engine: Engine, cluster: str | None, near: Near | None = None) -> ClusterEvidence:
    """All that is known of a cluster; None is the default one. Raises NotFoundError.

    For a question that says what it is `near`, of very many operating points an excerpt
    (db/excerpt.py).
    """
    with reading(engine) as connection:
        return cluster_evidence(connection, cluster or DEFAULT_CLUSTER, near)


def every_evidence(engine: Engine, near: Near | None = None) -> list[ClusterEvidence]:
    """The same of each cluster, by name."""
    with reading(engine) as connection:
        return [cluster_evidence(connection, name, near) for name in cluster_names(connection)]


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()
