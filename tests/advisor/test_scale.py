"""The same job on other ranks: itself where nothing changes, monotone where it must be, by hand."""

import json
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from advisor import cli
from advisor.candidates import consider
from advisor.cost import Price
from advisor.decide import exact_time
from advisor.defaults import resolve
from advisor.errors import UserError
from advisor.scale.answer import Scale, scale
from advisor.scale.growth import Growth, Scaling, StatedGrowth, StateLayout, growth_of
from advisor.scale.rules import ScaleRule, scaled
from advisor.scale.world_sizes import parse_world_sizes
from advisor.scenario import Scenario, ScenarioInput
from db.records import (
    CalibrationFit,
    CalibrationPath,
    ClusterEvidence,
    FailureScope,
    FitModel,
    FittedNumber,
)
from tests.advisor.calibrations import fit

_SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_FEW = settings(_SETTINGS, max_examples=6)


def scenario(evidence: ClusterEvidence, **more: Any) -> Scenario:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 432e3}
    return resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)


def growth(evidence: ClusterEvidence, asked: Scenario | None = None, **more: Any) -> Growth:
    return growth_of(evidence, asked or scenario(evidence), StatedGrowth(**more))


_STATED = st.fixed_dictionaries(
    {
        "world_size": st.integers(2, 512),
        "ranks_per_node": st.integers(1, 16),
        "scaling": st.sampled_from(Scaling),
        "communication_share": st.floats(0.0, 0.5),
        "layout": st.sampled_from(StateLayout),
        "regroup_per_rank_s": st.floats(0.0, 0.1),
        "scope": st.just(FailureScope.JOB),
        "node_share": st.floats(0.0, 1.0),
    }
)
_RANKS = st.integers(1, 100_000)
_NEEDED = {"ft2": 2, "ft4": 2, "ft5": 2, "ft6": 3, "ft7": 2, "ft8": 2, "ft9": 2}
"""Ranks without which a mechanism has no peers, or nobody who survives."""


@_SETTINGS
@given(stated=_STATED)
def test_its_own_ranks_give_the_scenario_itself(
    matilda: ClusterEvidence, stated: dict[str, Any]
) -> None:
    asked = scenario(matilda)
    moved, rules = scaled(asked, growth(matilda, **stated), stated["world_size"])
    assert moved == asked
    assert {rule.rule for rule in rules} <= {ScaleRule.SAVE_COSTS}


@_SETTINGS
@given(stated=_STATED, small=_RANKS, more=st.integers(1, 100_000))
def test_more_ranks_fail_more_often_and_no_step_takes_longer(
    matilda: ClusterEvidence, stated: dict[str, Any], small: int, more: int
) -> None:
    asked = scenario(matilda)
    grown = growth(matilda, **stated)
    (few, _), (many, _) = (scaled(asked, grown, n) for n in (small, small + more))
    assert many.mtbf_s <= few.mtbf_s
    assert many.regroup_s >= few.regroup_s
    assert many.state_bytes <= few.state_bytes
    if stated["communication_share"] == 0.0:
        assert many.step_time_s <= few.step_time_s * (1.0 + 1e-12)
        assert many.duration_s <= few.duration_s * (1.0 + 1e-12)
    if stated["scaling"] is Scaling.WEAK:
        assert many.step_time_s >= few.step_time_s * (1.0 - 1e-12)
    for after in (few, many):
        assert after.detection_s == asked.detection_s
        assert after.host_memory_bytes == asked.host_memory_bytes


@_SETTINGS
@given(stated=_STATED, there=_RANKS)
def test_there_and_back_is_the_scenario(
    matilda: ClusterEvidence, stated: dict[str, Any], there: int
) -> None:
    """What N0 ranks give for N is what N ranks start from on their way back to N0."""
    asked = scenario(matilda)
    out = growth(matilda, **(stated | {"communication_share": 0.0, "regroup_per_rank_s": 0.0}))
    out = replace(out, node_share=1.0)
    moved, _ = scaled(asked, out, there)
    back, _ = scaled(moved, replace(out, world_size=there), out.world_size)
    for name in ("mtbf_s", "step_time_s", "duration_s"):
        assert getattr(back, name) == pytest.approx(getattr(asked, name), rel=1e-9)
    if stated["layout"] is StateLayout.REPLICATED:
        assert back.state_bytes == asked.state_bytes


