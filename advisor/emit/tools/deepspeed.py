"""DeepSpeed: its configuration, and the calls that its configuration does not make."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import (
    OLD_ONES_ARE_KEPT,
    STARTED_AGAIN,
    STORAGE_ONLY,
    in_peers,
    loop_settings,
    slurm_signal,
)
from advisor.emit.needs import Need
from advisor.emit.plan import Plan
from advisor.emit.snippets import WARNING, WARNING_IMPORTS
from advisor.emit.tool import (
    Ability,
    Part,
    Syntax,
    Tool,
    Verified,
    can,
    cannot,
    fixed,
    partly,
)
from advisor.errors import UserError

_IMPORTS = """\
import os
{signal}
from datetime import timedelta

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.accelerator import get_accelerator
"""
_START = '''
def start():
    """Forms the process group; call it before deepspeed.initialize."""
    deepspeed.init_distributed(timeout=timedelta(seconds=TIMEOUT_S))
'''
_CONFIG = """
# Merge it into the configuration that deepspeed.initialize is given.
CONFIG = {"checkpoint": {"writer": CHECKPOINT_WRITER}}
"""
_DEVICE = """

DEVICE = get_accelerator().current_device_name()
"""
_CHECKPOINTS = '''

_saved_at = 0


def restore(engine):
    """Returns what was kept beside the state; an empty dict if there is no checkpoint yet."""
    global _saved_at
    path, client_state = engine.load_checkpoint(FOLDER)
    _saved_at = engine.global_steps
    return client_state if path is not None else {}


def after_step(engine, client_state):
    """Call it on every rank after each engine.step().

    `client_state` is what your script needs beside model and optimizer, such as its place in the
    data. Returns whether training goes on{when}.
    """
'''
_WHEN = ": after a warning it does not"
_PERIODIC = """\
    global _saved_at
    # Once for each update of the weights, however many micro-batches it takes.
    if engine.global_steps != _saved_at and engine.global_steps % INTERVAL_STEPS == 0:
        engine.save_checkpoint(FOLDER, client_state=client_state)
        _saved_at = engine.global_steps
"""
_STOP = """\
    if warned():
        engine.save_checkpoint(FOLDER, client_state=client_state)
        return False
"""


class DeepSpeed(Tool):
    """A module for the training script: no option of DeepSpeed says when to save."""

    name = "deepspeed"
    title = "DeepSpeed"
    verified = Verified("deepspeed", "0.19.8", "its config reader and its signatures")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("engine.save_checkpoint, called every so many steps"),
        Need.BACKGROUND: partly(
            "its decoupled writer reads the live state, so the next update of the weights waits "
            "for it: a save overlaps with one forward and backward pass, no more (Nebula, which "
            "kept a copy, was removed)"
        ),
        **in_peers(cannot(STORAGE_ONLY)),
        Need.WARNING: partly(
            "it handles no signal itself; the code given here does, saves to storage instead of a "
            "peer's memory, and ends the job, which has to be started again"
        ),
        Need.SURVIVORS: cannot("its elastic training was removed"),
        Need.NOTHING: can("it saves nothing unless it is called"),
    }
    composed = can(
        "all saves are checkpoints of the same kind, and the newest one is restored; a save on a "
        "warning cannot be had beside the decoupled writer"
    )

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        if plan.lead is not None and plan.has(Need.BACKGROUND):
            raise UserError(
                f"{plan.mechanisms} cannot be had at once: a save of DeepSpeed's decoupled writer "
                "becomes whole only in the update of the weights that comes after it"
            )
        settings = [*loop_settings(plan)]
        if plan.has(Need.BACKGROUND):
            settings += [
                fixed("type", "PYTHON", "plain files", group="CHECKPOINT_WRITER"),
                fixed("decoupled", True, "written by another process", group="CHECKPOINT_WRITER"),
            ]
        return (
            Part(
                "checkpoint",
                Syntax.PYTHON,
                tuple(settings),
                before=_imports(plan),
                after=_code(plan),
            ),
        )

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [
            "the timeout is set in the code since DEEPSPEED_TIMEOUT counts whole minutes",
            STARTED_AGAIN,
        ]
        if not plan.has(Need.NOTHING):
            told.append(OLD_ONES_ARE_KEPT)
        return (*told, *slurm_signal(plan))


def _imports(plan: Plan) -> str:
    if plan.lead is None:
        return "import os\nfrom datetime import timedelta\n\nimport deepspeed\n"
    return _IMPORTS.format(signal=WARNING_IMPORTS)


def _code(plan: Plan) -> str:
    code = [_START]
    if plan.has(Need.BACKGROUND):
        code.insert(0, _CONFIG + "\n")
    if plan.has(Need.NOTHING):
        return "".join(code)
    if plan.lead is not None:
        code += [_DEVICE, WARNING]
    code.append(_CHECKPOINTS.replace("{when}", _WHEN if plan.lead is not None else ""))
    if plan.lead is not None:
        code.append(_STOP)
    if plan.has(Need.STORAGE, Need.BACKGROUND):
        code.append(_PERIODIC)
    code.append("    return True\n")
    return "".join(code)


TOOL = DeepSpeed()
