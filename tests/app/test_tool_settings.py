"""Recommend shows an answer's settings for a tool exactly as the command line prints them."""

import shlex

import pytest
from streamlit.testing.v1 import AppTest

from advisor import cli
from advisor.emit import registry
from tests.app.conftest import Page, texts


def code_of(shown: AppTest) -> list[str]:
    """The emitted texts on the page: those that say what made them."""
    return [block.value for block in shown.code if "made by: advisor emit" in block.value]


def test_no_tool_is_chosen_at_first(page: Page) -> None:
    shown = page("recommend")
    assert shown.selectbox(key="tool").value == ""
    assert code_of(shown) == []


@pytest.mark.parametrize("tool", registry.names())
def test_the_text_is_the_command_line_s(
    page: Page, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = page("recommend", tool=tool)
    assert not shown.exception
    assert "The address" not in texts(shown)
    emitted = code_of(shown)
    assert emitted
    lines = emitted[0].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# made by: "))
    command = lines[start].removeprefix("# made by: ")
    for line in lines[start + 1 :]:
        if not line.startswith("#    "):
            break
        command += " " + line.removeprefix("#    ")
    assert cli.run(shlex.split(command)[1:]) == 0
    # Streamlit cuts the blank lines at the end of a block.
    assert capsys.readouterr().out.strip() == "\n\n".join(e.strip() for e in emitted)


def test_another_candidate_in_several_parts(page: Page) -> None:
    shown = page("recommend", tool="nvrx", candidate="ft2")
    first, second = code_of(shown)
    assert "ft_launcher" in first
    assert "LocalCheckpointManager" in second
    assert "FT2: copies are files" in texts(shown)
    shown.selectbox(key="candidate").set_value("ft1").run()
    assert len(code_of(shown)) == 1


def test_what_a_tool_cannot_do_is_said(page: Page) -> None:
    shown = page("recommend", tool="dcp", candidate="ft2")
    assert code_of(shown) == []
    assert "dcp cannot realise FT2" in texts(shown)
    assert "FT2 can be had from megatron, nvrx; of this answer dcp does FT1, FT3" in texts(shown)
    assert not shown.exception


def test_nothing_is_offered_without_a_candidate(page: Page) -> None:
    shown = page("recommend", tool="dcp", max_pause="1ms")
    assert "Settings for a training tool" not in texts(shown)
    assert "The address" not in texts(shown)
    goes_on = page("recommend", tool="dcp", architecture="a6")
    assert "Settings for a training tool" not in texts(goes_on)
