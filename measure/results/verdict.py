"""What became of a run: each fault, the outcome, and whether it may serve as evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from measure.faults.kinds import Warned
from measure.faults.schedule import FaultEvent, FaultKind
from measure.interfaces.capabilities import ArchitectureEntry, Way
from measure.job_spec import Detector, JobSpec
from measure.rank.exit_codes import RAISED
from measure.results.rank_log import Event, RankLog
from measure.supervisor.observed import Ending, Observed, RankView
from measure.supervisor.ranks import ended_by

_SIGKILL = -9
_LONGEST_NOTE = 1000
STRAGGLER = "straggler"
"""The kind of a suspicion, as monitors have it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that is known of a finished run."""

    job: JobSpec
    entry: ArchitectureEntry
    seen: Observed
    logs: Sequence[RankLog]

    def since_began(self, instant: float) -> float:
        """An instant of the supervisor's clock, in seconds since the run began."""
        return max(0.0, instant - self.seen.began_at)

    @property
    def clock_error_s(self) -> float:
        """By how much instants of two logs may seem to be apart that are one, as the clocks of
        several hosts are known; 0 where all are on one."""
        return 2.0 * max((log.clock_error_s for log in self.logs), default=0.0)

    @property
    def ended_s(self) -> float:
        """When the supervisor ended the run."""
        return self.since_began(self.seen.ended_at)


