"""Every tool with every mechanism, alone and beside another one: it is realised, or refused with a
reason; what is written is whole."""

import ast
import json
import re
import subprocess
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from advisor.emit import registry
from advisor.emit.emitting import TOGETHER, Emitted, abilities, ability_of, able, emit, refusal
from advisor.emit.needs import Need, need_of
from advisor.emit.plan import Number, Plan
from advisor.emit.tool import Part, Setting, Support, Syntax, Tool, Variable
from advisor.emit.writers import write
from advisor.emit.writers.document import abilities_document, to_document
from advisor.errors import UserError
from db.records import ClusterEvidence
from tests.advisor.emit.plans import COMMAND, MECHANISM, emitted, plan
from tests.docs.documents import SCHEMAS

_TOOLS = [registry.tool(name) for name in registry.names()]
_ALONE: list[tuple[Need, ...]] = [(need,) for need in Need]
_PAIRS: list[tuple[Need, ...]] = [
    pair for pair in combinations(Need, 2) if Need.NOTHING not in pair
]
_ORDER = list(Support)
each_tool = pytest.mark.parametrize("tool", _TOOLS, ids=lambda tool: tool.name)
each_need = pytest.mark.parametrize("needs", _ALONE + _PAIRS, ids="+".join)


def test_the_issue_s_tools_are_there() -> None:
    asked = "torchrun dcp torchtitan nvrx megatron deepspeed lightning hf-trainer"
    assert set(registry.names()) == set(asked.split())


def test_an_unknown_tool_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no tool 'horovod': write one of dcp, deepspeed, .*"):
        registry.tool("horovod")


def test_each_mechanism_asks_for_something_else_unless_it_is_set_alike(
    matilda: ClusterEvidence,
) -> None:
    needs = {name: need_of(found) for name, found in matilda.mechanisms.items()}
    assert needs.pop("ft7") is needs["ft8"] is Need.SURVIVORS
    assert needs == {name: need for need, name in MECHANISM.items()}


@each_tool
def test_a_tool_says_what_it_is_and_answers_for_every_need(tool: Tool) -> None:
    assert tool.title
    assert tool.verified.package
    assert tool.verified.version
    assert tool.verified.how
    assert set(tool.abilities) == set(Need)
    assert all(ability.reason for ability in (*tool.abilities.values(), tool.composed))


@each_tool
@each_need
def test_what_is_refused_says_why_and_all_else_is_set(tool: Tool, needs: tuple[Need, ...]) -> None:
    asked = plan(*needs)
    ability = ability_of(tool, needs)
    if ability.support is Support.CANNOT:
        with pytest.raises(UserError) as refused:
            emit(tool, asked)
        assert str(refused.value) == refusal(tool, asked)
        assert str(refused.value).startswith(f"{tool.name} cannot realise {asked.mechanisms}: ")
        assert ability.reason in str(refused.value)
        return
    found, conflict = _emitted_or_conflict(tool, asked)
    if found is None:
        assert len(needs) > 1
        assert "cannot be had at once" in conflict
        return
    assert found.support is ability.support
    assert bool(found.limits) == (found.support is Support.PARTLY)
    assert (len(needs) > 1) == (tool.composed.reason in " ".join(found.limits + found.remarks))
    assert found.parts
    names = [part.name for part in found.parts]
    assert len(set(names)) == len(names)
    for part in found.parts:
        assert part.settings
        _assert_parses(write(found, part, COMMAND), part.syntax)


def _emitted_or_conflict(tool: Tool, asked: Plan) -> tuple[Emitted | None, str]:
    try:
        return emit(tool, asked), ""
    except UserError as error:
        return None, str(error)


def _assert_parses(text: str, syntax: Syntax) -> None:
    if syntax is Syntax.PYTHON:
        compile(text, "part.py", "exec")
    else:
        subprocess.run(["/bin/bash", "-n"], input=text.encode(), check=True)
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) <= 110


@each_tool
@pytest.mark.parametrize("need", [n for n in Need if plan(n).acts[0].interval is not None])
def test_an_interval_is_set_wherever_the_tool_saves(tool: Tool, need: Need) -> None:
    if tool.abilities[need].support is Support.CANNOT:
        return
    saves = [
        setting
        for part in emitted(tool, need).parts
        for setting in part.settings
        if setting.number is not None and setting.number.path == "candidate.interval_steps"
    ]
    left_to_others = "see dcp" in tool.abilities[need].reason
    assert len(saves) == (0 if left_to_others else 1)
    assert all(s.value == plan(need).acts[0].interval.value for s in saves)  # type: ignore[union-attr]


@each_tool
@each_need
def test_the_document_keeps_its_schema(tool: Tool, needs: tuple[Need, ...]) -> None:
    schema = json.loads((SCHEMAS / "settings-1.schema.json").read_text(encoding="utf-8"))
    try:
        found = emitted(tool, *needs)
    except UserError:
        return
    document = to_document(found, found.parts, COMMAND)
    Draft202012Validator(schema).validate(document)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [p["text"] for p in document["parts"]] == [
        write(found, part, COMMAND) for part in found.parts
    ]


