"""How far from a measurement a prediction may be, each as a ratio; beyond, there is no data."""

from advisor.calibration import CalibratedTransfer
from advisor.prediction.outcome import NoPredictionError
from advisor.recommendation import TOO_FAR
from advisor.units import format_apart, format_number

MAX_SIZE_RATIO = 4.0
"""A state size may be this many times beyond the measured ones."""
MAX_STEP_TIME_RATIO = 10.0
MAX_STORAGE_RATE_RATIO = 20.0
MAX_SLOWDOWN = 0.05
"""A job that goes on with fewer ranks may lose this share of its throughput by all its losses: Eq.
(5) has no term for it."""
MAX_INTERVAL_SHORTENING = 10.0
"""An interval may be this many times shorter than the measured one; a longer one always may:
the cost of a save stays, and its share, with any error in it, shrinks."""


def require_near(what: str, distance: float, nearest: str, limit: float) -> None:
    """Raises NoPredictionError beyond the limit. `distance` is a ratio, as is `limit`."""
    if distance > limit:
        far, allowed = format_apart(distance, limit, format_number)
        raise NoPredictionError(
            f"{TOO_FAR}{what} is {far} times from {nearest}; the limit is {allowed} times"
        )


def reaches(transfer: CalibratedTransfer, size_bytes: float) -> bool:
    """Whether the calibration's sizes are near enough. Smaller ones always are: the latency, which
    was measured, is then most of it, and no error is larger than that."""
    return size_bytes <= MAX_SIZE_RATIO * transfer.largest_bytes
