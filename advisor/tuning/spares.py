"""How much of the time a job waits for a node, with spares and repairs. Pure.

Nodes that failures take are repaired, each in a time of its own, exponential with mean r, and are
spares then. A job of N nodes with S spares waits whenever more than S nodes are in repair. Failures
come at the rate 1 / M, each taking B nodes; so the number in repair is a compound Poisson number,
as long as there are nodes to take: N + S at most. With p(0) = 1 and i nodes at once at the rate
(r / M) P(B >= i) / i it is, up to a factor,

    p(k) = (r / M) / k  sum_i P(B >= i) p(k - i)        q = 1 - sum_(k <= S) p / sum_(k <= N + S) p

The rates follow from integrating one failure's nodes that are still in repair over its age (the
generating function is exp((r / M) E[sum_(i <= B) (z^i - 1) / i])); the recursion is Panjer's
(1981). With B = 1 it is Erlang's loss formula, whatever law repairs have.
"""

from math import fsum

import numpy as np
from numpy.typing import NDArray

from advisor.errors import UserError
from advisor.tuning.circumstances import Circumstances

MOST_IN_REPAIR = 500.0
"""In the mean, if nodes never ran out; beyond it a float does not hold p."""


def waiting_shares(told: Circumstances, mtbf_s: float) -> NDArray[np.float64]:
    """The share of the time that the job waits for a node, with 0 to `most_spares` spares.

    0 where no repair is told: there are always enough. Raises UserError where so many nodes are in
    repair that no number of spares can be weighed.
    """
    if told.repair_s is None:
        return np.zeros(1)
    load = told.repair_s / mtbf_s
    largest = max(kind.nodes for kind in told.losses)
    at_least = np.array(
        [fsum(k.share for k in told.losses if k.nodes >= i) for i in range(1, largest + 1)]
    )
    if load * float(at_least.sum()) > MOST_IN_REPAIR:
        raise UserError(
            f"more than {MOST_IN_REPAIR:g} nodes would be in repair in the mean: a shorter repair "
            "or a longer MTBF can be weighed"
        )
    weights = np.zeros(told.nodes + told.most_spares + 1)
    weights[0] = 1.0
    for k in range(1, len(weights)):
        earlier = weights[max(k - largest, 0) : k][::-1]
        weights[k] = load / k * float(at_least[: len(earlier)] @ earlier)
    below = np.cumsum(weights)
    spares = np.arange(told.most_spares + 1)
    return np.asarray(1.0 - below[spares] / below[spares + told.nodes])
