"""What the pages read, cached: engines by URL, evidence by URL and a token that changes with it.

Evidence is immutable, so all sessions share one copy; nothing that a person types is kept here.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import streamlit as st
from pydantic import ValidationError
from sqlalchemy import Engine

from advisor import saved_mtbf
from advisor.arrivals import Law
from advisor.campaign_view import CampaignRows, CampaignView, as_it_stands, read_campaign, view_of
from advisor.comparison.clusters import Comparison, compare
from advisor.coverage import Coverage
from advisor.coverage import coverage as covered
from advisor.decide import decide
from advisor.drills.marks import with_marks
from advisor.evidence import ask_by, load_evidence, near_to
from advisor.recommendation import Recommendation, Uncertainty, Versions
from advisor.report import scenario_digest
from advisor.scenario import Scenario, ScenarioInput
from advisor.simulation.setups import (
    Beyond,
    Failures,
    SimulatedSetups,
    setups_of,
    simulate_setups,
)
from advisor.uncertainty.answer import uncertainty_of, with_uncertainty
from advisor.uncertainty.cells import NextCells, next_cells
from advisor.uncertainty.propagation import tabled_costs
from advisor.version import advisor_version
from app.markdown import message
from db import run_queries
from db.calibration_queries import CalibrationSession, newest_calibration
from db.campaign_queries import CampaignSummary, list_campaigns
from db.errors import DatabaseError, InvalidDataError, QueryRefusedError
from db.excerpt import MOST_POINTS, Near
from db.failure_store import failure_estimate_names
from db.pooling import Mean
from db.queries import change_token, cluster_names, evidence_version
from db.records import Arrivals, ClusterEvidence, Exposure, RunSummary
from db.run_queries import RunChoices, RunFilter
from db.run_record import Record
from db.schema import HEAD, check_schema
from db.session import database_url, open_engine, reading

T = TypeVar("T")
_CLUSTERS_KEPT = 8
_LISTS_KEPT = 16
SEED = 0
"""Of the simulation."""
_PRECISION, _MOST_JOBS = 1e-3, 100_000
"""With the seed, what `advisor simulate` takes where it is not told otherwise."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A cluster's evidence with its version (SHA-256)."""

    evidence: ClusterEvidence
    version: str

    @property
    def points(self) -> int:
        """How many operating points there are, those that are set aside too."""
        return len(self.evidence.points) + len(self.evidence.set_aside)


@dataclass(frozen=True, slots=True)
class Exposures:
    """What a lost worker does on a cluster; of each point, when the first rank knew."""

    exposures: tuple[Exposure, ...]
    first_detections: Mapping[str, Mean]
    set_aside: int = 0
    """How many others are of superseded software, and measured anew since."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run's record, checked, and as it was written."""

    record: Record
    document: Mapping[str, Any]


def url() -> str:
    """The database of this server: $ADVISOR_DB_URL, as `advisor app` set it."""
    return database_url(None)


@contextmanager
def database() -> Iterator[Engine]:
    """The engine, after a look whether the database is there and has our schema.

    Raises the errors of `db.errors`, whose message names the command that helps.
    """
    engine = _engine(url())
    check_schema(engine)
    yield engine


def clusters() -> tuple[str, ...]:
    """Every cluster, in order of name. Raises as `database` does."""
    with database() as engine:
        return _clusters(url(), token(engine))


def loaded(cluster: str) -> Loaded:
    """A cluster's evidence, read again only after the database changed."""
    with database() as engine:
        return _loaded(url(), cluster, token(engine))


def near(cluster: str, wanted: Near) -> Loaded:
    """What an answer near `wanted` is given from, as on the command line: everything, or an excerpt
    of a cluster with very many operating points (db/excerpt.py)."""
    with database() as engine:
        changed = token(engine)
        everything = _loaded(url(), cluster, changed)
        if everything.points <= MOST_POINTS:
            return everything
        return _near(url(), cluster, wanted, changed)


def ask(cluster: str, inputs: ScenarioInput) -> tuple[Loaded, Scenario]:
    """What the answer is given from, and the scenario with its defaults filled in, both as on the
    command line. Raises UserError, and as `database` does."""
    scenario = ask_by(lambda wanted: near(cluster, wanted).evidence, inputs).scenario
    return near(cluster, near_to(scenario)), scenario


def exposure(cluster: str) -> Exposures:
    """What a lost worker does on a cluster, by published and by own runs."""
    with database() as engine:
        return _exposure(url(), cluster, token(engine))


def coverage(cluster: str | None) -> Coverage:
    """Which tuples were observed on a cluster, or on any (None)."""
    with database() as engine:
        return _coverage(url(), cluster, token(engine))


