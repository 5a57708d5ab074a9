"""What monitors of runs did: SQL in, plain rows out. What follows is `advisor.detectors`."""

from dataclasses import dataclass

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """One monitor at one interval on one architecture: its valid runs together; see
    `detector_view`."""

    cluster: str
    architecture: str
    workload: str
    world_size: int
    monitor: str
    interval_steps: int
    runs: int
    checks: int
    s_per_step: float | None
    waited_s_per_step: float | None
    """The part of it in which ranks waited for each other's reports."""
    overhead_fraction: float | None
    struck: int
    """Faults that the monitor is there to see."""
    noticed: int
    """Of these."""
    right_rank: int
    """How often the victim alone was named."""
    false_alarms: int
    after_s: float | None
    after_steps: float | None
    """From a fault until it was noticed, in the mean."""
    most_after_steps: int | None


_ROWS = """
SELECT cluster, architecture, workload, world_size, monitor, interval_steps, runs, checks,
  s_per_step, waited_s_per_step, overhead_fraction, struck, noticed, right_rank, false_alarms,
  after_s, after_steps, most_after_steps
FROM detector_view
WHERE CAST(:cluster AS TEXT) IS NULL OR cluster = :cluster
ORDER BY cluster, monitor, architecture, workload, world_size, interval_steps
"""


def detector_rows(connection: Connection, cluster: str | None) -> tuple[DetectorRow, ...]:
    """Every monitor that watched runs of a cluster, or of all."""
    found = connection.execute(text(_ROWS), {"cluster": cluster}).mappings()
    return tuple(DetectorRow(**each) for each in found)
