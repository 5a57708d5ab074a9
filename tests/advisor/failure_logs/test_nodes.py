"""Which nodes fail, and the MTBF without the worst."""

import numpy as np
import pytest

from advisor.failure_logs.counting import Question, Window
from advisor.failure_logs.estimate import estimate
from advisor.failure_logs.nodes import Nodes
from tests.advisor.failure_logs.samples import log_of, sample

DAY = 86400.0
BEGIN = 1.7e9


def nodes_in(text: str, question: Question) -> Nodes:
    found = estimate(log_of(text), question).by_node
    assert found is not None
    return found


def system(failures: list[int], length_s: float) -> str:
    """Events of nodes 0, 1, ... as often as said, spread over the time."""
    owners = np.repeat(np.arange(len(failures)), failures)
    np.random.default_rng(1).shuffle(owners)
    step_s = length_s / (len(owners) + 1)
    rows = [
        f"{BEGIN + (i + 1) * step_s:.0f},n{node},{len(failures)}" for i, node in enumerate(owners)
    ]
    return "time,node,nodes\n" + "\n".join(rows) + "\n"


def test_a_bad_node_is_found_and_left_out() -> None:
    length_s = 100 * DAY
    found = nodes_in(
        system([30, 3, 1, 2, 0, 1], length_s), Question(window=Window(BEGIN, BEGIN + length_s))
    )
    assert found.known == 6
    assert [(n.name, n.failures) for n in found.failing[:2]] == [("n0", 30), ("n1", 3)]
    assert all(n.at_risk_s == length_s for n in found.failing)
    assert found.chance is not None
    assert found.chance < 1e-6
    first = found.without[0]
    assert (first.left_out, first.mtbf.failures) == (1, 7)
    assert first.mtbf.mtbf_s == pytest.approx(5 * length_s / 7)


def test_a_size_that_was_asked_for_shrinks_too() -> None:
    text = "time,node\n1700001000,n1\n1700002000,n1\n1700003000,n2\n"
    found = nodes_in(text, Question(coalesce_s=0.0, window=Window(BEGIN, BEGIN + DAY), nodes=5))
    (only,) = found.without
    assert only.mtbf.at_risk_s == 4 * DAY
    assert found.known == 5


def test_equal_nodes_have_a_likely_worst() -> None:
    length_s = 100 * DAY
    found = nodes_in(
        system([3, 2, 4, 3, 2, 3], length_s), Question(window=Window(BEGIN, BEGIN + length_s))
    )
    assert found.chance is not None
    assert found.chance > 0.5


def test_the_chance_is_what_equal_nodes_show() -> None:
    source = np.random.default_rng(2)
    found = nodes_in(
        system([7, 1, 2, 3, 2], 100 * DAY), Question(window=Window(BEGIN, BEGIN + 100 * DAY))
    )
    worst = source.poisson(3.0, (20000, 5)).max(axis=1)
    assert found.chance == pytest.approx(float((worst >= 7).mean()), abs=0.01)


def test_jobs_are_left_out_with_the_nodes_that_they_held() -> None:
    found = estimate(sample("sacct.txt"), Question()).by_node
    assert found is not None
    assert found.chance is None
    assert [(n.name, n.failures) for n in found.failing] == [
        *(("n03", 1), ("n04", 1), ("n05", 1), ("n06", 1)),
    ]
    one = found.without[0].mtbf
    # Both runs of job 102 held n03; job 110's failure on n06 remains.
    assert one.failures == 1
    assert one.at_risk_s == pytest.approx((93.05 - 60) * 3600)


def test_two_systems_have_nodes_of_their_own() -> None:
    found = estimate(sample("lanl.csv"), Question()).by_node
    assert found is not None
    assert found.known == 14
    assert ("91/2", 5 * DAY) in {(n.name, n.at_risk_s) for n in found.failing}
    assert found.chance is None


def test_logs_that_name_no_nodes_have_no_table() -> None:
    assert estimate(sample("helios.csv"), Question()).by_node is None
    assert estimate(log_of("time\n1700000100\n1700090000\n"), Question()).by_node is None
