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
    text = "time,system,nodes,kind\n1700000100,a,2,infra\n1700000200,b,2,planned\n"
    between = "2023-11-14..2023-11-15"
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
    log = log_of(
        "JobID|State|Start|End\n1|COMPLETED|1700000100|1700000200\n2|NODE_FAIL|1700000100|1700000300\n"
    )
    assert estimate(log, asked()).nodes is None
    assert estimate(log, asked()).mtbf.mtbf_s == 300.0
    with pytest.raises(UserError, match="how many nodes"):
        estimate(log, asked(nodes=4))
    two = log_of("time,system\n1700000100,a\n1700000200,b\n1700090000,a\n1700095000,b\n")
    assert estimate(two, asked()).nodes is None
    with pytest.raises(UserError, match="several systems"):
        estimate(two, asked(nodes=4))


@pytest.mark.parametrize(
    "text",
    [
        "JobID|State|Start|End|NNodes\n",
        "JobID|State|Start|End|NNodes\n1|PENDING|Unknown|Unknown|0\n",
        "System,nodes,nodenum,Prob Started\n",
        "time\n1700000100\n",
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


def _events(*rows: str) -> str:
    return "time,kind,announced,lead\n" + "".join(f"2024-03-{row}\n" for row in rows)


_WARNED = _events(
    *(f"{day:02d}T00:0{minute}:00,infra,yes,2m" for day in (1, 5, 9) for minute in (0, 1, 2)),
    "12T00:00:00,infra,no,",
)


def test_announced_failures_are_counted_as_failures_are() -> None:
    """Merged with those that are the same, and without the one that opens the time at risk."""
    found = estimate(log_of(_WARNED), asked())
    assert (found.counted.failures, found.counted.announced, found.counted.unannounced) == (3, 2, 1)
    assert found.announcements is not None
    assert found.announcements.coverage == pytest.approx(2 / 3)
    assert found.announcements.mtbf == found.mtbf  # ends at a failure, as the log does


def test_announced_plans_count_in_the_time_at_risk_only() -> None:
    rows = ("01T00:00:00,preemption,,", "10T00:00:00,infra,,", "20T00:00:00,infra,,")
    assert estimate(log_of(_events(*rows)), asked()).announcements is None
    within = (*rows, "15T00:00:00,preemption,,30s")
    counted = count_failures(log_of(_events(*within)), asked())
    assert (counted.announced, counted.unannounced, counted.leads_s) == (1, 1, (30.0,))


@pytest.mark.parametrize(
    ("coalesce_s", "announced"), [(300.0, 2), (0.0, 5), (60.0, 4), (30 * 86400.0, 0)]
)
def test_announced_plans_are_merged_with_each_other_and_with_failures(
    coalesce_s: float, announced: int
) -> None:
    text = _events(
        *(f"15T00:0{minute}:00,preemption,," for minute in (0, 1, 2)),
        *("20T00:00:00,infra,,", "20T00:04:00,preemption,,", "25T00:00:00,preemption,,"),
        *("26T00:00:00,maintenance,no,", "27T00:00:00,abort,yes,"),
    )
    question = asked(coalesce_s=coalesce_s, between="2024-03-01..2024-04-01")
    counted = count_failures(log_of(text), question)
    assert (counted.announced, counted.unannounced) == (announced, 1)


def test_counts_of_several_systems_have_all_their_nodes() -> None:
    rows = ["gpu,10,A,100\n", "gpu,90,B,900\n"]
    for order in (rows, rows[::-1]):
        text = "cause,count,system,nodes\n" + "".join(order)
        assert estimate(log_of(text), asked(between="54d")).nodes == 1000
    partly = log_of("cause,count,system,nodes\ngpu,10,A,100\ngpu,90,B,\n")
    assert estimate(partly, asked(between="54d")).nodes is None
    with pytest.raises(UserError, match="several systems"):
        estimate(partly, asked(between="54d", nodes=8))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,node\n01.03.2024 10:00,n1\n02.03.2024 10:00,n2\n", "no row of 2 can be used"),
        ("time\nUnknown\n", "no row of 1 can be used"),
        ('cause,count\ngpu,"1,000"\n', "no row of 1 can be used"),
        ('cause,count\ngpu,"1,000"\nnet,2\n', "1 of 2 counts cannot be read .row 1: malformed"),
    ],
)
def test_what_cannot_be_read_is_no_bound(text: str, says: str) -> None:
    between = "2024-01-01..2024-06-01" if text.startswith("time") else "54d"
    with pytest.raises(UserError, match=says):
        estimate(log_of(text), asked(between=between))


@pytest.mark.parametrize("text", ["time,node\n", "cause,count\n"])
def test_a_header_alone_is_warned_of(text: str) -> None:
    (warning,) = estimate(log_of(text), asked(between="2024-01-01..2024-06-01")).warnings
    assert "header without rows" in warning


def _sized(lacking: int, others: int) -> str:
    span = "2024-03-01T00:00:00|2024-03-02T00:00:00"
    rows = [f"{job}|COMPLETED|{span}|" for job in range(lacking)]
    rows += [f"{job}|NODE_FAIL|{span}|4" for job in range(100, 100 + others)]
    return "JobID|State|Start|End|AllocNodes\n" + "\n".join(rows) + "\n"


def test_few_jobs_without_a_size_are_left_out() -> None:
    found = estimate(log_of(_sized(1, 19)), asked(nodes=2))
    assert found.node_mtbf is not None
    assert found.counted.work_s == 19 * 86400.0
    assert found.counted.node_s == 4 * 19 * 86400.0
    assert any("1 of the jobs" in warning and "left out" in warning for warning in found.warnings)
    assert (Use.EXCLUDED, "it does not say how many nodes it had, as others do", 1) in (
        found.counted.accounting.parts
    )


def test_many_jobs_without_a_size_are_said() -> None:
    found = estimate(log_of(_sized(2, 19)), asked())
    assert found.node_mtbf is None
    assert found.counted.work_s == 21 * 86400.0
    assert any("2 of the jobs" in w and "no size is used" in w for w in found.warnings)
    with pytest.raises(UserError, match="2 of 21"):
        estimate(log_of(_sized(2, 19)), asked(nodes=2))
    assert estimate(log_of(_sized(3, 0)), asked()).warnings == ()