def run_choices(cluster: str) -> RunChoices:
    """What there is to choose from among the runs of a cluster."""
    with database() as engine:
        return _run_choices(url(), cluster, token(engine))


def run_count(wanted: RunFilter) -> int:
    """How many runs the filter admits."""
    with database() as engine:
        return _run_count(url(), wanted, token(engine))


def runs(wanted: RunFilter, limit: int) -> tuple[RunSummary, ...]:
    """The newest runs that the filter admits."""
    with database() as engine:
        return _runs(url(), wanted, limit, token(engine))


def every_run(wanted: RunFilter, limit: int) -> tuple[RunSummary, ...]:
    """As `runs`, for many more of them: not kept, because nobody asks for the same ones soon."""
    with database() as engine, reading(engine) as connection:
        return run_queries.list_runs(connection, wanted, limit)


def run(run_id: str) -> StoredRun:
    """One run. Raises NotFoundError, or InvalidDataError for a record that this cannot read."""
    # PostgreSQL takes no NUL, not even to look for it.
    with database() as engine:
        return _run(url(), run_id.replace("\x00", "\ufffd"), token(engine))


def campaigns() -> tuple[CampaignSummary, ...]:
    """Every campaign, the newest first. Whether its controller is still there is asked anew."""
    with database() as engine:
        return tuple(map(as_it_stands, _campaigns(url(), token(engine))))


def campaign(name: str) -> CampaignView:
    """One campaign as it stands now. Raises NotFoundError."""
    with database() as engine:
        return view_of(_campaign(url(), name, token(engine)), datetime.now(UTC))


def calibration(cluster: str) -> CalibrationSession | None:
    """The newest calibration of a cluster; None where it has none of its own."""
    with database() as engine:
        return _calibration(url(), cluster, token(engine))


def estimate_names() -> tuple[str, ...]:
    """The names of all saved failure estimates, the newest first."""
    with database() as engine, reading(engine) as connection:
        return failure_estimate_names(connection)


def named_mtbf(name: str) -> saved_mtbf.NamedMtbf:
    """A saved estimate's MTBF. Raises NotFoundError, and UserError where it is none of jobs."""
    with database() as engine:
        return saved_mtbf.named_mtbf(engine, name)


def recommend(found: Loaded, scenario: Scenario) -> Recommendation:
    """The answer, exactly as the command line computes it."""
    versions = Versions(advisor_version(), HEAD, found.version)
    answer = decide(found.evidence, scenario, versions)
    return with_marks(answer, found.evidence.drills, datetime.now(UTC))


def how_sure(found: Loaded, recommendation: Recommendation) -> tuple[Uncertainty, NextCells]:
    """How sure the answer is, and which cell to measure next, as the command line computes them."""
    evidence = found.evidence
    costs = tabled_costs(evidence, recommendation.scenario, recommendation.candidates)
    known = uncertainty_of(evidence, recommendation, costs=costs)
    return known, next_cells(evidence, recommendation, costs=costs, known=known)


def surely(found: Loaded, scenario: Scenario) -> Recommendation:
    """The answer with how sure it is, computed once for one scenario and evidence."""
    return _surely(found.version, scenario_digest(scenario), found, scenario)


def comparison(
    found: tuple[Loaded, ...],
    architectures: tuple[str, ...] | None,
    mechanisms: tuple[str, ...] | None,
) -> Comparison:
    """Clusters compared with the first of them; all cells, or those of some pairs."""
    versions = tuple(each.version for each in found)
    return _comparison(versions, architectures, mechanisms, found)


def simulated(found: Loaded, recommendation: Recommendation, law: Law) -> SimulatedSetups:
    """How late the job may end with each candidate, and with what saves on a warning even if not
    every failure is announced in time, as the command line simulates it.

    Simulated once for one scenario, evidence and law.
    """
    digest = scenario_digest(recommendation.scenario)
    return _simulated(
        found.version, digest, law.arrivals.value, law.shape, found.evidence, recommendation
    )


def token(engine: Engine) -> str:
    """Changes whenever the database may have changed; cheap."""
    with reading(engine) as connection:
        return change_token(connection)


def or_explain(read: Callable[[], T]) -> T | None:
    """What `read` returns; where the database is the trouble, its message on the page and None."""
    try:
        return read()
    except QueryRefusedError:
        raise  # the statement is at fault, not the database
    except DatabaseError as error:
        st.error(message(error), icon=":material/database_off:")
        st.caption("Nothing is lost by waiting: this page reads the database anew at each change.")
        return None


@st.cache_resource(max_entries=4, show_spinner=False)
def _engine(address: str) -> Engine:
    return open_engine(address)


