"""What monitors suspected in a run, and what was done about it, as its record has it."""

from typing import Any

from measure.results.verdict import Run
from measure.supervisor.observed import Incident


def incidents_of(run: Run) -> list[dict[str, Any]]:
    """Every incident, in order; empty where nobody suspected anything."""
    return [_as_json(run, each) for each in run.seen.incidents]


def _as_json(run: Run, found: Incident) -> dict[str, Any]:
    return {
        "incident": found.incident,
        "generation": found.generation,
        "at_s": run.since_began(found.at),
        "step": found.step,
        "proved_step": found.proved_step,
        "monitors": list(found.monitors),
        "kinds": list(found.kinds),
        "suspects": list(found.suspects),
        "scope": found.scope,
        "not_after": found.not_after,
        "restored_step": found.restored_step,
        "quarantined": list(found.quarantined),
        "why": found.why,
        "folder": found.folder,
        "not_kept": found.not_kept,
        "count": found.count,
    }
