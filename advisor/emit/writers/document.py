"""What was emitted as a JSON document: the stable contract for programs (docs/json.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from advisor.emit.emitting import Emitted, abilities
from advisor.emit.tool import Part, Setting, Tool, Variable
from advisor.emit.writers import write
from advisor.version import advisor_version
from db.records import Mechanism

FORMAT, ABILITIES = "failbench-advisor-settings", "failbench-advisor-abilities"
VERSION = 1


def to_document(emitted: Emitted, parts: Sequence[Part], command: str) -> dict[str, Any]:
    """Plain dicts, lists, strings and numbers, in the order of the contract."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": emitted.tool.name,
        "mechanisms": [act.mechanism for act in emitted.plan.acts],
        "support": emitted.support.value,
        "limits": list(emitted.limits),
        "notes": list(emitted.remarks),
        "verified": asdict(emitted.tool.verified),
        "parts": [_part(emitted, part, command) for part in parts],
        "command": command,
        "advisor_version": advisor_version(),
    }


def abilities_document(
    tools: Sequence[Tool], mechanisms: Mapping[str, Mechanism]
) -> dict[str, Any]:
    """What each tool can do for each mechanism."""
    return {
        "format": ABILITIES,
        "version": VERSION,
        "tools": [_tool(tool, mechanisms) for tool in tools],
        "advisor_version": advisor_version(),
    }


def _tool(tool: Tool, mechanisms: Mapping[str, Mechanism]) -> dict[str, Any]:
    return {
        "tool": tool.name,
        "title": tool.title,
        "verified": asdict(tool.verified),
        "abilities": [
            {"mechanism": name, "support": ability.support.value, "reason": ability.reason}
            for name, ability in abilities(tool, mechanisms)
        ],
    }


def _part(emitted: Emitted, part: Part, command: str) -> dict[str, Any]:
    return {
        "name": part.name,
        "syntax": part.syntax.value,
        "environment": [_setting(each) for each in part.environment],
        "settings": [_setting(each) for each in part.settings],
        "text": write(emitted, part, command),
    }


def _setting(setting: Setting) -> dict[str, Any]:
    value, number = setting.value, setting.number
    return {
        "name": setting.name,
        "group": setting.group or None,
        "value": None if isinstance(value, Variable) else value,
        "variable": value.name if isinstance(value, Variable) else None,
        "unit": None if number is None else number.unit or None,
        "number": None if number is None else number.path,
        "words": setting.says,
        "evidence": None if number is None else number.evidence,
    }
