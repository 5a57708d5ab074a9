"""When a run is over, or somebody in it is: the supervisor's own clock, since a watchdog inside
the ranks may never fire."""

from dataclasses import dataclass

from measure.job_spec import Detector, JobSpec
from measure.profiles import Profile
from measure.rank.heartbeat import HeartbeatReader
from measure.supervisor.observed import Ending, Observed, RankView

_SILENT_S = 3.0
"""A rank whose heartbeat (every 0.1 s) is older has been stopped."""
_TIMEOUT_MARGIN_S = 3.0
_TOLD_S = 0.2
"""Long enough for every rank to write down that it was told."""
_LONGEST_RECOVERY_S = 15.0
"""Longest time that a recovery adds to the run's deadline, the steps made again included."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the parts of a run may take, seconds."""

    start_s: float
    quiet_s: float
    """Longest time without a step of any active rank, where nobody is dead."""
    after_loss_s: float
    """Longest time from a loss until every survivor noticed."""
    deadline_s: float
    """Longest training."""


def limits_of(job: JobSpec, profile: Profile) -> Limits:
    """The limits of one run; a timeout of the group always comes before ours."""
    after_loss_s = job.group_timeout_s + _TIMEOUT_MARGIN_S
    if job.detector is Detector.SUPERVISOR:
        after_loss_s = _TIMEOUT_MARGIN_S
    last_fault_s = sum(e.time_s or e.after_s or 0.0 for e in job.schedule.events)
    recovering_s = _LONGEST_RECOVERY_S * len(job.schedule.events)
    return Limits(
        start_s=profile.start_limit_s,
        quiet_s=max(profile.step_limit_s, job.group_timeout_s + _TIMEOUT_MARGIN_S),
        after_loss_s=after_loss_s,
        deadline_s=last_fault_s + recovering_s + after_loss_s + job.steps * profile.step_limit_s,
    )


def before_training(
    seen: Observed,
    limits: Limits,
    detector: Detector,
    lost_at: float | None,
    now: float,
    recovers: bool,
) -> Ending | None:
    """Whether a run that does not train yet is over; where it `recovers`, others may still come up
    or out of their groups."""
    if lost_at is not None:
        # Nobody is certain to come free of a formation: that the survivors were told is enough.
        told = detector is Detector.SUPERVISOR and not recovers
        if now > lost_at + (_TOLD_S if told else limits.after_loss_s):
            return Ending.NEVER_STARTED
    elif any(view.stopped_at for view in seen.ranks):
        return Ending.NEVER_STARTED
    return Ending.NEVER_STARTED if now > seen.began_at + limits.start_s else None


def note_silence(living: list[RankView], beats: HeartbeatReader, now: float) -> None:
    """Notes, of each that lives, since when its heartbeat is silent, and where in a step it was."""
    found = beats.read()
    for view in living:
        silent = now - found[view.rank].beat_at > _SILENT_S and view.active
        view.silent_since = found[view.rank].beat_at if silent else None
        view.where = found[view.rank].where if silent else ""


def quiet_s(living: list[RankView], beats: HeartbeatReader, since: float, now: float) -> float:
    """How long nothing has moved: no step, and nobody noticed anything, since `since` or later."""
    moved = max([since, *(beat.step_at for beat in beats.read())])
    return now - max([moved, *(view.stopped_at or 0.0 for view in living)])
