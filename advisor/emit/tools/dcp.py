"""torch.distributed.checkpoint: checkpoints of the training script itself, on shared storage."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import (
    NEWEST_OF_ONE_KIND,
    OLD_ONES_ARE_KEPT,
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
    partly,
)

_PEER = "it writes to storage only: no rank's state gets into another rank's memory"
_IMPORTS = """\
import os
{signal}from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
"""
_START = '''
def start():
    """Forms the process group: gloo beside NCCL, for what the checkpoints agree on."""
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=TIMEOUT_S))
'''
_RESTORE = '''

def newest():
    """The step of the newest whole checkpoint; 0 if there is none. Its metadata is written last."""
    names = (path.parent.name for path in Path(FOLDER).glob("step-*/.metadata"))
    step = max((int(name.removeprefix("step-")) for name in names), default=0)
    box = [step]
    if dist.is_initialized():
        # One rank decides: a shared file system may not show all ranks the same files yet.
        dist.broadcast_object_list(box, src=0)
    return box[0]


def restore(state):
    """Fills the state dict in place; returns the step that training goes on from."""
    step = newest()
    if step > 0:
        dcp.load(state, checkpoint_id=_folder(step))
    return step


def _folder(step):
    return str(Path(FOLDER) / f"step-{step}")
'''
_FOREGROUND = '''

def save(step, state):
    """Returns when the checkpoint is whole."""
    dcp.save(state, checkpoint_id=_folder(step))
'''
_BACKGROUND = '''

_going_on, _group = None, None


def save_in_background(step, state):
    """Returns when the copy is made; waits for the save before, so that two never meet."""
    global _going_on, _group
    finish()
    if _group is None and dist.is_initialized():
        # Of its own: what goes on in the background must not mix with training's collectives.
        _group = dist.new_group(backend="gloo")
    _going_on = dcp.async_save(state, checkpoint_id=_folder(step), process_group=_group)


def finish():
    """Waits for the save that goes on. Call it before the process group is destroyed."""
    global _going_on
    if _going_on is not None:
        _going_on.result()
        _going_on = None
'''
_DEVICE = """
# Where ranks tell each other of a warning: gloo takes tensors of the host.
DEVICE = "cpu"
"""
_AFTER_STEP = '''

def after_step(step, state):
    """Call it on every rank after each step, with a function that gives the state dict.

    Returns whether training goes on{when}.
    """
'''
_WHEN = ": after a warning it does not"
_PERIODIC = """\
    if step % INTERVAL_STEPS == 0:
        {save}(step, state())
"""
_STOP = """\
    if warned():
        save(step, state())
        return False
"""
_STOP_IN_BACKGROUND = _STOP.replace("        save", "        finish()\n        save")


class DistributedCheckpoint(Tool):
    """A module for the training script."""

    name = "dcp"
    title = "torch.distributed.checkpoint"
    verified = Verified("torch", "2.13.0", "its signatures, and by running it")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("dcp.save, every rank its own part"),
        Need.BACKGROUND: can("dcp.async_save from a copy in host memory"),
        **in_peers(cannot(_PEER)),
        Need.WARNING: partly(
            "the save on a warning goes to storage instead of a peer's memory, so the lead has to "
            "cover a save to storage; then the job ends, and has to be started again"
        ),
        Need.SURVIVORS: cannot("it keeps checkpoints; forming the group anew is not its matter"),
        Need.NOTHING: can("nothing is saved; only the timeout is set"),
    }
    composed = can(NEWEST_OF_ONE_KIND)

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        return (
            Part(
                "checkpoint",
                Syntax.PYTHON,
                loop_settings(plan),
                before=_imports(plan),
                after=_code(plan),
            ),
        )

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [
            "start the job again after a failure (see torchrun); the timeout holds from the first "
            "collective on, so it has to cover compilation and warm-up too",
        ]
        if not plan.has(Need.NOTHING):
            told.append(OLD_ONES_ARE_KEPT)
        return (*told, *slurm_signal(plan))


def _imports(plan: Plan) -> str:
    signal = f"{WARNING_IMPORTS}\n" if plan.lead else ""
    return _IMPORTS.format(signal=signal)


def _code(plan: Plan) -> str:
    if plan.has(Need.NOTHING):
        return _START
    background, warned = plan.has(Need.BACKGROUND), plan.lead is not None
    code = [_START, _RESTORE]
    if background:
        code.append(_BACKGROUND)
    if not background or warned:
        code.append(_FOREGROUND)
    if warned:
        code += ["\n", _DEVICE, WARNING]
    code.append(_AFTER_STEP.format(when=_WHEN if warned else ""))
    if warned:
        code.append(_STOP_IN_BACKGROUND if background else _STOP)
    if background or plan.has(Need.STORAGE):
        code.append(_PERIODIC.format(save="save_in_background" if background else "save"))
    code.append("    return True\n")
    return "".join(code)


TOOL = DistributedCheckpoint()
