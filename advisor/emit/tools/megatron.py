"""Megatron-LM: arguments of its training scripts."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import CHECKPOINT_FOLDER, IN_PEERS, LOCAL_FOLDER, in_peers, slurm_signal
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

_LOCAL = (
    "copies are files on a node's own storage or RAM disk, written with torch.save, and need "
    "nvidia-resiliency-ext: a save takes longer than a copy into pinned memory, as measured here"
)


class Megatron(Tool):
    """Options of pretrain_gpt.py and its like."""

    name = "megatron"
    title = "Megatron-LM"
    verified = Verified(
        "Megatron-LM",
        "commits 008e9cdb (training_config.py) and 05830077 (common_config.py)",
        "its source",
    )
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: can("--save-interval"),
        Need.BACKGROUND: can("--save-interval with --async-save"),
        **in_peers(partly(_LOCAL)),
        Need.WARNING: partly(
            "--exit-signal-handler saves to storage instead of a peer's memory, so the lead has to "
            "cover a save to storage; then the job ends, and has to be started again"
        ),
        Need.SURVIVORS: cannot("its parallel groups keep their size; nothing goes on with fewer"),
        Need.NOTHING: can("without --save nothing is kept"),
    }
    composed = can("the newer of the local and the shared checkpoint is restored")

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        options = [each for act in plan.acts for each in _SAVES[act.need](plan, act)]
        options.append(
            setting("--distributed-timeout-seconds-after-init", plan.timeout, whole(plan.timeout))
        )
        return (Part("options", Syntax.COMMAND, tuple(options), program='"$@" OPTIONS'),)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [
            "run the file with the command that you start training with, such as "
            "torchrun --nproc-per-node 8 pretrain_gpt.py; restarts are the launcher's (see "
            "torchrun, nvrx)",
            "until the first step is over, --distributed-timeout-minutes holds, which stays",
        ]
        if not plan.has(Need.NOTHING):
            told.append("old checkpoints on --save are kept, unless --save-retain-interval is set")
        if plan.has(*IN_PEERS):
            told.append(
                "name a folder of each node's own that outlives the processes: a restart reads the "
                "copies from it"
            )
        return (*told, *slurm_signal(plan))


def _shared(plan: Plan, act: Act) -> list[Setting]:
    return [
        fixed("--save", CHECKPOINT_FOLDER, f"{act.name}: where the checkpoints are"),
        fixed("--load", CHECKPOINT_FOLDER, "and where training goes on from"),
        fixed("--ckpt-format", "torch_dist", "every rank writes its own part"),
    ]


def _storage(plan: Plan, act: Act) -> list[Setting]:
    assert act.interval is not None
    return [*_shared(plan, act), setting("--save-interval", act.interval)]


def _background(plan: Plan, act: Act) -> list[Setting]:
    return [
        *_storage(plan, act),
        fixed("--async-save", True, "written while training goes on"),
    ]


def _local(plan: Plan, act: Act) -> list[Setting]:
    assert act.interval is not None
    return [
        # Without these two it neither saves nor looks for copies.
        *_shared(plan, act),
        fixed("--non-persistent-ckpt-type", "local", f"{act.name}: by files beside the ranks"),
        setting("--non-persistent-save-interval", act.interval),
        fixed("--non-persistent-local-ckpt-dir", LOCAL_FOLDER, "where the copies are"),
        fixed("--replication", True, "each rank's file also on another node"),
        setting("--replication-jump", plan.ranks_per_node),
        fixed(
            "--replication-factor",
            1 + act.replicas,
            f"a rank's own file, and {act.replicas} more",
        ),
    ]


def _warning(plan: Plan, act: Act) -> list[Setting]:
    return [
        *_shared(plan, act),
        fixed("--exit-signal-handler", True, "on SIGTERM: saves after the step, and ends the job"),
    ]


def _nothing(plan: Plan, act: Act) -> list[Setting]:
    return []


_SAVES = {
    Need.STORAGE: _storage,
    Need.BACKGROUND: _background,
    **dict.fromkeys(IN_PEERS, _local),
    Need.WARNING: _warning,
    Need.NOTHING: _nothing,
}

TOOL = Megatron()
