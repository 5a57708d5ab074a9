"""What a record says of monitors, of runs that were made by hand."""

from datetime import UTC, datetime
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, FaultKind
from measure.results.monitoring import monitoring_of
from measure.results.run_record import Surroundings, run_record
from measure.results.verdict import Fault, Run
from tests.measure.results.made import Made, job


def fault(ordinal: int, rank: int, at_s: float, steps: int, kind: str = "flip-buffer") -> Fault:
    """A fault, by default one that its rank survives."""
    event = FaultEvent(rank, FaultKind(kind), step=steps)
    return Fault(ordinal, event, True, at_s, steps, (), None, False, "recovered")


def watched(*names: str) -> Made:
    made = Made(job(monitors=names))
    made.trains([0, 1], 0.0, 0, 10)
    return made


def suspects(made: Made, slot: int, at_s: float, step: int, *ranks: int, **of: Any) -> None:
    usual = {"monitor": "digest", "proved_step": 0, "why": "", "kind": "divergence"}
    usual |= {"severity": "stop"}
    made.says(slot, at_s, "suspect", step=step, ranks=list(ranks), **{**usual, **of})


def of(run: Run, *faults: Fault) -> dict[str, Any]:
    """The only monitor of a run."""
    (found,) = monitoring_of(run, faults)["monitoring"]
    result: dict[str, Any] = found
    return result


def test_a_run_without_monitors_has_no_key_of_them() -> None:
    assert monitoring_of(watched().ends(10.0, 0, 1), []) == {}


def test_what_a_monitor_took_is_the_mean_over_ranks_and_steps() -> None:
    made = watched("digest:5")
    for slot, spent_s in ((0, 0.9), (1, 0.45)):
        for step in (5, 10):
            took = {"s": spent_s, "waited_s": spent_s / 3.0, "bytes": 100}
            made.says(slot, float(step), "monitor", monitor="digest", step=step, **took)
    found = of(made.ends(10.0, 0, 1))
    assert (found["monitor"], found["interval_steps"], found["checks"]) == ("digest", 5, 2)
    assert found["s_per_step"] == pytest.approx((2 * 0.9 + 2 * 0.45) / 20)
    assert found["waited_s_per_step"] == pytest.approx(found["s_per_step"] / 3.0)
    # Each of 20 steps took 0.9 s, the monitor's part included.
    assert found["overhead_fraction"] == pytest.approx(2.7 / (18.0 - 2.7))


def test_a_run_that_came_to_no_check_has_no_cost() -> None:
    found = of(watched("digest:50").ends(10.0, 0, 1))
    assert (found["checks"], found["s_per_step"], found["overhead_fraction"]) == (0, None, None)


def test_what_all_ranks_raise_is_one_suspicion_as_of_the_first() -> None:
    made = watched("digest:5")
    for slot, at_s in ((0, 10.5), (1, 10.25)):
        suspects(made, slot, at_s, 10, 1)
    (only,) = of(made.ends(12.0, 0, 1), fault(0, 1, 7.25, 7))["suspicions"]
    assert (only["at_s"], only["fault"], only["after_s"]) == (10.25, 0, 3.0)
    assert (only["after_steps"], only["right_rank"]) == (3, True)


def test_the_same_step_suspected_again_after_a_rollback_is_another_suspicion() -> None:
    made = watched("digest:5")
    for at_s in (10.0, 30.0):
        for slot, later_s in ((0, 0.0), (1, 0.1)):
            suspects(made, slot, at_s + later_s, 10)
    found = of(made.ends(40.0, 0, 1))
    assert [each["at_s"] for each in found["suspicions"]] == [10.0, 30.0]


@pytest.mark.parametrize(
    ("ranks", "right"), [((1,), True), ((0,), False), ((0, 1), False), ((), None)]
)
def test_the_right_rank_is_the_victim_and_nobody_else(
    ranks: tuple[int, ...], right: bool | None
) -> None:
    made = watched("digest:5")
    suspects(made, 0, 10.0, 10, *ranks)
    (only,) = of(made.ends(12.0, 0, 1), fault(0, 1, 7.0, 7))["suspicions"]
    assert only["right_rank"] is right


@pytest.mark.parametrize(
    ("kind", "at_s", "monitor", "found_kind"),
    [
        ("flip-buffer", 11.0, "digest", "divergence"),  # it struck later
        ("crash", 7.0, "digest", "divergence"),  # whoever is lost diverges from nobody
        ("straggler", 7.0, "digest", "divergence"),
        ("flip-buffer", 7.0, "stragglers", "straggler"),
    ],
)
def test_a_suspicion_without_a_fault_that_it_can_be_about_is_a_false_alarm(
    kind: str, at_s: float, monitor: str, found_kind: str
) -> None:
    made = watched(f"{monitor}:5")
    suspects(made, 0, 10.0, 10, 1, monitor=monitor, kind=found_kind)
    found = of(made.ends(12.0, 0, 1), fault(0, 1, at_s, 7, kind))
    assert found["false_alarms"] == 1
    (only,) = found["suspicions"]
    assert (only["fault"], only["after_s"], only["right_rank"]) == (None, None, None)


def test_of_several_faults_the_last_one_before_it_is_answered() -> None:
    made = watched("stragglers:5")
    suspects(made, 0, 10.0, 10, 1, monitor="stragglers", kind="straggler", severity="report")
    faults = [fault(n, n, 3.0 * (n + 1), 3 * (n + 1), "straggler") for n in (0, 1)]
    (only,) = of(made.ends(12.0, 0, 1), *faults)["suspicions"]
    assert (only["fault"], only["after_steps"], only["right_rank"]) == (1, 4, True)


def test_a_record_has_the_key_and_where_ranks_stopped() -> None:
    made = watched("digest:5")
    made.says(1, 9.0, "stopped", how="monitor", error="", peak_memory_bytes=1, where="in step 9")
    run = made.ends(10.0, 0)
    found = run_record(run, Surroundings({}, {}, {}), {}, datetime.now(UTC))
    assert [each["monitor"] for each in found["monitoring"]] == ["digest"]
    assert [rank["where"] for rank in found["ranks"]] == ["", "in step 9"]
