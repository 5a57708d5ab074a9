"""Simulates a process until its mean completion time is known closely enough."""

from dataclasses import dataclass, fields
from math import inf

import numpy as np

from advisor.errors import UserError
from advisor.simulation.engine import Block, simulate_block
from advisor.simulation.events import RandomSource
from advisor.simulation.process import Process
from advisor.simulation.sketch import Sketch
from advisor.simulation.timeline import Timeline

BLOCK = 8_192
"""Jobs side by side: their columns stay in the processor's cache."""
NARROW = 1e-3
MOST_REPLICATIONS = 1_000_000
LEAST_STRUCK = 30


@dataclass(frozen=True, slots=True)
class Spent:
    """What the time went into, in the mean of all jobs, in seconds; it adds up to the mean."""

    work_s: float
    saves_s: float
    detection_s: float
    waiting_s: float
    recovery_s: float
    emergency_s: float
    lost_s: float


@dataclass(frozen=True, slots=True)
class Simulated:
    """The distribution of the completion time over `replications` jobs, in seconds.

    The mean is within `half_width_s` in 95 % of all simulations; `is_narrow` says whether that is
    as close as was asked for. It never is before `LEAST_STRUCK` jobs met a failure: what failures
    cost is not known from fewer. In the mean a job meets `failures`, and is put back to its
    beginning `from_beginning` times.
    """

    seed: int
    replications: int
    mean_s: float
    half_width_s: float
    is_narrow: bool
    p50_s: float
    p95_s: float
    p99_s: float
    failures: float
    from_beginning: float
    spent: Spent


def simulate(
    process: Process,
    seed: int,
    *,
    narrow: float = NARROW,
    most: int = MOST_REPLICATIONS,
    block: int = BLOCK,
    most_events: float = inf,
) -> Simulated:
    """Adds blocks of jobs until the 95 % interval is within `narrow` of the mean on either side.

    At most about `most` jobs, in whole blocks, and at least one block; none is added once the jobs
    have met `most_events` failures and false alarms together. The same seed and block give the same
    jobs, however many are added. Raises UserError; NoEndError if jobs do not get on, which is so
    too if those of one block alone meet more than `most_events`.
    """
    if most < 2 or block < 2 or narrow <= 0.0 or seed < 0:
        raise UserError("a simulation needs two jobs, a seed of 0 or more and a precision above 0")
    sketch = Sketch(Timeline(process).total_s)
    sums = dict.fromkeys((f.name for f in fields(Spent)), 0.0)
    failures, from_beginning, struck, number, events = 0.0, 0.0, 0, 0, 0

    def is_narrow() -> bool:
        return struck >= LEAST_STRUCK and sketch.half_width <= narrow * sketch.mean

    while sketch.count < most and events < most_events and not is_narrow():
        count = max(min(block, most - sketch.count), 2)
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        source = RandomSource(process, random, count)
        found = simulate_block(process, source, count, most_events)
        events += found.events
        sketch.add(found.total_s)
        failures += float(found.failures.sum())
        from_beginning += float(found.from_beginning.sum())
        struck += int(np.count_nonzero(found.failures))
        _add(sums, found, count)
        number += 1
    return Simulated(
        seed=seed,
        replications=sketch.count,
        mean_s=sketch.mean,
        half_width_s=sketch.half_width,
        is_narrow=is_narrow(),
        p50_s=sketch.quantile(0.5),
        p95_s=sketch.quantile(0.95),
        p99_s=sketch.quantile(0.99),
        failures=failures / sketch.count,
        from_beginning=from_beginning / sketch.count,
        spent=Spent(**{name: value / sketch.count for name, value in sums.items()}),
    )


def _add(sums: dict[str, float], found: Block, count: int) -> None:
    for name in sums:
        value = getattr(found, name)
        sums[name] += value * count if isinstance(value, float) else float(value.sum())
