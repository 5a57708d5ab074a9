"""Shares of losses, as people type them."""

from math import inf

import pytest

from advisor.errors import UserError
from advisor.tuning.losses import parse_losses


def test_shares_are_read_and_written() -> None:
    found = parse_losses(" all:1%, 1:95% ,2:4%")
    assert dict(found.shares) == pytest.approx({1.0: 0.95, 2.0: 0.04, inf: 0.01})
    assert list(found.shares) == [1.0, 2.0, inf]
    assert found.most_at_once == 2
    assert found.in_words() == "1: 95 %, 2: 4 %, all: 1 %"


def test_what_never_happens_is_dropped() -> None:
    assert dict(parse_losses("1:100%,2:0%").shares) == {1.0: 1.0}
    assert parse_losses("all:100%").most_at_once == 1


@pytest.mark.parametrize(
    "text",
    ["", "1", "1:", "0:100%", "1:50%,1:50%", "x:100%", "65:100%", "1:100%,", "-1:100%", "²:100%"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_losses(text)


def test_shares_have_to_add_up() -> None:
    with pytest.raises(UserError, match="add up to 97 %"):
        parse_losses("1:95%,2:2%")
