"""Plans as an answer gives them, and how a tool reads what is written for it."""

import subprocess
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from advisor.emit.emitting import Emitted, emit
from advisor.emit.needs import Need
from advisor.emit.plan import Act, Number, Plan
from advisor.emit.tool import Part, Syntax, Tool, Variable
from advisor.emit.writers import write

MECHANISM = {
    Need.STORAGE: "ft1",
    Need.PEER: "ft2",
    Need.BACKGROUND: "ft3",
    Need.WARNING: "ft4",
    Need.EVERY_STEP: "ft5",
    Need.PEERS: "ft6",
    Need.SURVIVORS: "ft8",
    Need.NOTHING: "ft9",
}
_INTERVALS = {
    Need.STORAGE: 351,
    Need.BACKGROUND: 553,
    Need.PEER: 1005,
    Need.PEERS: 1343,
    Need.EVERY_STEP: 1,
}
COMMAND = "advisor emit --for something"


def plan(*needs: Need, timeout_s: float = 30.5, lead_s: float = 60.0) -> Plan:
    """A plan of the mechanisms with these needs."""
    warned = Need.WARNING in needs
    return Plan(
        acts=tuple(_act(need) for need in needs),
        timeout=Number(timeout_s, "s", "scenario.detection_s", "the detection time", "given"),
        restarts=Number(232, "", "candidate.terms.failures", "enough restarts", "derived"),
        lead=_lead(lead_s) if warned else None,
        ranks_per_node=Number(4, "ranks", "scenario.cluster", "the ranks of a node", "given"),
        step_time_s=0.1,
    )


def _act(need: Need) -> Act:
    steps = _INTERVALS.get(need)
    interval = (
        None
        if steps is None
        else Number(steps, "steps", "candidate.interval_steps", "the interval", "M, measured")
    )
    replicas = {Need.PEER: 1, Need.EVERY_STEP: 1, Need.WARNING: 1, Need.PEERS: 2}.get(need, 0)
    return Act(MECHANISM[need], f"the mechanism for {need}", need, interval, replicas)


def _lead(seconds: float) -> Number:
    return Number(seconds, "s", "scenario.warning_lead_s", "the warning lead", "given")


def emitted(tool: Tool, *needs: Need, **changes: float) -> Emitted:
    return emit(tool, plan(*needs, **changes))


def arguments(found: Emitted, part: Part, folder: Path, program: str | None = None) -> list[str]:
    """What the tool is started with when bash runs the script, beside the reader's own `train.py`.

    `program` is the word that the script starts; without it, it starts what it is given.
    """
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    fake = bin_folder / (program or "starter")
    fake.write_text('#!/bin/bash\nprintf "%s\\0" "$@"\n')
    fake.chmod(0o700)
    script = folder / "script.sh"
    script.write_text(write(found, part, COMMAND), encoding="utf-8")
    variables = {
        each.value.name: f"/a folder/of '{each.value.name}'"
        for each in part.settings + part.environment
        if isinstance(each.value, Variable)
    }
    own = ["train.py"] if program else ["starter", "train.py"]
    done = subprocess.run(
        ["/bin/bash", str(script), *own],
        env={"PATH": f"{bin_folder}:/bin:/usr/bin"} | variables,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.rstrip("\0").split("\0")


def run_module(
    found: Emitted, part: Part, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> dict[str, Any]:
    """The names that the module has once it is imported; its folder is `folder`."""
    assert part.syntax is Syntax.PYTHON
    for each in part.settings:
        if isinstance(each.value, Variable):
            monkeypatch.setenv(each.value.name, str(folder))
    names: dict[str, Any] = {"__name__": part.name}
    exec(compile(write(found, part, COMMAND), f"{part.name}.py", "exec"), names)  # noqa: S102
    return names


def installed(name: str, version: str) -> ModuleType:
    """The tool's module; the test is skipped where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = import_module(name)
        except ImportError as error:
            pytest.skip(f"needs {name} {version}, which is not installed ({error})")
    return module
