"""The page Clusters: what it shows is what `advisor clusters` says."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.comparison.clusters import compare
from advisor.comparison.matching import Compared
from advisor.evidence import opened
from advisor.reports.comparison_words import ANSWER_HEADER, MISSING
from app.views.clusters import ratio_row
from db.records import ClusterEvidence, OperatingPoint
from tests.advisor.comparison.twins import twin
from tests.app.conftest import Page, texts

PAPER, OURS = "matilda-8xv100", "2-cores-8-ranks"
_SCENARIO = ("--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[dict[str, str]]]:
    capsys.readouterr()
    assert run([*arguments, "--format", "json"]) == 0
    found: dict[str, list[dict[str, str]]] = json.loads(capsys.readouterr().out)
    return found


def test_the_tables_are_those_of_the_commands(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = page("clusters", beside=[OURS], of_mechanism=["ft1", "ft5"], of_architecture=["a2"])
    assert not shown.exception
    assert not shown.error
    answers, machines, cells = (each.value for each in shown.dataframe[:3])
    told = printed(capsys, "clusters", "recommend", *_SCENARIO, "--cluster", f"{PAPER},{OURS}")
    assert list(answers.columns) == list(ANSWER_HEADER)
    assert list(answers["cluster"]) == [row["cluster"] for row in told["answers"]]
    picks = [row["mechanism"] for row in told["answers"]]
    shown_picks = [str(name).split()[0].lower() for name in answers["mechanism"]]
    assert shown_picks == [pick or "none" for pick in picks]
    assert answers["best with"][0].endswith("%")
    asked = ("clusters", "compare", PAPER, OURS, "--architecture", "a2", "--mechanism", "ft1,ft5")
    compared = printed(capsys, *asked)
    assert list(machines.columns) == ["what", PAPER, OURS]
    assert len(cells) == len(compared["cells"]) > 0
    missing = sum(
        number["missing"] == "not_measured"
        for cell in compared["cells"]
        for number in cell["numbers"].values()  # type: ignore[attr-defined]
    )
    assert sum((cells[name] == MISSING).sum() for name in (PAPER, OURS)) == missing > 0
    (counts,) = compared["counts"]
    assert f"{counts['both']} numbers that both have" in texts(shown)


def test_only_what_all_have(page: Page) -> None:
    everything = page("clusters", beside=[OURS]).dataframe[2].value
    common = page("clusters", beside=[OURS], cells="of all clusters").dataframe[2].value
    assert 0 < len(common) < len(everything)
    assert not (common[[PAPER, OURS]] == MISSING).any().any()


def test_the_cluster_of_the_sidebar_is_the_baseline(page: Page) -> None:
    shown = page("clusters", cluster=OURS, beside=[PAPER], state_size="")
    assert not shown.exception
    assert list(shown.dataframe[1].value.columns) == ["what", OURS, PAPER]
    shown.selectbox(key="cluster").set_value(PAPER).run()
    assert not shown.exception


def test_alone_there_is_an_answer_and_nothing_to_compare(page: Page, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    with opened(str(own)):
        pass
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM clusters WHERE cluster <> ?", (PAPER,))
        connection.commit()
    shown = page("clusters", own)
    assert not shown.exception
    assert len(shown.dataframe) == 1
    assert list(shown.dataframe[0].value["cluster"]) == [PAPER]
    assert "Nothing to compare" in texts(shown)


def test_points_of_superseded_software_are_marked(page: Page, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    with opened(str(own)):
        pass
    with closing(sqlite3.connect(own)) as connection:
        stack = f"{PAPER}/torch-2.3.0"
        connection.execute(
            "INSERT INTO software_stacks (software_stack, cluster, torch) VALUES (?, ?, '9')",
            (f"{PAPER}/torch-9", PAPER),
        )
        connection.execute(
            "UPDATE software_stacks SET superseded_by = ? WHERE software_stack = ?",
            (f"{PAPER}/torch-9", stack),
        )
        connection.commit()
    shown = page("operating-points", own)
    assert set(shown.dataframe[0].value["superseded_by"]) == {f"{PAPER}/torch-9"}
    assert not shown.dataframe[0].value["is_set_aside"].any()
    shown = page("recommend", own)
    assert all("†" in code for code in shown.table[0].value["ev."])
    assert "superseded" in texts(shown)
    shown = page("runs", own)
    assert all("†" in words for words in shown.table[0].value["evidence"])
    assert f"superseded by {PAPER}/torch-9" in texts(shown)
    shown = page("clusters", own, beside=[OURS])
    assert not shown.exception
    assert shown.dataframe[0].value["ev."][0].endswith("†")
    machines = shown.dataframe[1].value.set_index("what")
    assert str(machines.loc["superseded software", PAPER]).startswith("torch 2.3.0")


def test_a_drawn_pair_says_what_is_unlike(matilda: ClusterEvidence) -> None:
    def other(point: OperatingPoint) -> OperatingPoint:
        return replace(point, state_bytes=10 * point.state_bytes, world_size=4)

    found = compare([matilda, twin(matilda, other), twin(matilda, name="same")], ["a2"], ["ft3"])
    drawn = [(ratio_row(row, 0), ratio_row(row, 1)) for row in found.rows]
    (stall,) = (pair for pair in drawn if pair[0] is not None and "stall per save" in pair[0].name)
    unlike, like = stall
    assert unlike is not None
    assert like is not None
    assert unlike.name == "A2 FT3 stall per save (204.7 MB | 2.047 GB, unlike in: state, ranks)"
    assert like.name == "A2 FT3 stall per save (204.7 MB)"
    assert unlike.words.startswith(f"{unlike.name}: 1 (")
    unmeasured = next(row for row in found.rows if row.key.compared is Compared.RESTORE)
    assert ratio_row(unmeasured, 0) is None
