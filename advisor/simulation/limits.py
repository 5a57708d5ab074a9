"""Which processes are simulated, and with how many jobs, so that every simulation has an end."""

from advisor.simulation.estimate import expected, expected_events
from advisor.simulation.fallbacks import fallbacks_of
from advisor.simulation.process import Process
from advisor.units import format_percent

BLOCK = 2_048
"""Jobs a block: fewer than is fastest, so that what is known closely at once is not overdone."""
MOST_FAILURES = 100_000
"""Expected in one job, false alarms included; with more of them a simulation would take hours."""
MOST_IN_ALL = 30_000_000
"""Failures and false alarms of all jobs of one process: a quarter of a minute or so. Jobs that are
put back to their beginning differ so much that no number of them is enough."""
_FEWEST = 2
"""Jobs of a simulation and of a block."""
_OFTEN_WAITING = 0.1
"""The share of its time from which on a job's waits are part of the reason."""


def too_many_failures(process: Process) -> str | None:
    """Why its jobs would not come to an end, or not soon enough; None: they do."""
    found = expected(process)
    if found.events <= MOST_FAILURES:
        return None
    alarms = process.warnings is not None and process.warnings.false_alarms is not None
    what = "failures and false alarms" if alarms else "failures"
    reason = f"more than {MOST_FAILURES:,} {what} are expected in one job"
    shares = fallbacks_of(process)
    if shares.unsurvived:
        reason += (
            f"; {format_percent(shares.unsurvived)} of the failures put it back to its beginning"
        )
    if shares.missed:
        reason += f"; {format_percent(shares.missed)} of the failures are not announced in time"
    if process.spares is not None and found.waiting_fraction > _OFTEN_WAITING:
        there = "spare" if process.spares.count == 1 else "spares"
        reason += (
            f"; with {process.spares.count:,} {there} it waits for a node "
            f"{format_percent(found.waiting_fraction)} of the time"
        )
    return reason


def most_jobs(process: Process, most: int) -> int:
    """How many jobs to simulate at most: `most`, or fewer that meet MOST_IN_ALL failures."""
    return min(most, max(_FEWEST, int(MOST_IN_ALL / expected_events(process))))


def block_size(process: Process) -> int:
    """How many jobs side by side: BLOCK, or fewer of which two blocks meet MOST_IN_ALL failures."""
    return min(BLOCK, max(_FEWEST, int(0.5 * MOST_IN_ALL / expected_events(process))))
