"""Memory of peers as a tier: each rank's state in its own host's memory and in that of `peers`
others: the next ranks of the ring, or ranks of other nodes (measure.nodes.placement).

A save goes through two stages. First each rank has its own state and those of the ranks before it
in slots that are `filled`; then all agree, and each commits its slots. The slot of the save before
is overwritten only by the next save, which a rank begins after it has committed this one: while
nobody has, everybody still has the older one; once one rank shows a committed slot, all ranks had
agreed, and the filled slots of the others count too. A rank that dies in between changes nothing.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat, zip_longest
from typing import Any, NamedTuple

from torch import Tensor

from measure.errors import InfeasibleError
from measure.interfaces.mechanism import Surroundings
from measure.interfaces.tier import Tier
from measure.nodes.placement import Placement, placed, ring
from measure.rank.context import RankContext
from measure.rank.event_log import boot_id
from measure.rank.links import Incoming, Links, Outgoing
from measure.state import segment_names, segments
from measure.state.agreement import agree_on, outcome_of
from measure.state.contract import RankState
from measure.state.digest import canonical, of_bytes
from measure.state.errors import CorruptStateError, NoSpaceError, PeerFailedError, StateError
from measure.state.layout import Layout, StreamDigests
from measure.state.segments import COMMITTED, DATA_AT, FILLED, Slot
from measure.state.tensor_bytes import view_of

_KEPT = 1
"""So many saves are whole at any moment, besides the one that is being made."""
_SETTING_UP_S = 30.0
"""How long ranks wait for each other before training, when none works against a clock."""
_MARGIN_BYTES = 1 << 19
_MARGIN_SHARE = 32
"""Reserved beyond the expected state: for generators and descriptions, and 1/32 of it."""


class Save(NamedTuple):
    """Which save a state is of: the same step may be saved again in a later generation."""

    step: int
    generation: int


@dataclass
class _Landing:
    """A state that arrives from a peer in a slot of this rank."""

    incoming: Incoming
    slot: Slot
    payload: Tensor
    state: RankState
    layout: Layout
    generation: int
    found: StreamDigests

    def take(self, begin: int, end: int) -> None:
        self.found.feed(view_of(self.payload[begin:end]))

    def settle(self) -> str:
        """All is there: the slot is filled; returns the state's digest."""
        slot = self.slot
        content = segments.content_of(
            self.state, self.layout, self.found, slot.holder, self.generation
        )
        slot.fill(content)
        return content.digest


@dataclass
class _Generation:
    """What holds for one generation of the group."""

    at: Surroundings
    rank: int
    world_size: int
    placement: Placement
    links: Links

    @property
    def owners(self) -> list[int]:
        """Whose states this rank holds: its own, and those of others that are placed here."""
        return self.placement.owners(self.rank)

    @property
    def holders(self) -> Sequence[int]:
        """Who holds this rank's state beside itself."""
        return self.placement.holders[self.rank]

    @property
    def slots(self) -> int:
        """How many each state has here."""
        return (self.at.kept or _KEPT) + 1


