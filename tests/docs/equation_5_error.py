"""How far Eq. (5) is off, for the table and the picture of docs/completion_time.md."""

from advisor.checkpoint_interval import equation_5_interval_s
from advisor.completion_time import expected_completion_s
from advisor.exact_time import waste


def error(mtbf_s: float, save_s: float, detection_share: float) -> float:
    """Exact / Eq. (5) - 1 at Eq. (5)'s best interval, where detection and recovery take 1 s."""
    interval_s = float(equation_5_interval_s(save_s, mtbf_s, 1.0))
    wasted = waste(
        interval_s=interval_s,
        stall_s=save_s,
        mtbf_s=mtbf_s,
        detection_s=detection_share,
        recovery_s=1.0 - detection_share,
    )
    first_order = expected_completion_s(
        duration_s=1.0,
        overhead=save_s / interval_s,
        mtbf_s=mtbf_s,
        per_failure_s=1.0 + 0.5 * interval_s,
    )
    return float(1.0 / (1.0 - wasted) / first_order) - 1.0
