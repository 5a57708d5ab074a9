"""One scenario, answered from each cluster's own evidence. Pure.

What the scenario does not state comes from each cluster: its step time, state size, detection,
rates and memory. So the jobs are alike in what was stated, and only in that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from advisor.defaults import resolve
from advisor.errors import NoDataError, UserError
from advisor.recommendation import Chance, Recommendation
from advisor.scenario import Scenario, ScenarioInput
from db.records import ClusterEvidence

Recommend = Callable[[ClusterEvidence, Scenario], Recommendation]


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """The answer on one cluster; without a recommendation, or without a pick in it, `reason` says
    why."""

    cluster: str
    recommendation: Recommendation | None
    reason: str | None

    @property
    def how_sure(self) -> Chance | None:
        """The pick's probability of being the best, where that was asked for and is known."""
        found = self.recommendation
        if found is None or found.selected is None or found.uncertainty is None:
            return None
        named = (c for c in found.uncertainty.chances if c.mechanism == found.selected.mechanism)
        return next(named, None)


def answers(
    evidences: Sequence[ClusterEvidence], inputs: ScenarioInput, recommend: Recommend
) -> tuple[ClusterAnswer, ...]:
    """The scenario on each of the clusters, whatever cluster it names itself.

    A cluster that cannot answer says so in its row. Raises UserError where none can, for a reason
    that no measurement would mend.
    """
    found: list[ClusterAnswer] = []
    mistakes: list[UserError] = []
    for evidence in evidences:
        try:
            found.append(_answer(evidence, inputs, recommend))
        except UserError as error:
            found.append(ClusterAnswer(evidence.cluster.cluster, None, str(error)))
            if not isinstance(error, NoDataError):
                mistakes.append(error)
    if mistakes and len(mistakes) == len(found):
        raise mistakes[0]
    return tuple(found)


def _answer(
    evidence: ClusterEvidence, inputs: ScenarioInput, recommend: Recommend
) -> ClusterAnswer:
    name = evidence.cluster.cluster
    recommendation = recommend(evidence, resolve(replace(inputs, cluster=name), evidence))
    reason = None if recommendation.selected is not None else " ".join(recommendation.warnings)
    return ClusterAnswer(name, recommendation, reason)
