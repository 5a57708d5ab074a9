"""Logs with a known truth, written as their tools would write them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_HEADER = "JobID|State|Submit|Start|End|ElapsedRaw|AllocNodes|NodeList"


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A log's text, and what a reader should find in it; times in seconds."""

    text: str
    failures: int
    node_s: float


def sacct_log(source: np.random.Generator, node_mtbf_s: float, jobs: int = 60) -> Synthetic:
    """Jobs on 1 to 8 nodes that fail at a rate in proportion to their nodes.

    A job that fails is requeued once, under its number. Some are cancelled, time out, run still, or
    end by a mistake of their own; each has steps; some rows are there twice.
    """
    nodes = 2 ** source.integers(0, 4, jobs)
    planned_s = source.uniform(0.5, 3.0, (jobs, 2)) * node_mtbf_s / 8
    fails_s = source.exponential(node_mtbf_s / nodes[:, None], (jobs, 2))
    starts_s = source.uniform(0.0, 30 * node_mtbf_s, jobs)
    endings = source.choice(
        ["COMPLETED", "CANCELLED by 1001", "FAILED", "TIMEOUT", "RUNNING"], (jobs, 2)
    )
    double = source.random(jobs) < 0.1
    lines, failures, node_s = [_HEADER], 0, 0.0
    for job in range(jobs):
        start_s = starts_s[job]
        for run in range(2):
            failed = fails_s[job, run] < planned_s[job, run]
            length_s = round(min(fails_s[job, run], planned_s[job, run]))
            state = "NODE_FAIL" if failed else str(endings[job, run])
            rows = _rows(job, state, start_s, length_s, int(nodes[job]))
            lines += rows + rows[: int(double[job])]
            failures += int(failed)
            node_s += length_s * float(nodes[job])
            if not failed:
                break
            start_s += length_s + 120
    return Synthetic("\n".join(lines) + "\n", failures, node_s)


def _rows(job: int, state: str, start_s: float, length_s: int, nodes: int) -> list[str]:
    start = _BEGIN + timedelta(seconds=round(start_s))
    end = "Unknown" if state == "RUNNING" else _text(start + timedelta(seconds=length_s))
    rest = f"{_text(start)}|{_text(start)}|{end}|{length_s}|{nodes}|n[1-{nodes}]"
    return [
        f"{job}|{state}|{rest}",
        f"{job}.batch|{state.split()[0]}|{rest}",
        f"{job}.extern|COMPLETED|{rest}",
        f"{job}.0|FAILED|{rest}",
    ]


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def event_log(times_s: np.ndarray) -> str:
    """Events at these times, one row each, as a table of one's own."""
    begin = _BEGIN.timestamp()
    return "time\n" + "".join(f"{begin + at_s:.3f}\n" for at_s in times_s)


def window(length_s: float) -> tuple[float, float]:
    """From when to when the synthetic logs reach (s since 1970)."""
    return _BEGIN.timestamp(), _BEGIN.timestamp() + length_s