@dataclass(frozen=True, slots=True)
class Detection:
    """One rank noticed a fault, `after_s` seconds after it fired."""

    rank: int
    after_s: float
    how: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One planned fault and what became of it. `detected_s` is when the last rank that had to
    act knew; when `censored`, nobody can say, and it is the time that was waited in vain."""

    ordinal: int
    event: FaultEvent
    fired: bool
    at_s: float
    steps: int | None
    detections: tuple[Detection, ...]
    detected_s: float | None
    censored: bool
    outcome: str
    slot: int = 0
    """The process that it struck, or was planned for."""

    @property
    def first_detected_s(self) -> float | None:
        """When the first rank knew (the paper's time to detect)."""
        return min((d.after_s for d in self.detections), default=None)

    def as_json(self) -> dict[str, Any]:
        """The fault as it stands in the record."""
        return {
            "ordinal": self.ordinal,
            "kind": self.event.kind.value,
            "rank": self.event.rank,
            "planned": self.event.planned(),
            "lead_s": self.event.lead_s,
            "fired": self.fired,
            "at_s": self.at_s,
            "step": self.steps,
            "detections": [
                {"rank": d.rank, "after_s": d.after_s, "how": d.how} for d in self.detections
            ],
            "first_detected_s": self.first_detected_s,
            "detected_s": self.detected_s,
            "censored": self.censored,
            "outcome": self.outcome,
        }


def faults_of(run: Run) -> list[Fault]:
    """Every planned fault, in the schedule's order."""
    return [_fault(run, n, event) for n, event in enumerate(run.job.schedule.events)]


def outcome_of(run: Run, faults: Sequence[Fault], reasons: Sequence[str]) -> str:
    """The run's outcome in one word."""
    if run.seen.ending is Ending.INFEASIBLE:
        return "infeasible"
    if reasons:
        return "invalid"
    stopped = bool(suspected_at(run))
    if not faults and not stopped:
        return "completed"
    if went_on(run):
        # All that were planned may have been due after the last step.
        struck = stopped or any(f.fired for f in faults)
        return _how_it_went_on(run) if struck else "completed"
    hung = any(f.fired and f.event.kind is FaultKind.HANG and f.event.ends_its_rank for f in faults)
    if hung or run.seen.ending in (Ending.HUNG, Ending.DEADLINE):
        return "hang"
    return "halted"


def _how_it_went_on(run: Run) -> str:
    """By itself, from a state that was saved, or from the beginning."""
    if not run.seen.recoveries:
        return "graceful"
    anew = any(not recovery.source for recovery in run.seen.recoveries)
    return "restarted-from-zero" if anew else "recovered"


def suspected_at(run: Run) -> list[float]:
    """When training stopped for the suspicion of a monitor: as the first rank wrote it down, and as
    the supervisor heard of it."""
    heard = [run.since_began(each.at) for each in run.seen.incidents if each.stops]
    said = (event for log in run.logs for event in log.events if event["event"] == "suspect")
    return heard + [event["t"] for event in said if event["severity"] == "stop"]


def went_on(run: Run) -> bool:
    """Whether every survivor, and whoever replaced the others, made all the planned steps."""
    survivors = survivors_of(run)
    return bool(survivors) and all(view.finished_at is not None for view in survivors)


def survivors_of(run: Run) -> list[RankView]:
    """The ranks that no fault struck, and that were not given up for a recovery."""
    struck = struck_ranks(run)
    return [v for v in run.seen.members if v.rank not in struck and not v.given_up]


def struck_ranks(run: Run) -> Mapping[int, float]:
    """The processes that a fault ended, with the time at which it fired."""
    found = {}
    for ordinal, event in enumerate(run.job.schedule.events):
        slot, said = _strike(run, ordinal)
        if said is not None and event.ends_its_rank:
            found[slot] = said["t"]
            for other in _lost_with(run, slot) if event.kind.strikes_a_node else []:
                found.setdefault(other, said["t"])
    return found


def struck_at(run: Run) -> list[float]:
    """When faults fired, also those that their ranks survived."""
    count = len(run.job.schedule.events)
    return [said["t"] for n in range(count) if (said := _strike(run, n)[1]) is not None]


def _lost_with(run: Run, slot: int) -> list[int]:
    """All processes of the node of this one, if that was lost."""
    node = run.seen.ranks[slot].node
    if node is None or not run.seen.nodes[node].lost:
        return []
    return [view.rank for view in run.seen.ranks if view.node == node]


def _strike(run: Run, ordinal: int) -> tuple[int, dict[str, Any] | None]:
    """(The process that a fault struck or was planned for, what that process wrote of it)."""
    for log in run.logs:
        said = log.first("fault", ordinal=ordinal)
        if said is not None and log.first("fault-failed", ordinal=ordinal) is None:
            return log.rank, said
    return run.job.schedule.events[ordinal].rank, None


def reasons_of(run: Run, faults: Sequence[Fault]) -> list[str]:
    """Why the run cannot serve as evidence; none when it can."""
    if run.seen.ending is Ending.INFEASIBLE:
        return []
    reasons = ["interrupted"] if run.seen.ending is Ending.INTERRUPTED else []
    reasons.append(unplanned_loss_of_a_node(run))
    reasons.append(_first_unplanned_end(run))
    reasons.append(_unplanned_stop_after_recovery(run))
    reasons += [_unfired(run, fault) for fault in faults]
    fired = any(fault.fired for fault in faults) or bool(suspected_at(run))
    reasons += run.seen.refused
    if run.seen.ending is Ending.NEVER_STARTED and not fired:
        reasons.append("training did not begin: " + _what_failed(run))
    if run.seen.ending in (Ending.HUNG, Ending.DEADLINE) and not fired:
        reasons.append(f"{run.seen.ending.value}, though no fault had struck")
    if not any(reasons) and not faults and not fired and not went_on(run):
        reasons.append("not all ranks finished: " + _what_failed(run))
    return [reason for reason in reasons if reason]


def notes_of(run: Run, faults: Sequence[Fault]) -> list[str]:
    """What a reader of the record should know."""
    notes = [note for log in run.logs for note in log.notes]
    notes += sorted({view.infeasible for view in run.seen.ranks if view.infeasible})
    notes += [f"began again at step 0: {why}" for why in _begun_anew(run)]
    if run.seen.ending in (Ending.NO_PROGRESS, Ending.NEVER_STARTED):
        notes.append(f"stopped: {run.seen.ending.value}")
    if run.seen.why_stopped:
        notes.append(f"halted: {run.seen.why_stopped}")
    for each in run.seen.incidents:
        notes.append(f"incident {each.incident}: {each.why}"[:_LONGEST_NOTE])
        if each.not_kept:
            lacking = f"incident {each.incident}: evidence was not kept: {each.not_kept}"
            notes.append(lacking[:_LONGEST_NOTE])
    return notes + [
        f"fault {fault.ordinal} was due after the job had ended"
        for fault in faults
        if not fault.fired and _was_over(run, fault)
    ]


def _begun_anew(run: Run) -> list[str]:
    """Of each recovery that found no state, why: all ranks say the same."""
    found = []
    for recovery in run.seen.recoveries:
        if not recovery.generation:
            found.append("a rank was lost before training began")
        elif not recovery.source:
            ordered_s, ended_s = map(run.since_began, (recovery.ordered_at, recovery.train_at))
            said = (log.first_after("nothing-restored", ordered_s) for log in run.logs)
            found += [e["why"] for e in said if e is not None and e["t"] <= ended_s][:1]
    return found


def _fault(run: Run, ordinal: int, event: FaultEvent) -> Fault:
    slot, said = _strike(run, ordinal)
    if said is not None and not event.ends_its_rank:
        return _survived(run, ordinal, event, slot, said)
    if said is None or (event.kind.strikes_a_node and not _really_fired(run, slot, event)):
        due_s = _due_s(run, event)
        return Fault(ordinal, event, False, due_s, None, (), None, False, "not_fired", slot)
    detections = tuple(_detections(run, slot, event, said["t"]))
    continues = not run.seen.recoveries and went_on(run)
    knowing = {d.rank for d in detections}
    had_to_know = {v.rank for v in survivors_of(run) if _was_there(run, v.rank, said["t"])}
    all_know = bool(detections) and (continues or had_to_know <= knowing)
    by_supervisor = run.job.detector is Detector.SUPERVISOR
    if event.kind is FaultKind.HANG and by_supervisor and not continues:
        all_know = False  # the supervisor hears of deaths only: this detector never fired
    if not continues and _all_had_stopped(run, said["t"]):
        # An earlier fault had halted the job: nobody was left to notice this one.
        outcome = _fault_outcome(run, event, continues)
        at_s, steps = said["t"], said["steps"]
        return Fault(ordinal, event, True, at_s, steps, (), None, False, outcome, slot)
    waited_s = max(0.0, run.ended_s - said["t"])
    return Fault(
        ordinal,
        event,
        fired=_really_fired(run, slot, event),
        at_s=said["t"],
        steps=said["steps"],
        detections=detections,
        detected_s=max(d.after_s for d in detections) if all_know else waited_s,
        censored=not all_know,
        outcome=_fault_outcome(run, event, continues),
        slot=slot,
    )


def _survived(
    run: Run, ordinal: int, event: FaultEvent, slot: int, said: Mapping[str, Any]
) -> Fault:
    """A fault that its rank survived: whoever noticed it did so by a monitor, or, where it was the
    store that was lost, as the group was left. That nobody did is no value of it."""
    usually = "monitor"
    noticing: Callable[[RankLog, float], Event | None] = partial(_suspected, of=event.kind)
    if event.kind is FaultKind.STORE_LOSS:
        usually, noticing = "supervisor", _left_the_group
    # A false alarm strikes nobody: what is suspected after it is something else.
    noticed_by = [] if event.warned is Warned.FALSE else run.logs
    found = ((log.rank, noticing(log, said["t"])) for log in noticed_by)
    detections = tuple(
        Detection(rank, max(0.0, noticed["t"] - said["t"]), noticed.get("how", usually))
        for rank, noticed in found
        if noticed is not None
    )
    return Fault(
        ordinal,
        event,
        fired=True,
        at_s=said["t"],
        steps=said["steps"],
        detections=detections,
        detected_s=max((d.after_s for d in detections), default=None),
        censored=False,
        outcome=_fault_outcome(run, event, not run.seen.recoveries and went_on(run)),
        slot=slot,
    )


def _suspected(log: RankLog, at_s: float, of: FaultKind) -> Event | None:
    """The first suspicion of a monitor from an instant on; that a rank is slow is said of a
    straggler, and of nothing else."""
    slow = of is FaultKind.STRAGGLER
    suspicions = (e for e in log.events if e["event"] == "suspect" and e["t"] >= at_s)
    return next((e for e in suspicions if (e.get("kind") == STRAGGLER) is slow), None)


def _left_the_group(log: RankLog, at_s: float) -> Event | None:
    """The first stop from an instant on, if the rank did not train anew before."""
    stopped, again = _stopped_for_a_loss(log, at_s), log.first_after("training", at_s)
    return stopped if stopped and (again is None or stopped["t"] < again["t"]) else None


def _all_had_stopped(run: Run, instant_s: float) -> bool:
    """Whether every survivor had stopped before, and did not train again."""
    survivors = survivors_of(run)
    return bool(survivors) and all(
        (stopped := run.logs[view.rank].first("stopped")) is not None
        and stopped["t"] < instant_s - run.clock_error_s
        and run.logs[view.rank].first_after("training", stopped["t"]) is None
        for view in survivors
    )


def _fault_outcome(run: Run, event: FaultEvent, continues: bool) -> str:
    if continues:
        return "degraded"
    if run.seen.recoveries and went_on(run):
        return "recovered"
    of_the_center = event.ends_its_rank and event.rank == run.entry.coordinator
    is_center = of_the_center or event.kind is FaultKind.STORE_LOSS
    return "coordinator_lost" if is_center else "halted"


def _detections(run: Run, victim: int, event: FaultEvent, at_s: float) -> list[Detection]:
    found = []
    struck = struck_ranks(run)
    for log in run.logs:
        if log.rank in struck or not _was_there(run, log.rank, at_s):
            continue
        noticed = (
            log.first("dropped", rank=event.rank)
            or _noticed(run, log, event, at_s, victim)
            or _ended_for_it(run, log.rank, victim)
        )
        if noticed is not None:
            after_s = max(0.0, noticed["t"] - at_s)
            found.append(Detection(log.rank, after_s, noticed.get("how", "supervisor")))
    return found


def _noticed(
    run: Run, log: RankLog, event: FaultEvent, at_s: float, victim: int
) -> dict[str, Any] | None:
    """How a rank noticed: who trained, by stopping, before it trained again; who waited for a
    recovery already, by being told, or because the supervisor knew."""
    # As the clocks are known, a stop may seem to be before the fault that it follows from, and the
    # training that was struck to begin after it.
    from_s, until_s = at_s - run.clock_error_s, at_s + run.clock_error_s
    limits_s = {"training": until_s, "stopped": from_s}
    before = [e for e in log.events if e["t"] < limits_s.get(e["event"], 0.0)]
    again = log.first_after("training", until_s)
    if before and before[-1]["event"] == "training":
        stopped = _stopped_for_a_loss(log, from_s)
        return stopped if stopped and (again is None or stopped["t"] < again["t"]) else None
    told = [
        e
        for e in log.events
        if e["event"] == "told" and e.get("rank") == event.rank and e["t"] >= from_s
    ]
    if told:
        return told[0]
    died_at = run.seen.ranks[victim].died_at
    if run.seen.training_at is None or died_at is None:
        return _stopped_for_a_loss(log, from_s)
    return {"t": run.since_began(died_at), "how": "supervisor"}


def _stopped_for_a_loss(log: RankLog, at_s: float) -> dict[str, Any] | None:
    """The first stop after an instant that was no planned pause. Who did not come free had been
    told before."""
    after = (e for e in log.events if e["t"] >= at_s)
    told: dict[str, Any] | None = None
    for event in after:
        if event["event"] == "told":
            told = told or event
        if event["event"] == "stopped" and event["how"] != "regroup":
            return told if event.get("stuck") and told else event
    return None


def _was_there(run: Run, slot: int, at_s: float) -> bool:
    """Whether a process took part in the training at that time: who was taken in later, or had
    been lost before, had nothing to notice. (Before training, all the first ones do.)"""
    died_at = run.seen.ranks[slot].died_at
    if died_at is not None and run.since_began(died_at) < at_s - run.clock_error_s:
        return False
    joined = run.logs[slot].first("training")
    in_time = joined is not None and joined["t"] <= at_s + run.clock_error_s
    return slot < run.job.world_size or in_time


def _ended_for_it(run: Run, slot: int, victim: int) -> dict[str, Any] | None:
    """Where all processes are started anew, the supervisor is the one who notices, for all: when
    it sees the death."""
    died_at = run.seen.ranks[victim].died_at
    if not run.seen.ranks[slot].given_up or run.job.way is not Way.RESTART or died_at is None:
        return None
    return {"t": run.since_began(died_at), "how": "supervisor"}


def _really_fired(run: Run, slot: int, event: FaultEvent) -> bool:
    """The victim said so, and its end agrees. (Who is given up because another was lost at the
    same time may be dead by then already: nobody can say which signal was first.)"""
    view = run.seen.ranks[slot]
    if event.kind.strikes_a_node:
        return view.node is not None and run.seen.nodes[view.node].lost == event.kind.value
    if event.kind in (FaultKind.CRASH, FaultKind.COORDINATOR_LOSS):
        return view.exit_code == _SIGKILL and (view.given_up or not view.killed_by_supervisor)
    if event.kind is FaultKind.EXCEPTION:
        raised = run.logs[slot].first("raised", injected=True)
        return raised is not None and (view.given_up or view.exit_code == RAISED)
    return view.killed_by_supervisor


def _unfired(run: Run, fault: Fault) -> str:
    if fault.fired or _was_over(run, fault):
        return ""
    planned = ", ".join(f"{key} {value}" for key, value in fault.event.planned().items())
    what = f"{fault.event.kind} of rank {fault.event.rank}, {planned}"
    failed = _failed(run, fault)
    why = f": {failed['why']}" if failed else ""
    return f"fault {fault.ordinal} ({what}) did not fire{why}"


def _failed(run: Run, fault: Fault) -> Event | None:
    """What a process wrote of a fault that was due there and could not be carried out."""
    said = (log.first("fault-failed", ordinal=fault.ordinal) for log in run.logs)
    return next((event for event in said if event), None)


def _was_over(run: Run, fault: Fault) -> bool:
    """Whether the job had halted, by an earlier fault, before this one was due; or had made all its
    steps, where faults come at times of their own and not at a place in the training."""
    if _failed(run, fault) is not None:
        return False  # it was due, and tried
    if fault.event.time_s is not None and run.seen.ending is Ending.ALL_FINISHED:
        return fault.at_s >= max(log.steps[-1].end_s for log in run.logs if log.steps)
    earlier = min(struck_at(run), default=None)
    return earlier is not None and not went_on(run) and fault.at_s >= earlier


def _due_s(run: Run, event: FaultEvent) -> float:
    _, first = _strike(run, 0)
    first_s: float | None = first["t"] if first else None
    if event.after_s is not None and first_s is not None:
        return first_s + event.after_s
    if event.time_s is not None and run.seen.training_at is not None:
        return run.since_began(run.seen.training_at) + event.time_s
    return run.ended_s


def unplanned_loss_of_a_node(run: Run) -> str:
    """The node that was lost first, or in another way, without a fault of the schedule."""
    planned = set()
    for ordinal, event in enumerate(run.job.schedule.events):
        slot, said = _strike(run, ordinal)
        if said is not None and event.kind.strikes_a_node:
            planned.add((run.seen.ranks[slot].node, event.kind.value))
    lost = [node for node in run.seen.nodes if node.lost and (node.node, node.lost) not in planned]
    if not lost:
        return ""
    first = min(lost, key=lambda node: node.lost_at or 0.0)
    return f"node {first.node} ({first.host}) was lost unplanned: {first.lost}"


def _first_unplanned_end(run: Run) -> str:
    """The rank that ended first without a fault of the schedule; the others followed from it."""
    struck = struck_ranks(run)
    others = [view for view in run.seen.ranks if view.rank not in struck]
    died = [view for view in others if view.exit_code and not view.killed_by_supervisor]
    if died:
        first = min(died, key=lambda view: view.died_at or 0.0)
        raised = run.logs[first.rank].first("raised")
        said = raised["error"].strip().splitlines()[-1] if raised else ended_by(first.exit_code)
        return f"rank {first.rank} ended unplanned: {said}"
    # What follows from a fault may seem to be before it, as far as clocks of hosts are known.
    began_s = [*struck_at(run), *suspected_at(run)]
    first_fault_s = min(began_s, default=float("inf")) - run.clock_error_s
    stopped = [
        (event["t"], view.rank, event["error"])
        for view in others
        if (event := run.logs[view.rank].first("stopped")) and event["t"] < first_fault_s
    ]
    if not stopped:
        return ""
    _, rank, error = min(stopped)
    return f"rank {rank} stopped unplanned: {error}"


def _unplanned_stop_after_recovery(run: Run) -> str:
    """The first survivor that stopped for good in a generation that no fault had struck. It begins
    at one instant for all, though one may be struck before another has written that down."""
    if went_on(run) or not run.seen.recoveries:
        return ""
    struck_s, error_s = [*struck_ranks(run).values(), *suspected_at(run)], run.clock_error_s
    survived_s = [at_s for at_s in struck_at(run) if at_s not in struck_s]
    ordered_s = run.since_began(run.seen.recoveries[-1].train_at)
    found = []
    for view in survivors_of(run):
        log = run.logs[view.rank]
        began = [e["t"] for e in log.events if e["event"] == "training"]
        stops = [e for e in log.events if e["event"] == "stopped"]
        if began and stops and stops[-1]["t"] > began[-1]:
            last = stops[-1]
            from_s = min(ordered_s, began[-1])
            # What a rank survived may have its effect much later.
            until_s = last["t"] + error_s
            struck = any(from_s - error_s <= at_s <= until_s for at_s in struck_s)
            if not struck and not any(at_s <= until_s for at_s in survived_s):
                found.append((last["t"], view.rank, last["error"]))
    if not found:
        return ""
    _, rank, error = min(found)
    return f"rank {rank} stopped unplanned after a recovery: {error}"


def _what_failed(run: Run) -> str:
    waiting = [str(view.rank) for view in run.seen.ranks if not view.built]
    return f"ranks {', '.join(waiting)} were not ready" if waiting else "no rank says why"
