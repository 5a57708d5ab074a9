"""The JSON document, its schema and docs/json.md say the same."""

import json
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from advisor import cli
from advisor.accuracy import FORMAT as ACCURACY_FORMAT
from advisor.accuracy import VERSION as ACCURACY_VERSION
from advisor.commands.flip import FORMAT as FLIPS_FORMAT
from advisor.commands.flip import VERSION as FLIPS_VERSION
from advisor.commands.plan import FORMAT as PLAN_FORMAT
from advisor.commands.plan import VERSION as PLAN_VERSION
from advisor.commands.scale import FORMAT as SCALE_FORMAT
from advisor.commands.scale import VERSION as SCALE_VERSION
from advisor.commands.tune import FORMAT as TUNING_FORMAT
from advisor.commands.tune import VERSION as TUNING_VERSION
from advisor.commands.validate import FORMAT as VALIDATIONS_FORMAT
from advisor.commands.validate import VERSION as VALIDATIONS_VERSION
from advisor.commands.validate import as_json as validations_json
from advisor.cost import Price
from advisor.decide import AXES
from advisor.drills.scorecard import ScoreMark, ScoreRow, card_of
from advisor.drills.suite import Skipped
from advisor.emit import registry
from advisor.emit.emitting import TOGETHER
from advisor.emit.tool import Support, Syntax, Verified
from advisor.emit.writers import document as emitted_document
from advisor.exact_time import IntervalChoice
from advisor.failure_classes.catalogue import CORRUPTING, FailureClass
from advisor.flips import DecidedBy, Flip, MovedInput, Side
from advisor.leave_one_out import Comparison, LeaveOneOut, NotPredicted
from advisor.recommendation import (
    Candidate,
    Chance,
    Crossover,
    Dominated,
    DrawnValue,
    DrillMark,
    EvidenceCode,
    ExactTime,
    Excluded,
    HeldValue,
    MinimaxRegret,
    NativeDegradation,
    RegretChoice,
    RuleCheck,
    RuleError,
    SeenError,
    SourceNote,
    SpreadOrigin,
    Terms,
    Uncertainty,
    UsedValue,
    Versions,
)
from advisor.reports.document import FORMAT, VERSION
from advisor.reports.drill_document import (
    DRILLS_FORMAT,
    SCORECARD_FORMAT,
    drills_document,
    scorecard_document,
)
from advisor.reports.drill_document import VERSION as DRILLS_VERSION
from advisor.reports.simulation_document import FORMAT as SIMULATION_FORMAT
from advisor.reports.simulation_document import VERSION as SIMULATION_VERSION
from advisor.rules import AppliedRule, Part, Rule
from advisor.scale.answer import MechanismChange
from advisor.scale.growth import Growth, Scaling, StateLayout
from advisor.scale.rules import AppliedScaleRule, ScaleRule
from advisor.scenario import FailureRegime, IntervalPolicy, RestoreBasis, Scenario
from advisor.simulation.run import Simulated, Spent
from advisor.simulation.setups import NotSimulated
from advisor.tuning.circumstances import Objective
from advisor.tuning.search import Setting, SparesPrice, TimeoutPrice
from advisor.uncertainty.cells import FORMAT as NEXT_FORMAT
from advisor.uncertainty.cells import VERSION as NEXT_VERSION
from advisor.uncertainty.cells import CellValue, NextCells, Unvalued
from advisor.uncertainty.measuring import Cell
from advisor.validated import repeated, shortcomings, validated
from db.records import (
    Arrivals,
    DispersionKind,
    DrillResult,
    Evidence,
    FailureScope,
    Quantity,
    RunOutcome,
    ValidationRole,
)
from tests.advisor.drills.drilled import NOW, OLD, drilled, failed
from tests.advisor.validated_runs import validated_run
from tests.docs.documents import SCHEMAS, read, sections, table_with

