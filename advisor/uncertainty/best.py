"""Which candidate is the best, how surely, and what the pick may cost.

symbol  name here   unit  meaning
t_ki    times_s     s     expected completion time of candidate k in draw i
p_k     best_probability  1  share of the draws in which t_ki is the least; ties go to the earlier
r_k     expected_regret_s s  mean over i of t_ki - min_k t_ki
        expected_regret_fraction  1  mean over i of t_ki / min_k t_ki - 1
        perfect_s   s     min_k mean_i t_ki - mean_i min_k t_ki: expected value of perfect
                          information (Raiffa and Schlaifer 1961)

A candidate stays at the interval that was recommended for it: what is judged are the choices on the
list, which have to be made before the truth is known.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from advisor.recommendation import Chance

_MIDDLE = (5.0, 95.0)
"""Percentiles that hold the middle 90 %."""


def chances(mechanisms: Sequence[str], times_s: NDArray[np.float64]) -> tuple[Chance, ...]:
    """Each candidate's chance, in the order of the rows of `times_s` ([candidate, draw])."""
    soonest_s = times_s.min(axis=0)
    best = np.bincount(times_s.argmin(axis=0), minlength=len(mechanisms)) / times_s.shape[1]
    low_s, high_s = np.percentile(times_s, _MIDDLE, axis=1)
    return tuple(
        Chance(
            mechanism=name,
            best_probability=float(best[k]),
            expected_regret_s=float(np.mean(times_s[k] - soonest_s)),
            expected_regret_fraction=float(np.mean(times_s[k] / soonest_s - 1.0)),
            low_s=float(low_s[k]),
            high_s=float(high_s[k]),
        )
        for k, name in enumerate(mechanisms)
    )


def perfect_information_s(times_s: NDArray[np.float64]) -> float:
    """What knowing the draw before choosing saves in expectation (s); never below 0.

    Taken as the least of the mean excesses over the soonest, which rounds to exactly 0 where one
    candidate is the soonest in every draw.
    """
    return float((times_s - times_s.min(axis=0)).mean(axis=1).min())
