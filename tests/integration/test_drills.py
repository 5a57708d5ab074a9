"""`advisor drill` with real runs: a promise that is kept, one that is broken, one cut off."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.integration.campaigns import ROOT, ask, finished
from tests.measure.harness import wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

BREAKS_FT9 = (
    "from advisor.drills import catalogue\n"
    "catalogue.BY_NAME['crash'].promises['ft9'] = catalogue.BY_NAME['crash'].promises['ft1']"
)
"""Promises of FT9, which keeps nothing, what FT1 promises."""
CUT_OFF = "strike(run, 'ingest_record', True, 1)"


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name, 60.0) == []


def drill(folder: Path, *options: str) -> list[str]:
    place = ["--db", str(folder / "advisor.db")]
    if "--resume" not in options:
        place += ["--folder", str(folder / "runs"), "--profile", "smoke", "--device", "cpu"]
        place += ["--cluster", "tiny"]
    return ["drill", *options, *place]


def document(name: str, text: str) -> Any:
    """A document that its schema admits."""
    schema = json.loads((ROOT / "data" / "schemas" / name).read_text(encoding="utf-8"))
    found = json.loads(text)
    errors = [
        f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema).iter_errors(found)
    ]
    assert errors == []
    return found


def results(folder: Path) -> list[tuple[object, ...]]:
    return ask(folder, "SELECT mechanism, result, outcome FROM drill_view ORDER BY mechanism")


def test_a_promise_is_kept_or_broken(mark: str, tmp_path: Path) -> None:
    given = drill(tmp_path, "crash", "--mechanism", "ft1,ft9", "--format", "json")
    code, out, err = finished(mark, given, BREAKS_FT9)
    found = document("drills-1.schema.json", out)
    kept, broken = found["drills"]
    assert (kept["mechanism"], kept["result"], kept["outcome"]) == ("ft1", "passed", "recovered")
    assert (broken["result"], broken["outcome"]) == ("failed", "halted")
    assert code == 1
    assert "1 of 2 drills failed, the first: crash of FT9: its outcome was halted" in err
    assert results(tmp_path) == [("ft1", "passed", "recovered"), ("ft9", "failed", "halted")]
    # What was expected was there before the runs, and they are no evidence of what FT1 costs.
    times = "SELECT MAX(d.planned_at) <= MIN(r.started_at) FROM drills d, runs r"
    assert ask(tmp_path, times) == [(1,)]
    assert ask(tmp_path, "SELECT COUNT(*) FROM operating_points WHERE cluster = 'tiny'") == [(0,)]
    _assert_scorecard(mark, tmp_path, found["drills"][0]["run_id"])


def _assert_scorecard(mark: str, folder: Path, run_id: str) -> None:
    """The scorecard shows what the run did, with its id."""
    given = ["scorecard", "--cluster", "tiny", "--db", str(folder / "advisor.db")]
    code, out, err = finished(mark, [*given, "ft1", "--format", "json"])
    assert code == 0, err
    (card,) = document("scorecard-1.schema.json", out)["mechanisms"]
    assert card["drilled"]["is_tested"]
    row = next(row for row in card["faults"] if row["fault"] == "crash")
    assert (row["mark"], row["outcomes"], row["run_ids"]) == ("passed", {"recovered": 1}, [run_id])
    assert row["sources"] == ["storage"]
    assert row["lost_steps"] == 5
    assert row["detection_s"] > 0
    code, out, err = finished(mark, given)
    assert code == 0, err
    assert "FT9 No fault tolerance: untested: drill crash failed on" in out
    assert "FT2" in out


@pytest.mark.soak
def test_drills_that_are_cut_off_are_gone_on_with(mark: str, tmp_path: Path) -> None:
    given = drill(tmp_path, "crash", "--mechanism", "ft1,ft2,ft9")
    code, _, err = finished(mark, given, CUT_OFF)
    assert code != 0, err
    assert [result for _, result, _ in results(tmp_path)] == ["planned"] * 3
    ((campaign,),) = ask(tmp_path, "SELECT DISTINCT campaign FROM drills")
    code, out, err = finished(mark, drill(tmp_path, "--resume", str(campaign)))
    assert code == 0, err
    assert "3 of 3 drills passed on tiny" in out
    assert {result for _, result, _ in results(tmp_path)} == {"passed"}
    # `advisor measure` goes on with them as well, and judges them.
    code, _, err = finished(mark, drill(tmp_path, "exception", "--mechanism", "ft1"), CUT_OFF)
    assert code != 0, err
    ((campaign,),) = ask(tmp_path, "SELECT campaign FROM drills WHERE drill = 'exception'")
    resume = ["measure", "--resume", str(campaign), "--db", str(tmp_path / "advisor.db")]
    code, _, err = finished(mark, resume)
    assert code == 0, err
    found = ask(tmp_path, "SELECT result FROM drills WHERE drill = 'exception'")
    assert found == [("passed",)]


def test_what_cannot_be_gone_on_with_is_said_in_one_line(mark: str, tmp_path: Path) -> None:
    code, out, err = finished(mark, drill(tmp_path, "--resume", "nothing"))
    assert (code, out) == (2, "")
    assert "no drill belongs to campaign 'nothing'" in err
    assert len(err.splitlines()) == 1