class Replicas(Tier):
    """The replicas of one mechanism. `label` tells its memory and its messages from those of
    others in the same run; `name` as of Tier. Made once a process: memory is taken at the first
    `attach`, and kept."""

    def __init__(self, label: str, name: str) -> None:
        self.name, self._label = name, label
        self._slots: dict[int, tuple[Slot, ...]] = {}
        self._address: tuple[Any, ...] = ()
        self._now: _Generation | None = None
        self._loaded: Save | None = None
        self._rejected: list[tuple[int, str]] = []

    def attach(
        self,
        at: Surroundings,
        context: RankContext,
        links: Links,
        peers: int,
        expected_bytes: int,
    ) -> None:
        """A generation begins; `expected_bytes` is the size of this rank's tensors. Called on
        every rank alike. InfeasibleError if there are too few ranks, or too little memory on a
        host for all of its ranks; PeerFailedError if a rank does not come to it."""
        if peers >= context.world_size:
            raise InfeasibleError(
                f"{peers} replicas need {peers + 1} ranks or more, not {context.world_size}"
            )
        placement = _placement(at, links, context.world_size, peers)
        if at.nodes:
            at.log.write(
                "placed",
                holders=list(placement.holders[context.rank]),
                node_losses_survived=placement.node_losses_survived,
            )
        self._now = _Generation(at, context.rank, context.world_size, placement, links)
        self._loaded = None
        self._find_slots()
        self._take_room(self._sizes(expected_bytes))

    def detach(self) -> None:
        """The generation is over; the memory stays."""
        self._now = None

    def save(self, state: RankState, name: str) -> int:
        """Saves on all ranks, or on none; called on every rank alike, `name` the only one of this
        generation. Returns how many bytes this rank sent.

        PeerFailedError on every rank if one failed; RuntimeError where a link broke. No peer is
        waited for longer than `timeout_s` without a sign of life.
        """
        now = self._here()
        outcome = outcome_of(lambda: self._exchange(state))
        try:
            reports = self._agree(name, outcome, now.at.timeout_s)
        except PeerFailedError as error:
            if isinstance(outcome, RuntimeError) and now.rank in error.failures:
                raise outcome from None  # this rank was the first to notice
            raise
        if differing := _differing(reports):
            raise PeerFailedError(name, differing)
        self._commit(Save(state.step, now.at.generation))
        self._drop_left_over()
        sent: int = reports[now.rank]["sent"]
        return sent

    def offer(self) -> list[list[Any]]:
        """[owner, step, digest, generation, whether it is committed] of each state here that is
        whole; every byte of them is read."""
        self._rejected = []
        return [
            entry for slots in self._slots.values() for slot in slots for entry in self._of(slot)
        ]

    def candidates(self, offers: Sequence[list[list[Any]]]) -> list[int]:
        """The steps of which every rank's state is with some rank, all of one save."""
        return sorted({save.step for save in _complete(offers)}, reverse=True)

    def load(self, step: int, offers: Sequence[list[list[Any]]]) -> RankState:
        """See Tier. Whoever lacks a state that it is to hold, its own or a peer's, gets it from
        the lowest rank that has it: the next loss finds as many copies as this one did."""
        now = self._here()
        complete = _complete(offers)
        save = max((found for found in complete if found.step == step), default=None)
        if save is None:
            raise StateError(f"{self.name} has no state of step {step} of every rank")
        self._loaded = save
        failed: list[StateError] = []
        sending: list[Outgoing] = []
        fetched: dict[int, RankState] = {}
        moves = list(_moves(complete[save], now.placement))
        for move in moves:
            if move.source == now.rank:
                with _noted(failed):
                    sending.append(self._give(save, move))
        for move in moves:
            if move.receiver == now.rank:
                with _noted(failed):
                    fetched[move.owner] = self._fetch(save, move)
        for message in sending:
            message.wait(now.at.timeout_s)
        if failed:
            raise failed[0]
        return fetched.get(now.rank) or self._own(save)

    def went_back(self, step: int) -> None:
        """See Tier."""
        for slot in self._all_slots():
            if slot.status in (FILLED, COMMITTED) and slot.order[1] > step:
                slot.invalidate()
        if self._loaded is not None and self._loaded.step == step:
            self._commit(self._loaded)

    def rejected(self) -> list[tuple[int, str]]:
        """See Tier."""
        return self._rejected

    def prepare(self, state: RankState) -> None:
        """Makes room for this very state, so that saving it takes no memory any more."""
        needed = _capacity(Layout.of(state).size_bytes)
        for slot in self._slots[self._here().rank]:
            slot.reserve(needed)

    def _here(self) -> _Generation:
        assert self._now is not None, "not attached"
        return self._now

    def _all_slots(self) -> list[Slot]:
        return [slot for slots in self._slots.values() for slot in slots]

    def _agree(self, name: str, outcome: Any, timeout_s: float) -> list[dict[str, Any]]:
        now = self._here()
        name = f"{self._label}/{name}"
        return agree_on(now.at.store, name, now.rank, now.world_size, outcome, timeout_s)

    # Memory

    def _find_slots(self) -> None:
        """The slots of this place, with what a process before this one may have left in them."""
        now = self._here()
        address = (now.at.run_key, now.rank, tuple(now.owners))
        if address == self._address:
            return
        self._address = address
        owners = [*now.owners, *self._left_over()]
        self._slots = {owner: self._slots_for(owner) for owner in owners}
        for slot in self._all_slots():
            slot.open()
            outcome_of(slot.described)  # damaged ones are overwritten first

    def _slots_for(self, owner: int) -> tuple[Slot, ...]:
        now = self._here()
        names = (f"{self._label}-o{owner}-{number}" for number in range(now.slots))
        return tuple(
            Slot(
                segment_names.path_of(now.at.run_key, now.rank, name, now.at.node),
                now.rank,
                owner,
            )
            for name in names
        )

    def _left_over(self) -> list[int]:
        """Whose states are here though their place is elsewhere by now: on several nodes the
        replicas are dealt out anew when a rank goes on on another one."""
        now = self._here()
        if now.at.node is None:
            return []
        begin = f"{self._label}-o"
        found = segment_names.held(now.at.run_key, now.rank, now.at.node)
        owners = {int(w[len(begin) :].partition("-")[0]) for w in found if w.startswith(begin)}
        return sorted(owners - set(now.owners))

    def _drop_left_over(self) -> None:
        """A newer state of every rank is where it belongs."""
        for owner in set(self._slots) - set(self._here().owners):
            for slot in self._slots.pop(owner):
                slot.close()
                slot.path.unlink(missing_ok=True)

    def _sizes(self, expected_bytes: int) -> list[int]:
        """What to reserve for each rank's state, once it is sure that each host has room for what
        all of its ranks hold: they reserve at the same time."""
        now = self._here()
        mine = {
            "host": boot_id(),
            "expected": expected_bytes,
            "reserved": sum(s.capacity for owner in now.owners for s in self._slots[owner]),
            "free": segments.free_bytes(segment_names.FOLDER),
        }
        reports = self._agree("room", mine, max(now.at.timeout_s, _SETTING_UP_S))
        sizes = [_capacity(report["expected"]) for report in reports]
        _check_room(reports, sizes, now.placement, now.slots)
        return sizes

    def _take_room(self, sizes: Sequence[int]) -> None:
        for owner in self._here().owners:
            for slot in self._slots[owner]:
                try:
                    slot.reserve(sizes[owner])
                except NoSpaceError as error:
                    raise InfeasibleError(f"too little memory for replicas: {error}") from error

    def _next_slot(self, owner: int) -> Slot:
        """Where the next state of `owner` goes: never over the last one that is committed, and not
        over one that a rollback would go to while there is another."""
        slots = self._slots[owner]
        committed = [slot for slot in slots if slot.status == COMMITTED]
        last = max(committed, key=lambda slot: slot.order, default=None)
        spared = _proved_good(committed, self._now.at.proved() if self._now else ())

        def worth(slot: Slot) -> tuple[bool, bool, bool, tuple[int, int]]:
            return slot is last, slot in spared, slot.status == COMMITTED, slot.order

        return min(slots, key=worth)

    def _slot_of(self, save: Save, owner: int) -> Slot:
        for slot in self._slots[owner]:
            if slot.status in (FILLED, COMMITTED) and slot.order == (save.generation, save.step):
                return slot
        raise StateError(f"rank {owner}'s state of step {save.step} is not here any more")

    def _commit(self, save: Save) -> None:
        """All ranks have this save. What is here of later steps is of a run that is over."""
        for slot in self._all_slots():
            if slot.status == FILLED and slot.order == (save.generation, save.step):
                slot.commit()
            elif slot.order[1] > save.step:
                slot.invalidate()

    # Saving

    def _exchange(self, state: RankState) -> dict[str, Any]:
        """Sends this rank's state and receives those that it is to hold, both at once."""
        now, layout = self._here(), Layout.of(state)
        incoming = [self._expected(owner) for owner in now.owners[1:]]
        slot = self._next_slot(now.rank)
        payload = slot.begin(layout.size_bytes)
        description = described_as(state.plain, layout, now.at.generation)
        outgoing = [Outgoing(now.links[holder], payload) for holder in now.holders]
        for message in outgoing:
            message.begin(state.step, description)
        landings = [self._land(found, state.step, found.peer) for found in incoming]
        digest = self._copy_and_send(slot, state, layout, outgoing)
        held = _received(landings)
        for message in outgoing:
            message.wait(now.at.timeout_s)
        sent = len(outgoing) * (len(description) + layout.size_bytes)
        return {"digest": digest, "held": held, "sent": sent}

    def _expected(self, peer: int) -> Incoming:
        now = self._here()
        incoming = Incoming(now.links[peer], peer, now.at.timeout_s)
        incoming.expect()
        return incoming

    def _land(self, incoming: Incoming, step: int, owner: int) -> _Landing:
        """Learns what comes, and begins to receive it into a slot of `owner`."""
        text, size = incoming.description(step)
        plain, layout, generation = description_parsed(text, size, owner, step)
        slot = self._next_slot(owner)
        payload = slot.begin(size)
        incoming.into(payload)
        state = RankState(layout.views(payload), plain)
        found = StreamDigests(layout)
        return _Landing(incoming, slot, payload, state, layout, generation, found)

    def _copy_and_send(
        self, slot: Slot, state: RankState, layout: Layout, outgoing: Sequence[Outgoing]
    ) -> str:
        """Each chunk leaves as soon as it is copied."""
        now, found = self._here(), StreamDigests(layout)
        for ready in segments.copied_in(slot, state, layout, found):
            for message in outgoing:
                message.send_to(ready)
        content = segments.content_of(state, layout, found, now.rank, now.at.generation)
        slot.fill(content)
        return content.digest

    # Loading

    def _of(self, slot: Slot) -> list[list[Any]]:
        """What a slot contributes to the offer: one entry, or none."""
        step = slot.order[1]
        try:
            found = slot.read()
        except CorruptStateError as error:
            self._rejected.append((step, str(error)))
            return []
        if found is None or found[1].world_size != self._here().world_size:
            return []
        content = found[0]
        return [
            [content.owner, content.step, content.digest, content.generation, content.committed]
        ]

    def _own(self, save: Save) -> RankState:
        slot = self._slot_of(save, self._here().rank)
        found = slot.read()
        if found is None:
            raise StateError(f"{slot.path.name} is empty")
        return found[1]

    def _give(self, save: Save, move: "_Move") -> Outgoing:
        """Begins to send a state; the receiver hears at once if that cannot be."""
        link = self._here().links[move.receiver]
        try:
            slot = self._slot_of(save, move.owner)
            content = slot.described()
            if content is None:
                raise StateError(f"{slot.path.name} is empty")
        except StateError:
            Outgoing(link, Tensor()).refuse(self._here().at.timeout_s)
            raise
        message = Outgoing(link, slot.payload(content))
        message.begin(save.step, described_as(content.plain, content.layout, save.generation))
        message.send_to(content.layout.size_bytes)
        return message

    def _fetch(self, save: Save, move: "_Move") -> RankState:
        began, source = time.monotonic(), move.source
        landing = self._land(self._expected(source), save.step, move.owner)
        _received([landing])
        if landing.slot.order != (save.generation, save.step):
            landing.slot.invalidate()
            raise StateError(f"rank {source} sent another state than it offered")
        found = landing.slot.read()
        if found is None or found[0].digest != move.digest:
            landing.slot.invalidate()
            raise CorruptStateError(landing.slot.path, f"is not what rank {source} offered")
        self._here().at.log.write(
            "fetched",
            step=save.step,
            owner=move.owner,
            rank=source,
            bytes=len(landing.payload),
            s=time.monotonic() - began,
        )
        return found[1]


