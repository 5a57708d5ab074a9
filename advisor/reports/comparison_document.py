"""Clusters side by side as JSON: units in the names, null for what does not exist."""

from dataclasses import asdict
from typing import Any

from advisor.comparison.calibrations import ComparedFit
from advisor.comparison.clusters import ComparedRow, Comparison
from advisor.comparison.conditions import told
from advisor.comparison.difference import Difference
from advisor.comparison.matching import Number
from advisor.comparison.same_scenario import ClusterAnswer
from advisor.reports.document import scenario_document
from db.records import ClusterEvidence, FittedNumber

COMPARISON_FORMAT = "failbench-advisor-cluster-comparison"
ANSWERS_FORMAT = "failbench-advisor-cluster-answers"
VERSION = 1
_OF_VALUE = ("value", "missing", "n", "dispersion", "dispersion_kind", "evidence")
_OF_POINT = (
    *("state_bytes", "workload", "world_size", "interval_steps", "replicas", "lead_s"),
    *("group_timeout_s", "nodes", "failure_domain", "point_id", "superseded_by"),
)
NUMBER_FIELDS = (*_OF_VALUE, *_OF_POINT, "backend", "detector", "way", "of_quantity")
"""What is said of one cluster's number."""


def comparison_document(found: Comparison) -> dict[str, Any]:
    """The whole comparison; whatever is by cluster is under the cluster's name."""
    return {
        "format": COMPARISON_FORMAT,
        "version": VERSION,
        "baseline": found.names[0],
        "clusters": [_cluster(evidence) for evidence in found.evidences],
        "counts": [asdict(each) | {"not_told": each.not_told} for each in found.counts],
        "cells": [_row(found.names, row) for row in found.rows],
        "calibrations": [_fit(found.names, fit) for fit in found.fits],
        "uncalibrated": list(found.uncalibrated),
    }


def answers_document(answers: tuple[ClusterAnswer, ...]) -> dict[str, Any]:
    """One scenario's answer on each cluster."""
    return {
        "format": ANSWERS_FORMAT,
        "version": VERSION,
        "answers": [answer_document(answer) for answer in answers],
    }


def answer_document(answer: ClusterAnswer) -> dict[str, Any]:
    """The answer of one cluster; null with a reason where there is none."""
    found = answer.recommendation
    pick = None if found is None else found.selected
    other = None if found is None else found.runner_up
    sure = answer.how_sure
    return {
        "cluster": answer.cluster,
        "mechanism": pick and pick.mechanism,
        "interval_steps": pick and pick.interval_steps,
        "expected_completion_s": pick and pick.expected_completion_s,
        "goodput": pick and pick.goodput,
        "overhead": pick and pick.overhead,
        "restore_s": pick and pick.restore_s,
        "evidence": pick and pick.evidence.value,
        "is_superseded": pick and pick.is_superseded,
        "runner_up": other and other.mechanism,
        "margin_s": found and found.margin_s,
        "margin_fraction": found and found.margin_fraction,
        "best_probability": sure and sure.best_probability,
        "expected_regret_s": sure and sure.expected_regret_s,
        "reason": answer.reason,
        "warnings": [] if found is None else list(found.warnings),
        "scenario": found and scenario_document(found.scenario),
        "assumed": found and dict(found.scenario.assumed),
    }


def number_fields(number: Number) -> dict[str, Any]:
    """`NUMBER_FIELDS` of a number; without a value, `missing` says why."""
    point, found = number.point, number.found
    missing = None if found.value is not None else "not_measured"
    if found.missing_reason is not None:
        missing = found.missing_reason.value
    return {
        "value": found.value,
        "missing": missing,
        "n": found.n,
        "dispersion": found.dispersion,
        "dispersion_kind": found.dispersion_kind.value if found.dispersion_kind else None,
        "evidence": found.evidence.value,
        **{name: getattr(point, name) for name in _OF_POINT},
        **asdict(told(point)),
        "of_quantity": number.quantity.value,
    }


def missing_fields() -> dict[str, Any]:
    """The same where a cluster did not measure the cell at all."""
    return dict.fromkeys(NUMBER_FIELDS) | {"missing": "not_measured"}


def difference_fields(found: Difference | None) -> dict[str, Any]:
    """A difference from the first cluster; all null where one of the two has no number."""
    names = ("ratio", "low", "high", "is_more_than_chance", "why")
    if found is None:
        return dict.fromkeys(names) | {"why": ""}
    return {name: getattr(found, name) for name in names}


def _cluster(evidence: ClusterEvidence) -> dict[str, Any]:
    return asdict(evidence.cluster) | {
        "operating_points": len(evidence.points),
        "set_aside": len(evidence.set_aside),
        "software_stacks": [asdict(stack) for stack in evidence.stacks.values()],
    }


def _row(names: tuple[str, ...], row: ComparedRow) -> dict[str, Any]:
    numbers = [missing_fields() if n is None else number_fields(n) for n in row.numbers]
    differences = [
        difference_fields(found) | {"unlike": list(unlike)}
        for found, unlike in zip(row.differences, row.unlike, strict=True)
    ]
    return {
        "architecture": row.key.architecture,
        "mechanism": row.key.mechanism,
        "trace": row.key.trace,
        "interval_steps": row.key.interval_steps,
        "quantity": row.key.compared.value,
        "numbers": dict(zip(names, numbers, strict=True)),
        "differences": dict(zip(names[1:], differences, strict=True)),
    }


def _fit(names: tuple[str, ...], fit: ComparedFit) -> dict[str, Any]:
    numbers = [_fitted(number) for number in fit.numbers]
    sessions = [None if each is None else each.session for each in fit.fits]
    differences = [difference_fields(found) for found in fit.differences]
    return {
        "path": fit.path.value,
        "processes": fit.processes,
        "coefficient": fit.coefficient,
        "numbers": dict(zip(names, numbers, strict=True)),
        "sessions": dict(zip(names, sessions, strict=True)),
        "differences": dict(zip(names[1:], differences, strict=True)),
    }


def _fitted(number: FittedNumber | None) -> dict[str, float] | None:
    return None if number is None else asdict(number)
