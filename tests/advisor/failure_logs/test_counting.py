"""Failures and time at risk: by hand on the samples, and on logs with a known truth."""

from collections.abc import Callable

import numpy as np
import pytest

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.counting import CountMode, Question, Window, count_failures
from advisor.failure_logs.estimate import Estimate, estimate
from advisor.failure_logs.records import Kind, Use
from advisor.failure_logs.windows import parse_window
from db.records import FailureScope
from tests.advisor.failure_logs.samples import log_of, sample
from tests.advisor.failure_logs.synthetic import event_log, sacct_log, window

LOGS = 1000
HOUR = 3600.0


def asked(
    count: CountMode = CountMode.INFRA,
    coalesce_s: float = 300.0,
    between: str | None = None,
    nodes: int | None = None,
) -> Question:
    found, length_s = (None, None) if between is None else parse_window(between, Clock())
    return Question(count, coalesce_s, found, length_s, nodes)


def test_jobs_by_hand() -> None:
    counted = count_failures(sample("sacct.txt"), asked())
    # 102's loss of a node, and 110's three minutes later on the same node.
    assert counted.failures == 1
    hours = 2 * 10 + 4 * 5 + 4 * 10 + 1 + 2 + 2 * 2 + 4 + 2 + 0.05
    assert counted.node_s == pytest.approx(hours * HOUR)
    assert counted.work_s == pytest.approx((10 + 5 + 10 + 1 + 2 + 2 + 4 + 2 + 0.05) * HOUR)
    assert counted.accounting.rows == 18
    assert [counted.accounting.of(use) for use in Use] == [2, 7, 9]
    assert (counted.announced, counted.unannounced) == (1, 1)


@pytest.mark.parametrize(
    ("count", "coalesce_s", "failures"),
    [
        (CountMode.INFRA, 0.0, 2),
        (CountMode.ABORT, 300.0, 2),
        (CountMode.ALL, 300.0, 4),
        (CountMode.ALL, 7 * HOUR, 2),
    ],
)
def test_what_is_counted(count: CountMode, coalesce_s: float, failures: int) -> None:
    assert count_failures(sample("sacct.txt"), asked(count, coalesce_s)).failures == failures


def test_jobs_in_a_window() -> None:
    counted = count_failures(
        sample("sacct.txt"), asked(between="2024-03-01T00:00..2024-03-01T03:00")
    )
    assert counted.failures == 0
    assert counted.node_s == pytest.approx((2 * 3 + 4 * 2 + 1 + 1) * HOUR)
    reasons = {reason for *_, reason, _ in counted.accounting.parts}
    assert "outside the window" in reasons
    assert "NODE_FAIL: a node failed, after the window" in reasons


def test_events_without_a_window_start_with_their_first() -> None:
    counted = count_failures(sample("lanl.csv"), asked())
    assert counted.ends_at_failure
    assert counted.failures == 3
    assert counted.work_s == 15 * 86400.0
    assert counted.node_s == (10 * 10 + 5 * 4) * 86400.0
    assert sorted(counted.gaps_s) == [86400.0, 5 * 86400.0, 9 * 86400.0]
    assert counted.open_gaps_s == ()


def test_events_in_a_window() -> None:
    counted = count_failures(sample("lanl.csv"), asked(between="2003-01-01..2003-03-02"))
    assert not counted.ends_at_failure
    assert counted.failures == 5
    assert counted.node_s == 60 * 14 * 86400.0
    assert sorted(counted.open_gaps_s) == [24 * 86400.0, 50 * 86400.0]


def test_planned_stops_stand_apart() -> None:
    counted = count_failures(sample("events.csv"), asked(between="2024-05-01..2024-05-11"))
    assert counted.failures == 3
    assert dict(counted.apart) == {
        "spot instance taken back": 2,
        "new driver": 1,
        "assertion in the data loader": 1,
    }
    assert dict(counted.kinds) == {Kind.INFRA: 3, Kind.ABORT: 1, Kind.PLANNED: 3}
    assert (counted.announced, counted.unannounced) == (3, 2)
    assert counted.leads_s == (30.0, 120.0, 600.0)
    everything = asked(CountMode.ALL, between="2024-05-01..2024-05-11")
    assert count_failures(sample("events.csv"), everything).failures == 7


def test_a_system_without_failures_is_at_risk_too() -> None:
    text = "time,system,nodes,kind\n100,a,2,infra\n200,b,2,planned\n"
    between = "1970-01-01..1970-01-02"
    counted = count_failures(log_of(text), asked(between=between))
    assert counted.node_s == 4 * 86400.0
    without = count_failures(log_of(text), asked())  # one failure opens, and nothing follows
    assert (without.failures, without.work_s) == (0, 0.0)


def test_counts_over_a_length() -> None:
    found = estimate(sample("llama3_counts.csv"), asked(between="54d", nodes=2048))
    assert found.counted.failures == 419
    assert found.mtbf.mtbf_s == pytest.approx(3.09 * HOUR, rel=2e-3)
    assert found.node_mtbf is not None
    assert found.node_mtbf.mtbf_s == pytest.approx(2048 * 54 * 86400 / 419)
    assert found.scope is FailureScope.JOB
    assert any("shares do not match" in warning for warning in found.warnings)
    dated = asked(between="2024-03-01..2024-04-24", nodes=2048)
    assert estimate(sample("llama3_counts.csv"), dated).mtbf == found.mtbf


@pytest.mark.parametrize(
    ("name", "question", "says"),
    [
        ("llama3_counts.csv", asked(), "such as 54d"),
        ("lanl.csv", asked(between="54d"), "start and end"),
        ("sacct.txt", asked(between="54d"), "start and end"),
        ("philly.json", asked(), "infra\\+abort"),
    ],
)
def test_questions_that_do_not_fit(name: str, question: Question, says: str) -> None:
    with pytest.raises(UserError, match=says):
        estimate(sample(name), question)