def _placement(at: Surroundings, links: Links, world_size: int, peers: int) -> Placement:
    """Copies go to other nodes where every rank can reach every other; neighbours alone stay in
    the ring. The same on every rank."""
    nodes = at.nodes or (0,) * world_size
    reaches_all = len(links) == world_size - 1
    return placed(nodes, peers) if reaches_all else ring(nodes, peers)


class _Move(NamedTuple):
    """A state that a rank lacks, and who gives it."""

    owner: int
    source: int
    receiver: int
    digest: str


def _moves(where: Mapping[int, Mapping[int, str]], placement: Placement) -> Iterator[_Move]:
    """What has to move until every rank holds all that it is to hold, in one order for all."""
    for owner in sorted(where):
        found = where[owner]
        for holder in (owner, *placement.holders[owner]):
            if holder not in found:
                source = min(found)
                yield _Move(owner, source, holder, found[source])


@contextmanager
def _noted(failed: list[StateError]) -> Iterator[None]:
    """Notes a StateError for later: peers are waiting for what comes after it."""
    try:
        yield
    except StateError as error:
        failed.append(error)


def _received(landings: Sequence[_Landing]) -> dict[str, str]:
    """Takes what arrives, of all peers in turn; digests by owner."""
    streams = [zip(repeat(landing), landing.incoming.arrived()) for landing in landings]
    for together in zip_longest(*streams):
        for landing, (begin, end) in filter(None, together):
            landing.take(begin, end)
    return {str(landing.slot.owner): landing.settle() for landing in landings}


