"""Saved recommendations: kept with the values that they used, printed again unchanged."""

from dataclasses import asdict

from sqlalchemy import Engine

from advisor.recommendation import Recommendation
from advisor.reports.document import from_document, scenario_document, to_document
from db.queries import get_recommendation, list_recommendations
from db.recommendation_store import save_recommendation
from db.records import RecommendationSummary
from db.session import reading


def save(engine: Engine, recommendation: Recommendation) -> str:
    """Keeps the scenario, the answer and the values behind it; returns the id."""
    points: dict[str, dict[str, object]] = {}
    for candidate in recommendation.candidates:
        for used in candidate.used:
            values = points.setdefault(used.point_id, {})
            values[used.quantity] = asdict(used)
    return save_recommendation(
        engine,
        cluster=recommendation.scenario.cluster,
        inputs=scenario_document(recommendation.scenario),
        result=to_document(recommendation),
        points=points,
        advisor_version=recommendation.versions.advisor_version,
        data_version=recommendation.versions.data_version,
    )


def load(engine: Engine, recommendation_id: str) -> Recommendation:
    """A saved answer, as it was given. Raises NotFoundError with the newest ids."""
    with reading(engine) as connection:
        saved = get_recommendation(connection, recommendation_id)
    return from_document(saved.result)


def listed(engine: Engine) -> tuple[RecommendationSummary, ...]:
    """The newest saved answers, newest first."""
    with reading(engine) as connection:
        return list_recommendations(connection)
