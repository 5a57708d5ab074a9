"""Slurm's short form of host names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.failure_logs.hostlist import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n1,n2", ("n1", "n2")),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[008-010,12],gpu1", ("n008", "n009", "n010", "n12", "gpu1")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("n[1]-ib", ("n1-ib",)),
        ("", ()),
    ],
)
def test_names(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        *("n[1", "n]1", "n[2-1]", "n[a-b]", "n[1-9999999999]", "n[]", ",", "n[1-200001]"),
        *("n" + "[1]" * 2000, "n" + "[1]" * 11, f"n[{'0' * 4000}-199999]"),
    ],
)
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="node"):
        expand(text)


@given(st.sets(st.integers(0, 999), min_size=1, max_size=40))
def test_every_number_is_found_again(numbers: set[int]) -> None:
    inside = ",".join(f"{number:03d}" for number in sorted(numbers))
    assert expand(f"n[{inside}]") == tuple(f"n{number:03d}" for number in sorted(numbers))
