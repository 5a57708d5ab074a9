"""The Trainer of Hugging Face transformers: its TrainingArguments."""

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
    whole,
)
from advisor.units import format_duration

_GROUP = "TRAINING_ARGUMENTS"
_WAIT_S = 3.0
"""How long the Trainer waits after SIGTERM before it asks for a save."""
_IMPORTS = """\
import os
from pathlib import Path

from transformers import TrainingArguments
"""
_CODE = '''
arguments = TrainingArguments(output_dir=FOLDER, **TRAINING_ARGUMENTS)


def newest():
    """What to go on from: `trainer.train(resume_from_checkpoint=newest())`; None at first.

    Only a checkpoint that is whole: its trainer_state.json is written last.
    """
    states = Path(FOLDER).glob("checkpoint-*/trainer_state.json")
    whole = [s.parent for s in states if not (s.parent / "checkpoint-is-incomplete.txt").exists()]
    found = max(whole, key=lambda path: int(path.name.removeprefix("checkpoint-")), default=None)
    return None if found is None else str(found)
'''


class HuggingFaceTrainer(Tool):
    """A module for the training script."""

    name = "hf-trainer"
    title = "Hugging Face Trainer"
    verified = Verified("transformers", "5.24.0", "its config class")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("save_strategy steps"),
        Need.BACKGROUND: cannot("its Trainer waits for every save; no argument changes that"),
        **in_peers(cannot(STORAGE_ONLY)),
        Need.WARNING: partly(
            "enable_jit_checkpoint saves on SIGTERM, to storage instead of a peer's memory, and "
            f"only after {_WAIT_S:g} s; then the job ends, and has to be started again"
        ),
        Need.SURVIVORS: cannot("a Trainer keeps its number of ranks"),
        Need.NOTHING: can("save_strategy no"),
    }
    composed = can(NEWEST_OF_ONE_KIND)

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        settings = [checkpoint_folder()]
        settings += [each for act in plan.acts for each in _saves(act)]
        if all(act.interval is None for act in plan.acts):
            settings.append(fixed("save_strategy", "no", "no periodic saves", group=_GROUP))
        settings.append(setting("ddp_timeout", plan.timeout, whole(plan.timeout), group=_GROUP))
        return (Part("arguments", Syntax.PYTHON, tuple(settings), before=_IMPORTS, after=_CODE),)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [STARTED_AGAIN]
        if plan.lead is None:
            return tuple(told)
        least_s = _WAIT_S + plan.step_time_s
        told += slurm_signal(plan)
        if plan.lead.value <= least_s:
            told.append(
                f"the lead of {format_duration(plan.lead.value)} is too short: "
                f"{format_duration(least_s)} go by before the save begins"
            )
        return tuple(told)


def _saves(act: Act) -> list[Setting]:
    if act.need is Need.WARNING:
        return [fixed("enable_jit_checkpoint", True, "saves on SIGTERM", group=_GROUP)]
    if act.interval is None:
        return []
    return [
        fixed("save_strategy", "steps", f"{act.name}: training waits", group=_GROUP),
        setting("save_steps", act.interval, group=_GROUP),
        fixed("save_total_limit", 2, "older ones are deleted: of two, one is whole", group=_GROUP),
    ]


TOOL = HuggingFaceTrainer()
