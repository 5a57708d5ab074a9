"""One job as a plain loop over everything that happens to it: the oracle of the simulation.

Written apart from it: it walks through every stretch of work and every save, keeps positions as
counts of intervals, and remembers what each tier holds. It takes the same events, so that both can
be compared job by job.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, inf

from advisor.simulation.process import Process


@dataclass(frozen=True, slots=True)
class Event:
    """A failure or a false alarm, `gap_s` after the last one; `repairs_s` of the lost nodes."""

    gap_s: float
    kind: int = 0
    is_saved: bool = False
    is_alarm: bool = False
    repairs_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Work done, in whole intervals and seconds; saves that are due, with what is left of them."""

    interval: int = 0
    worked_s: float = 0.0
    due: tuple[tuple[int, float], ...] = ()

    @property
    def order(self) -> tuple[int, int, float]:
        """Later states are larger: fewer saves are due at the same place."""
        return self.interval, -len(self.due), self.worked_s - sum(left for _, left in self.due)


@dataclass(frozen=True, slots=True)
class Held:
    """What a tier holds, and what it held before."""

    state: State = State()
    before: "Held | None" = None


class Job:
    """Runs a process through given events."""

    def __init__(self, process: Process) -> None:
        self.process = process
        stretch = 1.0 + process.overhead
        self.work_s = process.work_s * stretch
        self.intervals_s = [tier.interval_s * stretch for tier in process.tiers]
        fine = self.intervals_s[0] if self.intervals_s else 0.0
        self.fine_s = fine or inf
        self.keeps_all = bool(self.intervals_s) and not fine
        self.every = [round(each / fine) if fine else 0 for each in self.intervals_s]
        self.last = floor(self.work_s / fine * (1.0 + 1e-12)) if fine else 0
        self.rest_s = self.work_s - self.last * fine
        self.now_s = 0.0
        self.trained_s = 0.0
        self.spent_s = dict.fromkeys(("detection", "waiting", "recovery", "emergency"), 0.0)
        self.failures = 0
        self.from_beginning = 0

    def run(self, events: Iterable[Event]) -> float:
        """The completion time; the events have to reach that far."""
        process = self.process
        state, held, emergency = State(), [Held() for _ in process.tiers], None
        pool = [0.0] * (process.spares.count if process.spares else 0)
        left = dict.fromkeys(self.spent_s, 0.0)
        kind, replaced_s = 0, 0.0
        for event in events:
            until_s = self.now_s + event.gap_s
            was_saving = left["emergency"] > 0.0
            room_s = self._phases(left, event.gap_s)
            if was_saving and not left["emergency"]:
                emergency = state
            before, held_before = state, list(held)
            state, left_s = self._train(state, held, room_s)
            trained_s = room_s - left_s
            if self._is_over(state):
                self.trained_s += trained_s
                self.now_s = until_s - left_s
                return self.now_s
            self.now_s = until_s
            if event.is_alarm:
                self.trained_s += trained_s
                if not any(left.values()):
                    assert process.warnings is not None
                    left["emergency"] = process.warnings.save_s
                continue
            self.failures += 1
            if event.is_saved and process.warnings is not None:
                save_s = process.warnings.save_s
                saving_s = min(trained_s, save_s)
                self.spent_s["emergency"] += saving_s
                trained_s -= saving_s
                # The same stretch once more, up to where the save began.
                held = held_before
                state, _ = self._train(before, held, trained_s)
                if saving_s >= save_s and room_s > 0.0:
                    emergency = state
            self.trained_s += trained_s
            pending = any(left[name] for name in ("detection", "waiting", "recovery"))
            severities = [each.severity for each in process.kinds]
            if not (pending and severities[kind] > severities[event.kind]):
                kind = event.kind
            if process.warnings and severities[event.kind] > process.warnings.survives:
                emergency = None
            reached = state
            state, restore_s = self._restored(state, held, emergency, severities[kind])
            if state == State() != reached:
                self.from_beginning += 1
            left["detection"] = left["detection"] or process.detection_s
            if process.spares:
                for repair_s in event.repairs_s:
                    pool.append(self.now_s + repair_s)
                    first = min(pool)
                    pool.remove(first)
                    replaced_s = max(replaced_s, first)
                left["waiting"] = max(replaced_s - (self.now_s + left["detection"]), 0.0)
            left["recovery"] = restore_s + process.regroup_s
            left["emergency"] = 0.0
        raise AssertionError("the events end before the job does")

    def _train(self, state: State, held: list[Held], room_s: float) -> tuple[State, float]:
        """Work and saves for `room_s`; the new state, and what is left once the job is over."""
        while not self._is_over(state):
            piece_s = min(room_s, self._piece_s(state))
            if room_s <= 0.0 and self._piece_s(state) > 0.0:
                break
            state = self._advance(state, piece_s, held)
            room_s -= piece_s
        return state, room_s

    def _phases(self, left: dict[str, float], room_s: float) -> float:
        for name in self.spent_s:
            taken_s = min(left[name], room_s)
            left[name] -= taken_s
            room_s -= taken_s
            self.spent_s[name] += taken_s
        return room_s

    def _is_over(self, state: State) -> bool:
        return (
            not state.due
            and state.interval == self.last
            and state.worked_s >= self.rest_s * (1.0 - 1e-12) - 1e-9
        )

    def _piece_s(self, state: State) -> float:
        """What is left of the present stretch of work or save."""
        if state.due:
            return state.due[0][1]
        end_s = self.fine_s if state.interval < self.last else self.rest_s
        return end_s - state.worked_s

    def _advance(self, state: State, spent_s: float, held: list[Held]) -> State:
        """After `spent_s` of the present piece; a save that ends is held by its tier."""
        if state.due:
            (tier, left_s), *others = state.due
            if spent_s < left_s:
                return State(state.interval, 0.0, ((tier, left_s - spent_s), *others))
            state = State(state.interval, 0.0, tuple(others))
            # A more frequent tier has saved the same place before.
            held[tier] = Held(state, held[tier])
            return state
        worked_s = state.worked_s + spent_s
        if state.interval == self.last or spent_s < self.fine_s - state.worked_s:
            return State(state.interval, worked_s)
        interval = state.interval + 1
        tiers = self.process.tiers
        due = [(i, tiers[i].stall_s) for i in range(len(tiers)) if interval % self.every[i] == 0]
        return State(interval, 0.0, tuple(due))

    def _restored(
        self, state: State, held: list[Held], emergency: State | None, severity: int
    ) -> tuple[State, float]:
        process = self.process
        tier = process.tier_for(severity)
        if tier is None:
            found, restore_s = State(), 0.0
        elif self.keeps_all:
            found, restore_s = state, process.tiers[0].restore_s
        else:
            # Where a rarer tier has saved the same work, that save needs not be made again.
            found = max((each.state for each in held[tier:]), key=lambda each: each.order)
            restore_s = process.tiers[tier].restore_s
        if emergency is not None and emergency.order > found.order:
            assert process.warnings is not None
            found, restore_s = emergency, process.warnings.restore_s
        # What is lost is not held any more; more frequent tiers hold what a rarer one restored.
        for place, each in enumerate(held):
            while each.state.order > found.order and each.before is not None:
                each = each.before
            held[place] = each
            if tier is not None and place < tier and found is not emergency:
                held[place] = Held(found, each)
        return found, restore_s
