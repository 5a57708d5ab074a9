"""docs/emit.md says of every tool what the code says, and its rules are those of the plan."""

from advisor.emit import registry
from advisor.emit.emitting import abilities
from advisor.emit.plan import OUT_OF_RESTARTS, WAITS
from advisor.evidence import load_evidence, opened
from db.records import Mechanism
from tests.docs.documents import read, sections, table_with, tables

TEXT = read("emit.md")
_ABLE = sections(TEXT)["What each tool can do"]


def _mechanisms(first_use: object) -> dict[str, Mechanism]:
    with opened(str(first_use)) as engine:
        return dict(load_evidence(engine, None).mechanisms)


def test_the_table_of_all_tools(first_use: object) -> None:
    mechanisms = _mechanisms(first_use)
    columns = [abilities(registry.tool(name), mechanisms) for name in registry.names()]
    (table,) = (rows for rows in tables(_ABLE) if rows[0][0] == "mechanism")
    assert table[0][1:] == tuple(f"`{name}`" for name in registry.names())
    expected = [
        (_label(name, mechanisms), *(column[index][1].support.value for column in columns))
        for index, (name, _) in enumerate(columns[0])
    ]
    assert table[1:] == expected


def test_the_table_of_each_tool(first_use: object) -> None:
    mechanisms = _mechanisms(first_use)
    described = sections(_ABLE, level=3)
    assert list(described) == list(registry.names())
    for name, text in described.items():
        tool = registry.tool(name)
        verified = tool.verified
        head = f"{tool.title}, checked against {verified.package} {verified.version}: "
        assert f"{head}{verified.how}." in text
        grouped: dict[tuple[str, str], list[str]] = {}
        for each, ability in abilities(tool, mechanisms):
            key = (ability.support.value, ability.reason)
            grouped.setdefault(key, []).append(_label(each, mechanisms))
        expected = {", ".join(names): key for key, names in grouped.items()}
        assert table_with(text, "what") == expected


def test_the_rules_are_those_of_the_plan() -> None:
    text = " ".join(sections(TEXT)["Which number becomes which setting"].split())
    assert f"never less than {WAITS:g} times the longest wait of a healthy step" in text
    assert f"all but 1 job of {1 / OUT_OF_RESTARTS:,.0f}" in text


def _label(name: str, mechanisms: dict[str, Mechanism]) -> str:
    return name.upper() if name in mechanisms else name
