"""Runs made by hand: what ranks and supervisor would have seen, to the second."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from measure.architectures.registry import entry_named
from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector, JobSpec
from measure.results.accounting import Times, times_of
from measure.results.generations import Generation, generations
from measure.results.rank_log import RankLog, Step
from measure.results.recoveries import Answered, answered
from measure.results.verdict import Run, faults_of
from measure.supervisor.observed import Ending, Observed, RankView, Recovery

_SIGKILL = -9


def job(*events: FaultEvent, **changes: Any) -> JobSpec:
    """A small job of ring all-reduce under FT1."""
    usual: dict[str, Any] = {
        "run_id": "made",
        "architecture": "a2",
        "mechanism": "ft1",
        "workload": "mlp",
        "profile": "smoke",
        "schedule": Schedule("made", events),
        "seed": 0,
        "world_size": 2,
        "steps": 10,
        "dropped_steps": 0,
        "group_timeout_s": 5.0,
        "round_limit_s": 1.0,
        "detector": Detector.SUPERVISOR,
        "device": "cpu",
        "backend": "gloo",
        "interval_steps": 5,
        "way": Way.SPARE,
    }
    return JobSpec(**{**usual, **changes})


@dataclass
class Made:
    """A run in the making; the supervisor's clock begins at 0."""

    job: JobSpec
    events: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    steps: dict[int, list[Step]] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = Observed(0.0, self.job.world_size)

    def view(self, slot: int) -> RankView:
        while len(self.seen.ranks) <= slot:
            self.seen.ranks.append(RankView(len(self.seen.ranks)))
        return self.seen.ranks[slot]

    def says(self, slot: int, at_s: float, event: str, **fields: Any) -> None:
        self.view(slot)
        self.events.setdefault(slot, []).append({"t": at_s, "event": event, **fields})

    def trains(
        self,
        slots: Iterable[int],
        from_s: float,
        first: int,
        count: int,
        step_s: float = 1.0,
        generation: int = 0,
        saves: Mapping[int, float] | None = None,
    ) -> float:
        """These make `count` steps, the first of which begins at `from_s`; returns its end.
        `saves`: after so many steps a save of so many seconds, inside the step's time."""
        if not generation:
            self.seen.training_at = from_s
        for slot in slots:
            for phase in ("formed", "attached", "restored"):
                self.says(slot, from_s - 0.01, phase, generation=generation)
            self.says(slot, from_s, "training", generation=generation, step=first)
            for n in range(first, first + count):
                end_s = from_s + (n - first + 1) * step_s
                self.steps.setdefault(slot, []).append(Step(n, end_s, step_s * 0.9, 1.0, 4))
                if saves and n + 1 in saves:
                    self.saves(slot, end_s, n + 1, saves[n + 1])
        return from_s + count * step_s

    def saves(self, slot: int, at_s: float, step: int, seconds: float, **fields: Any) -> None:
        usual = {"bytes": 100, "path": "storage"}
        self.says(slot, at_s, "saved", step=step, s=seconds, **{**usual, **fields})

    def crashes(self, slot: int, at_s: float, ordinal: int = 0, seen_s: float = 0.1) -> None:
        """The process dies, and the supervisor sees it so much later."""
        self.says(slot, at_s, "fault", ordinal=ordinal, kind="crash", steps=0)
        view = self.view(slot)
        view.died_at, view.exit_code = at_s + seen_s, _SIGKILL
        self.lost.append(slot)

    def stops(self, slots: Iterable[int], at_s: float) -> None:
        for slot in slots:
            self.says(slot, at_s, "stopped", how="supervisor", error="", peak_memory_bytes=1)
            self.view(slot).stopped_at = at_s

    def is_given_up(self, slots: Iterable[int], at_s: float) -> None:
        for slot in slots:
            view = self.view(slot)
            view.given_up, view.died_at, view.exit_code = True, at_s, _SIGKILL
            view.killed_by_supervisor = True
            self.lost.append(slot)

    def recovers(self, lost_s: float, train_s: float, step: int, **changes: Any) -> None:
        """The supervisor orders all to train again at `train_s`."""
        usual: dict[str, Any] = {
            "lost": tuple(self.lost),
            "lost_at": lost_s,
            "idle_at": lost_s + 0.1,
            "ordered_at": lost_s + 0.2,
            "train_at": train_s,
            "generation": len(self.seen.recoveries) + 1,
            "step": step,
            "way": "spare",
            "source": "storage",
            "world_size": self.job.world_size,
        }
        self.seen.recoveries.append(Recovery(**{**usual, **changes}))

    def ends(self, at_s: float, *finished: int, ending: Ending = Ending.ALL_STOPPED) -> Run:
        """The run as its record is made of."""
        for slot in finished:
            self.says(slot, at_s, "finished", peak_memory_bytes=1)
            self.view(slot).finished_at, self.view(slot).exit_code = at_s, 0
        self.seen.ended_at = at_s
        self.seen.ending = Ending.ALL_FINISHED if finished else ending
        logs = [
            RankLog(
                slot,
                tuple(sorted(self.steps.get(slot, []), key=lambda step: step.end_s)),
                tuple(sorted(self.events.get(slot, []), key=lambda event: event["t"])),
            )
            for slot in range(len(self.seen.ranks))
        ]
        return Run(self.job, entry_named(self.job.architecture), self.seen, logs)


def without_step(run: Run, number: int) -> Run:
    """The same run, but no log has this step."""
    logs = [replace(g, steps=tuple(s for s in g.steps if s.number != number)) for g in run.logs]
    return replace(run, logs=logs)


def answers_of(run: Run) -> list[Answered]:
    return answered(run, faults_of(run))


def trained(run: Run) -> list[Generation]:
    return generations(run, answers_of(run), faults_of(run))


def times(run: Run) -> Times:
    found = times_of(run, trained(run), answers_of(run), faults_of(run))
    assert found is not None
    return found
