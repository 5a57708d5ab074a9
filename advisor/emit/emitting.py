"""A plan and a tool give settings, or the reason why the tool cannot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.emit.needs import Need, need_of
from advisor.emit.plan import Plan
from advisor.emit.tool import Ability, Part, Setting, Support, Tool
from advisor.errors import UserError
from advisor.recommendation import Recommendation
from db.records import Mechanism

TOGETHER = "together"
"""Stands in a table of mechanisms for several of them at once."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """What realises a plan in a tool. `limits` says what the tool does otherwise than it was
    priced, or leaves to the reader."""

    tool: Tool
    plan: Plan
    support: Support
    limits: tuple[str, ...]
    remarks: tuple[str, ...]
    parts: tuple[Part, ...]

    def part(self, name: str) -> Part:
        """The part called so. Raises UserError that lists them."""
        for each in self.parts:
            if each.name == name:
                return each
        offered = ", ".join(each.name for each in self.parts)
        raise UserError(f"{self.tool.name} has no part {name!r} here: write one of {offered}")


def refusal(tool: Tool, plan: Plan) -> str | None:
    """Why the tool cannot realise the plan; None if it can, at least in part."""
    ability = ability_of(tool, _needs(plan))
    if ability.support is not Support.CANNOT:
        return None
    return f"{tool.name} cannot realise {plan.mechanisms}: {ability.reason}"


def emit(tool: Tool, plan: Plan) -> Emitted:
    """The settings. Raises UserError with the reason where the tool cannot, or where two
    mechanisms want the same setting at two values."""
    refused = refusal(tool, plan)
    if refused:
        raise UserError(refused)
    limits = [
        f"{act.mechanism.upper()}: {tool.abilities[act.need].reason}"
        for act in plan.acts
        if tool.abilities[act.need].support is not Support.CAN
    ]
    together = [f"{plan.mechanisms}: {tool.composed.reason}"] if len(plan.acts) > 1 else []
    if tool.composed.support is not Support.CAN:
        limits, together = [*limits, *together], []
    return Emitted(
        tool=tool,
        plan=plan,
        support=ability_of(tool, _needs(plan)).support,
        limits=tuple(limits),
        remarks=(*together, *tool.remarks(plan)),
        parts=_parts(plan, tool.parts(plan)),
    )


def ability_of(tool: Tool, needs: Sequence[Need]) -> Ability:
    """How far the tool realises all the needs together: as far as the least of them."""
    found = [tool.abilities[need] for need in needs]
    if len(found) > 1:
        found.append(tool.composed)
    return max(found, key=lambda ability: list(Support).index(ability.support))


def able(tools: Sequence[Tool], needs: Sequence[Need]) -> tuple[str, ...]:
    """The names of the tools that do all the needs together, wholly or partly."""
    return tuple(t.name for t in tools if ability_of(t, needs).support is not Support.CANNOT)


def abilities(tool: Tool, mechanisms: Mapping[str, Mechanism]) -> tuple[tuple[str, Ability], ...]:
    """What the tool can do for each mechanism, and at last for several together."""
    each = ((name, tool.abilities[need_of(found)]) for name, found in mechanisms.items())
    return (*each, (TOGETHER, tool.composed))


def feasible(
    tool: Tool, recommendation: Recommendation, mechanisms: Mapping[str, Mechanism]
) -> tuple[str, ...]:
    """The candidates of the answer that the tool realises, wholly or partly, best first."""
    return tuple(
        candidate.mechanism
        for candidate in recommendation.candidates
        if candidate.native is None
        and candidate.mechanism in mechanisms
        and able([tool], [need_of(mechanisms[candidate.mechanism])])
    )


def _needs(plan: Plan) -> list[Need]:
    return [act.need for act in plan.acts]


def _parts(plan: Plan, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Each part once: what two mechanisms want of it is put together."""
    found: dict[str, Part] = {}
    for part in parts:
        other = found.get(part.name, part)
        both = other.settings if other is part else other.settings + part.settings
        found[part.name] = replace(
            part,
            settings=_merged(plan, both),
            environment=_merged(plan, part.environment),
        )
    return tuple(found.values())


def _merged(plan: Plan, settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Each setting once. Mechanisms that agree on one share it; those that do not are refused."""
    found: dict[tuple[str, str], Setting] = {}
    for each in settings:
        key = (each.group, each.name)
        other = found.setdefault(key, each)
        if other.value != each.value:
            raise UserError(
                f"{plan.mechanisms} cannot be had at once: {each.name} would be both "
                f"{other.value} and {each.value}"
            )
    return tuple(found.values())
