"""Calibration records: what is read, what is refused, and the schema for other programs."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from db.calibration_record import parse_calibration, read_calibration
from db.errors import InvalidDataError
from db.records import CalibrationPath, SamplePurpose
from db.resources import resource_dir
from db.run_record_schema import calibration_record_schema
from tests.db.calibration_records import record, write

SCHEMA = calibration_record_schema()


def test_the_schema_file_is_made_from_the_models() -> None:
    path = resource_dir("data") / "schemas" / "calibration-record-1.schema.json"
    assert json.loads(path.read_text(encoding="utf-8")) == SCHEMA
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_good_record_is_read_and_fits_the_schema(tmp_path: Path) -> None:
    made = record()
    jsonschema.validate(made, SCHEMA)
    file = read_calibration(write(tmp_path, made))
    assert len(file.sha256) == 64
    samples = file.record.measured()
    assert len(samples) == len(made["samples"])
    assert (samples[-1].path, samples[-1].purpose) == (
        CalibrationPath.RESTORE_STORAGE,
        SamplePurpose.CHECK,
    )
    assert file.record.conditions()[CalibrationPath.PEER] == "how peer was measured"


def sample(**changes: Any) -> list[dict[str, Any]]:
    return [{**record()["samples"][0], **changes}]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"record": "failbench-run"}, "not a calibration record"),
        ({"version": 2}, "version 2 is unknown; known is 1"),
        ({"version": True}, "version True is unknown"),
        ({"session": "a b"}, "session"),
        ({"wall_s": -1}, "wall_s"),
        ({"quick": 1}, "quick"),
        ({"mood": "good"}, "mood: is unknown"),
        ({"samples": []}, "samples"),
        ({"samples": sample(duration_s=0.0)}, "duration_s"),
        ({"samples": sample(duration_s=1e999)}, "not a number"),
        ({"samples": sample(size_bytes=None)}, "what moves no bytes has none"),
        ({"samples": sample(path="process_start")}, "what moves no bytes has none"),
        ({"samples": sample(path="pigeon")}, "path"),
        ({"samples": sample(processes=0)}, "processes"),
        ({"samples": sample(purpose="fun")}, "purpose"),
        ({"paths": []}, "has samples, and is not described"),
        ({"paths": 2 * record()["paths"]}, "one of them is there twice"),
        ({"cluster__nodes": 0}, "cluster.nodes"),
    ],
)
def test_a_wrong_record_is_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        parse_calibration(json.dumps(record(**changes)), "here")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_record_at_all(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="not a JSON record"):
        parse_calibration("[1, 2", "here")
    with pytest.raises(InvalidDataError, match="cannot be read"):
        read_calibration(tmp_path / "none.json")
