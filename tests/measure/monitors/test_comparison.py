"""Who differs from those that must be equal."""

import random

import pytest

from measure.monitors.comparison import Held, difference

A, B, C = "a" * 32, "b" * 32, "c" * 32


def held(*digests: str, copy: int = 0, first: int = 0) -> list[Held]:
    """Ranks of one copy with these digests of their parameters; empty: it shows none."""
    return [
        Held(first + n, copy, {"parameters": digest} if digest else {})
        for n, digest in enumerate(digests)
    ]


@pytest.mark.parametrize(
    ("digests", "suspects"),
    [
        ((A, A, B), (2,)),
        ((B, A, A, A), (0,)),
        ((A, B, A, C, A), (1, 3)),
        ((A, B), ()),  # of two, nobody can tell
        ((A, A, B, B), ()),
        ((A, B, C), ()),
        ((A, A, B, C), ()),  # two of four are no majority
    ],
)
def test_the_minority_is_named_where_there_is_a_majority(
    digests: tuple[str, ...], suspects: tuple[int, ...]
) -> None:
    found = difference(held(*digests))
    assert found is not None
    assert found.ranks == suspects


@pytest.mark.parametrize("ranks", [[], held(A), held(A, A, A), held(A, "", A), held("", "")])
def test_equal_ranks_differ_in_nothing(ranks: list[Held]) -> None:
    assert difference(ranks) is None


def test_copies_are_held_against_their_own_kind_only() -> None:
    one, other = held(A, A, A), held(B, C, B, copy=3, first=3)
    found = difference([*one, *other])
    assert found is not None
    assert (found.ranks, found.why) == (
        (4,),
        "parameters: rank 4 differs from the 2 others that hold the same",
    )


def test_each_part_is_told_of() -> None:
    ranks = [
        Held(n, 0, {"parameters": B if n == 1 else A, "optimizer": C if n == 2 else A})
        for n in range(5)
    ]
    found = difference(ranks)
    assert found is not None
    assert found.ranks == (1, 2)
    assert found.why.startswith("optimizer: rank 2 differs from the 4 others")
    assert "; parameters: rank 1 differs" in found.why


def test_in_a_thousand_groups_with_one_that_is_wrong_it_is_always_that_one() -> None:
    drawn = random.Random(2026)
    for _ in range(1000):
        size = drawn.randint(3, 64)
        digests = [f"{drawn.getrandbits(128):032x}"] * size
        assert difference(held(*digests)) is None
        victim = drawn.randrange(size)
        digests[victim] = f"{drawn.getrandbits(128):032x}"
        found = difference(held(*digests))
        assert found is not None
        assert found.ranks == (victim,)
