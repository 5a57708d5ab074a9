"""Which points count where a software stack is superseded: newer ones, and older ones marked where
nothing newer was measured."""

import pytest

from db.records import OperatingPoint, PointOutcome, SoftwareStack
from db.stacks import newer_stacks, points_that_count


def stacks(**superseded_by: str | None) -> dict[str, SoftwareStack]:
    return {
        name: SoftwareStack(name, "c", name, "", "", "3.11", None, by)
        for name, by in superseded_by.items()
    }


def point(
    stack: str | None,
    architecture: str = "a2",
    mechanism: str = "ft1",
    workload: str = "resnet50",
    trace: str | None = "F1",
    outcome: PointOutcome = PointOutcome.COMPLETE,
) -> OperatingPoint:
    return OperatingPoint(
        point_id=f"{architecture}/{mechanism}/{workload}/{trace}/{stack}",
        cluster="c",
        architecture=architecture,
        mechanism=mechanism,
        workload=workload,
        state_bytes=1_000,
        software_stack=stack,
        trace=trace,
        outcome=outcome,
    )


def test_without_a_mark_every_point_counts_as_it_is() -> None:
    points = (point("old"), point("new"), point(None))
    assert points_that_count(points, stacks(old=None, new=None)) == (points, ())


def test_what_was_measured_anew_takes_the_place_of_the_old() -> None:
    counting, aside = points_that_count([point("old"), point("new")], stacks(old="new", new=None))
    assert counting == (point("new"),)
    assert [(p.point_id, p.superseded_by) for p in aside] == [(point("old").point_id, "new")]


@pytest.mark.parametrize(
    "elsewhere",
    [
        point("new", architecture="a3"),
        point("new", mechanism="ft2"),
        point("new", workload="megatron"),
        point("new", trace="F2"),
        point("new", trace=None),
        point(None),
    ],
    ids=["architecture", "mechanism", "workload", "trace", "no fault", "no stack"],
)
def test_what_was_not_measured_anew_counts_and_is_marked(elsewhere: OperatingPoint) -> None:
    counting, aside = points_that_count([point("old"), elsewhere], stacks(old="new", new=None))
    assert aside == ()
    assert [p.superseded_by for p in counting] == ["new", None]


def test_a_run_that_failed_under_newer_software_counts_all_the_same() -> None:
    """What worked before and does not work any more is no evidence that it works."""
    failed = point("new", outcome=PointOutcome.DEADLOCK)
    counting, aside = points_that_count([point("old"), failed], stacks(old="new", new=None))
    assert counting == (failed,)
    assert len(aside) == 1


def test_of_a_chain_the_newest_that_was_measured_counts() -> None:
    chain = stacks(first="second", second="third", third=None)
    assert newer_stacks(chain) == {"first": ("second", "third"), "second": ("third",)}
    counting, aside = points_that_count(
        [point("first"), point("second"), point("third", trace="F2")], chain
    )
    assert [(p.software_stack, p.superseded_by) for p in counting] == [
        ("second", "third"),
        ("third", None),
    ]
    assert [(p.software_stack, p.superseded_by) for p in aside] == [("first", "third")]


def test_a_ring_supersedes_nothing() -> None:
    """A bundle can bring one; no point may vanish from answers by it."""
    ring = stacks(a="b", b="a", c="a", d=None)
    assert newer_stacks(ring) == {}
    points = (point("a"), point("b"), point("c"))
    assert points_that_count(points, ring) == (points, ())
