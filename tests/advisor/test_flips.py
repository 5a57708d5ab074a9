"""Flips: what brute force finds, closed forms where there are some, and limits that count."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor import cli
from advisor.candidates import consider
from advisor.checkpoint_interval import equation_5_interval_s
from advisor.defaults import resolve
from advisor.errors import UserError
from advisor.flips import (
    DecidedBy,
    Flip,
    Moved,
    MovedInput,
    flips,
    parse_moved,
)
from advisor.scenario import Scenario, ScenarioInput
from db.records import ClusterEvidence

_SETTINGS = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_FIELDS = {
    MovedInput.MTBF: "mtbf_s",
    MovedInput.WARNING_LEAD: "warning_lead_s",
    MovedInput.WARNING_COVERAGE: "warning_coverage",
    MovedInput.STORAGE_WRITE: "storage_write_bytes_per_s",
    MovedInput.STORAGE_READ: "storage_read_bytes_per_s",
}


def scenario(evidence: ClusterEvidence, **more: Any) -> Scenario:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)


def selected(
    evidence: ClusterEvidence, asked: Scenario, save_s: dict[str, float] | None = None
) -> str | None:
    candidates = consider(evidence, asked, save_s).candidates
    return candidates[0].mechanism if candidates else None


def one(evidence: ClusterEvidence, asked: Scenario, moved: MovedInput) -> Moved:
    (found,) = flips(evidence, asked, (moved,))
    return found


def of(found: tuple[Moved, ...], mechanism: str) -> Moved:
    return next(each for each in found if each.mechanism == mechanism)


def told(found: Moved, value: float, first: str | None) -> str | None:
    """Who is recommended at a value, by the flips; `first` where there is none."""
    who = found.flips[0].below.mechanism if found.flips else first
    for flip in found.flips:
        if value >= flip.value:
            who = flip.above.mechanism
    return who


_ASKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "warned": {"warning_lead_s": 2.0},
    "partly-warned": {"warning_lead_s": 2.0, "warning_coverage": 0.9},
    "restore-limit": {"max_restore_s": 0.4},
    "overhead-limit": {"max_overhead": 0.002},
    "held-interval": {"interval": 100},
    "memory": {"host_memory_bytes": 2_000_000_000},
    "large-pipeline": {
        "architecture": "a4", "state_bytes": 2_567_000_000, "warning_lead_s": 15.0,
        "detection_s": 0.0,
    },
    "native": {"architecture": "a6"},
    "pause": {"max_pause_s": 35.2},
}  # fmt: skip


@pytest.mark.parametrize("more", _ASKED.values(), ids=_ASKED)
@pytest.mark.parametrize("moved", _FIELDS)
def test_a_grid_of_answers_agrees(
    matilda: ClusterEvidence, moved: MovedInput, more: dict[str, Any]
) -> None:
    asked = scenario(matilda, **more)
    found = one(matilda, asked, moved)
    if found.not_moved:
        assert found.flips == ()
        return
    field = _FIELDS[moved]
    coverage = 1.0 if asked.warning_coverage is None else asked.warning_coverage
    values = (
        [at / 37.0 for at in range(38)]
        if moved is MovedInput.WARNING_COVERAGE
        else [1e-2 * 10.0 ** (at / 4.3) for at in range(0, 60, 2)]
    )
    for value in values:
        if found.from_value <= value <= found.to_value:
            change: dict[str, Any] = {"warning_coverage": coverage}
            if moved is not MovedInput.WARNING_LEAD and asked.warning_lead_s is None:
                change = {}
            at = replace(asked, **(change | {field: value}))
            assert told(found, value, selected(matilda, asked)) == selected(matilda, at), value


@_SETTINGS
@given(
    mtbf_s=st.floats(100.0, 1e7),
    detection_s=st.floats(0.0, 600.0),
    restore=st.sampled_from([None, 0.05, 0.2, 1.0]),
    overhead=st.sampled_from([None, 0.001, 0.01, 0.05]),
    factor=st.floats(-2.0, 2.0),
)
def test_moving_by_any_factor_agrees(
    matilda: ClusterEvidence,
    mtbf_s: float,
    detection_s: float,
    restore: float | None,
    overhead: float | None,
    factor: float,
) -> None:
    asked = scenario(
        matilda, mtbf_s=mtbf_s, detection_s=detection_s, max_restore_s=restore,
        max_overhead=overhead,
    )  # fmt: skip
    first = selected(matilda, asked)
    for moved in (MovedInput.MTBF, MovedInput.STORAGE_WRITE, MovedInput.STORAGE_READ):
        found = one(matilda, asked, moved)
        assert found.stands_at is not None
        value = found.stands_at * 10.0**factor
        change: dict[str, Any] = {_FIELDS[moved]: value}
        assert told(found, value, first) == selected(matilda, replace(asked, **change))
    for found in flips(matilda, asked, (MovedInput.SAVE_TIME,)):
        assert found.mechanism is not None
        assert found.stands_at is not None
        value = max(found.stands_at, 1e-3) * 10.0**factor
        assert told(found, value, first) == selected(matilda, asked, {found.mechanism: value})
        assert len(found.flips) <= 1


@pytest.mark.parametrize("name", ["warned", "restore-limit", "large-pipeline", "native"])
def test_each_flip_says_what_is_true_beside_it(matilda: ClusterEvidence, name: str) -> None:
    asked = scenario(matilda, **_ASKED[name])
    first = selected(matilda, asked)
    for found in flips(matilda, asked):
        for flip in found.flips:
            assert flip.below.mechanism != flip.above.mechanism
            low, high = flip.below.expected_completion_s, flip.above.expected_completion_s
            if flip.decided_by is DecidedBy.TIME:
                assert low == pytest.approx(high, rel=1e-6)
            assert (flip.reason is None) == (flip.decided_by in (DecidedBy.TIME, DecidedBy.JUMP))
        if found.stands_at is not None:
            assert told(found, found.stands_at, first) == first
            around = [f.below.mechanism for f in [found.next_above] if f]
            around += [f.above.mechanism for f in [found.next_below] if f]
            assert set(around) <= {first}


def test_a_held_crossing_is_solved_by_hand(matilda: ClusterEvidence) -> None:
    """Eq. (5) of FT1 at 351 steps against the best of FT3: the save time at which they meet."""
    asked = scenario(matilda, interval=400)
    found = of(flips(matilda, asked, (MovedInput.SAVE_TIME,)), "ft1")
    (flip,) = found.flips
    ft1, ft3 = (
        next(c for c in consider(matilda, asked).candidates if c.mechanism == name)
        for name in ("ft1", "ft3")
    )
    assert flip.decided_by is DecidedBy.TIME
    assert ft3.expected_completion_s is not None
    assert ft1.lost_s is not None
    # T0 (1 + C / x) (1 + (pause + lost) / M) = T(FT3), solved for C
    per_failure = 1.0 + (ft1.pause_s + ft1.lost_s) / asked.mtbf_s
    overhead = ft3.expected_completion_s / (asked.duration_s * per_failure) - 1.0
    assert flip.value == pytest.approx(overhead * 400 * asked.step_time_s, rel=1e-8)


def test_the_interval_is_chosen_anew_at_the_flip(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda)
    (flip,) = of(flips(matilda, asked, (MovedInput.SAVE_TIME,)), "ft1").flips
    fixed_s = asked.detection_s + asked.regroup_s + 0.155
    ideal = float(equation_5_interval_s(flip.value, asked.mtbf_s, fixed_s)) / asked.step_time_s
    assert flip.below.interval_steps is not None
    assert abs(flip.below.interval_steps - ideal) <= 1.0


def test_limits_decide_where_they_bind(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, max_restore_s=0.4)
    flip = one(matilda, asked, MovedInput.STORAGE_READ).next_below
    assert flip is not None
    # FT1 restores in 155 ms at 1.32 GB/s, in proportion to 1 / rate.
    assert flip.value == pytest.approx(1.32e9 * 0.155 / 0.4, rel=1e-8)
    assert flip.decided_by is DecidedBy.LIMIT
    assert flip.reason == "FT1: its restore takes 404 ms, over the limit of 400 ms"


def test_a_lead_flips_where_the_emergency_save_fits(matilda: ClusterEvidence) -> None:
    found = one(matilda, scenario(matilda), MovedInput.WARNING_LEAD)
    assert found.stands_at == 0.0
    assert found.next_below is None
    flip = found.next_above
    assert flip is not None
    assert flip.above.mechanism == "ft4"
    assert flip.value == pytest.approx(0.9745, rel=1e-6)
    save = of(flips(matilda, scenario(matilda, warning_lead_s=2.0), (MovedInput.SAVE_TIME,)), "ft4")
    # The save and its dispersion grow alike until they fill the lead of 2 s.
    assert save.flips[0].value == pytest.approx(0.8847 * 2.0 / 0.9745, rel=1e-6)


def test_evidence_ends_where_no_measurement_is_near(matilda: ClusterEvidence) -> None:
    flip = one(matilda, scenario(matilda), MovedInput.STORAGE_WRITE).next_above
    assert flip is not None
    assert flip.decided_by is DecidedBy.NO_DATA
    assert flip.value == pytest.approx(20 * 1.37e9, rel=1e-8)


def test_it_is_said_where_equation_5_is_off(matilda: ClusterEvidence) -> None:
    def shares(mtbf_s: float) -> list[Flip]:
        asked = scenario(matilda, mtbf_s=mtbf_s)
        return [f for each in flips(matilda, asked, (MovedInput.SAVE_TIME,)) for f in each.flips]

    assert not any(flip.is_flagged for flip in shares(1e5))
    assert all(flip.is_flagged for flip in shares(60.0))


def test_where_nothing_saves_it_is_said(matilda: ClusterEvidence) -> None:
    none = replace(matilda, points=tuple(p for p in matilda.points if p.mechanism == "ft9"))
    (found,) = flips(none, scenario(matilda), (MovedInput.SAVE_TIME,))
    assert (found.mechanism, found.flips) == (None, ())
    assert found.not_moved == "no mechanism is known to save anything here"


def test_what_cannot_be_moved_says_what_can() -> None:
    assert parse_moved(("mtbf", "save-time", "mtbf")) == (MovedInput.MTBF, MovedInput.SAVE_TIME)
    with pytest.raises(UserError, match="'steps' cannot be moved: write some of mtbf, warning"):
        parse_moved(("steps",))


_ARGUMENTS = [
    *("flip", "--architecture", "a2", "--state-size", "204.7MB"),
    *("--mtbf", "4h", "--detection", "30s"),
]


@pytest.fixture
def asked_here(shipped_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADVISOR_DB_URL", str(shipped_database))


@pytest.mark.usefixtures("asked_here")
class TestCommand:
    def test_table_and_csv_say_what_json_says(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.run([*_ARGUMENTS, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        count = sum(len(each["flips"]) for each in document["moved"])
        assert document["selected"] == "ft1"
        assert cli.run([*_ARGUMENTS, "--format", "csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 1 + count
        assert cli.run(_ARGUMENTS) == 0
        table = capsys.readouterr().out
        assert table.count(" every ") >= count
        assert "Warning coverage: no warning comes" in table
        assert "MTBF: the answer is the same at every value" in table

    def test_only_some_are_moved(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.run([*_ARGUMENTS, "--moved", "warning-lead", "--format", "csv"]) == 0
        (row,) = capsys.readouterr().out.splitlines()[1:]
        assert row.startswith("warning-lead,,s,0.0,0.974")

    def test_a_mistake_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.run([*_ARGUMENTS, "--moved", "luck"]) == 2
        assert capsys.readouterr().err.startswith("advisor: 'luck' cannot be moved")
