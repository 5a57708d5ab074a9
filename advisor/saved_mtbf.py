"""An MTBF under a name: from `advisor mtbf --save` to `advisor recommend --mtbf-from`."""

import json
import re
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from advisor.errors import UserError
from advisor.evidence import Question
from advisor.failure_logs.estimate import Estimate
from advisor.units import format_duration, format_number
from advisor.version import advisor_version
from db.failure_store import failure_estimate, store_failure_estimate
from db.records import FailureEstimate, FailureScope
from db.session import reading

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class NamedMtbf:
    """An MTBF of jobs (s), and where it is from in words."""

    mtbf_s: float
    words: str


def parse_estimate_name(text: str) -> str:
    """A name to keep an estimate under. Raises UserError."""
    if not _NAME.fullmatch(text):
        raise UserError(
            f"{text[:60]!r} is no name: write up to 60 letters, digits, dots, dashes and "
            "underscores, such as cluster-2024"
        )
    return text


def save(engine: Engine, name: str, found: Estimate) -> None:
    """Keeps an estimate under a name. Raises NameTakenError."""
    mtbf = found.mtbf
    store_failure_estimate(
        engine,
        {
            "name": name,
            "log_format": found.log.format,
            "scope": found.scope.value,
            "counted": found.question.count.value,
            "coalesce_s": found.question.coalesce_s,
            "nodes": found.nodes,
            "failures": mtbf.failures,
            "at_risk_s": mtbf.at_risk_s,
            "mtbf_s": mtbf.mtbf_s,
            "low_s": mtbf.low_s,
            "high_s": mtbf.high_s,
            "document": json.dumps(found.as_json(), sort_keys=True, allow_nan=False),
            "advisor_version": advisor_version(),
        },
    )


def named_mtbf(engine: Engine, name: str) -> NamedMtbf:
    """The MTBF that a name stands for.

    Raises NotFoundError, and UserError where it is not one of jobs or only a bound.
    """
    with reading(engine) as connection:
        found = failure_estimate(connection, name)
    if found.scope is not FailureScope.JOB:
        raise UserError(
            f"{name} is a rate of scope {found.scope.value}, not of jobs' unexpected "
            "interruptions: give the MTBF that it means for your job"
        )
    if found.mtbf_s is None or found.high_s is None:
        raise UserError(
            f"{name} saw no failure, so it only says that the MTBF is at least "
            f"{format_duration(found.low_s)} (95 %): give an MTBF yourself"
        )
    return NamedMtbf(found.mtbf_s, _words(found, found.high_s))


def with_origin(question: Question, named: NamedMtbf) -> Question:
    """The question, with the MTBF's origin beside those of what was filled in."""
    assumed = {**question.scenario.assumed, "mtbf_s": named.words}
    return replace(question, scenario=replace(question.scenario, assumed=assumed))


def _words(found: FailureEstimate, high_s: float) -> str:
    size = "" if found.nodes is None else f" for a job on {_nodes(found.nodes)}"
    failures = "1 failure" if found.failures == 1 else f"{found.failures:,} failures"
    return (
        f"the log {found.name}{size}: {failures} in "
        f"{format_number(found.at_risk_s / 3600.0)} job-hours (95 %: "
        f"{format_duration(found.low_s)} to {format_duration(high_s)}; {found.counted} counted)"
    )


def _nodes(nodes: float) -> str:
    return "1 node" if nodes == 1 else f"{format_number(nodes)} nodes"
