"""How a validation is made: what is measured when, what is stored before what, what is left of one
that was cut off. The harness is played; everything else is real."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from advisor.arrivals import Law
from advisor.campaign_run import Measured, OnPlan
from advisor.commands.validate import as_json
from advisor.evidence import answer, ask, load_evidence, opened
from advisor.harness import InterruptedRunsError
from advisor.scenario import ScenarioInput
from advisor.units import format_duration
from advisor.validated import repeated, shortcomings, validated
from advisor.validation import trials_of
from advisor.validation_run import Asked, Job, Wanted, prepared, validate
from db.campaign_store import PlannedCell
from db.ingest import ingest_record
from db.queries import validated_runs
from db.records import Arrivals, CellStatus, ValidatedRun
from db.run_record import read_record
from db.session import reading, writing
from tests.advisor.recorded_validations import predicted_now
from tests.db import run_records

CLUSTER = "2-cores-8-ranks"
NAME = "mine"
DURATION_S = 32.0
INPUTS = ScenarioInput(
    "a2", None, 20.0, CLUSTER, duration_s=DURATION_S, mechanisms=("ft1", "ft2", "ft3")
)
STEPS_S = (0.078, 0.082, 0.087, 0.071, 0.093)
"""What a machine that drifts shows, one after the other."""


@dataclass
class Machine:
    """Runs nothing: each step time is the next one of those given, each trial is recovered.

    At the trial of the number `stops_at`, Ctrl-C is pressed before that is planned.
    """

    database: Path
    steps_s: Sequence[float] = STEPS_S
    stops_at: int | None = None
    asked: list[str] = field(default_factory=list)
    """The names of the campaign files in their order."""
    campaigns: list[dict[str, Any]] = field(default_factory=list)
    stored: list[list[ValidatedRun]] = field(default_factory=list)
    """The rows of validations when each trial was planned."""

    def __call__(
        self, command: Sequence[str], folder: Path, on_plan: OnPlan | None = None
    ) -> Measured:
        (path,) = (word.partition("=")[2] for word in command if word.startswith("--campaign-file"))
        if on_plan is not None and len(self.trials) == self.stops_at:
            raise InterruptedRunsError("interrupted")
        self.asked.append(Path(path).stem)
        self.campaigns.append(json.loads(Path(path).read_text(encoding="utf-8")))
        name = f"20261130-100000-{uuid4().hex[:8]}"
        with self.opened() as engine:
            if on_plan is None:
                self._step(engine, folder, name)
            else:
                self._trial(engine, name, on_plan)
        return Measured(campaign=name)

    def opened(self) -> AbstractContextManager[Engine]:
        return opened(str(self.database))

    @property
    def trials(self) -> list[str]:
        return [name for name in self.asked if name != "step-time"]

    @property
    def own(self) -> dict[str, float | None]:
        """The step time that was measured last before each trial; none of what is not predicted."""
        given, step_s = iter(self.steps_s), 0.0
        found: dict[str, float | None] = {}
        for each in self.asked:
            if each == "step-time":
                step_s = next(given)
            else:
                found[each] = None if each == "ft9" else step_s
        return found

    def _step(self, engine: Engine, folder: Path, name: str) -> None:
        with reading(engine) as connection:
            statement = text("SELECT * FROM clusters WHERE cluster = :cluster")
            hardware = dict(connection.execute(statement, {"cluster": CLUSTER}).mappings().one())
        del hardware["source_id"]
        step_s = self.steps_s[self.asked.count("step-time") - 1]
        record = run_records.record(
            "a2",
            None,
            cluster=hardware,
            campaign__campaign=name,
            run_id=f"{name}/a2-ft9-none-s0",
            before__step_s__median=step_s,
            before__step_s__mean=step_s,
        )
        (path,) = run_records.write(folder, record)
        ingest_record(engine, read_record(path))

    def _trial(self, engine: Engine, name: str, on_plan: OnPlan) -> None:
        mechanism = self.campaigns[-1]["block"][0]["mechanism"]
        run_id = f"{name}/a2-{mechanism}-s0"
        cell = PlannedCell(run_id, "a2", mechanism, "poisson", 0, CellStatus.PENDING, None, {})
        on_plan(engine, [cell])
        self.stored.append(rows_of(engine))
        with writing(engine) as connection:
            statement = (
                "UPDATE validation_runs SET outcome = 'recovered', failures = 1, observed_s = 40.0"
                " WHERE run_id = :run_id"
            )
            connection.execute(text(statement), {"run_id": run_id})


def rows_of(engine: Engine) -> list[ValidatedRun]:
    """What is stored of the scenario of these tests."""
    with reading(engine) as connection:
        return [run for run in validated_runs(connection, CLUSTER) if run.name == NAME]


def job(machine: Machine, folder: Path, seed: int = 3) -> Job:
    wanted = Wanted(Law(Arrivals.POISSON), seed, True, folder / "runs", "advisor validate")
    with machine.opened() as engine:
        return prepared(Asked(NAME, INPUTS), wanted, engine)


def run(machine: Machine, folder: Path, seed: int = 3) -> tuple[dict[str, ValidatedRun], list[str]]:
    """The runs of one validation, and what was said."""
    said: list[str] = []
    found = validate(job(machine, folder, seed), machine.opened, machine, said.append)
    return {each.mechanism: each for each in found}, said


@pytest.fixture
def machine(sqlite_file: Path) -> Machine:
    return Machine(sqlite_file)


def test_the_step_time_is_measured_before_each_run_that_is_predicted(
    machine: Machine, tmp_path: Path
) -> None:
    run(machine, tmp_path)
    assert sorted(machine.trials) == ["ft1", "ft2", "ft3", "ft9"]
    first, *others = machine.trials
    expected = ["step-time", first]
    for each in others:
        expected += [each] if each == "ft9" else ["step-time", each]
    assert machine.asked == expected


def test_each_prediction_is_of_its_own_step_time_and_what_is_tried_of_the_first(
    machine: Machine, tmp_path: Path
) -> None:
    runs, said = run(machine, tmp_path)
    own = machine.own
    assert {name: each.step_time_s for name, each in runs.items()} == own
    assert len(set(own.values())) == 4
    assert {each.planned_step_time_s for each in runs.values()} == {STEPS_S[0]}
    with machine.opened() as engine:
        evidence = load_evidence(engine, CLUSTER)
        asked = ask(engine, replace(INPUTS, step_time_s=STEPS_S[0]))
    planned = trials_of(answer(asked), evidence, every=True)
    assert {t.mechanism: t.interval_steps for t in planned} == {
        name: each.interval_steps for name, each in runs.items()
    }
    for trial in planned:
        each = runs[trial.mechanism]
        if trial.predicted_s is None:
            assert each.predicted_s is None
            continue
        assert each.predicted_s == pytest.approx(predicted_now(evidence, each), rel=1e-12)
        moved = each.step_time_s != STEPS_S[0]
        assert (each.predicted_s != pytest.approx(trial.predicted_s, rel=0.01)) == moved
    assert len(said) == 1
    (scenario,) = as_json(repeated(validated(runs.values())), [])["scenarios"]
    (validation,) = scenario["validations"]
    assert validation["step_time_s"] == STEPS_S[0]
    assert {r["mechanism"]: r["step_time_s"] for r in validation["runs"]} == own


def test_all_are_tried_under_the_same_failures_for_as_many_steps(
    machine: Machine, tmp_path: Path
) -> None:
    runs, _ = run(machine, tmp_path)
    by_kind: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for name, campaign in zip(machine.asked, machine.campaigns, strict=True):
        by_kind[name == "step-time"].append(campaign)
    assert {campaign["trace"] for campaign in by_kind[True]} == {"none"}
    (faults,) = {campaign["trace"] for campaign in by_kind[False]}
    assert len(by_kind[False]) == 4
    assert json.loads(Path(faults).read_text(encoding="utf-8"))["events"]
    (steps,) = {campaign["steps"] for campaign in by_kind[False]}
    assert {each.steps for each in runs.values()} == {steps}
    assert steps == round(DURATION_S / STEPS_S[0])
    assert {campaign["steps"] for campaign in by_kind[True][1:]} == {steps // 4}


def test_the_order_follows_from_the_seed(sqlite_file: Path, tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((0, 0, 1, 2)):
        machine = Machine(sqlite_file)
        run(machine, tmp_path / str(number), seed)
        orders.append(machine.trials)
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) > 1


def test_all_that_is_to_be_tried_is_stored_before_the_first_runs(
    machine: Machine, tmp_path: Path
) -> None:
    runs, _ = run(machine, tmp_path)
    for number, rows in enumerate(machine.stored):
        assert len(rows) == 4
        begun = set(machine.trials[: number + 1])
        assert {r.mechanism for r in rows if r.run_id.endswith("-s0")} == begun
        for row in rows:
            # Those to come are predicted already, at the step time by which they were chosen.
            assert (row.predicted_s is None) == (row.mechanism == "ft9")
            if row.mechanism in begun:
                assert row.predicted_s == runs[row.mechanism].predicted_s
            elif row.mechanism != "ft9":
                assert row.step_time_s == STEPS_S[0]


def test_what_an_interruption_left_out_is_named_and_there_is_no_regret(
    machine: Machine, tmp_path: Path
) -> None:
    machine.stops_at = 2
    with pytest.raises(InterruptedRunsError):
        run(machine, tmp_path)
    with machine.opened() as engine:
        rows = rows_of(engine)
    tried = machine.trials
    assert len(tried) == 2
    assert {r.mechanism: r.outcome for r in rows} == {
        name: "recovered" if name in tried else "" for name in ("ft1", "ft2", "ft3", "ft9")
    }
    (found,) = repeated(validated(rows))
    missing = [r.mechanism for r in found.validations[0].runs if r.mechanism not in tried]
    assert found.regret_fraction is None
    assert (
        f"mine, seed 3: cut off before {', '.join(missing)} ran; says nothing of the regret"
        in shortcomings([found])
    )


def test_a_prediction_that_cannot_be_renewed_is_kept_and_that_is_said(
    machine: Machine, tmp_path: Path
) -> None:
    machine.steps_s = (STEPS_S[0], 1e-5, 1e-5, 1e-5)
    runs, said = run(machine, tmp_path)
    kept = [r for r in runs.values() if r.step_time_s == STEPS_S[0]]
    assert len(kept) > 1
    at = format_duration(1e-5)
    lines = {
        f"mine: {r.mechanism} cannot be predicted at steps of {at}, so it keeps its earlier"
        " prediction"
        for r in kept
        if r.mechanism != machine.trials[0]
    }
    assert set(said[1:]) == lines != set()
