"""How many nodes a failure takes at once, as shares of all failures. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isclose

from advisor.errors import UserError
from advisor.units import format_percent, parse_fraction

LOSSES_EXAMPLE = "1:95%,2:4%,all:1%"
MOST_AT_ONCE = 64
"""Nodes lost at once that are told apart from all of them."""


@dataclass(frozen=True, slots=True)
class Losses:
    """`shares` by the number of nodes lost at once, infinity for all; they add up to 1."""

    shares: Mapping[float, float]

    def __post_init__(self) -> None:
        if not isclose(sum(self.shares.values()), 1.0, abs_tol=1e-9):
            raise UserError(
                f"the shares of losses add up to {format_percent(sum(self.shares.values()))}: "
                "they have to add up to 100%"
            )

    @property
    def most_at_once(self) -> int:
        """The largest number that is not all of them; at least 1."""
        return max((int(n) for n in self.shares if n != inf), default=1)

    def in_words(self) -> str:
        return ", ".join(
            f"{'all' if at_once == inf else int(at_once)}: {format_percent(share)}"
            for at_once, share in self.shares.items()
        )


ONE_AT_A_TIME = Losses({1.0: 1.0})


def parse_losses(text: str) -> Losses:
    """Such as `1:95%,2:4%,all:1%`. Raises UserError with what would be valid."""
    shares: dict[float, float] = {}
    for part in text.split(","):
        name, colon, share = part.strip().partition(":")
        at_once = _at_once(name.strip().lower())
        if not colon or at_once is None or at_once in shares:
            raise UserError(
                f"{text[:60]!r} does not say how many nodes failures take: write each number from "
                f"1 to {MOST_AT_ONCE}, or all, once, with its share, such as {LOSSES_EXAMPLE}"
            )
        shares[at_once] = parse_fraction(share.strip())
    return Losses({n: share for n, share in sorted(shares.items()) if share > 0.0})


def _at_once(text: str) -> float | None:
    if text == "all":
        return inf
    digits = text.isascii() and text.isdigit() and len(text) <= 3
    return float(text) if digits and 1 <= int(text) <= MOST_AT_ONCE else None
