"""The rank's side of a restoration: from the newest state that every rank can prove, of any tier.

What one rank must reject all reject, and then an older state is tried: ranks never go on from
states of different steps (seed 002).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.distributed as dist

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Log
from measure.interfaces.tier import Tier
from measure.state.agreement import agree_on
from measure.state.contract import RankState, RunFacts, capture, restore
from measure.state.digest import Digests, digests
from measure.state.errors import PeerFailedError, StateError


@dataclass(frozen=True, slots=True)
class Group:
    """Who agrees: a rank of `world_size`, over `store`, in which a silent rank has failed after
    `timeout_s` seconds."""

    store: dist.Store
    rank: int
    world_size: int
    timeout_s: float

    def agree(self, name: str, outcome: Mapping[str, Any] | Exception) -> list[dict[str, Any]]:
        """Every rank's report under this name; see `agree_on`."""
        return agree_on(self.store, name, self.rank, self.world_size, outcome, self.timeout_s)


@dataclass(frozen=True, slots=True)
class Found:
    """A state that every rank has: of which tier, and this rank's digest of it."""

    state: RankState
    tier: str
    digest: str


def newest(
    tiers: Sequence[Tier], group: Group, log: Log, not_after: int | None = None
) -> Found | None:
    """This rank's state of the newest step that all ranks can load and verify; None if there is
    no such step, with the reason in the log. Called on every rank with its own tiers, in the same
    order. States of more than `not_after` steps are not to be trusted: none of them is loaded.

    PeerFailedError if a rank failed or was lost meanwhile: that says nothing of any state.
    """
    mine = {tier.name: tier.offer() for tier in tiers}
    reports = group.agree("restore/offers", mine)
    refused: dict[str, list[str]] = {tier.name: [] for tier in tiers}
    for tier, step in _newest_first(tiers, reports):
        if not_after is not None and step > not_after:
            why = f"nothing was proved good after step {not_after}"
            log.write("checkpoint-rejected", step=step, tier=tier.name, why=why)
            refused[tier.name].append(f"step {step} is suspect")
            continue
        offers = [report[tier.name] for report in reports]
        kept: list[Found] = []
        outcome = _tried(partial(_load, tier, step, offers, kept))
        answers = group.agree(f"restore/{tier.name}/{step}", outcome)
        rejected = {rank: a["rejected"] for rank, a in enumerate(answers) if a["rejected"]}
        if not rejected:
            return kept[0]
        why = "; ".join(f"rank {rank}: {said}" for rank, said in rejected.items())
        log.write("checkpoint-rejected", step=step, tier=tier.name, why=why[:500])
        refused[tier.name].append(f"step {step} is refused by {why}")
    log.write("nothing-restored", why=_why_nothing(refused)[:1000])
    return None


def go_on_from(
    found: Found | None, architecture: Architecture, tiers: Sequence[Tier], log: Log
) -> int:
    """Makes the state that was found this rank's; without one, training begins anew. What the
    tiers have of later steps is written down, and never offered again. Returns the step."""
    if found is not None:
        restore(architecture, found.state)
    step = found.state.step if found is not None else 0
    settle(tiers, step, log)
    return step


def settle(tiers: Sequence[Tier], step: int, log: Log) -> None:
    """All go on from `step`: what is newer is of a run that is over."""
    for tier in tiers:
        for newer, why in tier.rejected():
            if newer > step:
                log.write("checkpoint-rejected", step=newer, tier=tier.name, why=why)
    for tier in tiers:
        tier.went_back(step)


def proof(
    architecture: Architecture, step: int, facts: RunFacts, replicated: bool, promised: str
) -> dict[str, str]:
    """What this rank can show of its state, for the gate (measure.supervisor.check).

    `step` and `position` must be equal on all ranks; so must `parameters` and, on the ranks that
    hold one, `optimizer` where the model is replicated. (Not its buffers: DDP sends rank 0's
    around before each pass.) `restored`, the digest of all that is live, generators included,
    must be the one that was `promised` by what it was loaded from.
    """
    state = capture(architecture, step, facts)
    found = digests(state)
    promise = {"restored": found.whole, "promised": promised} if promised else {}
    return shared(state, found, replicated) | promise


def shared(state: RankState, found: Digests, replicated: bool) -> dict[str, str]:
    """What of a state with these digests must be equal on all ranks, as `proof` has it. Pure."""
    shown = {"step": str(state.step), "position": found.position}
    if replicated:
        shown["parameters"] = found.parameters
        if state.plain["optimizer"] is not None:
            shown["optimizer"] = found.optimizer
    return shown


def _why_nothing(refused: Mapping[str, Sequence[str]]) -> str:
    """Why no tier gives a state; `refused` says by tier what was there, and why it was no use."""
    if not refused:
        return "nothing is kept of which every rank's part outlives a rank"
    return "; ".join(
        f"{tier}: {', '.join(whys)}"
        if whys
        else f"{tier}: no step of which every rank's state is there"
        for tier, whys in refused.items()
    )


def _load(tier: Tier, step: int, offers: Sequence[Any], into: list[Found]) -> None:
    state = tier.load(step, offers)
    into.append(Found(state, tier.name, digests(state).whole))


def _newest_first(
    tiers: Sequence[Tier], reports: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Tier, int]]:
    """(tier, step): the newest step first, and of equal ones the preferred tier."""
    found = [
        (-step, order, tier)
        for order, tier in enumerate(tiers)
        for step in tier.candidates([report[tier.name] for report in reports])
    ]
    for negative, _, tier in sorted(found, key=lambda entry: entry[:2]):
        yield tier, -negative


def _tried(load: Callable[[], None]) -> dict[str, str] | Exception:
    """Whether this rank rejects the state, and why; or what kept it from finding out."""
    try:
        load()
    except PeerFailedError as error:
        return error
    except StateError as error:
        return {"rejected": f"{type(error).__name__}: {error}"[:300]}
    except Exception as error:
        return error
    return {"rejected": ""}
