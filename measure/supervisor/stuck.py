"""Who does not come free of a group, so that somebody else has to take the place. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from measure.job_spec import Detector, JobSpec
from measure.rank.heartbeat import Beat
from measure.supervisor.detect import Limits
from measure.supervisor.elect import Traits
from measure.supervisor.observed import RankView

FREE_WITHIN_S = 1.0
"""So soon after the supervisor told it a survivor has left its collective; some sends in gloo are
not woken when their sockets are shut."""


@dataclass(frozen=True, slots=True)
class Patience:
    """For how long survivors may take to come free, and who is waited for all the same."""

    job: JobSpec
    limits: Limits
    traits: Traits
    goes_on: bool
    """Survivors go on as a smaller group, from what they have."""

    def stuck(
        self,
        living: Sequence[RankView],
        beats: Sequence[Beat],
        waits: Callable[[RankView], bool],
        lost_at: float,
        now: float,
    ) -> list[RankView]:
        """Survivors of a loss at `lost_at` that do not come free of a group or its formation: they
        said so, or have had their time: more of it in a save or a load, which ends by itself. Where
        they go on with what they have, one of them may be the only one that has the state, or is
        missed for good: the group's own timeout sets it free. But a group that grows again, from
        others that came free and have the state too, does not wait for that. `waits`: whether one
        waits for orders."""
        others = self.traits.grows and any(waits(view) for view in living)

        def is_spared(view: RankView) -> bool:
            has_all = view.plays == self.traits.coordinator
            return self.goes_on and (has_all or not others)

        def is_late(view: RankView) -> bool:
            return now > self._free_by(lost_at, beats[view.rank].storage_at)

        return [
            view
            for view in living
            if (is_late(view) and (view.active or view.stuck) and not waits(view))
            or (view.stuck and not is_spared(view))
        ]

    def _free_by(self, lost_at: float, storage_at: float) -> float:
        """When a survivor that was in storage last at `storage_at` has had its time to come free;
        even a disk is waited for no longer than the group's timeout."""
        by_itself = lost_at + self.job.group_timeout_s + FREE_WITHIN_S
        if self.goes_on:
            return by_itself
        told = self.job.detector is Detector.SUPERVISOR
        limit_s = FREE_WITHIN_S if told else self.limits.after_loss_s
        return min(max(lost_at, storage_at) + limit_s, max(lost_at + limit_s, by_itself))
