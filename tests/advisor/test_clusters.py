"""`advisor clusters compare` and `recommend`, and what commands say of superseded software."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from advisor.comparison.matching import Compared
from tests.advisor.conftest import Advisor
from tests.db import run_records
from tests.docs.documents import SCHEMAS

PAPER, OURS = "matilda-8xv100", "2-cores-8-ranks"
OLD, NEW = "mybox/torch-2.13.0+cpu", "mybox/torch-2.14.0+cpu"
_NEWER: dict[str, Any] = {"environment__torch": "2.14.0+cpu"}


def document(advisor: Advisor, *arguments: str) -> dict[str, Any]:
    code, out, err = advisor(*arguments, "--format", "json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_documents_are_those_of_the_schemas(advisor: Advisor) -> None:
    compared = document(advisor, "clusters", "compare", PAPER, OURS)
    validator("cluster-comparison").validate(compared)
    assert {cell["quantity"] for cell in compared["cells"]} == {*Compared}
    compared["cells"][0]["numbers"][PAPER]["value"] = "0"
    assert not validator("cluster-comparison").is_valid(compared)
    scenario = ("--architecture", "a2", "--mtbf", "4h", "--cluster", f"{PAPER},{OURS}")
    answered = document(advisor, "clusters", "recommend", *scenario)
    validator("cluster-answers").validate(answered)
    assert [row["mechanism"] is None for row in answered["answers"]] == [True, False]
    answered["answers"][1]["reason"] = "none"
    assert not validator("cluster-answers").is_valid(answered)


def test_the_list_and_one_cluster_as_before(advisor: Advisor) -> None:
    code, out, _ = advisor("clusters")
    assert code == 0
    assert advisor("clusters", "show") == (0, out, "")
    listed = [line.split()[0] for line in out.splitlines()[1:]]
    assert {PAPER, OURS} <= set(listed)
    one = document(advisor, "clusters", OURS)
    assert one["cluster"] == OURS
    assert one["calibrations"]
    (stack,) = one["software_stacks"]
    assert stack["superseded_by"] is None
    assert one["set_aside"] == 0
    code, _, err = advisor("clusters", "nosuch")
    assert (code, err.count("\n")) == (2, 1)
    assert PAPER in err


def test_tables_and_their_machine_readable_forms_agree(advisor: Advisor) -> None:
    asked = ("clusters", "compare", PAPER, OURS, "--architecture", "a2")
    found = document(advisor, *asked)
    code, table, _ = advisor(*asked)
    assert code == 0
    code, text, _ = advisor(*asked, "--format", "csv")
    assert code == 0
    lines = list(csv.DictReader(StringIO(text)))
    assert len(lines) == 2 * len(found["cells"])
    by_name = {PAPER: 0, OURS: 1}
    for cell, pair in zip(found["cells"], zip(lines[::2], lines[1::2], strict=True), strict=True):
        for name, place in by_name.items():
            line, number = pair[place], cell["numbers"][name]
            assert (line["cluster"], line["quantity"]) == (name, cell["quantity"])
            assert (line["value"] == "") is (number["value"] is None)
            if number["value"] is not None:
                assert float(line["value"]) == number["value"]
            assert line["missing"] == (number["missing"] or "")
        difference = cell["differences"][OURS]
        assert pair[0]["ratio"] == ""
        assert pair[1]["ratio"] == ("" if difference["ratio"] is None else str(difference["ratio"]))
    assert "not measured" in table
    assert f"{OURS} beside {PAPER}" in table
    assert "NVIDIA Tesla V100" in table
    assert "torch 2.3.0, CUDA 12.1, NCCL 2.20.5, Python 3.10" in table
    assert f"{PAPER} has no calibration of its own to compare" in table
    (counts,) = found["counts"]
    values = [[cell["numbers"][name]["value"] for name in by_name] for cell in found["cells"]]
    assert counts["both"] == sum(None not in each for each in values)
    assert counts["only_first"] == sum(a is not None and b is None for a, b in values)
    assert counts["only_this"] == sum(b is not None and a is None for a, b in values)


def test_common_cells_only(advisor: Advisor) -> None:
    asked = ("clusters", "compare", PAPER, OURS)
    everything, common = document(advisor, *asked), document(advisor, *asked, "--common")
    assert common["counts"] == everything["counts"]
    assert len(common["cells"]) == common["counts"][0]["both"] < len(everything["cells"])
    assert all(n["value"] is not None for c in common["cells"] for n in c["numbers"].values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare",), "name at least two clusters"),
        (("compare", PAPER), "name at least two clusters"),
        (("compare", PAPER, PAPER), "there twice"),
        (("compare", PAPER, "moon"), "no cluster 'moon' in the database; there is"),
        (("compare", PAPER, OURS, "--architecture", "a9"), "write one of a1-async"),
        (("compare", PAPER, OURS, "--mechanism", "ft0"), "write one of ft1"),
        (("recommend", "--mtbf", "4h"), "'--architecture'"),
        (("recommend", "--architecture", "a9", "--mtbf", "4h"), "write one of a1-async"),
        (("recommend", "--architecture", "a2", "--mtbf", "4h", "--cluster", ","), "separated by"),
        (("recommend", "--architecture", "a2", "--mtbf", "4h", "--cluster", "moon"), PAPER),
    ],
)
def test_mistakes_are_one_line(advisor: Advisor, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = advisor("clusters", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize("options", [(), ("--no-uncertainty",)])
def test_each_row_is_what_recommend_says_of_that_cluster(
    advisor: Advisor, options: tuple[str, ...]
) -> None:
    scenario = ("--architecture", "a5", "--mtbf", "1h", "--duration", "2d")
    named = ("--cluster", f"{OURS},{PAPER}")
    found = document(advisor, "clusters", "recommend", *scenario, *named, *options)
    assert [row["cluster"] for row in found["answers"]] == [OURS, PAPER]
    for row in found["answers"]:
        more = () if options else ("--uncertainty",)
        alone = document(advisor, "recommend", *scenario, "--cluster", row["cluster"], *more)
        pick = alone["selected"]
        assert (row["mechanism"], row["interval_steps"], row["expected_completion_s"]) == (
            pick["mechanism"],
            pick["interval_steps"],
            pick["expected_completion_s"],
        )
        assert row["evidence"] == pick["evidence"]
        assert row["runner_up"] == (alone["runner_up"] or {"mechanism": None})["mechanism"]
        assert row["scenario"] == alone["scenario"]
        chances = (alone["uncertainty"] or {"chances": []})["chances"]
        sure = [c["best_probability"] for c in chances if c["mechanism"] == pick["mechanism"]]
        assert [row["best_probability"]] == (sure or [None])
        assert (row["best_probability"] is None) is bool(options)


def test_every_cluster_without_a_name(advisor: Advisor) -> None:
    scenario = ("clusters", "recommend", "--architecture", "a2", "--mtbf", "4h")
    found = document(advisor, *scenario, "--no-uncertainty")
    rows = {row["cluster"]: row for row in found["answers"]}
    assert {PAPER, OURS} <= rows.keys()
    assert list(rows) == sorted(rows)
    assert rows[OURS]["mechanism"] is not None
    assert rows[PAPER]["mechanism"] is None
    assert "state-size is missing" in rows[PAPER]["reason"]
    code, text, _ = advisor(*scenario, "--no-uncertainty", "--format", "csv")
    assert code == 0
    assert [line["cluster"] for line in csv.DictReader(StringIO(text))] == list(rows)
    code, table, _ = advisor(*scenario, "--no-uncertainty")
    assert code == 0
    assert f"{PAPER}: state-size is missing" in table


def _measure(advisor: Advisor, folder: Path, *records: dict[str, Any]) -> str:
    run_records.write(folder, *records)
    code, out, _ = advisor("ingest", str(folder))
    assert code == 0
    return out


def _first_software() -> list[dict[str, Any]]:
    """A baseline, and FT1 with its overhead and its restore."""
    return [
        run_records.record(trace=None),
        *(run_records.record(seed=seed) for seed in range(2)),
        run_records.mechanism_record(trace=None),
        *(run_records.mechanism_record(seed=seed, restore_s=0.25 + seed / 8) for seed in range(2)),
    ]


_ASK = ("--cluster", "mybox", "--architecture", "a2", "--mtbf", "1h")


def _stall_of_ft1(advisor: Advisor) -> float:
    """What `advisor clusters compare` says that a save costs on A2 (s)."""
    asked = ("clusters", "compare", "mybox", OURS, "--architecture", "a2", "--mechanism", "ft1")
    rows = document(advisor, *asked)["cells"]
    numbers = [row["numbers"]["mybox"] for row in rows if row["quantity"] == "stall_s"]
    (found,) = [n for n in numbers if n["value"] is not None]
    assert found["of_quantity"] == "overhead_fraction"
    return float(found["value"])


def test_answers_fall_back_on_superseded_software_and_say_so(
    advisor: Advisor, tmp_path: Path
) -> None:
    _measure(advisor, tmp_path / "old", *_first_software())
    before = document(advisor, "recommend", *_ASK)
    assert before["selected"]["mechanism"] == "ft1"
    cost_s = _stall_of_ft1(advisor)
    assert {used["superseded_by"] for used in before["selected"]["used"]} == {None}
    newer = [
        run_records.record(trace=None, seed=10, rate=80.0, **_NEWER),
        run_records.record(seed=11, rate=80.0, **_NEWER),
    ]
    said = _measure(advisor, tmp_path / "new", *newer)
    assert f"{OLD} is superseded by {NEW}, which was measured later" in said
    found = document(advisor, "recommend", *_ASK)
    assert found["scenario"]["step_time_s"] == before["scenario"]["step_time_s"] / 2
    # Its saves take as long as they did, however fast steps are now.
    assert _stall_of_ft1(advisor) == cost_s
    pick = found["selected"]
    assert {used["superseded_by"] for used in pick["used"]} == {NEW}
    (warning,) = [line for line in found["warnings"] if "superseded" in line]
    assert "FT1" in warning
    assert NEW in warning
    code, table, _ = advisor("recommend", *_ASK)
    assert code == 0
    assert f"{pick['evidence']}†" in table
    assert "superseded software stack" in table
    code, markdown, _ = advisor("recommend", *_ASK, "--format", "markdown")
    assert code == 0
    assert f"{pick['evidence']}†" in markdown
    code, table, _ = advisor("clusters", "recommend", *_ASK)
    assert f"{pick['evidence']}†" in table
    code, table, _ = advisor("clusters", "mybox")
    stacks = {line.split()[0]: line.split()[1:] for line in table.splitlines() if "torch-" in line}
    assert stacks[OLD] == ["2", "2", "2.13.0+cpu", "3.11.2", NEW]
    assert stacks[NEW] == ["2", "0", "2.14.0+cpu", "3.11.2"]


def test_tuning_and_exposure_say_so_as_well(advisor: Advisor, tmp_path: Path) -> None:
    _measure(advisor, tmp_path / "old", *_first_software())
    calm = run_records.record(trace=None, seed=10, rate=80.0, **_NEWER)
    _measure(advisor, tmp_path / "new", calm)
    tuned = document(advisor, "tune", *_ASK, "--most", "0")
    assert {choice["is_superseded"] for choice in tuned["choices"]} == {True}
    (warning,) = tuned["warnings"]
    assert NEW in warning
    code, table, _ = advisor("tune", *_ASK, "--most", "0")
    assert code == 0
    assert f"{tuned['choices'][0]['evidence']}†" in table
    assert warning in table
    shown = document(advisor, "exposure", "--cluster", "mybox")
    assert [row["superseded_by"] for row in shown["exposures"]] == [NEW]
    code, table, _ = advisor("exposure", "--cluster", "mybox")
    assert code == 0
    assert table.splitlines()[2].rstrip().endswith("†")
    assert f"software that is superseded by {NEW}, and not again since: A2" in table
    code, text, _ = advisor("exposure", "--cluster", "mybox", "--format", "csv")
    assert [row["superseded_by"] for row in csv.DictReader(StringIO(text))] == [NEW]
    _measure(advisor, tmp_path / "newest", run_records.record(seed=11, rate=80.0, **_NEWER))
    shown = document(advisor, "exposure", "--cluster", "mybox")
    assert [row["superseded_by"] for row in shown["exposures"]] == [None]
    assert shown["set_aside"] == 1
    code, table, _ = advisor("exposure", "--cluster", "mybox")
    assert "†" not in table
    assert "1 row of superseded software is not shown: measured anew since" in table


def test_measured_anew_nothing_is_marked(advisor: Advisor, tmp_path: Path) -> None:
    _measure(advisor, tmp_path / "old", *_first_software())
    newer = [
        run_records.record(trace=None, seed=10, **_NEWER),
        run_records.record(seed=11, **_NEWER),
        run_records.mechanism_record(trace=None, seed=12, overhead=0.08, **_NEWER),
        run_records.mechanism_record(seed=13, restore_s=2.0, **_NEWER),
    ]
    _measure(advisor, tmp_path / "new", *newer)
    found = document(advisor, "recommend", *_ASK)
    assert {used["superseded_by"] for used in found["selected"]["used"]} == {None}
    assert not [line for line in found["warnings"] if "software" in line]
    assert found["selected"]["restore_s"] == pytest.approx(2.0)
    assert document(advisor, "clusters", "mybox")["set_aside"] == 4


def test_a_person_marks_and_takes_marks_off(advisor: Advisor, tmp_path: Path) -> None:
    old, new = _first_software(), run_records.record(seed=1, rate=80.0, **_NEWER)
    new["run_id"] += "-newer"
    said = _measure(advisor, tmp_path / "both", *old, new)
    assert "superseded" not in said  # they were measured at the same time
    found = document(advisor, "recommend", *_ASK)
    (warning,) = [line for line in found["warnings"] if "software stacks count alike" in line]
    assert f"{OLD}, {NEW}" in warning
    assert advisor("db", "supersede", OLD, NEW) == (0, f"{OLD} is superseded by {NEW}\n", "")
    found = document(advisor, "recommend", *_ASK)
    assert not [line for line in found["warnings"] if "count alike" in line]
    code, out, err = advisor("db", "supersede", NEW, OLD)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"`advisor db supersede --undo {OLD}`" in err
    said = f"{OLD} is no more superseded by {NEW}\n"
    assert advisor("db", "supersede", "--undo", OLD) == (0, said, "")
    assert advisor("db", "supersede", "--undo", OLD) == (0, f"{OLD} was not superseded\n", "")


@pytest.mark.parametrize(
    "arguments", [("a",), ("a", "b", "--undo"), ("a", "b"), ("--undo", "nosuch")]
)
def test_mistakes_of_supersede(advisor: Advisor, arguments: tuple[str, ...]) -> None:
    code, out, err = advisor("db", "supersede", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "name OLD and NEWER" in err or f"{OURS}/torch-" in err