def test_nodes_cannot_be_asked_for_where_none_are_known() -> None:
    log = log_of("JobID|State|Start|End\n1|COMPLETED|100|200\n2|NODE_FAIL|100|300\n")
    assert estimate(log, asked()).nodes is None
    assert estimate(log, asked()).mtbf.mtbf_s == 300.0
    with pytest.raises(UserError, match="how many nodes"):
        estimate(log, asked(nodes=4))
    two = log_of("time,system\n100,a\n200,b\n90000,a\n95000,b\n")
    assert estimate(two, asked()).nodes is None
    with pytest.raises(UserError, match="several systems"):
        estimate(two, asked(nodes=4))


@pytest.mark.parametrize(
    "text",
    [
        "JobID|State|Start|End|NNodes\n",
        "JobID|State|Start|End|NNodes\n1|PENDING|Unknown|Unknown|0\n",
        "System,nodes,nodenum,Prob Started\n",
        "time\n100\n",
    ],
)
def test_nothing_at_risk_says_nothing(text: str) -> None:
    with pytest.raises(UserError, match=r"nothing can be said|only a window"):
        estimate(log_of(text), asked())


def test_a_header_alone_in_a_window_gives_a_bound() -> None:
    found = estimate(log_of("time,node\n"), asked(between="2024-01-01..2024-01-31", nodes=10))
    assert found.mtbf.mtbf_s is None
    assert found.mtbf.low_s == pytest.approx(30 * 86400 / 2.9957, rel=1e-4)
    assert found.node_mtbf is not None
    assert found.node_mtbf.low_s == pytest.approx(10 * found.mtbf.low_s)


def test_the_size_that_is_asked_for() -> None:
    mean, large = (estimate(sample("sacct.txt"), asked(nodes=n)) for n in (None, 100))
    assert mean.nodes == pytest.approx(93.05 / 36.05)
    assert mean.mtbf.mtbf_s == pytest.approx(36.05 * HOUR)
    assert large.mtbf.mtbf_s == pytest.approx(93.05 / 100 * HOUR)
    assert mean.node_mtbf == large.node_mtbf


def test_all_interruptions_are_another_scope() -> None:
    assert estimate(sample("sacct.txt"), asked(CountMode.ALL)).scope is FailureScope.ALL
    assert estimate(sample("sacct.txt"), asked(CountMode.ABORT)).scope is FailureScope.JOB
    assert estimate(sample("lanl.csv"), asked()).scope is FailureScope.NODE


def test_bursts_are_warned_of() -> None:
    source = np.random.default_rng(1)
    for shape, warned in ((0.6, True), (1.0, False)):
        times = np.cumsum(3e5 * source.weibull(shape, 300))
        found = estimate(log_of(event_log(times)), asked())
        assert any("bursts" in warning for warning in found.warnings) is warned
        assert found.weibull is not None
        assert found.weibull.low < shape < found.weibull.high


def test_a_coalescing_time_that_hides_failures_is_warned_of() -> None:
    times = np.cumsum(np.random.default_rng(2).exponential(3600.0, 200))
    text = event_log(times)
    assert any("coalescing time" in w for w in estimate(log_of(text), asked()).warnings)
    none = estimate(log_of(text), asked(coalesce_s=0.0))
    assert not any("coalescing time" in w for w in none.warnings)


def covers(found: Estimate, node_mtbf_s: float) -> bool:
    """Whether the interval of one node's MTBF holds the truth."""
    assert found.node_mtbf is not None
    assert found.node_mtbf.high_s is not None
    return found.node_mtbf.low_s <= node_mtbf_s <= found.node_mtbf.high_s


def test_job_logs_with_a_known_truth_are_covered() -> None:
    """1,000 logs of sacct: every failure and all time at risk found, intervals as they claim."""
    source = np.random.default_rng(7)
    node_mtbf_s, covered = 200 * HOUR, 0
    for _ in range(LOGS):
        truth = sacct_log(source, node_mtbf_s)
        found = estimate(log_of(truth.text), asked(coalesce_s=0.0))
        assert found.counted.failures == truth.failures
        assert found.counted.node_s == pytest.approx(truth.node_s, abs=60.0)
        covered += covers(found, node_mtbf_s)
    assert 0.93 <= covered / LOGS <= 0.97


def _poisson(source: np.random.Generator, mtbf_s: float) -> np.ndarray:
    return np.cumsum(source.exponential(mtbf_s, 40))


def _bursts(source: np.random.Generator, mtbf_s: float) -> np.ndarray:
    """Failures that each pull others with them, within a minute."""
    parents = _poisson(source, mtbf_s)
    followers = parents.repeat(source.poisson(1.0, len(parents)))
    return np.sort(np.concatenate([parents, followers + source.uniform(0.0, 60.0, len(followers))]))


@pytest.mark.parametrize("draw", [_poisson, _bursts])
@pytest.mark.parametrize("in_window", [True, False])
def test_event_logs_with_a_known_truth_are_covered(
    draw: Callable[[np.random.Generator, float], np.ndarray], in_window: bool
) -> None:
    """1,000 logs of one system, with and without a window; bursts are one failure each."""
    source = np.random.default_rng(8)
    mtbf_s, length_s, covered = 1e6, 2.5e7, 0
    question = Question(
        coalesce_s=120.0, window=Window(*window(length_s)) if in_window else None, nodes=16
    )
    for _ in range(LOGS):
        times = draw(source, mtbf_s)
        if in_window:
            times = times[times < length_s]
        covered += covers(estimate(log_of(event_log(times)), question), 16 * mtbf_s)
    assert 0.93 <= covered / LOGS <= 0.97
