"""Of a cluster with very many operating points the pages answer from what the commands read."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from advisor.cli import run
from advisor.decide import AXES, DEFAULT_AXES
from advisor.recommendation import Recommendation
from advisor.reports import words
from advisor.reports.document import from_document
from advisor.scenario import Scenario
from app import data
from app.data import Loaded
from app.markdown import escape
from db.excerpt import MOST_POINTS
from db.session import open_engine, writing
from tests.app.conftest import Page, texts
from tests.db.random_points import insert_random_points

CLUSTER = "matilda-8xv100"
SEED = 20261201
ASKED = {"architecture": "a2", "state-size": "200MB", "mtbf": "4h"}
QUESTION = [part for name, text in ASKED.items() for part in (f"--{name}", text)]
ADDRESS = {name.replace("-", "_"): text for name, text in ASKED.items()}


@pytest.fixture(scope="module")
def large(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped clusters, one of them with many points more."""
    path = tmp_path_factory.mktemp("large") / "large.db"
    shutil.copy(shipped_database, path)
    engine = open_engine(str(path))
    with writing(engine) as connection:
        insert_random_points(connection, Random(SEED), CLUSTER, MOST_POINTS + 500)
    engine.dispose()
    return path


def test_an_answer_that_the_command_line_saved_is_still_from_the_same(
    page: Page, large: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Path(shutil.copy(large, tmp_path / "own.db"))
    assert run(["recommend", *QUESTION, "--save", "--db", str(own)]) == 0
    assert "saved as" in capsys.readouterr().err
    shown = page("saved", own)
    assert not shown.exception
    assert "very many operating points" in texts(shown)
    assert "have changed since" not in texts(shown)
    engine = open_engine(str(own))
    with writing(engine) as connection:
        connection.exec_driver_sql(
            "UPDATE operating_point_values SET value = value * 1.1 WHERE quantity = 'restore_s'"
        )
    engine.dispose()
    assert "have changed since" in texts(page("saved", own))


def test_the_numbers_of_a_page_are_those_of_the_command(
    page: Page, large: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Frontier, which asks nothing more of them than their answer."""
    assert run(["recommend", *QUESTION, "--format", "json", "--db", str(large)]) == 0
    answer = from_document(json.loads(capsys.readouterr().out))
    assert any("very many operating points" in warning for warning in answer.warnings)
    shown = page("frontier", large, **ADDRESS)
    assert not shown.exception
    expected = [
        [words.label(c), *(words.axis_words(axis)(getattr(c, AXES[axis])) for axis in DEFAULT_AXES)]
        for c in answer.candidates
        if c.terms is not None
    ]
    assert len(expected) > 3
    table = shown.table[0].value.reset_index()
    cells = [[escape(cell) for cell in row] for row in expected]
    assert table.iloc[:, :3].to_numpy().tolist() == cells


def test_the_page_of_clusters_reads_the_same(
    page: Page, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, bool] = {}

    def noted(found: Loaded, scenario: Scenario) -> Recommendation:
        read[found.evidence.cluster.cluster] = found.evidence.excerpt is not None
        return data.recommend(found, scenario)

    monkeypatch.setattr(data, "surely", noted)
    other = "2-cores-8-ranks"
    shown = page("clusters", large, beside=[other], **ADDRESS)
    assert not shown.exception
    assert read == {CLUSTER: True, other: False}
