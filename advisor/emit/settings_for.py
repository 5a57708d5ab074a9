"""From an answer to the settings for a tool: what the command and the app ask for alike."""

import shlex
from collections.abc import Sequence

from advisor.emit import registry
from advisor.emit.emitting import Emitted, able, emit, feasible, refusal
from advisor.emit.plan import Plan, make_plan
from advisor.emit.tool import Tool
from advisor.errors import UserError
from advisor.inputs import written
from advisor.recommendation import Recommendation
from advisor.scenario import Scenario
from db.records import ClusterEvidence


def settings_for(
    tool_name: str,
    recommendation: Recommendation,
    evidence: ClusterEvidence,
    chosen: Sequence[str] = (),
) -> Emitted:
    """The settings that realise the selected candidate, or the `chosen` mechanisms together.

    Raises UserError; where the tool cannot, it says which tools can, and what the tool can do of
    this answer.
    """
    tool = registry.tool(tool_name)
    plan = make_plan(
        recommendation, evidence.mechanisms, evidence.cluster.ranks_per_node, tuple(chosen)
    )
    refused = refusal(tool, plan)
    if refused:
        raise UserError(refused + _instead(tool, plan, recommendation, evidence))
    return emit(tool, plan)


def made_again(
    tool_name: str, scenario: Scenario, chosen: Sequence[str] = (), recommendation_id: str = ""
) -> str:
    """The command that gives the same settings: of a saved answer, or of what was stated."""
    parts = ["advisor", "emit", "--for", tool_name]
    if chosen:
        parts += ["--candidate", "+".join(chosen)]
    if recommendation_id:
        return shlex.join([*parts, recommendation_id])
    for option, text in written(scenario).items():
        parts += [f"--{option}", text]
    return shlex.join(parts)


def _instead(
    tool: Tool, plan: Plan, recommendation: Recommendation, evidence: ClusterEvidence
) -> str:
    """Who can, and what the tool can do of this answer; empty where neither is known."""
    others = able(list(map(registry.tool, registry.names())), [act.need for act in plan.acts])
    mechanisms = feasible(tool, recommendation, evidence.mechanisms)
    hints = []
    if others:
        hints.append(f"{plan.mechanisms} can be had from {', '.join(others)}")
    if mechanisms:
        hints.append(f"of this answer {tool.name} does {', '.join(map(str.upper, mechanisms))}")
    return "".join(f"; {hint}" for hint in hints)