SCHEMA: dict[str, Any] = json.loads(
    (SCHEMAS / "recommendation-1.schema.json").read_text(encoding="utf-8")
)
ACCURACY: dict[str, Any] = json.loads(
    (SCHEMAS / "accuracy-1.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)
ACCURACY_VALIDATOR = Draft202012Validator(ACCURACY)


def _objects(schema: dict[str, Any], heading: str) -> dict[str, dict[str, Any]]:
    """The document itself under the heading that describes it, and every object in it."""
    definitions = {n: s for n, s in schema["$defs"].items() if s["type"] == "object"}
    return {heading: schema} | definitions


VALIDATIONS: dict[str, Any] = json.loads(
    (SCHEMAS / "validations-1.schema.json").read_text(encoding="utf-8")
)
VALIDATIONS_VALIDATOR = Draft202012Validator(VALIDATIONS)
SETTINGS: dict[str, Any] = json.loads(
    (SCHEMAS / "settings-1.schema.json").read_text(encoding="utf-8")
)
ABILITIES: dict[str, Any] = json.loads(
    (SCHEMAS / "abilities-1.schema.json").read_text(encoding="utf-8")
)
FLIPS: dict[str, Any] = json.loads((SCHEMAS / "flips-1.schema.json").read_text(encoding="utf-8"))
FLIPS_VALIDATOR = Draft202012Validator(FLIPS)
SCALE: dict[str, Any] = json.loads((SCHEMAS / "scale-1.schema.json").read_text(encoding="utf-8"))
SCALE_VALIDATOR = Draft202012Validator(SCALE)
SIMULATION: dict[str, Any] = json.loads(
    (SCHEMAS / "simulation-1.schema.json").read_text(encoding="utf-8")
)
SIMULATION_VALIDATOR = Draft202012Validator(SIMULATION)
NEXT: dict[str, Any] = json.loads((SCHEMAS / "next-1.schema.json").read_text(encoding="utf-8"))
NEXT_VALIDATOR = Draft202012Validator(NEXT)
TUNING: dict[str, Any] = json.loads((SCHEMAS / "tuning-1.schema.json").read_text(encoding="utf-8"))
TUNING_VALIDATOR = Draft202012Validator(TUNING)
PLAN: dict[str, Any] = json.loads((SCHEMAS / "plan-1.schema.json").read_text(encoding="utf-8"))
PLAN_VALIDATOR = Draft202012Validator(PLAN)
DRILLS: dict[str, Any] = json.loads((SCHEMAS / "drills-1.schema.json").read_text(encoding="utf-8"))
DRILLS_VALIDATOR = Draft202012Validator(DRILLS)
SCORECARD: dict[str, Any] = json.loads(
    (SCHEMAS / "scorecard-1.schema.json").read_text(encoding="utf-8")
)
SCORECARD_VALIDATOR = Draft202012Validator(SCORECARD)
OBJECTS = (
    _objects(SETTINGS, "settings document")
    | _objects(ABILITIES, "abilities document")
    | _objects(FLIPS, "flips document")
    | _objects(SCALE, "scale document")
    | _objects(TUNING, "tuning document")
    | _objects(PLAN, "plan document")
    | _objects(SIMULATION, "simulation document")
    | _objects(SCHEMA, "document")
    | _objects(ACCURACY, "accuracy document")
    | _objects(VALIDATIONS, "validations document")
    | _objects(NEXT, "next document")
    | _objects(DRILLS, "drills document")
    | _objects(SCORECARD, "scorecard document")
)
_VALIDATORS = dict.fromkeys(_objects(VALIDATIONS, "validations document"), VALIDATIONS_VALIDATOR)
_VALIDATORS |= dict.fromkeys(
    _objects(SETTINGS, "settings document"), Draft202012Validator(SETTINGS)
) | dict.fromkeys(_objects(ABILITIES, "abilities document"), Draft202012Validator(ABILITIES))
_VALIDATORS |= dict.fromkeys(_objects(SCALE, "scale document"), SCALE_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(TUNING, "tuning document"), TUNING_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(PLAN, "plan document"), PLAN_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(FLIPS, "flips document"), FLIPS_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(SIMULATION, "simulation document"), SIMULATION_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(NEXT, "next document"), NEXT_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(DRILLS, "drills document"), DRILLS_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(SCORECARD, "scorecard document"), SCORECARD_VALIDATOR)
_VALIDATORS |= dict.fromkeys(_objects(ACCURACY, "accuracy document"), ACCURACY_VALIDATOR) | (
    dict.fromkeys(_objects(SCHEMA, "document"), VALIDATOR)
)

_SMALL = "--state-size 204.7MB --mtbf 4h"
_SCENARIOS = {
    "plain": f"--architecture a2 {_SMALL}",
    "every-option": f"--architecture A2 {_SMALL} --cluster matilda-8xv100 --step-time 112.3ms "
    "--duration 7d --interval 100 --mechanism ft1,ft2,ft4 --max-overhead 5% --max-restore 2s "
    "--max-pause 1m --warning-lead 2s --warning-coverage 100% --failure-regime single "
    "--detection 30s --regroup 2s --init 1s --storage-write 1.37GB/s --storage-read 1.32GB/s "
    "--host-memory 192GB --device-memory 16GB --restore-basis calibrated --fewer-ranks refuse",
    "warned": f"--architecture a2 {_SMALL} --warning-lead 2s",
    "partly-warned": f"--architecture a2 {_SMALL} --warning-lead 2s --warning-coverage 90%",
    "as-measured": f"--architecture a2 {_SMALL} --interval measured --detection 0s --regroup 0s",
    "none-selected": "--architecture a5 --state-size 2616.9MB --mtbf 4h --interval 500 "
    "--max-overhead 35%",
    "one-candidate": f"--architecture a2 {_SMALL} --mechanism ft2",
    "too-large": "--architecture a2 --state-size 50GB --mtbf 4h",
    "deadlocked-size": "--architecture a2 --state-size 2.6GB --mtbf 4h --warning-lead 15s",
    "transferred": f"--architecture a3 {_SMALL} --interval 100",
    "native": f"--architecture a6 {_SMALL}",
    "native-with-runner-up": f"--architecture a6 {_SMALL} --warning-lead 2s",
    "native-async": f"--architecture a1-async {_SMALL}",
    "native-multi": f"--architecture a6 {_SMALL} --failure-regime multi",
    "halting-multi": "--architecture a5 --state-size 2.6169GB --mtbf 4h --failure-regime multi "
    "--warning-lead 15s",
    "bounds-shown": f"--architecture a2 {_SMALL} --mechanism ft7,ft8",
    "capped-restore": f"--architecture a1-sync {_SMALL} --interval 100 --max-restore 149ms",
    "slow-storage": f"--architecture a2 {_SMALL} --storage-write 100MB/s --max-overhead 0%",
    "no-memory": "--architecture a7 --state-size 2734.7MB --mtbf 4h --host-memory 1GB",
    "constant-failures": "--architecture a2 --state-size 204.7MB --mtbf 20s --detection 1s",
    "unsure": f"--architecture a2 {_SMALL} --uncertainty --mtbf-factor 2",
    "unsure-warned": f"--architecture a1-sync {_SMALL} --warning-lead 5s --uncertainty "
    "--mtbf-factor 1",
    "unsure-measured": "--cluster 2-cores-8-ranks --architecture a2 --mtbf 10m --uncertainty "
    "--mtbf-factor 10",
    "unsure-native": f"--architecture a6 {_SMALL} --uncertainty --mtbf-factor 2",
    "unsure-none": f"--architecture a2 {_SMALL} --mechanism ft7,ft8 --uncertainty --mtbf-factor 2",
    "huge": "--architecture a2 --state-size 204.7MB --mtbf 30000y --duration 30000y",
}


def answer(options: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """What `advisor recommend` prints, parsed; NaN and Infinity are no JSON."""
    assert cli.run(["recommend", *options.split(), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    pytest.fail(f"{constant} is no JSON")


@pytest.mark.parametrize("options", _SCENARIOS.values(), ids=_SCENARIOS)
def test_documents_satisfy_the_schema(
    options: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = answer(options, capsys)
    errors = [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(document)]
    assert errors == []
    # What docs/json.md promises beyond the schema.
    candidates = document["candidates"]
    assert document["selected"] == (candidates[0] if candidates else None)
    assert document["runner_up"] == (candidates[1] if len(candidates) > 1 else None)
    named = [each["mechanism"] for each in (*candidates, *document["excluded"])]
    assert sorted(named) == [f"ft{number}" for number in range(1, 10)]
    scenario, assumed = document["scenario"], document["assumed"]
    assert all(scenario[name] is not None for name in assumed)
    cited = {used["source_id"] for candidate in candidates for used in candidate["used"]}
    assert {source["source_id"] for source in document["sources"]} == cited
    for candidate in candidates:
        assert len(candidate["checks"]) == len(candidate["rules"])
    for candidate in filter(lambda each: each["terms"], candidates):
        terms = {key: value for key, value in candidate["terms"].items() if key != "failures"}
        assert sum(terms.values()) == pytest.approx(candidate["expected_completion_s"])
        assert len(terms) == 7


def test_the_scenarios_differ_in_kind(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [answer(options, capsys) for options in _SCENARIOS.values()]
    candidates = [candidate for document in found for candidate in document["candidates"]]
    assert {candidate["evidence"] for candidate in candidates} == {"M", "E", "D"}
    assert {candidate["native"] is None for candidate in candidates} == {True, False}
    assert {document["selected"] is None for document in found} == {True, False}
    assert {document["margin"] is None for document in found} == {True, False}
    crossings = [crossover for document in found for crossover in document["crossovers"]]
    assert {crossover["mtbf_s"] is None for crossover in crossings} == {True, False}
    assert {len(e["shown"]) for document in found for e in document["excluded"]} == {0, 1, 2}
    given = next(d for d, name in zip(found, _SCENARIOS, strict=True) if name == "every-option")
    assert given["assumed"] == {}


@pytest.mark.parametrize("name", ["plain", "unsure", "unsure-native"])
def test_a_saved_answer_is_the_same_document(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["recommend", *_SCENARIOS[name].split(), "--format", "json", "--save"]) == 0
    said = capsys.readouterr()
    saved = said.err.split()[2].rstrip(":")
    assert cli.run(["report", saved, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(said.out)


@pytest.fixture
def document(home: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    return answer(_SCENARIOS["plain"], capsys)


def test_the_schema_refuses_other_documents(document: Any) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert VALIDATOR.is_valid(document)
    (check,) = document["selected"]["checks"]
    changes: tuple[dict[str, Any], ...] = (
        {"version": 2},
        {"format": "another"},
        {"new": 1},
        {"warnings": [""]},
        {"selected": {}},
        {"selected": document["selected"] | {"terms": None}},
        {"selected": document["selected"] | {"evidence": "X"}},
        {"selected": document["selected"] | {"checks": [check | {"rule": "by_feeling"}]}},
        {"selected": document["selected"] | {"checks": [check | {"not_checked": None}]}},
        {"scenario": document["scenario"] | {"mtbf_s": 0}},
        {"scenario": document["scenario"] | {"interval": "often"}},
        {"assumed": {"architecture": "a guess"}},
    )
    for change in changes:
        assert not VALIDATOR.is_valid(document | change), change
    for key in document:
        less = deepcopy(document)
        del less[key]
        assert not VALIDATOR.is_valid(less), key


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_the_schema_are_closed_and_explained(name: str) -> None:
    schema = OBJECTS[name]
    assert schema["additionalProperties"] is False
    may_be_absent = set(schema["properties"]) - set(schema.get("required", ()))
    assert not may_be_absent or name in ("assumed", "shown")
    described = table_with(sections(read("json.md"))[name], "key")
    assert list(described) == list(schema["properties"])
    for key, property_schema in schema["properties"].items():
        text = _description(property_schema)
        assert text, key
        for suffix, unit in (
            ("_bytes_per_s", "bytes per second"),
            ("_bytes", "in bytes"),
            ("_s", "in seconds"),
        ):
            if key.endswith(suffix) and name != "assumed":
                assert unit in text, f"{name}.{key} does not say its unit"
                break


def _description(schema: dict[str, Any]) -> str:
    if "description" in schema:
        return str(schema["description"])
    definitions = ACCURACY["$defs"] | SCHEMA["$defs"] | VALIDATIONS["$defs"]
    definitions |= SETTINGS["$defs"] | ABILITIES["$defs"]
    definitions |= FLIPS["$defs"] | SCALE["$defs"] | TUNING["$defs"]
    definitions |= FLIPS["$defs"] | SCALE["$defs"] | SIMULATION["$defs"]
    definitions |= SETTINGS["$defs"] | ABILITIES["$defs"] | NEXT["$defs"]
    definitions |= DRILLS["$defs"] | SCORECARD["$defs"]
    return str(definitions[schema["$ref"].removeprefix("#/$defs/")]["description"])


def test_the_types_in_the_document_are_those_of_the_schema() -> None:
    text = sections(read("json.md"))
    for name, schema in OBJECTS.items():
        rows = table_with(text[name], "key")
        for key, property_schema in schema["properties"].items():
            if name != "assumed":
                says_null = "null" in rows[key][0]
                validator = _VALIDATORS[name].evolve(schema=property_schema)
                assert says_null == validator.is_valid(None), key


def test_the_schema_knows_every_field_and_every_code() -> None:
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert SCHEMA["properties"]["version"]["const"] == VERSION
    definitions = SCHEMA["$defs"]
    for name, kind, apart in (
        ("scenario", Scenario, {"assumed"}),
        ("candidate", Candidate, {"model"}),
        ("terms", Terms, set()),
        ("native", NativeDegradation, set()),
        ("used", UsedValue, set()),
        ("rule_check", RuleCheck, set()),
        ("rule_error", RuleError, set()),
        ("seen", SeenError, set()),
        ("exact", ExactTime, set()),
        ("drill_mark", DrillMark, set()),
        ("interval_choice", IntervalChoice, set()),
        ("excluded", Excluded, set()),
        ("dominated", Dominated, set()),
        ("crossover", Crossover, set()),
        ("source", SourceNote, set()),
        ("versions", Versions, set()),
        ("uncertainty", Uncertainty, set()),
        ("chance", Chance, set()),
        ("drawn_value", DrawnValue, set()),
        ("held_value", HeldValue, set()),
        ("minimax", MinimaxRegret, set()),
        ("regret_choice", RegretChoice, set()),
    ):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)} - apart, name
    assert definitions["rule_check"]["properties"]["rule"]["enum"] == [*Rule]
    assert definitions["rule_error"]["properties"]["part"]["enum"] == [*Part]
    assert definitions["drawn_value"]["properties"]["origin"]["enum"] == [*SpreadOrigin]
    for name in ("drawn_value", "held_value"):
        assert definitions[name]["properties"]["quantity"]["enum"] == [*Quantity]
    used = definitions["used"]["properties"]
    assert used["quantity"]["enum"] == [*Quantity]
    assert used["evidence"]["enum"] == [*Evidence]
    assert used["dispersion_kind"]["enum"] == [*DispersionKind, None]
    assert definitions["candidate"]["properties"]["evidence"]["enum"] == [*EvidenceCode]
    scenario = definitions["scenario"]["properties"]
    assert scenario["failure_regime"]["enum"] == [*FailureRegime]
    assert scenario["restore_basis"]["enum"] == [*RestoreBasis]
    assert scenario["interval"]["oneOf"][1]["enum"] == [*IntervalPolicy]
    assert SCHEMA["properties"]["frontier_axes"]["items"]["enum"] == [*AXES]
    assert set(definitions["frontier_member"]["required"]) == {"mechanism", *AXES.values()}


def test_the_schema_of_accuracy_knows_every_field_and_every_code(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(ACCURACY)
    assert ACCURACY["properties"]["format"]["const"] == ACCURACY_FORMAT
    assert ACCURACY["properties"]["version"]["const"] == ACCURACY_VERSION
    definitions = ACCURACY["$defs"]
    for name, kind in (
        ("leave_one_out", LeaveOneOut),
        ("comparison", Comparison),
        ("applied_rule", AppliedRule),
        ("not_predicted", NotPredicted),
    ):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    for name in ("rule_check", "rule_error", "seen"):
        assert definitions[name] == SCHEMA["$defs"][name], name
    assert definitions["applied_rule"]["properties"]["rule"]["enum"] == [*Rule]
    for name in ("comparison", "not_predicted"):
        assert definitions[name]["properties"]["part"]["enum"] == [*Part]
    assert cli.run(["accuracy", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in ACCURACY_VALIDATOR.iter_errors(document)] == []
    assert [check["rule"] for check in document["leave_one_out"]["checks"]] == [*Rule]
    for key in document:
        assert not ACCURACY_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize("more", ["", "--warning-lead 2s", "--max-overhead 0.001%"])
def test_the_schema_of_flips_knows_every_field_and_every_code(
    more: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(FLIPS)
    assert FLIPS["properties"]["format"]["const"] == FLIPS_FORMAT
    assert FLIPS["properties"]["version"]["const"] == FLIPS_VERSION
    definitions = FLIPS["$defs"]
    for name, kind in (("flip", Flip), ("side", Side)):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    assert definitions["scenario"] == SCHEMA["$defs"]["scenario"]
    assert definitions["moved"]["properties"]["input"]["enum"] == [*MovedInput]
    assert definitions["flip"]["properties"]["decided_by"]["enum"] == [*DecidedBy]
    options = f"--architecture a2 {_SMALL} {more}".split()
    assert cli.run(["flip", *options, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in FLIPS_VALIDATOR.iter_errors(document)] == []
    assert {each["input"] for each in document["moved"]} == {*MovedInput}
    for key in document:
        assert not FLIPS_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


_EVERYTHING = (
    "--warning-lead 2s --warning-coverage 40% --kinds 0:50%,1:40%,3:8%,all:2% --hiccup-every 1h "
    "--hiccup-length 10s --silent 80% --repair 8h --spares-up-to 3 --nodes 16 --tiers-up-to 3"
)


@pytest.mark.parametrize(
    "more",
    [
        "",
        "--class divergence=5d --max-wrong 1%",
        "--class divergence=5d --class straggler=1d,factor=2,length=1h --class hang=9d,recovery=1m "
        "--monitor digest:cost=9ms,miss=1%,false=1e-9 --monitor stragglers:cost=1ms,miss=0,false=0 "
        "--mechanism ft1,ft5",
    ],
)
def test_the_schema_of_plans_knows_every_code(
    more: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(PLAN)
    assert PLAN["properties"]["format"]["const"] == PLAN_FORMAT
    assert PLAN["properties"]["version"]["const"] == PLAN_VERSION
    definitions = PLAN["$defs"]
    assert definitions["scenario"] == SCHEMA["$defs"]["scenario"]
    assert definitions["class_cost"]["properties"]["class"]["enum"] == [*FailureClass]
    beside = [each for each in FailureClass if each is not FailureClass.CRASH]
    assert definitions["stated_class"]["properties"]["class"]["enum"] == beside
    watched = definitions["monitor_miss"]["properties"]["class"]["enum"]
    assert watched == [FailureClass.STRAGGLER, *CORRUPTING]
    asked = f"plan --architecture a2 {_SMALL} {more} --format json"
    assert cli.run(asked.split()) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in PLAN_VALIDATOR.iter_errors(document)] == []
    for key in document:
        assert not PLAN_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    "more",
    [
        f"a2 {_SMALL}",
        f"a2 {_SMALL} {_EVERYTHING}",
        f"a2 {_SMALL} --kinds 1:100% --repair 8h --objective node-hours --most 0",
        f"a6 {_SMALL}",
        f"a2 {_SMALL} --mechanism ft2 --kinds all:100% --show 1",
    ],
)
def test_the_schema_of_tuning_knows_every_field_and_every_code(
    more: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(TUNING)
    assert TUNING["properties"]["format"]["const"] == TUNING_FORMAT
    assert TUNING["properties"]["version"]["const"] == TUNING_VERSION
    definitions = TUNING["$defs"]
    for name, kind in (
        ("tuned_setting", Setting),
        ("timeout_price", TimeoutPrice),
        ("spares_price", SparesPrice),
        ("tuned_simulation", Simulated),
        ("time_spent", Spent),
    ):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    assert definitions["scenario"] == SCHEMA["$defs"]["scenario"]
    assert definitions["circumstances"]["properties"]["objective"]["enum"] == [*Objective]
    assert definitions["tuned_choice"]["properties"]["evidence"]["enum"] == [*EvidenceCode]
    options = ["--architecture", *more.split(), "--precision", "5%", "--format", "json"]
    assert cli.run(["tune", *options]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in TUNING_VALIDATOR.iter_errors(document)] == []
    for key in document:
        assert not TUNING_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    "more",
    [
        f"a2 {_SMALL}",
        f"a2 {_SMALL} --price 2.50USD --scaling strong --communication 10% --to 8..4096",
        f"a6 {_SMALL}",
        "a4 --state-size 2.567GB --mtbf 4h --mtbf-scope job --node-share 78%",
    ],
)
def test_the_schema_of_scale_knows_every_field_and_every_code(
    more: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(SCALE)
    assert SCALE["properties"]["format"]["const"] == SCALE_FORMAT
    assert SCALE["properties"]["version"]["const"] == SCALE_VERSION
    definitions = SCALE["$defs"]
    for name, kind in (
        ("growth", Growth),
        ("price", Price),
        ("scale_rule", AppliedScaleRule),
        ("mechanism_change", MechanismChange),
    ):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    assert definitions["scenario"] == SCHEMA["$defs"]["scenario"]
    for name in ("excluded", "shown"):
        assert definitions[name] == SCHEMA["$defs"][name], name
    growth = definitions["growth"]["properties"]
    assert growth["scope"]["enum"] == [*FailureScope]
    assert growth["scaling"]["enum"] == [*Scaling]
    assert growth["layout"]["enum"] == [*StateLayout]
    assert definitions["scale_rule"]["properties"]["rule"]["enum"] == [*ScaleRule]
    assert definitions["scale_point"]["properties"]["evidence"]["enum"] == [*EvidenceCode, None]
    assert cli.run(["scale", "--architecture", *more.split(), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in SCALE_VALIDATOR.iter_errors(document)] == []
    for key in document:
        assert not SCALE_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    "options",
    [
        f"--architecture a2 {_SMALL}",
        f"--architecture a6 {_SMALL}",
        f"--architecture a2 {_SMALL} --restore-basis calibrated --warning-lead 5s",
        "--cluster 2-cores-8-ranks --architecture a2 --mtbf 10m",
    ],
)
def test_the_schema_of_next_knows_every_field(
    options: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(NEXT)
    assert NEXT["properties"]["format"]["const"] == NEXT_FORMAT
    assert NEXT["properties"]["version"]["const"] == NEXT_VERSION
    assert set(NEXT["required"]) == {f.name for f in fields(NextCells)} | {"format", "version"}
    of_cell = {f.name for kind in (Cell, CellValue) for f in fields(kind)} - {"cell"}
    assert set(NEXT["$defs"]["measurable_cell"]["required"]) == of_cell
    assert set(NEXT["$defs"]["unvalued"]["required"]) == {f.name for f in fields(Unvalued)}
    assert cli.run(["next", *options.split(), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    assert [f"{e.json_path}: {e.message}" for e in NEXT_VALIDATOR.iter_errors(document)] == []
    for key in document:
        assert not NEXT_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    "more",
    [
        "",
        "--arrivals file:gaps.txt --kinds 0:90%,1:8%,2:2% --tiers ft4+ft2+ft1,ft4+ft2+ft3 "
        "--warning-lead 2s --warning-coverage 90% --lead-spread 50% --false-alarms 12h "
        "--burst-share 10% --burst-more 2 --burst-spacing 1m --spares 1 --repair 4h "
        "--host-memory 2GB",
        "--mtbf 1s --detection 1s",
    ],
    ids=["plain", "all", "too-many"],
)
def test_the_schema_of_simulations_knows_every_field(
    more: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(SIMULATION)
    assert SIMULATION["properties"]["format"]["const"] == SIMULATION_FORMAT
    assert SIMULATION["properties"]["version"]["const"] == SIMULATION_VERSION
    definitions = SIMULATION["$defs"]
    for name, kind in (("time_spent", Spent), ("not_simulated", NotSimulated)):
        assert set(definitions[name]["required"]) == {f.name for f in fields(kind)}, name
    of_run = {f.name for f in fields(Simulated)} - {"seed"}
    assert of_run < set(definitions["simulated"]["required"])
    assert definitions["scenario"] == SCHEMA["$defs"]["scenario"]
    (home / "gaps.txt").write_text("1h\n2h\n30m\n")
    asked = f"simulate --architecture a2 {_SMALL} --duration 1d --most 64 {more} --format json"
    assert cli.run(asked.split()) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    errors = [f"{e.json_path}: {e.message}" for e in SIMULATION_VALIDATOR.iter_errors(document)]
    assert errors == []
    assert document["candidates"] or document["not_simulated"]
    for key in document:
        assert not SIMULATION_VALIDATOR.is_valid({k: v for k, v in document.items() if k != key})


def test_the_schema_of_validations_knows_every_field_and_every_code() -> None:
    Draft202012Validator.check_schema(VALIDATIONS)
    assert VALIDATIONS["properties"]["format"]["const"] == VALIDATIONS_FORMAT
    assert VALIDATIONS["properties"]["version"]["const"] == VALIDATIONS_VERSION
    definitions = VALIDATIONS["$defs"]
    assert definitions["validation_run"]["properties"]["role"]["enum"] == [*ValidationRole]
    assert definitions["tried_scenario"]["properties"]["arrivals"]["enum"] == [*Arrivals]
    tried = [
        validated_run(step_time_s=0.061),
        validated_run("ft1", ValidationRole.RUNNER_UP, observed_s=None),
        validated_run("ft3", ValidationRole.CANDIDATE, observed_s=None, failures=None, outcome=""),
        validated_run("ft9", ValidationRole.REFERENCE, None, None),
        validated_run("ft9", ValidationRole.SELECTED, None, 50.0, validation="v2"),
        validated_run("ft9", ValidationRole.SELECTED, None, 50.0, validation="v3", name="other"),
    ]
    found = repeated(validated(tried))
    document = json.loads(json.dumps(validations_json(found, shortcomings(found))))
    errors = [f"{e.json_path}: {e.message}" for e in VALIDATIONS_VALIDATOR.iter_errors(document)]
    assert errors == []
    assert [len(each["validations"]) for each in document["scenarios"]] == [2, 1]
    first = document["scenarios"][0]
    assert [len(each["runs"]) for each in first["validations"]] == [4, 1]
    assert [run["n"] for run in first["means"]] == [1, 1, 0, 2]
    assert first["validations"][0]["step_time_s"] == 0.05
    own = [run["step_time_s"] for run in first["validations"][0]["runs"]]
    assert own == [0.061, 0.05, 0.05, None]
    assert document["shortcomings"]
    for key in document:
        without = {k: v for k, v in document.items() if k != key}
        assert not VALIDATIONS_VALIDATOR.is_valid(without)


_EMIT = f"emit --for nvrx --candidate ft2 --architecture a2 {_SMALL} --format json"


def test_the_schema_of_settings_knows_every_code(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(SETTINGS)
    assert SETTINGS["properties"]["format"]["const"] == emitted_document.FORMAT
    assert SETTINGS["properties"]["version"]["const"] == emitted_document.VERSION
    definitions = SETTINGS["$defs"]
    assert definitions["emitted_part"]["properties"]["syntax"]["enum"] == [*Syntax]
    assert [*SETTINGS["properties"]["support"]["enum"], Support.CANNOT] == [*Support]
    assert set(definitions["checked_against"]["required"]) == {f.name for f in fields(Verified)}
    assert cli.run(_EMIT.split()) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    validator = Draft202012Validator(SETTINGS)
    assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(document)] == []
    assert [part["name"] for part in document["parts"]] == ["launch", "checkpoint"]
    for key in document:
        assert not validator.is_valid({k: v for k, v in document.items() if k != key})


def test_the_schema_of_abilities_knows_every_code(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft202012Validator.check_schema(ABILITIES)
    assert ABILITIES["properties"]["format"]["const"] == emitted_document.ABILITIES
    assert ABILITIES["properties"]["version"]["const"] == emitted_document.VERSION
    definitions = ABILITIES["$defs"]
    assert definitions["ability"]["properties"]["support"]["enum"] == [*Support]
    assert definitions["checked_against"] == SETTINGS["$defs"]["checked_against"]
    assert cli.run(["emit", "--tools", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    validator = Draft202012Validator(ABILITIES)
    assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(document)] == []
    assert [tool["tool"] for tool in document["tools"]] == [*registry.names()]
    for tool in document["tools"]:
        named = [ability["mechanism"] for ability in tool["abilities"]]
        assert named == [*(f"ft{number}" for number in range(1, 10)), TOGETHER]
    for key in document:
        assert not validator.is_valid({k: v for k, v in document.items() if k != key})


def test_the_schemas_of_drills_and_scorecards_know_every_field_and_every_code() -> None:
    Draft202012Validator.check_schema(DRILLS)
    Draft202012Validator.check_schema(SCORECARD)
    for schema, name in ((DRILLS, DRILLS_FORMAT), (SCORECARD, SCORECARD_FORMAT)):
        assert schema["properties"]["format"]["const"] == name
        assert schema["properties"]["version"]["const"] == DRILLS_VERSION
    drill, row = DRILLS["$defs"]["drill"]["properties"], SCORECARD["$defs"]["score_row"]
    assert drill["result"]["enum"] == [*DrillResult]
    assert drill["expected"]["items"]["enum"] == [*RunOutcome]
    assert drill["outcome"]["enum"] == [*RunOutcome, None]
    assert row["properties"]["mark"]["enum"] == [*ScoreMark]
    assert set(row["required"]) == {f.name for f in fields(ScoreRow)}
    assert set(DRILLS["$defs"]["skipped_drill"]["required"]) == {f.name for f in fields(Skipped)}
    assert SCORECARD["$defs"]["drill_mark"] == SCHEMA["$defs"]["drill_mark"]
    tried = (
        drilled(tried_at=OLD),
        failed("hang"),
        drilled("adjacent", result=DrillResult.PLANNED, outcome=None, wall_s=None),
    )
    document = drills_document("c", "mybox", tried, [Skipped("straggler", "not known")])
    card = card_of("ft1", "Disk", tried, [], NOW)
    scorecard = scorecard_document("mybox", [card])
    for validator, found in ((DRILLS_VALIDATOR, document), (SCORECARD_VALIDATOR, scorecard)):
        plain = json.loads(json.dumps(found))
        assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(plain)] == []
        for key in plain:
            assert not validator.is_valid({k: v for k, v in plain.items() if k != key})
