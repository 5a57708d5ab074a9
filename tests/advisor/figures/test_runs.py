"""The timeline of a run: its numbers, its marks, and what is shown at first."""

from itertools import pairwise
from typing import Any

import pytest

from advisor.figures.runs import MOST_FAULTS, Timeline, timeline, timeline_of
from db.run_record import Record
from tests.app.measured import with_series
from tests.db import run_records


def shown(**changes: Any) -> Timeline:
    found = timeline_of(Record.model_validate(with_series(run_records.record(**changes))))
    assert found is not None
    return found


def test_times_count_from_the_first_fault() -> None:
    found = shown(detected_s=0.5)
    assert found.from_fault
    assert found.t_s[0] == pytest.approx(1.8 - 5.5)
    assert [(m.at_s, m.words) for m in found.marks] == [
        (0.0, "rank 3 was killed"),
        (0.25, "the first knew, 250 ms later"),
        (0.5, "the last knew, 500 ms later"),
    ]
    (before,) = found.shades
    assert before.words == "before: 40 samples/s/rank, 8 ranks"
    assert before.to_s == 0.0
    # Ten steps are dropped: the window begins with the eleventh.
    assert before.from_s == pytest.approx(found.t_s[10] - found.step_s[10])


def test_a_run_that_goes_on_has_both_windows() -> None:
    found = shown(architecture="a6", rate=10.0, after_rate=12.0, detected_s=0.5)
    assert [s.words.partition(":")[0] for s in found.shades] == ["before", "after"]
    assert len({s.color for s in found.shades}) == 2
    assert len({(m.color, m.dash) for m in found.marks}) == 3


def test_a_detection_that_was_given_up() -> None:
    found = shown(detected_s=120.0, censored=True, outcome="hang")
    assert [m.words for m in found.marks] == ["rank 3 was killed", "not all knew, 2 min later"]
    assert found.whole_s[1] == 120.0


def test_a_run_without_a_fault_counts_from_its_beginning() -> None:
    found = shown(trace=None)
    assert (found.from_fault, found.marks) == (False, ())
    assert found.around_s == found.whole_s
    assert [s.words.partition(":")[0] for s in found.shades] == ["after warm-up"]


def test_the_surroundings_of_the_fault_are_shown_at_first() -> None:
    found = shown(architecture="a6", rate=10.0, after_rate=12.0, detected_s=0.01)
    low_s, high_s = found.around_s
    assert found.whole_s[0] <= low_s < 0.0 < 0.01 < high_s < found.whole_s[1]
    figure = timeline(found)
    left, right = figure.layout.xaxis.range
    assert left < low_s
    assert right > high_s


def test_many_faults_are_told_apart_by_rank_and_not_all_are_marked() -> None:
    fault = run_records.record()["faults"][0]
    many = [{**fault, "ordinal": n, "rank": n, "detections": []} for n in range(8)]
    found = shown(faults=many)
    struck = [m.words for m in found.marks if "was killed" in m.words]
    assert len(struck) == MOST_FAULTS
    assert "the last knew of rank 1, 10.2 s later" in [m.words for m in found.marks]


def test_no_step_no_timeline() -> None:
    made = run_records.record(
        series={name: [] for name in ("t_s", "step", "step_s", "loss", "samples_per_s")}
    )
    assert timeline_of(Record.model_validate(made)) is None


def test_panels_share_the_time_axis_and_do_not_overlap() -> None:
    figure = timeline(shown())
    assert [t.yaxis for t in figure.data] == ["y", "y2", "y3"]
    assert {t.xaxis for t in figure.data} <= {None, "x"}
    axes = [figure.layout.yaxis, figure.layout.yaxis2, figure.layout.yaxis3]
    for above, below in pairwise(axes):
        assert above.domain[0] > below.domain[1]
    assert axes[-1].domain[0] == 0.0
    assert [a.text for a in figure.layout.annotations] == [
        *("throughput of all ranks (samples/s)", "step time (ms)", "loss"),
    ]
    assert [s.name for s in figure.layout.shapes][1:] == [
        *("rank 3 was killed", "the first knew, 5.12 s later", "the last knew, 10.2 s later"),
    ]


def test_no_rank_that_sees_a_loss_no_panel_for_it() -> None:
    made = with_series(run_records.record())
    made["series"]["loss"] = [None] * len(made["series"]["loss"])
    found = timeline_of(Record.model_validate(made))
    assert found is not None
    figure = timeline(found)
    assert len(figure.data) == 2
    assert figure.layout.xaxis.anchor == "y2"


def test_a_step_that_waited_for_a_lost_rank_hides_no_other() -> None:
    made = with_series(run_records.record())
    made["series"]["step_s"][-1] = 10.0
    found = timeline_of(Record.model_validate(made))
    assert found is not None
    figure = timeline(found)
    assert figure.layout.yaxis2.type == "log"
    assert figure.layout.annotations[1].text == "step time (ms, logarithmic)"
    low, high = figure.layout.yaxis2.range
    assert 10**low < 160.0 < 10_000.0 < 10**high


def test_rates_begin_at_zero_and_one_step_alone_is_drawn() -> None:
    made = run_records.record(
        series={
            "t_s": [1.8], "step": [0], "step_s": [0.2], "loss": [2.0], "samples_per_s": [320.0],
        }
    )  # fmt: skip
    found = timeline_of(Record.model_validate(made))
    assert found is not None
    figure = timeline(found)
    assert figure.layout.yaxis.range[0] == 0.0
    low, high = figure.layout.yaxis3.range
    assert low < 2.0 < high