def test_mechanisms_that_want_one_setting_at_two_values_are_refused() -> None:
    with pytest.raises(UserError, match=r"FT1\+FT3 cannot be had at once: INTERVAL_STEPS would be"):
        emitted(registry.tool("dcp"), Need.STORAGE, Need.BACKGROUND)


def test_parts_of_two_mechanisms_are_put_together() -> None:
    found = emitted(registry.tool("megatron"), Need.STORAGE, Need.PEER)
    names = [setting.name for setting in found.part("options").settings]
    assert {"--save-interval", "--non-persistent-save-interval"} <= set(names)
    assert len(set(names)) == len(names)


def test_an_unknown_part_lists_the_known_ones() -> None:
    found = emitted(registry.tool("nvrx"), Need.PEER)
    with pytest.raises(UserError, match="no part 'x' here: write one of launch, checkpoint"):
        found.part("x")


@each_tool
def test_abilities_name_every_mechanism(tool: Tool, matilda: ClusterEvidence) -> None:
    found = abilities(tool, matilda.mechanisms)
    assert [name for name, _ in found] == [*matilda.mechanisms, TOGETHER]
    document = abilities_document([tool], matilda.mechanisms)
    schema = json.loads((SCHEMAS / "abilities-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(document)


def test_several_needs_are_realised_as_far_as_the_least() -> None:
    for tool in _TOOLS:
        for needs in _PAIRS:
            worst = max(_ORDER.index(tool.abilities[need].support) for need in needs)
            assert _ORDER.index(ability_of(tool, needs).support) >= worst
    assert able(_TOOLS, [Need.PEER]) == ("megatron", "nvrx")


@given(text=st.text(max_size=60), syntax=st.sampled_from(Syntax))
def test_whatever_text_is_quoted(text: str, syntax: Syntax) -> None:
    """As a value it comes back; as a comment it is nothing but one."""
    number = Number(3, "s", text, text, text)
    settings = (Setting("NAME", text, text, number),)
    part = Part("part", syntax, settings, program='"$@" OPTIONS', before="", after="")
    written = write(emitted(registry.tool("dcp"), Need.STORAGE), part, text)
    if syntax is Syntax.PYTHON:
        (assigned,) = ast.parse(written).body
        assert isinstance(assigned, ast.Assign)
        assert ast.literal_eval(assigned.value) == text
        return
    outside = [line for line in written.splitlines() if not re.match(r"\s*#", line)]
    assert len([line for line in outside if line.strip()]) >= 5
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        done = subprocess.run(
            ["/bin/bash", "-s", "printf", "%s\\0"],
            input=written.encode(),
            capture_output=True,
            check=True,
        )
        assert done.stdout == f"NAME={text}\0".encode()


def test_a_variable_that_is_not_set_stops_the_script() -> None:
    part = Part(
        "part",
        Syntax.COMMAND,
        (Setting("--folder", Variable("NOT_SET", "a folder"), "where"),),
        program='"$@" OPTIONS',
    )
    written = write(emitted(registry.tool("dcp"), Need.STORAGE), part, COMMAND)
    done = subprocess.run(
        ["/bin/bash", "-s", "echo", "started"],
        input=written.encode(),
        capture_output=True,
        check=False,
        env={},
    )
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"NOT_SET: parameter null or not set" in done.stderr


_WARNED_TOOLS = [
    tool
    for tool in _TOOLS
    if tool.abilities[Need.WARNING].support is not Support.CANNOT and tool.name != "torchrun"
]


@pytest.mark.parametrize("tool", _WARNED_TOOLS, ids=lambda tool: tool.name)
def test_what_slurm_sends_is_no_warning_of_a_failure(tool: Tool) -> None:
    (said,) = [
        note for note in tool.remarks(plan(Need.WARNING, lead_s=65535.0)) if "sbatch" in note
    ]
    assert "--signal=TERM@65535`" in said
    for part in ("time limit", "send_user_signal", "announces no failure"):
        assert part in said
    longer = tool.remarks(plan(Need.WARNING, lead_s=65536.0))
    assert not [note for note in longer if "sbatch" in note]


@pytest.mark.parametrize("name", ["megatron", "torchtitan"])
def test_a_script_that_is_given_no_command_does_not_start(name: str) -> None:
    found = emitted(registry.tool(name), Need.NOTHING)
    written = write(found, found.part("options"), COMMAND)
    done = subprocess.run(
        ["/bin/bash", "-s"], input=written.encode(), capture_output=True, check=False
    )
    assert done.returncode != 0
    assert b"write the command that starts training" in done.stderr
    assert b"--" not in done.stderr