# The scenario's digest and the evidence's version stand for the answer and the evidence, which are
# not looked at.
@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner="Simulating the candidates")
def _simulated(
    version: str,
    digest: str,
    arrivals: str,
    shape: float,
    _evidence: ClusterEvidence,
    _answer: Recommendation,
) -> SimulatedSetups:
    failures = Failures(Law(Arrivals(arrivals), shape))
    setups = setups_of(_evidence, _answer, failures, Beyond())
    return simulate_setups(setups, SEED, narrow=_PRECISION, most=_MOST_JOBS)


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner="Looking how sure the answers are")
def _surely(version: str, digest: str, _found: Loaded, _scenario: Scenario) -> Recommendation:
    return with_uncertainty(_found.evidence, recommend(_found, _scenario))


@st.cache_resource(max_entries=4, show_spinner="Comparing the clusters")
def _comparison(
    versions: tuple[str, ...],
    architectures: tuple[str, ...] | None,
    mechanisms: tuple[str, ...] | None,
    _found: tuple[Loaded, ...],
) -> Comparison:
    return compare([each.evidence for each in _found], architectures, mechanisms)


@st.cache_data(max_entries=4, show_spinner=False)
def _clusters(address: str, changed: str) -> tuple[str, ...]:
    with reading(_engine(address)) as connection:
        return cluster_names(connection)


# A resource, not data: data would be copied for every session, and this never changes.
@st.cache_resource(max_entries=_CLUSTERS_KEPT, show_spinner="Reading the measurements")
def _loaded(address: str, cluster: str, changed: str) -> Loaded:
    evidence = load_evidence(_engine(address), cluster)
    found = Loaded(evidence, evidence_version(evidence))
    # Streamlit collects garbage after every run of a page. Looking through ten thousand points
    # each time takes longer than the page itself, and there is no garbage among them.
    gc.collect()
    gc.freeze()
    return found


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner="Reading the measurements")
def _near(address: str, cluster: str, wanted: Near, changed: str) -> Loaded:
    evidence = load_evidence(_engine(address), cluster, wanted)
    return Loaded(evidence, evidence_version(evidence))


# Lists of runs are resources for the same reason.
@st.cache_resource(max_entries=_CLUSTERS_KEPT, show_spinner=False)
def _exposure(address: str, cluster: str, changed: str) -> Exposures:
    with reading(_engine(address)) as connection:
        found = run_queries.exposure_that_counts(connection, cluster)
        first = run_queries.first_detections(connection, cluster)
        return Exposures(found.exposures, first, found.set_aside)


@st.cache_resource(max_entries=_CLUSTERS_KEPT, show_spinner=False)
def _coverage(address: str, cluster: str | None, changed: str) -> Coverage:
    with reading(_engine(address)) as connection:
        return covered(connection, cluster)


@st.cache_resource(max_entries=_CLUSTERS_KEPT, show_spinner=False)
def _run_choices(address: str, cluster: str, changed: str) -> RunChoices:
    with reading(_engine(address)) as connection:
        return run_queries.run_choices(connection, cluster)


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner=False)
def _run_count(address: str, wanted: RunFilter, changed: str) -> int:
    with reading(_engine(address)) as connection:
        return run_queries.count_runs(connection, wanted)


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner="Reading the runs")
def _runs(address: str, wanted: RunFilter, limit: int, changed: str) -> tuple[RunSummary, ...]:
    with reading(_engine(address)) as connection:
        return run_queries.list_runs(connection, wanted, limit)


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner=False)
def _run(address: str, run_id: str, changed: str) -> StoredRun:
    with reading(_engine(address)) as connection:
        document = run_queries.run_record(connection, run_id)
    try:
        return StoredRun(Record.model_validate(document), document)
    except ValidationError as error:
        raise InvalidDataError(
            f"the record of run {run_id!r} is not one that this version can read"
        ) from error


@st.cache_resource(max_entries=4, show_spinner=False)
def _campaigns(address: str, changed: str) -> tuple[CampaignSummary, ...]:
    with reading(_engine(address)) as connection:
        return list_campaigns(connection)


@st.cache_resource(max_entries=_LISTS_KEPT, show_spinner=False)
def _campaign(address: str, name: str, changed: str) -> CampaignRows:
    with reading(_engine(address)) as connection:
        return read_campaign(connection, name)


@st.cache_resource(max_entries=_CLUSTERS_KEPT, show_spinner=False)
def _calibration(address: str, cluster: str, changed: str) -> CalibrationSession | None:
    with reading(_engine(address)) as connection:
        return newest_calibration(connection, cluster)
