"""How much of the time a job waits for a node, with spares and repairs. Pure.

Nodes that failures take are repaired, each in a time of its own, exponential with mean r, and are
spares then. A job of N nodes with S spares waits whenever more than S nodes are in repair. Failures
come at the rate 1 / M, each taking B nodes; so the number in repair is the compound Poisson number
of advisor/simulation/waiting.py, as long as there are nodes to take: N + S at most. So

    q = 1 - sum_(k <= S) P(k) / sum_(k <= N + S) P(k)

With B = 1 it is Erlang's loss formula, whatever law repairs have.
"""

from math import fsum

import numpy as np
from numpy.typing import NDArray

from advisor.errors import UserError
from advisor.simulation.waiting import in_repair
from advisor.tuning.circumstances import Circumstances

MOST_IN_REPAIR = 500.0
"""In the mean, if nodes never ran out: beyond it no number of spares helps anybody."""


def waiting_shares(told: Circumstances, mtbf_s: float) -> NDArray[np.float64]:
    """The share of the time that the job waits for a node, with 0 to `most_spares` spares.

    0 where no repair is told: there are always enough. Raises UserError where so many nodes are in
    repair that no number of spares can be weighed.
    """
    if told.repair_s is None:
        return np.zeros(1)
    load = told.repair_s / mtbf_s
    taken: dict[int, float] = {}
    for kind in told.losses:
        taken[kind.nodes] = taken.get(kind.nodes, 0.0) + kind.share
    if load * fsum(nodes * share for nodes, share in taken.items()) > MOST_IN_REPAIR:
        raise UserError(
            f"more than {MOST_IN_REPAIR:g} nodes would be in repair in the mean: a shorter repair "
            "or a longer MTBF can be weighed"
        )
    chances, _ = in_repair(load, taken, told.nodes + told.most_spares)
    below = np.cumsum(chances)
    spares = np.arange(told.most_spares + 1)
    return np.asarray(1.0 - below[spares] / below[spares + told.nodes])
