"""What the app says is what `advisor recommend --format json` says, over random scenarios."""

import json
import random
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from advisor.cli import run
from advisor.inputs import BY_OPTION, INPUTS
from advisor.recommendation import Recommendation
from advisor.reports import words
from advisor.reports.document import from_document
from app.markdown import escape, message
from tests.app.conftest import Page

_SCENARIOS, _SEED = 200, 20261129
_CHOICES: dict[str, tuple[str, ...]] = {
    "architecture": ("a1-sync", "a1-async", "a2", "a2", "a3", "a4", "a5", "a6", "a7"),
    "state-size": ("204.7MB", "100MB", "700MB", "2567MB", "2.6GB", "10GB"),
    "mtbf": ("10m", "4h", "3d", "100d"),
    "step-time": ("", "112.3ms", "33ms", "1s"),
    "duration": ("", "30d", "6h"),
    "interval": ("", "auto", "measured", "100", "500"),
    "mechanism": ("", "", "ft1,ft2", "ft4"),
    "max-overhead": ("", "", "5%", "35%", "0.1%"),
    "max-restore": ("", "", "150ms", "5s"),
    "max-pause": ("", "", "700s", "10s"),
    "warning-lead": ("", "500ms", "2s", "15s"),
    "warning-coverage": ("", "100%", "90%"),
    "failure-regime": ("", "", "multi"),
    "detection": ("", "30s", "600s"),
    "regroup": ("", "2s", "10s"),
    "storage-write": ("", "", "100MB/s", "10Gbit/s"),
    "host-memory": ("", "", "1GB", "192GB"),
    "restore-basis": ("", "calibrated"),
}


def scenario(chance: random.Random) -> dict[str, str]:
    drawn = {option: chance.choice(values) for option, values in _CHOICES.items()}
    if not drawn["warning-lead"]:
        drawn["warning-coverage"] = ""
    return drawn


def from_command_line(
    texts: dict[str, str], database: Path, capsys: pytest.CaptureFixture[str]
) -> Recommendation:
    stated = [part for name, text in texts.items() if text for part in (f"--{name}", text)]
    capsys.readouterr()
    assert run(["recommend", *stated, "--format", "json", "--db", str(database)]) == 0
    return from_document(json.loads(capsys.readouterr().out))


def fill(shown: AppTest, texts: dict[str, str]) -> None:
    """Types the scenario into the sidebar."""
    for option, text in texts.items():
        if option == "architecture":
            shown.selectbox(key=option).set_value(text)
        elif option in ("failure-regime", "restore-basis"):
            shown.selectbox(key=option).set_value(text or BY_OPTION[option].default)
        elif option == "mechanism":
            shown.multiselect(key=option).set_value(text.split(",") if text else [])
        else:
            shown.text_input(key=option).set_value(text)


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_200_random_scenarios(
    page: Page, shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(_CHOICES) <= {each.option for each in INPUTS}
    chance, shown = random.Random(_SEED), page("recommend")
    selected = set()
    for _ in range(_SCENARIOS):
        texts = scenario(chance)
        answer = from_command_line(texts, shipped_database, capsys)
        fill(shown, texts)
        shown.run()
        assert not shown.exception, texts
        assert shown.header[0].value == escape(words.headline(answer)), texts
        assumed = next(t.value for t in shown.table if "from" in t.value.columns).reset_index()
        rows = [[escape(cell) for cell in row] for row in words.scenario_rows(answer.scenario)]
        assert assumed.to_numpy().tolist() == rows, texts
        if answer.candidates:
            cells = [[escape(cell) for cell in words.candidate_cells(c)] for c in answer.candidates]
            table = shown.table[0].value.reset_index()
            assert table.to_numpy().tolist() == cells, texts
        said = [w.value for w in shown.warning]
        assert said == [message(w) for w in answer.warnings], texts
        everything = "\n".join(str(m.value) for m in shown.markdown)
        for excluded in answer.excluded:
            assert escape(words.excluded_line(excluded)) in everything, texts
        selected.add(answer.selected.mechanism if answer.selected else "")
    # The scenarios are varied enough to mean something.
    assert len(selected) >= 5
