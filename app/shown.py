"""What every page is given: the cluster's evidence and the scenario of the sidebar."""

from dataclasses import dataclass

from advisor.saved_mtbf import NamedMtbf
from advisor.scenario import ScenarioInput
from app.data import Loaded
from db.records import ClusterEvidence


@dataclass(frozen=True, slots=True)
class Filled:
    """The sidebar's scenario, or what is `wrong` with it: the labels of mistaken fields.

    `named`: whose MTBF it has, where that is one of a log.
    """

    inputs: ScenarioInput | None
    wrong: tuple[str, ...] = ()
    named: NamedMtbf | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The evidence, and the scenario as it was filled in."""

    loaded: Loaded
    filled: Filled

    @property
    def evidence(self) -> ClusterEvidence:
        return self.loaded.evidence
