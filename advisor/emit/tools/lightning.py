"""Lightning: callbacks, plugins and a strategy for its Trainer."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import (
    NEWEST_OF_ONE_KIND,
    STARTED_AGAIN,
    STORAGE_ONLY,
    checkpoint_folder,
    in_peers,
    slurm_signal,
)
from advisor.emit.needs import Need
from advisor.emit.plan import Act, Plan
from advisor.emit.tool import (
    Ability,
    Part,
    Setting,
    Syntax,
    Tool,
    Verified,
    can,
    cannot,
    fixed,
    partly,
    setting,
)

_GROUP = "MODEL_CHECKPOINT"
_IMPORTS = """\
import os
from datetime import timedelta
from pathlib import Path

{imports}
"""
_CHECKPOINT = "from lightning.pytorch.callbacks import ModelCheckpoint"
_ASYNC = "from lightning.pytorch.plugins.io import AsyncCheckpointIO"
_STRATEGY = "from lightning.pytorch.strategies import DDPStrategy"
_TRAINER = """
# Hand these to your Trainer. Another strategy than DDP takes the same `timeout`.
TRAINER = {{
    "strategy": DDPStrategy(timeout=timedelta(seconds=TIMEOUT_S)),
{more}}}
"""
_CALLBACKS = """\
    "callbacks": [ModelCheckpoint(FOLDER, **MODEL_CHECKPOINT)],
"""
_PLUGINS = """\
    "plugins": [AsyncCheckpointIO()],
"""
_OFF = """\
    "enable_checkpointing": False,
"""
_NEWEST = '''

def newest():
    """What to go on from: `trainer.fit(model, ckpt_path=newest())`; None at the first start."""
    files = Path(FOLDER).glob("step=*.ckpt")
    return max(files, key=lambda path: int(path.stem.removeprefix("step=")), default=None)
'''


class Lightning(Tool):
    """A module for the training script."""

    name = "lightning"
    title = "Lightning"
    verified = Verified("lightning", "2.6.6", "its classes")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("ModelCheckpoint with every_n_train_steps"),
        Need.BACKGROUND: can("the same, with AsyncCheckpointIO"),
        **in_peers(cannot(STORAGE_ONLY)),
        Need.WARNING: partly(
            "on SIGTERM to rank 0 it saves to storage after the step and ends the job, which has "
            "to be started again; the lead has to cover a save to storage instead of a peer's "
            "memory, and a failure without a warning also tries to save before it ends"
        ),
        Need.SURVIVORS: cannot("a Trainer keeps its number of ranks"),
        Need.NOTHING: can("enable_checkpointing is off"),
    }
    composed = can(NEWEST_OF_ONE_KIND)

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        settings = [setting("TIMEOUT_S", plan.timeout)]
        if not plan.has(Need.NOTHING):
            settings.append(checkpoint_folder())
            settings += [each for act in plan.acts for each in _checkpoint(act)]
            if all(act.interval is None for act in plan.acts):
                settings.append(fixed("every_n_epochs", 0, "no periodic saves", group=_GROUP))
            settings += _keeping(plan)
        return (
            Part(
                "trainer",
                Syntax.PYTHON,
                tuple(settings),
                before=_imports(plan),
                after=_code(plan),
            ),
        )

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [STARTED_AGAIN]
        if plan.has(Need.BACKGROUND):
            told.append(
                "old checkpoints are kept: Lightning would delete the one before while the newest "
                "is still being written"
            )
        return (*told, *slurm_signal(plan))


def _checkpoint(act: Act) -> list[Setting]:
    if act.need is Need.WARNING:
        return [fixed("save_on_exception", True, "SIGTERM becomes one", group=_GROUP)]
    assert act.interval is not None
    return [setting("every_n_train_steps", act.interval, group=_GROUP)]


def _keeping(plan: Plan) -> list[Setting]:
    background = plan.has(Need.BACKGROUND)
    return [
        fixed(
            "save_top_k",
            -1 if background else 1,
            "all are kept" if background else "older ones are deleted once the newest is whole",
            group=_GROUP,
        ),
        fixed("filename", "{step}", "so that the newest can be told", group=_GROUP),
        fixed("enable_version_counter", False, "one file a step", group=_GROUP),
        fixed("save_on_train_epoch_end", False, "steps alone decide", group=_GROUP),
    ]


def _imports(plan: Plan) -> str:
    if plan.has(Need.NOTHING):
        return f"from datetime import timedelta\n\n{_STRATEGY}\n"
    lines = [_CHECKPOINT, *([_ASYNC] if plan.has(Need.BACKGROUND) else []), _STRATEGY]
    return _IMPORTS.format(imports="\n".join(lines))


def _code(plan: Plan) -> str:
    if plan.has(Need.NOTHING):
        return _TRAINER.format(more=_OFF)
    more = _CALLBACKS + (_PLUGINS if plan.has(Need.BACKGROUND) else "")
    return _TRAINER.format(more=more) + _NEWEST


TOOL = Lightning()
