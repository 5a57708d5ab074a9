"""The comparison of a console block with what was printed: it has to be able to fail."""

import pytest

from tests.docs.documents import console_blocks, difference

_PRINTED = ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    "wanted",
    [
        ("one", "two", "three", "four"),
        ("...", "two", "...", "four"),
        ("one", "..."),
        ("...", "thr...", "four"),
        ("one", "...", "..."),
    ],
)
def test_lines_in_their_place_are_found(wanted: tuple[str, ...]) -> None:
    assert difference(wanted, _PRINTED) is None


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (("one", "three", "..."), "three"),
        (("two", "..."), "two"),
        (("...", "four", "three"), "three"),
        (("one", "two"), "(the end, before 'three')"),
        (("one", "two", "three", "four", "five"), "five"),
        (("...", "five", "..."), "five"),
    ],
)
def test_lines_out_of_place_are_named(wanted: tuple[str, ...], missing: str) -> None:
    assert difference(wanted, _PRINTED) == missing


def test_a_block_is_its_commands_with_their_lines() -> None:
    text = "```console\n$ a b\none\n\ntwo\n$ c\n```\n```sh\n$ d\n```\n"
    (block,) = console_blocks(text)
    assert [(step.command, step.prints) for step in block] == [("a b", ("one", "two")), ("c", ())]