def test_the_rules_by_hand(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, mtbf_s=86_400.0, step_time_s=0.1, duration_s=1e6, regroup_s=5.0)
    weak = growth(
        matilda, asked, communication_share=0.2, regroup_per_rank_s=0.01, node_share=0.5,
        scope=FailureScope.JOB, layout=StateLayout.SHARDED,
    )  # fmt: skip
    moved, rules = scaled(asked, weak, 64)
    assert weak.world_size == 8
    assert weak.ranks_per_node == 4
    # 16 nodes instead of 2: half of the failures come 8 times as often.
    assert moved.mtbf_s == pytest.approx(86_400.0 / (0.5 * 8 + 0.5))
    ring = (63 / 64) / (7 / 8)
    assert moved.step_time_s == pytest.approx(0.1 * (0.8 + 0.2 * ring))
    assert moved.duration_s == pytest.approx(1e6 / 8 * (0.8 + 0.2 * ring))
    assert moved.state_bytes == round(204_700_000 / 8)
    assert moved.storage_write_bytes_per_s == pytest.approx(1.37e9 / 8)
    assert moved.storage_read_bytes_per_s == pytest.approx(1.32e9 / 8)
    assert moved.regroup_s == pytest.approx(5.0 + 0.01 * 56)
    assert [rule.rule for rule in rules] == [*ScaleRule]
    assert all(rule.distance == 8.0 for rule in rules)
    strong = growth(
        matilda, asked, scaling=Scaling.STRONG, communication_share=0.2, fixed_share=0.1
    )
    moved, _ = scaled(asked, strong, 64)
    assert moved.step_time_s == pytest.approx(0.1 * (0.7 / 8 + 0.1 + 0.2 * ring))
    assert moved.duration_s == pytest.approx(1e6 * moved.step_time_s / 0.1)
    assert moved.state_bytes == asked.state_bytes
    assert moved.storage_write_bytes_per_s == asked.storage_write_bytes_per_s


def _group_formation(s_per_rank: float) -> CalibrationFit:
    made = fit(CalibrationPath.GROUP_FORMATION, 0.2, 0.0)
    return replace(
        made,
        processes=0,
        model=FitModel.RANKS,
        s_per_byte=None,
        s_per_rank=FittedNumber(s_per_rank, 0.9 * s_per_rank, 1.1 * s_per_rank),
        smallest_bytes=None,
        largest_bytes=None,
    )


def test_regrouping_follows_the_calibration(matilda: ClusterEvidence) -> None:
    known = replace(matilda, fits=(_group_formation(0.03),))
    asked = scenario(known)
    moved, rules = scaled(asked, growth(known, asked), 108)
    assert moved.regroup_s == pytest.approx(asked.regroup_s + 0.03 * 100)
    words = next(rule.words for rule in rules if rule.rule is ScaleRule.REGROUP)
    assert "calibrated group formation, 27 ms to 33 ms a rank (95 %)" in words
    without, _ = scaled(asked, growth(matilda, asked), 108)
    assert without.regroup_s == asked.regroup_s
    noise = replace(matilda, fits=(_group_formation(-0.01),))
    assert growth(noise, asked).regroup_per_rank_s == 0.0
    stated = growth(known, asked, regroup_per_rank_s=0.5)
    assert stated.regroup_per_rank_s == 0.5
    fewer, _ = scaled(asked, stated, 1)
    assert fewer.regroup_s == pytest.approx(asked.regroup_s - 0.5 * 7)
    assert scaled(asked, replace(stated, regroup_per_rank_s=5.0), 1)[0].regroup_s == 0.0


