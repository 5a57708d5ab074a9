"""The incidents of a run: who suspects whom, what ranks add to the evidence, and the answer.

One is open at a time, from the first suspicion of a generation until all its ranks have come to
rest and added what they have. What it decides holds until training goes on.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure.interfaces.monitor import Suspicion
from measure.supervisor import incident
from measure.supervisor.check import Proof, differences
from measure.supervisor.crew import Crew
from measure.supervisor.incident import Kept
from measure.supervisor.observed import Incident, Observed, RankView
from measure.supervisor.suspicion import (
    Decision,
    Past,
    Scope,
    Suspect,
    decide,
    joined,
    suspects_of,
)


@dataclass
class Inquiry:
    """An incident that is open. `members` are the processes of its generation, by rank."""

    number: int
    generation: int
    at: float
    members: Mapping[int, RankView]
    said: list[Suspicion] = field(default_factory=list)
    asked_at: float | None = None
    asked: list[RankView] = field(default_factory=list)
    kept: dict[int, Kept] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)

    def places(self) -> dict[int, Suspect]:
        """Its processes, as a decision knows them."""
        return {rank: Suspect(view.rank, view.node) for rank, view in self.members.items()}

    def unanswered(self) -> list[RankView]:
        """Those who were asked, are still there, and have not answered."""
        return [v for v in self.asked if v.died_at is None and v.rank not in self.kept]

    def is_aligned(self) -> bool:
        """Whether every rank stopped between two steps, and all stand at one state."""
        found = [(rank, self.kept.get(view.rank)) for rank, view in sorted(self.members.items())]
        proofs = [Proof(rank, k.step, k.proof) for rank, k in found if k is not None and k.whole]
        return len(proofs) == len(self.members) and not differences(proofs)


class Inquiries:
    """All of a run, whose folder is `folder`; what became of each stands in `seen.incidents`."""

    def __init__(self, folder: Path, run_id: str, seen: Observed) -> None:
        self._folder, self._run_id, self._seen = folder, run_id, seen
        self.open: Inquiry | None = None
        self.decision: Decision | None = None
        """What the recovery at hand is to carry out."""
        self.concluded_at = 0.0
        """When the last incident was decided."""

    @property
    def not_after(self) -> int | None:
        """States of more steps must not be restored; None: any may be."""
        return self.decision.not_after if self.decision else None

    @property
    def goes_back(self) -> bool:
        """Whether all go back for a suspicion, those who had made their last step included."""
        return self.decision is not None and self.decision.scope is not Scope.HALT

    @property
    def why(self) -> str:
        """Of the recovery at hand, for its line in lineage; empty where it answers a loss."""
        return self.decision.why if self.decision and self.goes_back else ""

    @property
    def why_halted(self) -> str:
        """Why nothing brings training back; empty where that is not so."""
        return self.decision.why if self.decision and not self.goes_back else ""

    @property
    def quarantined(self) -> list[int]:
        """The slots whose places others take in the recovery at hand."""
        return [each.slot for each in self.decision.quarantined] if self.decision else []

    def is_asking(self) -> bool:
        """Whether ranks are at work on the evidence: that has a deadline of its own."""
        return self.open is not None and self.open.asked_at is not None

    def suspect(
        self, found: Suspicion, generation: int, members: Mapping[int, RankView], now: float
    ) -> bool:
        """A rank says so; whether everybody must stop for it who did not yet."""
        if found.severity != "stop":
            self._report(Inquiry(len(self._seen.incidents), generation, now, members, [found]))
            return False
        is_first = self.open is None
        if self.open is None:
            self.open = Inquiry(len(self._seen.incidents), generation, now, members)
        self.open.said.append(found)
        return is_first

    def ask(self, crew: Crew, resting: Sequence[RankView]) -> None:
        """Has these add what they have: the suspects, or all where nobody is named, their state."""
        inquiry = self._opened()
        inquiry.asked_at, inquiry.asked = time.monotonic(), list(resting)
        if why := incident.make_folder(self._folder, inquiry.number):
            inquiry.lacking.append(f"the folder: {why}")
        named = {each.slot for each in suspects_of(inquiry.said, inquiry.places())}
        for view in resting:
            wanted = not inquiry.lacking and (not named or view.rank in named)
            folder = f"{incident.FOLDER}/{inquiry.number}" if wanted else ""
            crew.tell(view, "keep", folder=folder)

    def answered(self, view: RankView, message: Mapping[str, Any]) -> None:
        """A rank has added this."""
        if self.open is not None:
            told = {key: value for key, value in message.items() if key != "said"}
            self.open.kept[view.rank] = Kept(slot=view.rank, **told)

    def is_waiting(self, limit_s: float) -> bool:
        """Whether some of those who were asked may still answer in time."""
        inquiry = self._opened()
        late = time.monotonic() > (inquiry.asked_at or 0.0) + limit_s
        return not late and bool(inquiry.unanswered())

    def conclude(self, recovers: bool) -> list[RankView]:
        """Decides, and writes the evidence; returns who did not answer. See `decision`."""
        inquiry, self.open = self._opened(), None
        silent = inquiry.unanswered()
        inquiry.lacking += [f"rank {view.rank}'s state: it did not answer" for view in silent]
        found = decide(inquiry.said, inquiry.places(), inquiry.is_aligned(), self._past(), recovers)
        self._close(inquiry, found)
        self.decision, self.concluded_at = joined(self.decision, found), time.monotonic()
        return silent

    def resumed(self, step: int) -> None:
        """Training goes on at this step."""
        for each in self._seen.incidents:
            if each.goes_back and each.restored_step is None:
                each.restored_step = step
        self.decision = None

    def _opened(self) -> Inquiry:
        assert self.open is not None, "no incident is open"
        return self.open

    def _close(self, inquiry: Inquiry, found: Decision) -> None:
        seen, kept = self._seen, sorted(inquiry.kept.values(), key=lambda each: each.slot)
        if inquiry.asked_at is None:
            incident.make_folder(self._folder, inquiry.number)
        facts = incident.Facts(
            inquiry.number, self._run_id, inquiry.generation, inquiry.said, found
        )
        not_kept = incident.write(
            self._folder, facts, seen.ranks, seen.nodes, kept, inquiry.lacking
        )
        is_there = incident.folder_of(self._folder, inquiry.number).is_dir()
        folder = f"{incident.FOLDER}/{inquiry.number}" if is_there else ""
        seen.incidents.append(_incident(inquiry, found, folder, not_kept))

    def _report(self, told: Inquiry) -> None:
        """Notes it; where the same is said again and again, how often."""
        found = decide(told.said, told.places(), False, (), False)
        noted = _incident(told, found, "", "")
        for each in self._seen.incidents:
            if each.is_like(noted):
                each.count += 1
                return
        self._seen.incidents.append(noted)

    def _past(self) -> list[Past]:
        """The incidents so far that were answered, for the next decision."""
        return [
            Past(
                frozenset(each.monitors),
                each.step,
                each.proved_step if each.restored_step is None else each.restored_step,
                tuple(Suspect(slot, self._seen.ranks[slot].node) for slot in each.suspects),
            )
            for each in self._seen.incidents
            if each.goes_back
        ]


def _incident(inquiry: Inquiry, found: Decision, folder: str, not_kept: str) -> Incident:
    return Incident(
        incident=inquiry.number,
        generation=inquiry.generation,
        at=inquiry.at,
        step=min(each.step for each in inquiry.said),
        proved_step=min(each.proved_step for each in inquiry.said),
        monitors=tuple(sorted({each.monitor for each in inquiry.said})),
        kinds=tuple(sorted({each.kind for each in inquiry.said})),
        suspects=tuple(suspect.slot for suspect in found.suspects),
        scope=found.scope.value,
        not_after=found.not_after,
        quarantined=tuple(suspect.slot for suspect in found.quarantined),
        why=found.why,
        folder=folder,
        not_kept=not_kept,
    )
