"""Laws of the gaps between failures, as a person names them. Pure.

Those that live runs are drawn from (advisor/arrivals.py), and two more that only a simulation can
follow: lognormal gaps, and gaps that were observed. Whatever the law, the mean gap is the MTBF.
"""

from dataclasses import dataclass
from math import fsum
from typing import TypeAlias

from advisor.arrivals import SHAPES, Law, parse_law
from advisor.errors import UserError
from advisor.simulation.times import Empirical, Exponential, Lognormal, Times, Weibull
from advisor.units import shortest_exact
from db.records import Arrivals

SIGMAS = (0.1, 2.0)
"""Of a lognormal law: from nearly regular to a coefficient of variation of 7."""


@dataclass(frozen=True, slots=True)
class LognormalLaw:
    """`sigma` is the standard deviation of the gaps' logarithm."""

    sigma: float

    def in_words(self) -> str:
        """As a person writes it, without loss: `lognormal:1.2`."""
        return f"lognormal:{shortest_exact(self.sigma)}"


@dataclass(frozen=True, slots=True)
class ObservedLaw:
    """Gaps as they were observed, in seconds, each as likely as the others; `name` of their file.

    Only their pattern counts: they are scaled to the MTBF.
    """

    name: str
    gaps_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return fsum(self.gaps_s) / len(self.gaps_s)

    def in_words(self) -> str:
        """As a person writes it: `file:gaps.txt`."""
        return f"file:{self.name}"


GapLaw: TypeAlias = Law | LognormalLaw | ObservedLaw


def parse_gap_law(text: str) -> Law | LognormalLaw:
    """`poisson`, `weibull:SHAPE` or `lognormal:SIGMA`. Raises UserError with what is valid."""
    name, _, sigma = text.strip().lower().partition(":")
    found: Law | LognormalLaw | None
    try:
        found = LognormalLaw(float(sigma)) if name == "lognormal" else parse_law(text)
    except (UserError, ValueError):
        found = None
    if found is None or (
        isinstance(found, LognormalLaw) and not SIGMAS[0] <= found.sigma <= SIGMAS[1]
    ):
        raise UserError(
            f"{text[:30]!r} is not a law of arrivals: write poisson, weibull:SHAPE with a shape "
            f"from {SHAPES[0]:g} to {SHAPES[1]:g}, lognormal:SIGMA with a sigma from "
            f"{SIGMAS[0]:g} to {SIGMAS[1]:g}, or file:PATH with observed gaps"
        )
    return found


def gaps(law: GapLaw, mtbf_s: float) -> Times:
    """The gaps of the law, with the MTBF (s) as their mean."""
    if isinstance(law, LognormalLaw):
        return Lognormal(mtbf_s, law.sigma)
    if isinstance(law, ObservedLaw):
        factor = mtbf_s / law.mean_s
        return Empirical(tuple(gap_s * factor for gap_s in law.gaps_s))
    if law.arrivals is Arrivals.POISSON:
        return Exponential(mtbf_s)
    return Weibull(mtbf_s, law.shape)
