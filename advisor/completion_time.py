"""Expected completion time: Eq. (5) of the FailBench paper (section IX), term by term.

    E[T_tot] = T0 (1 + O) + E[N_f] (T_det + T_rec + T_lost),    E[N_f] = T0 (1 + O) / M
    T_rec    = T_restore + T_PG + T_init                        (Eq. (4))
    T_lost   = I t_step / 2   periodic mechanism at interval I; about 0 under a covered warning

symbol      name here          unit  source
T0          duration_s         s     the user: failure-free time without any mechanism
O           overhead           1     measured, Eq. (1): T_off / T_on - 1
M           mtbf_s             s     the user: mean time between failures of the whole job
T_det       detection_s        s     Table V; it follows the process-group timeout (Table VI)
T_restore   restore_s          s     effective restore: for FT4 it includes the emergency save
T_PG        regroup_s          s     not measured by the paper; 2-10 s is its sensitivity range
T_init      init_s             s     "fixed or negligible" (section VII-D)
T_lost      lost_s             s     expected re-execution per failure

First order: failures during recovery and during saves are neglected. The exact time is in
advisor/exact_time.py; how far the two differ in docs/completion_time.md.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Real: TypeAlias = float | NDArray[np.float64]
"""A number or an array; arrays broadcast against each other."""


@dataclass(frozen=True, slots=True)
class CompletionTerms:
    """The parts of Eq. (5), in seconds over the whole job; they add up to `total_s`."""

    base_s: Real
    overhead_s: Real
    detection_s: Real
    restore_s: Real
    regroup_s: Real
    init_s: Real
    lost_s: Real
    failures: Real
    """E[N_f], a count; not part of the sum."""

    @property
    def total_s(self) -> Real:
        return (
            self.base_s
            + self.overhead_s
            + self.detection_s
            + self.restore_s
            + self.regroup_s
            + self.init_s
            + self.lost_s
        )


def completion_terms(
    *,
    duration_s: Real,
    overhead: Real,
    mtbf_s: Real,
    detection_s: Real,
    restore_s: Real,
    regroup_s: Real,
    init_s: Real,
    lost_s: Real,
) -> CompletionTerms:
    """Eq. (5) split into what each term costs over the job. All times per failure in seconds."""
    failures = duration_s * (1.0 + overhead) / mtbf_s
    return CompletionTerms(
        base_s=duration_s,
        overhead_s=duration_s * overhead,
        detection_s=failures * detection_s,
        restore_s=failures * restore_s,
        regroup_s=failures * regroup_s,
        init_s=failures * init_s,
        lost_s=failures * lost_s,
        failures=failures,
    )


def expected_completion_s(
    *, duration_s: Real, overhead: Real, mtbf_s: Real, per_failure_s: Real
) -> Real:
    """Eq. (5) in closed form, T0 (1 + O) (1 + C / M) with C = T_det + T_rec + T_lost."""
    return duration_s * (1.0 + overhead) * (1.0 + per_failure_s / mtbf_s)
