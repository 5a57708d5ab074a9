"""The recommendation as a JSON document: the stable contract for programs (docs/json.md).

`to_document` and `from_document` are inverse, so a saved answer can be printed again in any
format. Nothing in it is NaN or infinite: what does not exist is null.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from advisor.errors import UserError
from advisor.recommendation import Candidate, DrillMark, Recommendation
from advisor.reports import Canvas
from advisor.scenario import Scenario

FORMAT = "failbench-advisor-recommendation"
VERSION = 1
_FIRST = (
    "mechanism",
    "interval_steps",
    "evidence",
    "overhead",
    "restore_s",
    "expected_completion_s",
    "goodput",
)


def render(recommendation: Recommendation, canvas: Canvas) -> str:
    return json.dumps(to_document(recommendation), indent=2, allow_nan=False) + "\n"


def to_document(recommendation: Recommendation) -> dict[str, Any]:
    """Plain dicts, lists, strings and numbers, in the order of the contract."""
    r = recommendation
    by_name = {c.mechanism: _candidate(c) for c in r.candidates}
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(r.scenario),
        "assumed": dict(r.scenario.assumed),
        "selected": by_name[r.selected.mechanism] if r.selected else None,
        "runner_up": by_name[r.runner_up.mechanism] if r.runner_up else None,
        "margin": (
            None if r.margin_s is None else {"time_s": r.margin_s, "fraction": r.margin_fraction}
        ),
        "candidates": list(by_name.values()),
        "excluded": [asdict(e) | {"shown": dict(e.shown)} for e in r.excluded],
        "frontier": [_frontier_member(by_name[name]) for name in r.frontier.members],
        "frontier_axes": list(r.frontier.axes),
        "dominated": [asdict(d) for d in r.frontier.dominated],
        "not_comparable": list(r.frontier.not_comparable),
        "crossovers": [asdict(c) for c in r.crossovers],
        "warnings": list(r.warnings),
        "sources": [asdict(s) for s in r.sources],
        "versions": asdict(r.versions),
        "uncertainty": asdict(r.uncertainty) if r.uncertainty else None,
        "minimax": asdict(r.minimax) if r.minimax else None,
    }


def from_document(document: Mapping[str, Any]) -> Recommendation:
    """The recommendation that `to_document` wrote. Raises UserError for anything else."""
    # Imported here: only reading back needs validation, and it costs 100 ms.
    from pydantic import TypeAdapter, ValidationError

    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise UserError(f"not a recommendation of format {FORMAT!r}, version {VERSION}")
    try:
        return TypeAdapter(Recommendation).validate_python(_nested(document))
    except (KeyError, TypeError, ValidationError) as error:
        line = " ".join(str(error).split())
        raise UserError(f"the recommendation is damaged: {line}") from error


def scenario_document(scenario: Scenario) -> dict[str, Any]:
    """The scenario's inputs, without where they are from."""
    return {
        item.name: _plain(getattr(scenario, item.name))
        for item in fields(Scenario)
        if item.name != "assumed"
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    rest = [f.name for f in fields(Candidate) if f.name not in (*_FIRST, "model")]
    document = {name: _plain(getattr(candidate, name)) for name in (*_FIRST, *rest)}
    document["terms"] = asdict(candidate.terms) if candidate.terms else None
    document["native"] = asdict(candidate.native) if candidate.native else None
    document["seen"] = asdict(candidate.seen) if candidate.seen else None
    document["exact"] = asdict(candidate.exact) if candidate.exact else None
    document["drilled"] = _drilled(candidate.drilled)
    document["checks"] = [
        asdict(check) | {"errors": [asdict(error) for error in check.errors]}
        for check in candidate.checks
    ]
    document["used"] = [asdict(u) for u in candidate.used]
    return document


def _drilled(mark: DrillMark | None) -> dict[str, Any] | None:
    return None if mark is None else asdict(mark) | {"run_ids": list(mark.run_ids)}


def _frontier_member(candidate: Mapping[str, Any]) -> dict[str, Any]:
    names = ("mechanism", "overhead", "restore_s", "lost_s", "host_memory_bytes_per_rank")
    return {name: candidate[name] for name in (*names, "expected_completion_s")}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return getattr(value, "value", value)


def _nested(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document in the shape of the dataclasses."""
    margin = document["margin"] or {"time_s": None, "fraction": None}
    frontier = {
        "axes": document["frontier_axes"],
        "members": [member["mechanism"] for member in document["frontier"]],
        "dominated": document["dominated"],
        "not_comparable": document["not_comparable"],
    }
    same = ("selected", "runner_up", "candidates", "excluded", "crossovers", "warnings")
    return {name: document[name] for name in (*same, "sources", "versions")} | {
        "scenario": {**document["scenario"], "assumed": document["assumed"]},
        "margin_s": margin["time_s"],
        "margin_fraction": margin["fraction"],
        "frontier": frontier,
        # Absent from answers that were saved before they could be asked for.
        "uncertainty": document.get("uncertainty"),
        "minimax": document.get("minimax"),
    }
