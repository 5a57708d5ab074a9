"""Where points of a superseded software stack still count, those of the newest go first, and
whatever rests on an old one says so."""

from dataclasses import replace

import pytest

from advisor.characterization import (
    baseline_points,
    detection_s,
    nearest_point,
    nearest_step_time_s,
    regroup_s,
    step_time_of,
)
from advisor.commands.tune import as_json
from advisor.defaults import resolve
from advisor.prediction.stalls import measured_stall
from advisor.reports import render
from advisor.reports.tune_words import caution_lines, choice_cells
from advisor.reports.words import candidate_cells, evidence_lines
from advisor.scenario import ScenarioInput
from advisor.simulation.kinds import parse_kinds
from advisor.software import unordered_stacks
from advisor.tuning.circumstances import Circumstances
from advisor.tuning.search import tune
from db.records import (
    ClusterEvidence,
    Evidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
)
from tests.advisor.comparison.twins import measured, with_value
from tests.advisor.conftest import recommend

OLD, NEW = "matilda-8xv100/torch-2.3.0", "matilda-8xv100/torch-2.9.0"
_INPUTS = ScenarioInput("a2", 204_700_000, 4 * 3600.0)


def with_points(evidence: ClusterEvidence, *points: OperatingPoint) -> ClusterEvidence:
    """The same cluster, all of it under superseded software, and these points of the newest."""
    old = tuple(replace(p, superseded_by=NEW) for p in evidence.points)
    new = tuple(replace(p, software_stack=NEW, point_id=f"z/{p.point_id}") for p in points)
    return replace(evidence, points=(*old, *new))


def point(evidence: ClusterEvidence, mechanism: str, trace: str | None = "F1") -> OperatingPoint:
    return next(
        p
        for p in evidence.points_of("a2", mechanism)
        if p.trace == trace and p.state_bytes == 204_700_000
    )


def test_the_step_time_is_that_of_the_newest_software(matilda: ClusterEvidence) -> None:
    baseline = point(matilda, "ft9")
    rate = baseline.values[Quantity.THROUGHPUT].value
    assert rate is not None
    faster = with_value(replace(baseline, trace="F2"), Quantity.THROUGHPUT, value=2.0 * rate)
    before = nearest_step_time_s(matilda, "a2", 204_700_000)
    old = nearest_step_time_s(with_points(matilda), "a2", 204_700_000)
    new = nearest_step_time_s(with_points(matilda, faster), "a2", 204_700_000)
    assert before is not None
    assert old is not None
    assert new is not None
    assert old.value == before.value == pytest.approx(2.0 * new.value)
    assert f"under {OLD}, which {NEW} superseded" in old.words
    assert "superseded" not in before.words + new.words


def test_a_run_without_a_fault_under_older_software_does_not_go_first(
    matilda: ClusterEvidence,
) -> None:
    baseline = point(matilda, "ft9")
    rate = baseline.values[Quantity.THROUGHPUT].value
    assert rate is not None
    faster = with_value(baseline, Quantity.THROUGHPUT, value=2.0 * rate)
    unfaulted = tuple(replace(p, trace=None) if p.mechanism == "ft9" else p for p in matilda.points)
    calm = replace(matilda, points=unfaulted)
    found = nearest_step_time_s(with_points(calm, faster), "a2", 204_700_000)
    assert found is not None
    assert found.value == pytest.approx(32 / (2.0 * rate))


def test_detection_is_that_of_the_newest_software(matilda: ClusterEvidence) -> None:
    quick = with_value(point(matilda, "ft9"), Quantity.DETECTION, value=900.0)
    found = detection_s(with_points(matilda, quick), "a2")
    assert found is not None
    assert found.value == 900.0
    assert "superseded" not in found.words
    old = detection_s(with_points(matilda), "a2")
    assert old is not None
    assert f"which {NEW} superseded" in old.words


def test_regrouping_is_that_of_the_newest_software(matilda: ClusterEvidence) -> None:
    def recovered(p: OperatingPoint, recovery_s: float) -> OperatingPoint:
        found = EvidencedValue(recovery_s, Evidence.MEASURED, n=3)
        restore = EvidencedValue(0.5, Evidence.MEASURED, n=3)
        return replace(p, values={**p.values, Quantity.RECOVERY: found, Quantity.RESTORE: restore})

    old = recovered(point(matilda, "ft1"), 20.0)
    first = replace(matilda, points=(*matilda.points, replace(old, point_id="y")))
    only_old = regroup_s(with_points(first), "a2")
    assert only_old is not None
    assert only_old.value == pytest.approx(19.5, abs=0.2)
    assert "under superseded software" in only_old.words
    found = regroup_s(with_points(first, recovered(point(matilda, "ft1"), 5.0)), "a2")
    assert found is not None
    assert found.value == pytest.approx(4.5, abs=0.2)
    assert "the median of 1 operating points" in found.words
    assert "superseded" not in found.words


