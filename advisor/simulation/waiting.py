"""How much of the time there are enough spares, while lost nodes are in repair. Pure.

Failures come all the time, one cycle after the other, and take B nodes each, which are in repair
for a time of its own each. With a load l, the mean repair / the mean cycle, and exponential
repairs, the number in repair is a compound Poisson number (Panjer's recursion, 1981):

    i nodes at once with the rate l P(B >= i) / i
    P(0) = e^-(sum of the rates),  P(k) = l / k  sum_i P(B >= i) P(k - i)
"""

from collections.abc import Mapping
from math import exp, fsum, log

import numpy as np
from numpy.typing import NDArray

_MOST_LOAD = 1e9
"""Beyond it no number of spares is enough."""
_FEW = 100
_EULER = 0.5772156649015329
_SCALE = 1e200
"""What the chances are divided by before they grow beyond what a float holds."""


def enough_fraction(load: float, nodes: Mapping[int, float], spares: int) -> float:
    """The share of the time in which at most `spares` nodes are in repair.

    `nodes` has the shares of failures that take so many nodes; `load` counts failures, not nodes.
    """
    if max(nodes) == 0 or load <= 0.0:
        return 1.0
    if load > _MOST_LOAD:
        return 0.0
    chances, scale = in_repair(load, nodes, spares)
    # Relative to P(0), of which this is the logarithm: it may be too small for a float.
    scale -= load * fsum(share * _harmonic(taken) for taken, share in nodes.items())
    return exp(min(log(float(chances.sum())) + scale, 0.0))


def in_repair(
    load: float, nodes: Mapping[int, float], most: int
) -> tuple[NDArray[np.float64], float]:
    """P(k) / P(0) for k from 0 to `most`, divided by a factor that keeps them within a float; and
    the logarithm of that factor. The arguments are those of `enough_fraction`."""
    largest = max(nodes)
    # P(B >= i) for i from 1, as far as it matters.
    at_least = np.zeros(min(largest, most))
    for taken, share in nodes.items():
        at_least[:taken] += share
    chances = np.zeros(most + 1)
    chances[0] = 1.0
    scale = 0.0
    for number in range(1, most + 1):
        reach = min(number, largest)
        earlier = chances[number - reach : number][::-1]
        chances[number] = load / number * float(at_least[:reach] @ earlier)
        if chances[number] > _SCALE:
            chances[: number + 1] /= _SCALE
            scale += log(_SCALE)
    return chances, scale


def _harmonic(number: int) -> float:
    """1 + 1/2 + ... + 1/number, to 1e-10."""
    if number <= _FEW:
        return fsum(1.0 / i for i in range(1, number + 1))
    return log(number) + _EULER + 0.5 / number - 1.0 / (12.0 * number * number)
