"""The Recommend page says of each mechanism whether it was drilled."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from advisor.defaults import DEFAULT_CLUSTER
from tests.app.conftest import Page, texts

_CAMPAIGN = f"""
INSERT INTO campaigns (campaign, cluster, command, seed, status, created_at)
VALUES ('c', '{DEFAULT_CLUSTER}', 'advisor drill', 0, 'complete', :now)
"""
_DRILL = """
INSERT INTO drills (run_id, campaign, drill, architecture, mechanism, planned_at, expected,
  deadline_s, result, reason)
VALUES ('c/' || :mechanism, 'c', 'crash', 'a2', :mechanism, :now, 'recovered', 60.0, :result,
  :reason)
"""


@pytest.fixture
def drilled(shipped_database: Path, tmp_path: Path) -> Path:
    """A database in which FT1 passed a drill on the paper's cluster today, and FT2 failed one."""
    path = tmp_path / "drilled.db"
    shutil.copy(shipped_database, path)
    now = {"now": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(_CAMPAIGN, now)
        for mechanism, result, reason in (("ft1", "passed", ""), ("ft2", "failed", "it halted")):
            row = {"mechanism": mechanism, "result": result, "reason": reason, **now}
            connection.execute(_DRILL, row)
        connection.commit()
    return path


def test_a_cluster_without_drills_has_one_line(page: Page) -> None:
    shown = page("recommend")
    assert texts(shown).count("no mechanism was drilled on this cluster") == 1
    assert not [code for code in shown.table[0].value["ev."] if "‡" in code]


def test_each_candidate_has_its_mark_and_its_reason(page: Page, drilled: Path) -> None:
    shown = page("recommend", database=drilled)
    said = texts(shown)
    assert "no mechanism was drilled" not in said
    assert "FT1\\: 1 drill passed" in said or "FT1: 1 drill passed" in said
    assert "it halted (run c/ft2)" in said.replace("\\", "")
    table = shown.table[0].value
    marked = {str(name).split()[0]: "‡" in code for name, code in table["ev."].items()}
    assert marked["FT1"] is False
    assert marked["FT2"] is True
    assert marked["FT3"] is True
