"""The folder of a run that another process may take."""

from pathlib import Path

import pytest

from measure import run_folder
from measure.errors import TakenOverError
from measure.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folder, "_LOOKS_S", 0.0)
    made = tmp_path / "run"
    made.mkdir()
    return made


def test_a_folder_is_ones_own(folder: Path) -> None:
    ours = RunFolder(folder)
    assert not ours.look()
    ours.require_own()


@pytest.mark.parametrize("is_made_anew", [True, False])
def test_a_folder_that_was_put_aside_is_anothers(folder: Path, is_made_anew: bool) -> None:
    ours = RunFolder(folder)
    folder.rename(folder.with_name("run.aside-1"))
    if is_made_anew:
        folder.mkdir()
    assert not ours.is_taken
    assert ours.look()
    assert ours.is_taken
    with pytest.raises(TakenOverError, match="another process runs this cell now"):
        ours.require_own()


def test_a_file_system_is_not_asked_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "_LOOKS_S", 60.0)
    ours = RunFolder(folder)
    folder.rename(folder.with_name("run.aside-1"))
    assert not ours.look()
    with pytest.raises(TakenOverError):
        ours.require_own()