def _proved_good(committed: Sequence[Slot], proved: Sequence[int]) -> list[Slot]:
    """Of these the newest that is not beyond each of the numbers of steps that were proved good."""
    behind = ([slot for slot in committed if slot.order[1] <= good] for good in proved)
    return [max(found, key=lambda slot: slot.order) for found in behind if found]


def _complete(offers: Sequence[list[list[Any]]]) -> dict[Save, dict[int, dict[int, str]]]:
    """The saves that are with the ranks whole, as {owner: {holder: digest}}: agreed on by all at
    the time, since somebody has committed it, and no two copies of a state differ."""
    found: dict[Save, dict[int, dict[int, str]]] = {}
    agreed = set()
    for holder, offer in enumerate(offers):
        for owner, step, digest, generation, committed in offer:
            save = Save(step, generation)
            found.setdefault(save, {}).setdefault(owner, {})[holder] = digest
            if committed:
                agreed.add(save)
    everybody = set(range(len(offers)))
    return {
        save: where
        for save, where in found.items()
        if save in agreed
        and where.keys() == everybody
        and all(len(set(copies.values())) == 1 for copies in where.values())
    }


def _differing(reports: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Holders whose copy is not what its owner sent."""
    return {
        holder: f"its copy of rank {owner}'s state is another one"
        for holder, report in enumerate(reports)
        for owner, digest in report["held"].items()
        if digest != reports[int(owner)]["digest"]
    }


def _check_room(
    reports: Sequence[Mapping[str, Any]], sizes: Sequence[int], placement: Placement, slots: int
) -> None:
    """InfeasibleError on every rank alike if one host is too small for what its ranks hold."""
    for host in sorted({report["host"] for report in reports}):
        here = [rank for rank, report in enumerate(reports) if report["host"] == host]
        held = sum(sizes[owner] for rank in here for owner in placement.owners(rank))
        needed = slots * held - sum(reports[rank]["reserved"] for rank in here)
        free = min(reports[rank]["free"] for rank in here)
        if needed > free:
            raise InfeasibleError(
                f"too little memory for replicas: {len(here)} ranks of one host need {needed}"
                f" bytes of shared memory, {free} are free"
            )


def _capacity(expected_bytes: int) -> int:
    return DATA_AT + expected_bytes + expected_bytes // _MARGIN_SHARE + _MARGIN_BYTES


def described_as(plain: Mapping[str, Any], layout: Layout, generation: int) -> bytes:
    """What a peer has to know before the tensors' bytes; with its digest in front."""
    text = canonical({"plain": plain, "tensors": layout.to_json(), "generation": generation})
    return of_bytes(text).encode("ascii") + text


def description_parsed(
    description: bytes, size: int, owner: int, step: int
) -> tuple[dict[str, Any], Layout, int]:
    """(plain part, layout, generation); StateError unless it is of this owner and step."""
    digest, text = description[:32], description[32:]
    if of_bytes(text).encode("ascii") != digest:
        raise StateError(f"rank {owner}'s description did not arrive as it was sent")
    found = json.loads(text)
    layout = Layout.from_json(found["tensors"])
    plain: dict[str, Any] = found["plain"]
    if (plain["rank"], plain["step"], layout.size_bytes) != (owner, step, size):
        raise StateError(f"what came is not rank {owner}'s state of step {step}")
    return plain, layout, int(found["generation"])