@_FEW
@given(stated=_STATED, mtbf_s=st.floats(1e4, 1e7), sizes=st.sets(st.integers(1, 3000), min_size=1))
def test_every_point_is_the_answer_there(
    matilda: ClusterEvidence, stated: dict[str, Any], mtbf_s: float, sizes: set[int]
) -> None:
    asked = scenario(matilda, mtbf_s=mtbf_s)
    grown = growth(matilda, asked, **stated)
    found = scale(matilda, asked, grown, sizes)
    assert [point.world_size for point in found.points] == sorted(sizes)
    price = Price(2.5, "USD")
    for point in found.points:
        moved, _ = scaled(asked, grown, point.world_size)
        candidates = [
            candidate
            for candidate in consider(matilda, moved).candidates
            if point.world_size >= _NEEDED.get(candidate.mechanism, 1)
        ]
        assert point.scenario == moved
        assert point.mechanism == (candidates[0].mechanism if candidates else None)
        if point.expected_s is None:
            assert (point.goodput, point.gpu_hours, point.cost(price)) == (None, None, None)
            continue
        assert point.expected_s == candidates[0].expected_completion_s
        assert point.goodput == pytest.approx(moved.duration_s / point.expected_s)
        assert 0.0 < (point.goodput or 0.0) <= 1.0
        assert point.gpu_hours == pytest.approx(point.world_size * point.expected_s / 3600.0)
        assert point.cost(price) == (point.gpu_hours or 0.0) * 2.5
        assert point.cost(None) is None
        assert point.exact == exact_time(moved, candidates[0])
        assert found.soonest is not None
        assert found.cheapest is not None
        assert found.soonest.exact_s is not None
        assert found.cheapest.gpu_hours is not None
        assert point.exact_s is None or found.soonest.exact_s <= point.exact_s
        assert found.cheapest.gpu_hours <= (point.gpu_hours or 0.0)


def _who(found: Scale, world_size: int, first: str | None) -> str | None:
    who = found.changes[0].before if found.changes else first
    for change in found.changes:
        if world_size >= change.world_size:
            who = change.after
    return who


def test_the_mechanism_changes_where_brute_force_says(matilda: ClusterEvidence) -> None:
    """With slow reads, FT1's longer restore outweighs its shorter stall once failures are many."""
    asked = scenario(
        matilda, mtbf_s=2e5, mechanisms=("ft1", "ft2"), storage_write_bytes_per_s=246e6,
        storage_read_bytes_per_s=66.1e6,
    )  # fmt: skip
    grown = growth(matilda, asked, regroup_per_rank_s=0.0)
    found = scale(matilda, asked, grown, (8, 4000))
    assert [(change.before, change.after) for change in found.changes] == [("ft1", "ft2")]
    every = [
        (n, scale(matilda, asked, grown, (n,)).points[0].mechanism) for n in range(8, 4001, 44)
    ]
    for world_size, mechanism in every:
        assert _who(found, world_size, every[0][1]) == mechanism
    for change in found.changes:
        assert change.world_size - change.last_before == grown.ranks_per_node


def test_more_ranks_stop_helping_where_regrouping_grows(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda)
    grown = growth(matilda, asked, regroup_per_rank_s=0.5)
    sizes = (8, 4096)
    found = scale(matilda, asked, grown, sizes)
    assert found.no_gain_beyond is not None
    times = {
        n: scale(matilda, asked, grown, (n,)).points[0].exact_s or 0.0 for n in range(8, 4097, 88)
    }
    best = min(times, key=times.__getitem__)
    assert found.soonest is not None
    assert found.soonest.exact_s is not None
    assert found.soonest.exact_s <= times[best]
    assert found.no_gain_beyond == pytest.approx(best, rel=0.1)
    # Without any growth of it, the time still falls here: a failure costs 4 % of the MTBF.
    ideal = scale(matilda, asked, growth(matilda, asked), sizes)
    assert ideal.no_gain_beyond is None
    assert ideal.cheapest is not None
    assert ideal.cheapest.world_size == 8


def test_more_ranks_stop_helping_where_failures_strike_recoveries(matilda: ClusterEvidence) -> None:
    """Eq. (5) falls for ever; the exact time does not, because recoveries begin anew."""
    asked = scenario(matilda)
    found = scale(matilda, asked, growth(matilda, asked), (8, 200_000))
    assert found.no_gain_beyond is not None
    assert found.soonest is not None
    last = found.points[-1]
    assert last.is_flagged
    assert last.expected_s is not None
    assert found.soonest.expected_s is not None
    assert last.expected_s < found.soonest.expected_s
    # docs/scale.md: u (1 + u T_det) R = 1 at u = 1 / M, the cost of saves neglected.
    detection_s, recovery_s = 30.0, 5.155
    both = detection_s * recovery_s
    ideal = (sqrt(recovery_s**2 + 4.0 * both) - recovery_s) / (2.0 * both)
    assert found.soonest.scenario.mtbf_s == pytest.approx(1.0 / ideal, rel=0.2)


