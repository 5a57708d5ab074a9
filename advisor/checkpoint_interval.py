"""How far apart checkpoints should be, in closed form.

symbol  name here      unit  meaning
C       save_s         s     what one save adds to the run (its stall on the critical path)
M       mtbf_s         s     mean time between failures
D       fixed_per_failure_s  s  cost of a failure that does not depend on the interval:
                             T_det + T_restore + T_PG + T_init
"""

from math import sqrt

import numpy as np

from advisor.completion_time import Real

_NEWTON_STEPS = 20
"""Far more than a convex function needs from near its root."""
_LONG_SAVE = 30.0
"""C / M from which on the exact interval is M to 13 digits."""


def young_interval_s(save_s: float, mtbf_s: float) -> float:
    """sqrt(2 C M) (Young 1974): the first-order optimum of time between checkpoints."""
    return sqrt(2.0 * save_s * mtbf_s)


def daly_interval_s(save_s: float, mtbf_s: float) -> float:
    """Daly's higher-order estimate (2006, Eq. (37)); M where C >= 2 M.

    sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C
    """
    if save_s >= 2.0 * mtbf_s:
        return mtbf_s
    ratio = save_s / (2.0 * mtbf_s)
    return young_interval_s(save_s, mtbf_s) * (1.0 + sqrt(ratio) / 3.0 + ratio / 9.0) - save_s


def equation_5_interval_s(save_s: Real, mtbf_s: Real, fixed_per_failure_s: Real) -> Real:
    """sqrt(2 C (M + D)): where Eq. (5) is least.

    With x = I t_step, Eq. (5) is T0 (1 + C/x) (1 + (D + x/2) / M). Its derivative by x vanishes
    where x^2 = 2 C (M + D), and it is convex. Young's formula is the case D = 0.
    """
    return np.sqrt(2.0 * save_s * (mtbf_s + fixed_per_failure_s))


def exact_interval_s(save_s: Real, mtbf_s: Real) -> Real:
    """Where the exact time per second of work is least (advisor/exact_time.py); 0 where C is 0.

    (e^((x + C)/M) - 1) / x is least where (1 - z) e^z = e^(-C/M) with z = x / M, whatever detection
    and recovery take. -log(1 - z) - z is convex and grows, so Newton's steps from the right of its
    root come down to it: z^2 / 2 lies below it, and the root of that, or of 1 - e^(-1 - C/M) where
    saves are long, lies on the right.
    """
    ratio = np.minimum(save_s / np.asarray(mtbf_s, dtype=np.float64), _LONG_SAVE)
    # (1 - z) = e^(-C/M - z) > e^(-C/M - 1): the second bound.
    z = np.minimum(np.sqrt(2.0 * ratio), -np.expm1(-1.0 - ratio))
    for _ in range(_NEWTON_STEPS):
        excess = -np.log1p(-z) - z - ratio
        z = np.where(z > 0.0, np.maximum(z - excess * (1.0 - z) / np.maximum(z, 1e-300), 0.0), 0.0)
    return z * mtbf_s
