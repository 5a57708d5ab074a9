"""torchtitan: options that override its configuration."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import STORAGE_ONLY, in_peers
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
    setting,
    whole,
)


class Torchtitan(Tool):
    """Options of `torchtitan.train`."""

    name = "torchtitan"
    title = "torchtitan"
    verified = Verified("torchtitan", "0.3.0", "its config classes, through tyro")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("checkpoint.async_mode disabled"),
        Need.BACKGROUND: can("checkpoint.async_mode async_with_pinned_mem"),
        **in_peers(cannot(STORAGE_ONLY)),
        Need.WARNING: cannot("it handles no signal, so nothing is saved when a warning comes"),
        Need.SURVIVORS: cannot(
            "only its experiment torchft goes on without a lost group of replicas, with a "
            "configuration of its own"
        ),
        Need.NOTHING: can("checkpoints are off unless they are asked for"),
    }
    composed = can("both are saves of its one checkpoint manager")

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        options = [each for act in plan.acts for each in _checkpoints(act)]
        options.append(setting("--comm.train-timeout-seconds", plan.timeout, whole(plan.timeout)))
        return (Part("options", Syntax.COMMAND, tuple(options), program='"$@" OPTIONS'),)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        return (
            "run the file with the command that you start training with, such as "
            "torchrun --nproc-per-node 8 -m torchtitan.train --module llama3 --config "
            "llama3_8b; restarts are the launcher's (see torchrun)",
            "the first step has a timeout of its own, --comm.init-timeout-seconds, which stays",
        )


def _checkpoints(act: Act) -> list[Setting]:
    if act.interval is None:
        return []
    background = act.need is Need.BACKGROUND
    return [
        fixed("--checkpoint.enable", True, f"{act.name}: saves, and goes on from the newest one"),
        setting("--checkpoint.interval", act.interval),
        fixed(
            "--checkpoint.async-mode",
            "async_with_pinned_mem" if background else "disabled",
            "written from pinned host memory while training goes on"
            if background
            else "training waits for the save",
        ),
        fixed("--checkpoint.keep-latest-k", 2, "older ones are deleted: of two, one is whole"),
    ]


TOOL = Torchtitan()
