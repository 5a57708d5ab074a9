"""The consistency gate (seed 002): ranks that do not prove one state must not train together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SHARED = ("step", "position", "parameters", "optimizer")


@dataclass(frozen=True, slots=True)
class Proof:
    """What one rank shows (measure.rank.restoring.proof), and the step that it would train."""

    rank: int
    step: int
    shown: Mapping[str, str]


def differences(proofs: Sequence[Proof]) -> list[str]:
    """What keeps these ranks from training together, in words; empty if nothing does. Pure.

    What all must share is compared with the first rank that shows it: an optimizer that only one
    rank holds has nobody to differ from. What is a rank's own (its generators, a partition of
    the model) must be what it was restored from.
    """
    found = [
        f"rank {proof.rank} would train step {proof.step}, rank {proofs[0].rank} step"
        f" {proofs[0].step}"
        for proof in proofs
        if proof.step != proofs[0].step
    ]
    for key in _SHARED:
        showing = [proof for proof in proofs if key in proof.shown]
        found += [
            f"rank {proof.rank} differs from rank {showing[0].rank} in its {key}"
            for proof in showing
            if proof.shown[key] != showing[0].shown[key]
        ]
    return found + [
        f"rank {proof.rank} is not what it was restored from"
        for proof in proofs
        if proof.shown.get("restored") != proof.shown.get("promised")
    ]
