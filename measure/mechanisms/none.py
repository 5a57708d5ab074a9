"""FT9: no fault tolerance; the baseline that every overhead is taken against (paper, II-B)."""

from measure.interfaces.mechanism import Mechanism


class NoFaultTolerance(Mechanism):
    """Every hook does nothing, and recovery is declined."""
