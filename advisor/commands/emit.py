"""`advisor emit`: the settings that realise an answer in a training tool."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import Parsed, database_option, format_option, input_options
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.emit import registry
from advisor.errors import UserError
from advisor.inputs import BY_FIELD, INPUTS, scenario_input
from advisor.printable import printable

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from advisor.emit.emitting import Emitted
    from advisor.emit.tool import Part
    from advisor.recommendation import Recommendation
    from db.records import ClusterEvidence

_FORMATS = ("text", "json", "csv")
_HEADER = ("tool", "mechanism", "support", "reason")


def _together(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().lower() for part in text.split("+"))
    if not all(names):
        raise UserError(f"{text[:30]!r} names no candidate: write ft1, or several as ft4+ft1")
    return names


@click.command(name="emit")
@click.argument("recommendation_id", metavar="[ID]", required=False)
@click.option("--for", "tool_name", type=click.Choice(registry.names()), help="The tool.")
@click.option(
    "--candidate",
    "chosen",
    metavar="NAME[+NAME...]",
    type=Parsed("text", _together),
    help="Another candidate of the answer, or several together, as in ft4+ft1.  "
    "[default: the selected one]",
)
@click.option("--part", "part_name", help="Only this part, where the tool takes several files.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the part to a file.",
)
@click.option("--tools", is_flag=True, help="What each tool can do, mechanism by mechanism.")
@click.option(
    "--scenario",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML or JSON file with the options of `recommend`, instead of these.",
)
@input_options(required=False)
@format_option(_FORMATS, "text")
@database_option
def command(
    recommendation_id: str | None,
    tool_name: str | None,
    chosen: tuple[str, ...] | None,
    part_name: str | None,
    output: Path | None,
    tools: bool,
    scenario: Path | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """The settings that realise an answer in a training tool, each with the number that it is.

    The answer is a saved one (ID), a scenario file's, or that of the options of `recommend`. What
    the tool does otherwise than it was priced stands at the top; where it cannot at all, nothing
    is written.
    """
    stated = {name: value for name, value in options.items() if value is not None}
    if tools:
        asked = (recommendation_id, tool_name, chosen, part_name, output, scenario)
        if any(asked) or stated.keys() - {"cluster"}:
            raise UserError("--tools goes with --cluster, --format and --db only")
        _show_tools(db_url, stated.get("cluster"), fmt)
        return
    if tool_name is None:
        raise UserError(f"for which tool? Write --for with one of {', '.join(registry.names())}")
    if fmt == "csv":
        raise UserError("csv is for --tools: settings are written as text or json")
    _require_one_question(recommendation_id, scenario, stated)
    emitted, made_by = _emitted(
        db_url, tool_name, recommendation_id, scenario, options, chosen or ()
    )
    parts = (emitted.part(part_name),) if part_name else emitted.parts
    if output is None:
        echo(_text(emitted, parts, fmt, made_by))
        return
    if fmt == "text" and len(parts) > 1:
        names = ", ".join(part.name for part in parts)
        raise UserError(f"{tool_name} takes several files: choose one with --part: {names}")
    from db.whole_file import write_whole

    write_whole(output, _text(emitted, parts, fmt, made_by).encode())
    echo(printable(f"{output} written"))


def _require_one_question(
    recommendation_id: str | None, scenario: Path | None, stated: dict[str, Any]
) -> None:
    """Raises UserError unless the answer is asked for in exactly one way."""
    if recommendation_id and scenario:
        raise UserError("give an ID or --scenario, not both")
    if recommendation_id or scenario:
        if stated:
            given = f"--{BY_FIELD[next(iter(stated))].option}"
            way = "the saved answer" if recommendation_id else str(scenario)
            raise UserError(f"{given} cannot change {way}: leave it out")
        return
    for each in INPUTS:
        if each.required and each.field not in stated:
            raise UserError(
                f"--{each.option} is missing: {each.help} Or give an ID or --scenario instead"
            )


def _emitted(
    db_url: str | None,
    tool_name: str,
    recommendation_id: str | None,
    scenario: Path | None,
    options: dict[str, Any],
    chosen: tuple[str, ...],
) -> "tuple[Emitted, str]":
    """The settings, and the command that makes them again."""
    from advisor.emit.settings_for import made_again, settings_for
    from advisor.evidence import opened

    with opened(db_url) as engine:
        found, evidence = _answer(engine, recommendation_id, scenario, options)
        emitted = settings_for(tool_name, found, evidence, chosen)
    return emitted, made_again(tool_name, found.scenario, chosen, recommendation_id or "")


def _answer(
    engine: "Engine",
    recommendation_id: str | None,
    scenario: Path | None,
    options: dict[str, Any],
) -> "tuple[Recommendation, ClusterEvidence]":
    from advisor.evidence import answer, ask, load_evidence, near_to
    from advisor.saved import load
    from advisor.scenario_file import read_scenario_file

    if recommendation_id:
        saved = load(engine, recommendation_id)
        return saved, load_evidence(engine, saved.scenario.cluster, near_to(saved.scenario))
    inputs = read_scenario_file(scenario) if scenario else scenario_input(options)
    question = ask(engine, inputs)
    return answer(question), question.evidence


def _text(emitted: "Emitted", parts: "Sequence[Part]", fmt: str, made_by: str) -> str:
    from advisor.emit.writers import write
    from advisor.emit.writers.document import to_document

    if fmt == "json":
        return json.dumps(to_document(emitted, parts, made_by), indent=2, allow_nan=False) + "\n"
    return "\n".join(write(emitted, part, made_by) for part in parts)


def _show_tools(db_url: str | None, cluster: str | None, fmt: str) -> None:
    from advisor.emit.emitting import abilities
    from advisor.emit.writers.document import abilities_document
    from advisor.evidence import load_evidence, opened

    with opened(db_url) as engine:
        mechanisms = load_evidence(engine, cluster).mechanisms
    found = [registry.tool(name) for name in registry.names()]
    if fmt == "json":
        echo_json(abilities_document(found, mechanisms))
        return
    rows = [
        (tool.name, name.upper(), ability.support.value, ability.reason)
        for tool in found
        for name, ability in abilities(tool, mechanisms)
    ]
    if fmt == "csv":
        echo_csv(_HEADER, rows)
    else:
        echo_table(_HEADER, rows)
