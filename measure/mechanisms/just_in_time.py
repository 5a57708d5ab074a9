"""FT4: just-in-time checkpoint (paper, II-B). Nothing while nothing is announced; when a fault is,
an emergency save of all ranks to peers' memory, before it strikes.

Ranks hear of a warning between different steps, and a save needs one step of all. Each rank
counts itself in the store when it has heard; the last one names the step: a later one of its own,
which nobody can have completed without it. Whoever is past that step all the same (an
architecture whose ranks do not wait for each other) says so before anything is sent, and all
take a later one.

The state is safe as soon as it can be, and training goes on. Where the lead leaves time, all save
once more as late as is safe, so that few steps are lost: they look again whenever half of the
steps that still fit are made, since steps may become slower.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measure.faults.schedule import FaultEvent
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier
from measure.mechanisms.peer_memory import PATH
from measure.rank.links import any_links
from measure.rank.state_size import expected_state_bytes
from measure.state.agreement import agree_on
from measure.state.contract import capture
from measure.state.errors import StateError
from measure.state.replicas import Replicas

_LABEL = "ft4"
_PEERS = 1
_MOST_ATTEMPTS = 5
_SAVES_IN_RESERVE = 2.0
"""What is kept free before the fault, in times of the slowest save so far."""
_STEPS_REMEMBERED = 8


@dataclass
class _Warning:
    """An announced fault, its save still to come."""

    event: FaultEvent
    due_at: float
    """When the fault will strike."""
    target: int | None = None
    """How many steps are to be complete when all save."""
    is_mine_to_name: bool = False
    meetings: int = 0
    """How often all ranks have said where they are."""
    misses: int = 0
    """How often they were at different steps, one after the other."""
    saved: int | None = None
    """How many steps were complete when all last saved for it."""
    is_safe: bool = False
    """All saved for it in an earlier generation."""

    @property
    def key(self) -> str:
        """In the store; a schedule strikes no rank twice."""
        return f"{_LABEL}/warned/{self.event.rank}"

    @property
    def announced_at(self) -> float:
        """When it was announced; a rank hears of it up to a step later."""
        return self.due_at - (self.event.lead_s or 0.0)

    def is_past(self, now: float) -> bool:
        """Whether the fault was to have struck by `now`."""
        return now > self.due_at


class JustInTime(Mechanism):
    """Saves to the next rank's memory when a fault is announced."""

    def __init__(self) -> None:
        self._replicas = Replicas(_LABEL, "peer memory, emergency save")
        self._warnings: dict[int, _Warning] = {}
        self._given_up = False

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Reserves memory, and forms a group for the save: pairs where the architecture has no
        group of all ranks. Announced faults that are still to come, and were not saved for yet,
        are saved for in this generation."""
        self._architecture: Architecture | None = architecture
        self._at = surroundings
        self._given_up = False
        self._done: int | None = None
        self._last: tuple[int, float, int] | None = None
        self._step_s: deque[float] = deque(maxlen=_STEPS_REMEMBERED)
        self._left_off: float | None = None
        context, began = architecture.context, time.monotonic()
        self._replicas.attach(
            surroundings,
            context,
            any_links(context, _LABEL),
            _PEERS,
            expected_state_bytes(architecture.state()),
        )
        self._share_warnings(began)

    def first_step_done(self, step: int) -> None:
        """Makes room for the whole state."""
        assert self._architecture is not None
        self._replicas.prepare(capture(self._architecture, step + 1, self._at.facts))

    def after_step(self, step: int) -> None:
        """Saves if all ranks are to save after this step."""
        self._done = step + 1
        if self._left_off is not None:
            self._step_s.append(time.monotonic() - self._left_off)
        self._save_if_due()
        self._left_off = time.monotonic()

    def on_warning(self, event: FaultEvent, due_at: float) -> None:
        """Notes it. Other ranks may be a step or two away."""
        if not self._is_over() and event.rank not in self._warnings:
            self._heard(_Warning(event, due_at))

    def tiers(self) -> Sequence[Tier]:
        """Peers' memory."""
        return (self._replicas,)

    def detach(self) -> None:
        """Lets go of the links; what was saved stays until a newer save is committed."""
        self._replicas.detach()
        self._architecture = None

    def _save_if_due(self) -> None:
        if not self._warnings or self._is_over():
            return
        assert self._done is not None
        try:
            self._serve(self._done)
        except (StateError, RuntimeError):
            if not self._at.goes_on_alone:
                raise
            self._given_up = True

    def _is_over(self) -> bool:
        return self._given_up or self._at.nothing_can_be_whole()

    def _share_warnings(self, now: float) -> None:
        """What any rank had heard of, all know as a later generation begins: who took a lost
        rank's place was not there when it was announced."""
        mine = [
            [w.event.rank, w.event.lead_s, w.due_at - now, w.is_safe or w.saved is not None]
            for w in self._warnings.values()
            if not w.is_past(now)
        ]
        self._warnings = {}
        if not self._at.generation:
            return
        assert self._architecture is not None
        context, at = self._architecture.context, self._at
        name = f"{_LABEL}/pending"
        reports = agree_on(
            at.store, name, context.rank, context.world_size, {"known": mine}, at.timeout_s
        )
        known = [warning for report in reports for warning in report["known"]]
        for rank in sorted({warning[0] for warning in known}):
            of_rank = [warning for warning in known if warning[0] == rank]
            event = FaultEvent(rank, step=0, lead_s=of_rank[0][1])
            due_at = now + min(left_s for _, _, left_s, _ in of_rank)
            is_safe = any(safe for *_, safe in of_rank)
            self._heard(_Warning(event, due_at, is_safe=is_safe))

    def _heard(self, warning: _Warning) -> None:
        """Counts this rank among those that know; the last of them names the step."""
        assert self._architecture is not None
        self._warnings[warning.event.rank] = warning
        known = self._at.store.add(warning.key, 1)
        warning.is_mine_to_name = known == self._architecture.context.world_size
        self._name_target(warning)

    def _serve(self, done: int) -> None:
        """What is due after `done` steps, in the same order on every rank. A warning that not all
        have heard of is forgotten, long after anybody could still name a step."""
        for warning in self._warnings.values():
            self._ask_for_target(warning)
        long_ago = time.monotonic() - 2.0 * self._at.timeout_s
        self._warnings = {
            rank: warning
            for rank, warning in self._warnings.items()
            if warning.target is not None or not warning.is_past(long_ago)
        }
        due = [w for w in self._warnings.values() if w.target is not None and w.target <= done]
        for warning in sorted(due, key=lambda w: (w.target, w.event.rank)):
            reports = self._meet(warning, done)
            if reports and not self._goes_on(warning, done, reports):
                del self._warnings[warning.event.rank]

    def _goes_on(self, warning: _Warning, done: int, reports: Sequence[Mapping[str, Any]]) -> bool:
        """All ranks have made `done` steps: saves if it is time to, and says whether there is
        more to do for this warning. The same on every rank."""
        if warning.saved is None:
            self._save_for(warning, done)
            warning.target = done + 1
            return not self._at.goes_on_alone  # their survivors never go back to a save
        fit = steps_that_fit(reports)
        if fit > 1:
            warning.target = done + fit // 2
            return True
        if fit == 1 and is_worthwhile(done - warning.saved, reports):
            self._save_for(warning, done)
        return False

    def _name_target(self, warning: _Warning) -> None:
        if warning.is_mine_to_name and self._done is not None:
            warning.target = self._done + self._margin()
            warning.is_mine_to_name = False
            self._at.store.set(f"{warning.key}/target", str(warning.target))

    def _ask_for_target(self, warning: _Warning) -> None:
        """Looks whether the last rank to hear has named the step."""
        self._name_target(warning)
        store, key = self._at.store, f"{warning.key}/target"
        if warning.target is None and store.check([key]):
            warning.target = int(store.get(key))

    def _margin(self) -> int:
        """How many steps ahead no rank can be of another: half a ring where neighbours alone
        wait for each other."""
        assert self._architecture is not None
        return 1 + (self._architecture.context.world_size // 2 if self._at.goes_on_alone else 0)

    def _meet(self, warning: _Warning, done: int) -> list[dict[str, Any]]:
        """What every rank reports, if all are at the step that was named; if one is past it, a
        later one is named, and nothing returned."""
        assert self._architecture is not None
        context = self._architecture.context
        reports = agree_on(
            self._at.store,
            f"{warning.key}/{warning.meetings}",
            context.rank,
            context.world_size,
            {
                "done": done,
                "left_s": warning.due_at - time.monotonic(),
                "step_s": max(self._step_s, default=0.0),
                "save_s": self._last[1] if self._last else 0.0,
            },
            self._at.timeout_s,
        )
        warning.meetings += 1
        furthest = max(report["done"] for report in reports)
        if all(report["done"] == furthest for report in reports):
            warning.misses = 0
            return reports
        warning.misses += 1
        if warning.misses == _MOST_ATTEMPTS:
            raise StateError(f"after {warning.misses} attempts no step is common to all ranks")
        warning.target = furthest + self._margin()
        return []

    def _save_for(self, warning: _Warning, done: int) -> None:
        """The emergency save; one serves all that are announced for the same step."""
        if self._last is None or self._last[0] != done:
            self._last = self._save(warning.event.rank, done)
        _, save_s, size_bytes = self._last
        ended = time.monotonic()
        self._at.log.write(
            "emergency",
            rank=warning.event.rank,
            step=done,
            s=ended - warning.announced_at,
            save_s=save_s,
            bytes=size_bytes,
            within=not warning.is_past(ended),
            lead_s=warning.event.lead_s,
            again=warning.is_safe or warning.saved is not None,
        )
        warning.saved = done

    def _save(self, victim: int, done: int) -> tuple[int, float, int]:
        """Saves on all ranks or on none; (step, seconds, bytes sent)."""
        assert self._architecture is not None
        at, began = self._at, time.monotonic()
        try:
            state = capture(self._architecture, done, at.facts)
            size_bytes = self._replicas.save(state, f"save-{victim}-{done}")
        except (StateError, RuntimeError) as error:
            spent_s = time.monotonic() - began
            at.log.write("save-failed", step=done, s=spent_s, why=str(error)[:300])
            raise
        save_s = time.monotonic() - began
        at.log.write("saved", step=done, s=save_s, bytes=size_bytes, path=PATH)
        return done, save_s, size_bytes


def steps_that_fit(reports: Sequence[Mapping[str, Any]]) -> int:
    """How many steps can be made before the last moment for a save, the one to save after
    included: 0 if it is past, 1 if it is now. From what every rank reports: seconds until the
    fault, of its slowest step lately, of its last save."""
    left_s = min(report["left_s"] for report in reports)
    save_s = max(report["save_s"] for report in reports)
    step_s = max(report["step_s"] for report in reports)
    if left_s < save_s:
        return 0
    free_s = max(0.0, left_s - _SAVES_IN_RESERVE * save_s)
    return 1 + int(free_s / step_s) if step_s > 0.0 else 1


def is_worthwhile(steps: int, reports: Sequence[Mapping[str, Any]]) -> bool:
    """Whether making `steps` steps again would take longer than one more save."""
    step_s: float = max(report["step_s"] for report in reports)
    save_s: float = max(report["save_s"] for report in reports)
    return steps * step_s > save_s