@pytest.mark.parametrize(
    ("size", "stack"),
    [
        (204_700_000, NEW),
        (204_700_000 * 1.019, NEW),
        (204_700_000 * 1.5, OLD),
    ],
    ids=["same size", "within what counts as the same", "another size"],
)
def test_of_two_points_as_near_the_newest_is_taken(
    matilda: ClusterEvidence, size: float, stack: str
) -> None:
    new = replace(point(matilda, "ft2", None), state_bytes=round(size), interval_steps=7)
    found = nearest_point(
        with_points(matilda, new), ("a2",), "ft2", 204_700_000,
        lambda p: Quantity.OVERHEAD in p.values, 100,
    )  # fmt: skip
    assert found is not None
    assert found.software_stack == stack


def test_baselines_of_the_newest_software_come_first(matilda: ClusterEvidence) -> None:
    new = point(matilda, "ft9")
    stacks = [p.software_stack for p in baseline_points(with_points(matilda, new), "a2")]
    assert stacks[0] == NEW
    assert set(stacks[1:]) == {OLD}


def test_candidates_are_marked_one_by_one(matilda: ClusterEvidence) -> None:
    """FT2 was measured anew, and FT1 was not."""
    new = with_value(point(matilda, "ft2", None), Quantity.OVERHEAD, **measured(0.03, 0.001))
    evidence = with_points(matilda, new)
    kept = tuple(p for p in evidence.points if p.mechanism != "ft2" or p.superseded_by is None)
    answer = recommend(replace(evidence, points=kept), _INPUTS)
    marks = {c.mechanism: candidate_cells(c)[-1].endswith("†") for c in answer.candidates}
    assert marks["ft1"]
    assert not marks["ft2"]
    (warning,) = [w for w in answer.warnings if "†" in w]
    assert "FT1" in warning
    assert "FT2" not in warning
    assert NEW in warning
    lines = {line.partition(":")[0]: line for line in evidence_lines(answer)}
    assert "superseded software stack" in lines["FT1"]
    assert "superseded software stack" not in lines["FT2"]
    assert not any("count alike" in w for w in answer.warnings)


def test_an_answer_from_one_software_is_as_it_was(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, _INPUTS)
    assert not any(c.is_superseded for c in answer.candidates)
    assert not any("software" in w for w in answer.warnings)
    assert unordered_stacks(matilda) == ()


def test_stacks_that_nobody_put_in_order_are_named(matilda: ClusterEvidence) -> None:
    other = replace(point(matilda, "ft2", None), software_stack=NEW, point_id="z")
    both = replace(matilda, points=(*matilda.points, other))
    assert unordered_stacks(both) == (OLD, NEW)
    answer = recommend(both, _INPUTS)
    (warning,) = [w for w in answer.warnings if "count alike" in w]
    assert f"{OLD}, {NEW}" in warning
    assert unordered_stacks(with_points(matilda, other)) == ()


def test_a_table_of_commas_says_so_too(matilda: ClusterEvidence) -> None:
    for evidence, said in ((matilda, False), (with_points(matilda), True)):
        lines = render(recommend(evidence, _INPUTS), "csv").splitlines()
        (ft1,) = [line for line in lines if line.startswith("ft1,")]
        assert ("measured under superseded software" in ft1) is said


def test_tuned_combinations_are_marked_by_their_parts(matilda: ClusterEvidence) -> None:
    """FT2 was measured anew, and nothing else was."""
    new = with_value(point(matilda, "ft2", None), Quantity.OVERHEAD, **measured(0.03, 0.001))
    evidence = with_points(matilda, new)
    kept = tuple(p for p in evidence.points if p.mechanism != "ft2" or p.superseded_by is None)
    evidence = replace(evidence, points=kept)
    told = Circumstances(16, parse_kinds("0:50%,1:45%,4:3%,all:2%", all_too=True))
    tuned = tune(evidence, resolve(replace(_INPUTS, detection_s=30.0), evidence), told)
    rows = [choice_cells(tuned, choice, None) for choice in tuned.choices]
    assert {row[0] for row in rows if not row[-1].endswith("†")} == {"FT2"}
    assert {"FT1", "FT2 + FT1", "FT6 (k = 4)"} <= {row[0] for row in rows}
    (warning,) = [line for line in caution_lines(tuned) if "†" in line]
    assert NEW in warning
    assert "FT1" in warning
    assert "FT2" not in warning
    document = as_json(tuned, [None] * len(rows), {})
    assert document["warnings"] == [warning]
    marks = [choice["is_superseded"] for choice in document["choices"]]
    assert marks == [row[-1].endswith("†") for row in rows]


