"""What every page is given: the cluster's evidence and the scenario of the sidebar."""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.scenario import ScenarioInput
from app.data import Loaded
from db.records import ClusterEvidence


@dataclass(frozen=True, slots=True)
class Shown:
    """`texts` are the inputs as typed, by option; `inputs` is None while one is mistaken."""

    loaded: Loaded
    texts: Mapping[str, str]
    inputs: ScenarioInput | None

    @property
    def evidence(self) -> ClusterEvidence:
        return self.loaded.evidence
