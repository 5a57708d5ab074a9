"""The generations in which a run trained, each with the rank whose log stands for all of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from measure.results.rank_log import Event, RankLog
from measure.results.recoveries import Answered
from measure.results.verdict import Fault, Run, struck_ranks, survivors_of, went_on


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of the group that trained; instants in seconds since the run began."""

    number: int
    first_step: int
    from_s: float
    """The instant at which all were to train."""
    to_s: float
    """When the fault struck that ended it, or the group was set free to grow, or the training
    was complete, or the run was ended."""
    reference: RankLog
    """Of a process that trained until then: of those, the lowest place that trains on samples."""
    complete: bool
    """It made the last planned step."""


def generations(run: Run, answers: Sequence[Answered], faults: Sequence[Fault]) -> list[Generation]:
    """Those that were ordered to train, in order; none where training never began."""
    found: list[Generation] = []
    for number, first_step, from_s in _begun(run, answers):
        follows = next((a for a in answers if a.recovery.generation > number), None)
        end_s = follows.begin_s if follows else halted_at(run, answers, faults)
        reference = _reference(run, number, end_s)
        if reference is None:
            continue
        done_s = _last_step_s(run, reference) if end_s is None else None
        to_s = next(s for s in (end_s, done_s, run.ended_s) if s is not None)
        found.append(
            Generation(number, first_step, from_s, max(from_s, to_s), reference, done_s is not None)
        )
    return found


def halted_at(run: Run, answers: Sequence[Answered], faults: Sequence[Fault]) -> float | None:
    """When the fault struck that ended the training for good, or, where its rank survived it, when
    the training stopped for it; None where it went on, or no fault ended it."""
    if went_on(run):
        return None
    mine = {fault.ordinal for answer in answers for fault in answer.faults}
    open_faults = [f for f in faults if f.fired and f.ordinal not in mine]
    ending = [f for f in open_faults if f.event.ends_its_rank]
    if open_faults and not ending:
        return _stopped_at(run)
    open_faults = ending
    if run.job.goes_on_alone(run.entry):
        # One fault may have cost a worker only: the one that ended it all had no steps after it.
        last_begin_s = max((s.begin_s for log in run.logs for s in log.steps), default=0.0)
        open_faults = [f for f in open_faults if f.at_s > last_begin_s] or open_faults[-1:]
    return min((fault.at_s for fault in open_faults), default=None)


def _stopped_at(run: Run) -> float:
    """When the first of those whom no fault had ended stopped for good; the end of the run, where
    none did."""
    stops = []
    for view in survivors_of(run):
        last = [e for e in run.logs[view.rank].events if e["event"] in ("stopped", "training")][-1:]
        stops += [event["t"] for event in last if event["event"] == "stopped"]
    return min(stops, default=run.ended_s)


def events_in(log: RankLog, generation: int) -> Iterator[Event]:
    """What a process wrote down from the beginning of its training in a generation to that in
    the next one."""
    trains = False
    for event in log.events:
        if event["event"] == "training":
            trains = event["generation"] == generation
        elif trains:
            yield event


def _begun(run: Run, answers: Sequence[Answered]) -> list[tuple[int, int, float]]:
    """(number, first step, instant) of every generation that was ordered to train. A rank that was
    lost before any had formed is replaced in the first one."""
    begun = [(a.recovery.generation, a.recovery.step, a.train_s) for a in answers]
    if run.seen.training_at is not None and all(number for number, *_ in begun):
        begun.insert(0, (0, 0, run.since_began(run.seen.training_at)))
    return begun


def _reference(run: Run, generation: int, end_s: float | None) -> RankLog | None:
    """Who made every step of a generation up to its end: who was struck before or then, only
    where there is nobody else."""
    members = [log for log in run.logs if log.first("training", generation=generation)]
    struck, places = struck_ranks(run), _places(run, generation)
    until_s = float("inf") if end_s is None else end_s

    def order(log: RankLog) -> tuple[bool, bool, int]:
        lost = struck.get(log.rank, float("inf")) <= until_s and log.rank in struck
        idle = not any(step.samples > 0 for step in log.steps)
        return lost, idle, places.get(log.rank, log.rank)

    return min(members, key=order, default=None)


def _places(run: Run, generation: int) -> dict[int, int]:
    """The place that each process of a generation had."""
    return {
        member["slot"]: member["place"]
        for line in run.seen.lineage
        if line["generation"] == generation
        for member in line["members"]
    }


def _last_step_s(run: Run, log: RankLog) -> float | None:
    """When the last planned step was complete on a rank."""
    ends = [step.end_s for step in log.steps if step.number == run.job.steps - 1]
    return ends[-1] if ends else None