def test_no_data_is_no_data(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, architecture="a4", state_bytes=2_567_000_000)
    found = scale(matilda, asked, growth(matilda, asked), (8, 64, 1024))
    assert [point.mechanism for point in found.points] == ["ft2", "ft2", None]
    (change,) = found.changes
    assert (change.before, change.after) == ("ft2", None)
    assert found.points[-1].gpu_hours is None
    assert any(excluded.is_too_far for excluded in found.points[-1].excluded)


def test_without_a_storage_rate_saves_of_a_sharded_state_are_held(
    matilda: ClusterEvidence,
) -> None:
    """A save to storage that all share takes as long for the same total, whatever its rate."""
    bare = replace(matilda, calibrations=())
    asked = scenario(bare, architecture="a5", state_bytes=204_700_000)
    assert asked.storage_write_bytes_per_s is None
    grown = growth(bare, asked, world_size=8, layout=StateLayout.SHARDED)
    there, rules = scaled(asked, grown, 64)
    assert there.state_bytes == asked.state_bytes
    (said,) = (rule.words for rule in rules if rule.rule is ScaleRule.STATE)
    assert "saves and restores are held" in said
    assert ScaleRule.STORAGE not in {rule.rule for rule in rules}


def test_sizes_that_differ_by_rounding_are_one(matilda: ClusterEvidence) -> None:
    """GPU-hours of FT1 under weak scaling without a fixed part: as many on 1, 2, 3 and 4 ranks."""
    found = scale(matilda, scenario(matilda), growth(matilda), [1, 2, 3, 4, 8])
    hours = [point.gpu_hours for point in found.points[:4] if point.gpu_hours]
    assert found.cheapest is not None
    assert max(hours) == pytest.approx(min(hours), rel=1e-9)
    assert found.cheapest.world_size == 1


def test_nothing_is_answered_outside_the_ranges_of_a_scenario(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, mtbf_s=0.1)
    found = scale(matilda, asked, growth(matilda, asked), [8, 80_000])
    assert found.points[1].selected is None
    assert {e.mechanism for e in found.points[1].excluded} == set(matilda.mechanisms)
    assert "MTBF" in found.points[1].excluded[0].reason
    assert "it must be from 1 ms" in found.points[1].excluded[0].reason


def test_what_needs_others_is_not_offered_without_them(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, mechanisms=("ft2", "ft6"))
    found = scale(matilda, asked, growth(matilda, asked), (1, 2, 3))
    assert [point.mechanism for point in found.points] == [None, "ft2", "ft2"]
    excluded = [{e.mechanism: e.reason for e in point.excluded} for point in found.points]
    assert excluded[0]["ft2"] == "peers hold its copies, so it needs 2 ranks at least"
    assert excluded[1]["ft6"] == "peers hold its copies, so it needs 3 ranks at least"
    assert "ft6" not in excluded[2]
    alone = scenario(matilda, architecture="a6")
    (point,) = scale(matilda, alone, growth(matilda, alone), (1,)).points
    assert point.mechanism is None
    reasons = [e.reason for e in point.excluded if e.mechanism == "ft9"]
    assert reasons == ["others have to survive a loss, so it needs 2 ranks at least"]