def test_tuning_from_one_software_is_as_it_was(matilda: ClusterEvidence) -> None:
    tuned = tune(matilda, resolve(replace(_INPUTS, detection_s=30.0), matilda), Circumstances(16))
    assert not any(choice.is_superseded for choice in tuned.choices)
    assert tuned.tiers.warnings == ()


def test_superseded_software_that_was_gone_back_to_is_named(matilda: ClusterEvidence) -> None:
    answer = recommend(replace(matilda, gone_back_to=((OLD, NEW),)), _INPUTS)
    (warning,) = [w for w in answer.warnings if "measured last" in w]
    assert warning.startswith(f"{OLD} was measured last, and is marked as superseded by {NEW}")
    assert f"`advisor db supersede --undo {OLD}`" in warning


def upgraded(
    evidence: ClusterEvidence, *, keep_old_baseline: bool = True
) -> tuple[ClusterEvidence, OperatingPoint]:
    """Baselines measured anew, at twice the rate, as db/stacks.py divides them, and the point of
    FT2, which was not."""
    baselines = [p for p in evidence.points if p.mechanism == "ft9"]
    faster = [
        with_value(p, Quantity.THROUGHPUT, value=2.0 * (p.values[Quantity.THROUGHPUT].value or 0.0))
        for p in baselines
        if Quantity.THROUGHPUT in p.values
    ]
    everything = with_points(evidence, *faster)
    aside = tuple(p for p in everything.points if p.mechanism == "ft9" and p.superseded_by)
    counting = tuple(p for p in everything.points if p not in aside)
    found = replace(everything, points=counting, set_aside=aside if keep_old_baseline else ())
    return found, point(found, "ft2", None)


def test_an_overhead_goes_with_the_steps_of_its_own_software(matilda: ClusterEvidence) -> None:
    """What was not measured again costs as many seconds as before, however fast steps are now."""
    before = measured_stall(matilda, matilda.mechanisms["ft2"], point(matilda, "ft2", None))
    assert before is not None
    evidence, old = upgraded(matilda)
    assert measured_stall(evidence, evidence.mechanisms["ft2"], old) == before
    # As both count, where nothing was set aside.
    both = replace(evidence, points=(*evidence.points, *evidence.set_aside), set_aside=())
    assert measured_stall(both, both.mechanisms["ft2"], old) == before
    # Where its own baseline is not known, the newest has to do.
    evidence, old = upgraded(matilda, keep_old_baseline=False)
    halved = measured_stall(evidence, evidence.mechanisms["ft2"], old)
    assert halved is not None
    assert halved.stall_s == pytest.approx(before.stall_s / 2.0)


def test_an_overhead_goes_with_the_steps_of_as_many_ranks(matilda: ClusterEvidence) -> None:
    baseline, ft2 = point(matilda, "ft9"), point(matilda, "ft2", None)
    rate = baseline.values[Quantity.THROUGHPUT].value
    assert rate is not None
    few = replace(with_value(baseline, Quantity.THROUGHPUT, value=2.0 * rate), world_size=4)
    far = replace(with_value(baseline, Quantity.THROUGHPUT, value=4.0 * rate), nodes=3)
    # They come first by name.
    others = (replace(few, point_id="a"), replace(far, point_id="b"))
    evidence = replace(matilda, points=(*others, *matilda.points))
    step_s = step_time_of(matilda, ft2)
    assert step_s is not None
    assert step_time_of(evidence, ft2) == step_s
    assert step_time_of(evidence, replace(ft2, world_size=4)) == pytest.approx(step_s / 2.0)
    assert step_time_of(evidence, replace(ft2, nodes=3)) == pytest.approx(step_s / 4.0)


def test_a_prediction_says_that_steps_were_longer_under_the_older_software(
    matilda: ClusterEvidence,
) -> None:
    """A save takes as long as it took: of steps that take half as long, it is twice the share."""
    inputs = replace(_INPUTS, interval=100)
    (before,) = (c for c in recommend(matilda, inputs).candidates if c.mechanism == "ft2")
    evidence, _ = upgraded(matilda)
    (after,) = (c for c in recommend(evidence, inputs).candidates if c.mechanism == "ft2")
    assert after.overhead == pytest.approx(2.0 * before.overhead)
    assert any("your step is 2 times shorter than the measured" in rule for rule in after.rules)
    assert not any("step is" in rule for rule in before.rules)
