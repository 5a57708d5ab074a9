"""When failures come: seeded draws of a renewal process, one rank lost at each. Pure.

Poisson: exponential times between failures. Weibull: a shape below 1 gives bursts and long quiet
times, as logs of real clusters have them; its scale is set so that the mean stays the MTBF. A job
begins at any time, not just after a failure: the first one comes as in a process that has gone on
for long, so that duration / MTBF failures are expected whatever the shape.
"""

import random
from dataclasses import dataclass
from math import gamma

from advisor.errors import UserError
from advisor.units import shortest_exact
from db.records import Arrivals

MOST_FAILURES = 8
"""A run is brought back so often at most (measure/supervisor)."""
SHAPES = (0.3, 5.0)
"""Of a Weibull law: what logs of clusters show lies well inside."""


@dataclass(frozen=True, slots=True)
class Law:
    """How the time between failures is distributed; its mean is the MTBF."""

    arrivals: Arrivals
    shape: float = 1.0

    def in_words(self) -> str:
        """As a person writes it, without loss: `poisson`, `weibull:0.7`."""
        if self.arrivals is Arrivals.POISSON:
            return self.arrivals.value
        return f"{self.arrivals.value}:{shortest_exact(self.shape)}"


@dataclass(frozen=True, slots=True)
class Failure:
    """The loss of one rank, `at_s` seconds after training began."""

    at_s: float
    rank: int


def parse_law(text: str) -> Law:
    """`poisson` or `weibull:SHAPE`. Raises UserError."""
    name, _, shape = text.strip().lower().partition(":")
    if name == Arrivals.POISSON and not shape:
        return Law(Arrivals.POISSON)
    try:
        found = Law(Arrivals.WEIBULL, float(shape)) if name == Arrivals.WEIBULL else None
    except ValueError:
        found = None
    if found is None or not SHAPES[0] <= found.shape <= SHAPES[1]:
        raise UserError(
            f"{text[:30]!r} is not a law of arrivals: write poisson, or weibull:SHAPE with a shape "
            f"from {SHAPES[0]:g} to {SHAPES[1]:g}"
        )
    return found


def draw(
    law: Law, mtbf_s: float, covered_s: float, world_size: int, seed: int, name: str = ""
) -> tuple[list[Failure], float]:
    """The failures of the first `covered_s` seconds and the next one, and how far they reach (s).

    No rank is struck twice and one is always left, so at most `world_size - 1` failures, and
    MOST_FAILURES; where more would come, the draw reaches only up to the first that is left out.
    Rank 0 is spared, as in the named traces: it may be a coordinator. Scenarios of another `name`
    meet other failures with the same seed.
    """
    source = random.Random(f"failures {seed} {name}")  # noqa: S311 - reproducible, not secret
    scale_s = mtbf_s / gamma(1.0 + 1.0 / law.shape)
    ranks = list(range(1, world_size))
    source.shuffle(ranks)
    failures: list[Failure] = []
    # What is left of the interval that the beginning falls into: long ones are hit more often.
    length_s = scale_s * source.gammavariate(1.0 + 1.0 / law.shape, 1.0) ** (1.0 / law.shape)
    at_s = source.random() * length_s
    while True:
        if not ranks or len(failures) == MOST_FAILURES:
            return failures, at_s
        failures.append(Failure(at_s, ranks.pop()))
        if at_s >= covered_s:
            return failures, at_s
        at_s += source.weibullvariate(scale_s, law.shape)
