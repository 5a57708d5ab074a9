"""What measuring a cell once more, or knowing it exactly, would save in expectation.

symbol  name here   unit  meaning
x_c                       the numbers of cell c, drawn; the others at their values
t_k(x_c)            s     Eq. (5) of candidate k
n, m    runs, more  1     runs of the cell so far, and to be made
        perfect_s   s     min_k E[t_k] - E[min_k t_k(x_c)]: expected value of partial perfect
                          information (Raiffa and Schlaifer 1961; Felli and Hazen 1998)
        one_more_s  s     the same with x_c' in place of x_c

After m more runs the mean of all n + m is known. As seen from now it lies about the mean of the n
with the variance s^2/n - s^2/(n + m), which is m / (n + m) of the variance of x_c (normal runs with
a known s: Raiffa and Schlaifer 1961, chapter 5). Where x_c is off by z standard errors (law.py),
x_c' is off by sqrt(m / (n + m)) z, and m towards infinity gives x_c. That the s of few runs is
itself not known is in the Student-t draws of x_c, not in what the runs to come would say of it.

Costs come from the tables (propagation.py), since every cell needs all draws of its own.

The other numbers are at their values instead of averaged over. Eq. (5) at a fixed interval is
linear in a candidate's stall and in its restore, so that for independent ones their means give the
average; step time, and a stall and a restore that share a number, make it inexact.

Neither value is ever below 0 (Jensen, within one sample of draws), and both are exactly 0 where no
draw changes who is the soonest.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from advisor.uncertainty.best import perfect_information_s
from advisor.uncertainty.draws import completion_times_s
from advisor.uncertainty.propagation import TabledCosts


@dataclass(frozen=True, slots=True)
class InformationValue:
    """What one more run of a cell, and knowing it exactly, save in expectation (s)."""

    one_more_s: float
    perfect_s: float


def information_value(
    costs: TabledCosts, off: NDArray[np.float64], rows: Iterable[int], runs: int, more: int = 1
) -> InformationValue:
    """Of the cell that holds the values at `rows`, measured `runs` (1 or more) times so far."""
    own = np.zeros_like(off)
    chosen = list(rows)
    own[chosen] = off[chosen]
    one_more = own * sqrt(more / (runs + more))
    return InformationValue(
        one_more_s=perfect_information_s(completion_times_s(costs, one_more)),
        perfect_s=perfect_information_s(completion_times_s(costs, own)),
    )
