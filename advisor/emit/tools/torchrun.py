"""torchrun, the launcher of PyTorch: restarts and rendezvous; it saves nothing."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import in_peers
from advisor.emit.needs import Need
from advisor.emit.plan import Plan
from advisor.emit.tool import (
    Ability,
    Part,
    Setting,
    Syntax,
    Tool,
    Variable,
    Verified,
    can,
    cannot,
    fixed,
    partly,
    setting,
    whole,
)

_SAVES = (
    "it starts all processes again; the saves, and going on from them, are the training script's "
    "(see dcp)"
)
_MEMORY = (
    "a restart ends every process of the job, and the copies that they hold in memory with them"
)


class Torchrun(Tool):
    """Options of the launcher."""

    name = "torchrun"
    title = "torchrun"
    verified = Verified("torch", "2.13.0", "its parser")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: partly(_SAVES),
        Need.BACKGROUND: partly(_SAVES),
        **in_peers(cannot(_MEMORY)),
        Need.WARNING: partly(
            "it hands the signal on and gives the processes the lead; the save is the training "
            "script's (see dcp)"
        ),
        Need.SURVIVORS: cannot(
            "with --nnodes=MIN:MAX a job goes on with fewer nodes, but every process starts anew, "
            "so the state of the survivors is lost"
        ),
        Need.NOTHING: can("without restarts a failure ends the job"),
    }
    composed = can("each mechanism is a matter of its own options")

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        options = [
            setting("--max-restarts", plan.restarts),
            fixed("--rdzv-backend", "c10d", "restarts of several nodes meet there"),
            fixed(
                "--rdzv-endpoint",
                Variable("RDZV_ENDPOINT", "host:port of one of the nodes"),
                "the same on every node",
            ),
        ]
        if plan.lead is not None:
            options.append(setting("--shutdown-timeout", plan.lead, whole(plan.lead)))
        return (
            Part(
                "launch",
                Syntax.COMMAND,
                tuple(options),
                environment=(_OWN_STORE,),
                program='torchrun OPTIONS "$@"',
            ),
        )

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        return (
            "ranks that wait for a lost one give up after the timeout that the training script "
            f"gives to init_process_group: {plan.timeout.value:g} s by the answer (see dcp)",
            "append the options and the script that you start torchrun with, such as "
            "--nnodes and --nproc-per-node",
        )


_OWN_STORE: Setting = fixed(
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
    "1",
    "with torch 2.13 a gloo job did not come back without it: restarted processes read addresses "
    "of the ones before them from the shared store",
)

TOOL = Torchrun()
