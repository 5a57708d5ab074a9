"""Every drill that the harness knows, for real: `make drills`. DRILL_PROFILE says how large."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from advisor.drills.catalogue import DRILLS
from tests.integration.campaigns import ROOT, ask

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

_PROFILE = os.environ.get("DRILL_PROFILE", "smoke")


def test_every_promise_is_kept(tmp_path: Path) -> None:
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    options = ["--profile", _PROFILE, "--device", "cpu", "--cluster", "tiny"]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "advisor", "drill", *options, *place],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, f"{time.monotonic() - began:.0f} s")
    counted = ask(tmp_path, "SELECT result, COUNT(*) FROM drills GROUP BY result")
    reasons = ask(tmp_path, "SELECT drill, mechanism, reason FROM drills WHERE reason <> ''")
    assert done.returncode == 0, (reasons, done.stderr)
    assert ask(tmp_path, "SELECT COUNT(*) FROM drills") == [(sum(len(d.promises) for d in DRILLS),)]
    assert [result for result, _ in counted] == ["passed"]
    shutil.rmtree(tmp_path / "runs")