def test_native_degradation_has_no_cost(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, architecture="a6")
    found = scale(matilda, asked, growth(matilda, asked), (8, 16))
    assert [point.mechanism for point in found.points] == ["ft9", "ft9"]
    assert found.soonest is None
    assert found.cheapest is None
    assert found.no_gain_beyond is None
    assert not found.points[0].is_flagged


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"scope": FailureScope.JOB}, "say which share"),
        ({"scope": FailureScope.ALL}, "say which share"),
        ({"scope": FailureScope.NODE, "node_share": 0.5}, "their share is 100 %"),
        ({"node_share": 1.5}, "from 0 % to 100 %"),
        ({"communication_share": -0.1}, "from 0 % to 100 %"),
        ({"fixed_share": 0.1}, "say strong scaling"),
        (
            {"scaling": Scaling.STRONG, "fixed_share": 0.6, "communication_share": 0.6},
            "together they can be 100 %",
        ),
        ({"world_size": 1, "communication_share": 0.1}, "nobody to communicate with"),
        ({"world_size": 0}, "it must be from 1 to 1,000,000"),
        ({"ranks_per_node": 0}, "it must be from 1 to 1,000,000"),
    ],
)
def test_what_makes_no_sense_is_refused(
    matilda: ClusterEvidence, stated: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        growth(matilda, **stated)


def test_what_was_not_stated_is_said(matilda: ClusterEvidence) -> None:
    assert len(growth(matilda).assumed) == 6
    assert "4 ranks on a node, as on matilda-8xv100" in growth(matilda).assumed
    everything = growth(
        matilda, world_size=8, ranks_per_node=4, scope=FailureScope.NODE, scaling=Scaling.WEAK,
        communication_share=0.0, layout=StateLayout.REPLICATED,
    )  # fmt: skip
    assert everything.assumed == ()
    assert growth(matilda, node_share=0.3).scope is FailureScope.JOB


def test_world_sizes_read() -> None:
    assert parse_world_sizes("8,64, 16") == (8, 16, 64)
    assert parse_world_sizes("8..100") == (8, 16, 32, 64, 100)
    assert parse_world_sizes("8..8,3") == (3, 8)
    for text in ("", "8..", "eight", "8;16", "8.5", "-8", "0", "10000000", "8,,16", "..8"):
        with pytest.raises(UserError):
            parse_world_sizes(text)
    with pytest.raises(UserError, match=r"goes downwards: write 8\.\.64"):
        parse_world_sizes("64..8")


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_ranges_double(a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    sizes = parse_world_sizes(f"{low}..{high}")
    assert sizes[0] == low
    assert sizes[-1] == high
    assume(len(sizes) > 2)
    assert all(second == 2 * first for first, second in pairwise(sizes[:-1]))


_ARGUMENTS = [
    *("scale", "--architecture", "a2", "--state-size", "204.7MB"),
    *("--mtbf", "5d", "--detection", "30s", "--to", "8..64"),
]


@pytest.fixture
def asked_here(shipped_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADVISOR_DB_URL", str(shipped_database))


@pytest.mark.usefixtures("asked_here")
class TestCommand:
    def test_table_and_csv_say_what_json_says(self, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = [*_ARGUMENTS, "--price", "2USD"]
        assert cli.run([*arguments, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [point["world_size"] for point in document["points"]] == [8, 16, 32, 64]
        for point in document["points"]:
            assert point["cost"] == 2.0 * point["gpu_hours"]
        assert cli.run([*arguments, "--format", "csv"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("world_size,nodes,mtbf_s")
        assert len(lines) == 5
        assert cli.run(arguments) == 0
        table = capsys.readouterr().out
        assert "64 ranks finish soonest" in table
        assert "8 ranks take the fewest GPU-hours" in table
        assert cli.run([*_ARGUMENTS[:-1], "1"]) == 0
        assert "1 rank finishes soonest" in capsys.readouterr().out
        assert "communication takes 0 % of a step: the best case" in table

    def test_its_own_ranks_are_recommends_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.run([*_ARGUMENTS, "--format", "json"]) == 0
        (first, *_) = json.loads(capsys.readouterr().out)["points"]
        assert cli.run(["recommend", *_ARGUMENTS[1:-2], "--format", "json"]) == 0
        selected = json.loads(capsys.readouterr().out)["selected"]
        for name in ("mechanism", "interval_steps", "expected_completion_s", "goodput"):
            assert first[name] == selected[name]

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (["--price", "2"], "not a price of a GPU-hour"),
            (["--to", "many"], "no world sizes"),
            (["--to", "8..10000000"], "10000000; it must be from 1 to 1,000,000"),
            (["--to", "9" * 5000], "no world sizes"),
            (["--mtbf-scope", "job"], "say which share"),
        ],
    )
    def test_a_mistake_is_one_line(
        self, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.run([*_ARGUMENTS, *more]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
