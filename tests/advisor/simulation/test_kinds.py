"""How many nodes failures take at once, as a person says it."""

import pytest

from advisor.errors import UserError
from advisor.simulation.kinds import parse_kinds
from advisor.simulation.process import SURVIVES_ALL, Kind


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("0:90%,1:8%,2:2%", (Kind(0.9, 0, 0), Kind(0.08, 1, 1), Kind(0.02, 2, 2))),
        ("1:100%", (Kind(1.0, 1, 1),)),
        (" 2 : 30% , 1:70 %", (Kind(0.7, 1, 1), Kind(0.3, 2, 2))),
        ("1:100%,2:0%", (Kind(1.0, 1, 1),)),
        ("0:33.3%,1:33.3%,64:33.4%", (Kind(0.333), Kind(0.333, 1, 1), Kind(0.334, 64, 64))),
    ],
)
def test_shares(text: str, kinds: tuple[Kind, ...]) -> None:
    found = parse_kinds(text)
    assert [(k.severity, k.nodes) for k in found] == [(k.severity, k.severity) for k in kinds]
    assert [k.share for k in found] == pytest.approx([k.share for k in kinds])
    assert sum(k.share for k in found) == pytest.approx(1.0, abs=1e-9)


def test_all_nodes_are_the_most_severe_where_they_can_be_named() -> None:
    found = parse_kinds("all:2%,0:98%", all_too=True)
    assert [(k.severity, k.nodes) for k in found] == [(0, 0), (SURVIVES_ALL, SURVIVES_ALL)]
    with pytest.raises(UserError, match="from 0 to 64 once"):
        parse_kinds("all:100%")
    with pytest.raises(UserError, match="or all, once"):
        parse_kinds(f"{SURVIVES_ALL}:100%", all_too=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not say how many nodes"),
        ("1", "does not say how many nodes"),
        ("90%,10%", "does not say how many nodes"),
        ("1:90%,1:10%", "does not say how many nodes"),
        ("1:90%,two:10%", "does not say how many nodes"),
        ("-1:100%", "does not say how many nodes"),
        ("65:100%", "does not say how many nodes"),
        ("²:100%", "does not say how many nodes"),
        ("1" * 5000 + ":100%", "does not say how many nodes"),
        ("1:90", "90 has no unit: write 5%"),
        ("1:many", "is not a percentage"),
        ("1:90%,2:9%", "add up to 99 %, not to 100 %: write all of them, as in 0:90%"),
        ("1:90%,2:20%", "add up to 110 %"),
        ("1:99.999999%", "add up to 99.999999 %, not to 100 %"),
        ("1:0%", "add up to 0 %"),
    ],
)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as said:
        parse_kinds(text)
    assert len(str(said.value)) < 250
