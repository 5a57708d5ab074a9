"""Run records: what the harness writes is read, and each mistake is one line with its field."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from db.errors import InvalidDataError
from db.records import FaultOutcome, RunOutcome
from db.resources import resource_dir
from db.run_record import LARGEST_FILE_BYTES, MOST_SERIES_POINTS, parse_record, read_record
from db.run_record_schema import run_record_schema
from tests.db import run_records

SCHEMA = run_record_schema()
GOOD = {
    "halted": run_records.record(),
    "graceful": run_records.record("a6", after_rate=12.0),
    "completed": run_records.record(trace=None),
    "invalid": run_records.invalid(run_records.record()),
    "censored": run_records.record(detected_s=120.0, censored=True),
    "by step": run_records.record(faults__0__planned={"step": 25}),
    "after the first": run_records.record(faults__0__planned={"after_s": 0.3}),
    "while starting": run_records.record(faults__0__planned={"phase": "starting"}),
    "without spacing": run_records.record(cell__spacing_s=None),
    "not built": run_records.record(
        outcome="infeasible",
        state_bytes=None,
        before=None,
        training_started_s=None,
        groups_s=None,
        aggregate_slowdown_fraction=None,
        ranks=[],
    ),
    "recovered": run_records.mechanism_record(),
    "alternated": run_records.mechanism_record(trace=None),
    "warned": run_records.mechanism_record("ft4"),
    "infeasible": run_records.infeasible(),
    "composed": run_records.mechanism_record("ft4+ft2+ft1"),
    "watched": run_records.record(monitoring=[run_records.monitoring()]),
    "seen where it hung": run_records.record(ranks__0__where="in step 8"),
}


def test_the_schema_file_is_made_from_the_models() -> None:
    path = resource_dir("data") / "schemas" / "run-record-1.schema.json"
    assert json.loads(path.read_text()) == SCHEMA
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", GOOD)
def test_good_records_are_read_and_fit_the_schema(name: str, tmp_path: Path) -> None:
    made = GOOD[name]
    jsonschema.validate(made, SCHEMA)
    (path,) = run_records.write(tmp_path, made)
    read = read_record(path)
    assert read.record.run_id == made["run_id"]
    assert read.record.outcome is RunOutcome(made["outcome"])
    assert json.loads(read.text) == made
    assert re.fullmatch(r"[0-9a-f]{64}", read.sha256)
    assert [f.outcome for f in read.record.faults] == [
        FaultOutcome(f["outcome"]) for f in made["faults"]
    ]


# Path of the key, its wrong value, and the words that the line must hold. The schema refuses
# these as well.
WRONG: list[tuple[str, Any, str]] = [
    ("cell.seed", "7", "cell.seed: "),
    ("cell.seed", True, "cell.seed: "),
    ("cell.seed", -1, "cell.seed: "),
    ("cell.world_size", 0, "cell.world_size: "),
    ("cell.detector", "crystal ball", "cell.detector: "),
    ("cell.profile", "huge", "cell.profile: "),
    ("cell.mood", "good", "cell.mood: is unknown"),
    ("cell.workload", "two words", "cell.workload: "),
    ("cell.group_timeout_s", 0, "cell.group_timeout_s: "),
    ("wall_s", -0.5, "wall_s: "),
    ("wall_s", None, "wall_s: "),
    ("wall_s", "1", "wall_s: "),
    ("started_at", "yesterday", "started_at: "),
    ("outcome", "fine", "outcome: "),
    ("state_bytes", 0, "state_bytes: "),
    ("series.t_s", [1.6, "1.8"], "series.t_s.1: "),
    ("series.t_s", [1.6, True], "series.t_s.1: "),
    ("series.step", [1, 2.5], "series.step.1: "),
    ("series.t_s", [0.0] * (MOST_SERIES_POINTS + 1), "series.t_s: "),
    ("faults.0.planned", {"moon": "full"}, "faults.0.planned"),
    ("faults.0.fired", 1, "faults.0.fired: "),
    ("faults.0.detections.0.how", "telepathy", "faults.0.detections.0.how: "),
    ("monitoring", [run_records.monitoring(kind="magic")], "monitoring.0.suspicions.0.kind: "),
    ("monitoring", [{"monitor": "digest"}], "monitoring.0.interval_steps: "),
    ("aggregate_slowdown_fraction", 1.5, "aggregate_slowdown_fraction: "),
    ("validity_reasons", [""], "validity_reasons.0: "),
    ("record", "something", "not a run record"),
    ("version", 2, "version 2 is unknown; known is 1"),
    ("version", True, "version True is unknown; known is 1"),
]

# What only the reader can tell: rules between keys, and 7.0, which is a whole number in JSON.
INCONSISTENT: list[tuple[str, Any, str]] = [
    ("cell.seed", 7.0, "cell.seed: "),
    ("monitoring", [run_records.monitoring()] * 2, "a monitor is listed twice"),
    ("monitoring", [run_records.monitoring(fault=9)], "a suspicion refers to a fault that is not"),
    ("validity_reasons", ["too hot"], "validity_reasons say why"),
    ("validity", "invalid", "validity_reasons say why"),
    ("outcome", "invalid", "needs the validity invalid"),
    ("series.step", [1], "series: its lists are not equally long"),
    ("faults.0.ordinal", 1, "ordinals"),
    ("faults.0.rank", 8, "world size of 8"),
    ("faults.0.detections.0.rank", 5, "faults.0: a rank detects a fault once"),
    ("faults.0.fired", False, "faults.0: a fault that has not fired"),
    ("faults.0.outcome", "not_fired", "faults.0: a fault that has not fired"),
    ("faults.0.first_detected_s", 11.0, "faults.0: first_detected_s is after detected_s"),
    ("phases.0.fault", 1, "a phase refers to a fault that is not there"),
    ("ranks.0.rank", 1, "a rank is listed twice"),
]

# The same for what mechanisms add to a record.
WRONG_MECHANISM: list[tuple[str, Any, str]] = [
    ("cell.way", "prayer", "cell.way: "),
    ("equivalent", 1, "equivalent: "),
    ("saves.0.path", "", "saves.0.path: "),
    ("saves.0.count", -1, "saves.0.count: "),
    ("saves.0.foreground_s", 0.1, "saves.0.foreground_s: "),
    ("recoveries.0.way", "prayer", "recoveries.0.way: "),
    ("recoveries.0.phases.0", ["panic", 1.0], "recoveries.0.phases.0.0: "),
    ("recoveries.0.phases.0", ["detect"], "recoveries.0.phases.0.1: is missing"),
    ("recoveries.0.total_s", -1.0, "recoveries.0.total_s: "),
    ("recoveries.0.mood", "good", "recoveries.0.mood: is unknown"),
    ("times.lost_s", None, "times.lost_s: "),
    ("lineage.0", "no object", "lineage.0: "),
    ("shared_memory_bytes", -1, "shared_memory_bytes: "),
    ("overhead", {}, "overhead.fraction: is missing"),
    ("emergency", [{}], "emergency.0.fault: is missing"),
]
_OVERHEAD = {
    "fraction": 0.0,
    "low": 0.0,
    "high": 0.1,
    "pairs": 3,
    "baseline_step_s": 0.2,
    "overlap_factor": None,
}
INCONSISTENT_MECHANISM: list[tuple[str, Any, str]] = [
    ("infeasible_reason", "too large", "infeasible_reason needs the outcome infeasible"),
    ("recoveries.0.faults", [1], "refers to a fault that is not there"),
    ("overhead", {**_OVERHEAD, "low": 0.2}, "overhead: low is above high"),
    ("overhead", {**_OVERHEAD, "low": None}, "overhead: low and high belong together"),
]


@pytest.mark.parametrize(("path", "value", "words"), [*WRONG_MECHANISM, *INCONSISTENT_MECHANISM])
def test_a_wrong_record_of_a_mechanism_is_one_line_too(path: str, value: Any, words: str) -> None:
    made = run_records.mechanism_record()
    run_records.put(made, path, value)
    assert words in refusal(json.dumps(made))
    if (path, value, words) in WRONG_MECHANISM:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(made, SCHEMA)


@pytest.mark.parametrize("name", ["saves", "recoveries"])
def test_nothing_of_a_mechanism_is_listed_twice(name: str) -> None:
    made = run_records.mechanism_record()
    made[name] *= 2
    assert " twice" in refusal(json.dumps(made)) or " once" in refusal(json.dumps(made))


def test_a_record_of_before_mechanisms_were_measured_is_read() -> None:
    made = run_records.record()
    assert not set(made) & set(run_records.NEW_FIELDS)
    read = parse_record(json.dumps(made), "old")
    assert (read.saves, read.overhead, read.recoveries, read.times) == ((), None, (), None)
    assert (read.equivalent, read.cell.way, read.infeasible_reason) == (True, None, None)


@pytest.mark.parametrize(("path", "value", "words"), [*WRONG, *INCONSISTENT])
def test_a_wrong_record_is_one_line_with_its_field(path: str, value: Any, words: str) -> None:
    made = run_records.record()
    run_records.put(made, path, value)
    assert words in refusal(json.dumps(made))
    if (path, value, words) in WRONG:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(made, SCHEMA)


def refusal(text: str) -> str:
    with pytest.raises(InvalidDataError) as caught:
        parse_record(text, "a/record.json")
    said = str(caught.value)
    assert said.startswith("a/record.json: ")
    assert "\n" not in said
    return said


def test_every_key_is_needed_and_no_other_is_known() -> None:
    made = run_records.record()
    for key in made:
        short = {k: v for k, v in made.items() if k != key}
        said = refusal(json.dumps(short))
        assert key in said
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(short, SCHEMA)
    assert "mood: is unknown" in refusal(json.dumps({**made, "mood": 1}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("21.5", "NaN"), "NaN is not a number"),
        (lambda text: text.replace("21.5", "-Infinity"), "-Infinity is not a number"),
        (lambda text: text.replace("21.5", "1e999"), "1e999 is larger than any number"),
        (lambda text: text.replace('{"faults": []}', '{"a": 1e999}'), "larger than any number"),
        (lambda text: text.replace('"wall_s"', '"notes": [], "wall_s"'), "'notes' is there twice"),
        (lambda text: text[:-5], "not a JSON record"),
        (lambda text: "[" * 100_000, "not a JSON record"),
        (lambda text: "", "not a JSON record"),
        (lambda text: "[]", "not a run record"),
        (lambda text: text.replace("21.5", "1" + "0" * 5000), "not a JSON record"),
        (lambda text: text.replace("A machine", "\\u0000"), "control character"),
    ],
)
def test_what_is_no_number_and_no_record(change: Any, words: str) -> None:
    text = json.dumps(run_records.record())
    assert change(text) != text
    assert words in refusal(change(text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for content, words in (
        (None, "cannot be read: No such file"),
        (b"\xff{}", "not UTF-8 text (byte 0)"),
        (b" " * (LARGEST_FILE_BYTES + 1), "larger than 20 MB"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InvalidDataError) as caught:
            read_record(path)
        assert str(caught.value).startswith(f"{path}: {words}")
