"""How much of the time a job waits for a node, with spares and repairs. Pure.

Nodes that failures take are repaired, each in a time of its own, exponential with mean r, and are
spares then. A job with S spares waits whenever more than S nodes are in repair. Failures come at
rate 1 / M, each taking B nodes, all the time; so the number in repair is a compound Poisson number:

    i nodes at once with the rate (r / M) P(B >= i) / i
    P(0) = e^-(sum of the rates),  P(k) = (r / M) / k  sum_i P(B >= i) P(k - i)

The generating function is exp((r / M) E[sum_{i <= B} (z^i - 1) / i]), from integrating one
failure's nodes that are still in repair over its age; the recursion is Panjer's (1981). With B = 1
it is M/G/infinity's Poisson number, whatever law repairs have.
"""

from dataclasses import dataclass
from math import exp, fsum

import numpy as np
from numpy.typing import NDArray

from advisor.errors import UserError
from advisor.tuning.losses import Losses

MOST_IN_REPAIR = 500.0
"""In the mean; beyond it a float does not hold P(0)."""


@dataclass(frozen=True, slots=True)
class Repairs:
    """`nodes` that the job needs, and the mean time (s) until one that failed is a spare."""

    nodes: int
    mean_s: float


def waiting_shares(
    repairs: Repairs, losses: Losses, mtbf_s: float, most: int
) -> NDArray[np.float64]:
    """The share of the time that a job waits for a node, with 0 to `most` spares.

    Raises UserError where so many nodes are in repair that no number of spares can be weighed.
    """
    taken = {int(min(n, repairs.nodes)): 0.0 for n in losses.shares}
    for at_once, share in losses.shares.items():
        taken[int(min(at_once, repairs.nodes))] += share
    load = repairs.mean_s / mtbf_s
    largest = max(taken)
    at_least = [fsum(s for n, s in taken.items() if n >= i) for i in range(1, largest + 1)]
    if load * fsum(at_least) > MOST_IN_REPAIR:
        raise UserError(
            f"more than {MOST_IN_REPAIR:g} nodes would be in repair in the mean: a shorter repair "
            "or a longer MTBF can be weighed"
        )
    chances = [exp(-load * fsum(p / i for i, p in enumerate(at_least, start=1)))]
    for k in range(1, most + 1):
        earlier = fsum(at_least[i - 1] * chances[k - i] for i in range(1, min(k, largest) + 1))
        chances.append(load / k * earlier)
    shares: NDArray[np.float64] = np.clip(1.0 - np.cumsum(chances), 0.0, 1.0)
    return shares
