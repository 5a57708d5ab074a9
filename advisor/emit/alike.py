"""What several tools say, set or can do alike."""

from collections.abc import Mapping

from advisor.emit.needs import Need
from advisor.emit.plan import Plan
from advisor.emit.tool import Ability, Setting, Variable, fixed, setting

IN_PEERS = (Need.PEER, Need.PEERS, Need.EVERY_STEP)
"""Needs for copies in other ranks' memory."""

CHECKPOINT_FOLDER = Variable("CHECKPOINT_DIR", "a folder that every node sees")
LOCAL_FOLDER = Variable("LOCAL_CHECKPOINT_DIR", "a folder of the node's own, such as a RAM disk")

NEWEST_OF_ONE_KIND = "all saves are checkpoints of the same kind, and the newest one is restored"
STORAGE_ONLY = "its checkpoints go to storage only, none into another rank's memory"
STARTED_AGAIN = "start the job again after a failure (see torchrun)"
OLD_ONES_ARE_KEPT = "old checkpoints are kept: what may be deleted is for you to say"

_SIGNAL_SAYS = "what SLURM and Kubernetes send before they take a node away"
_MOST_SIGNAL_S = 65535
"""The longest time that `sbatch --signal` takes."""


def in_peers(ability: Ability) -> Mapping[Need, Ability]:
    """The same ability for all of `IN_PEERS`."""
    return dict.fromkeys(IN_PEERS, ability)


def checkpoint_folder() -> Setting:
    """Where a training script keeps its checkpoints."""
    return fixed("FOLDER", CHECKPOINT_FOLDER, "where the checkpoints are")


def loop_settings(plan: Plan) -> tuple[Setting, ...]:
    """The constants of a module whose own code saves within the reader's loop: timeout, intervals,
    folder, and the signal that warns."""
    intervals = [act.interval for act in plan.acts if act.interval is not None]
    return (
        setting("TIMEOUT_S", plan.timeout),
        *(setting("INTERVAL_STEPS", interval) for interval in intervals),
        *([] if plan.has(Need.NOTHING) else [checkpoint_folder()]),
        *([] if plan.lead is None else [fixed("SIGNAL", "SIGTERM", _SIGNAL_SAYS)]),
    )


def slurm_signal(plan: Plan) -> tuple[str, ...]:
    """What SLURM can send as a warning: never that of a failure. Empty where none comes, or where
    the lead is longer than SLURM can be told."""
    if plan.lead is None:
        return ()
    seconds = max(round(plan.lead.value), 1)
    if seconds > _MOST_SIGNAL_S:
        return ()
    return (
        f"under SLURM: `sbatch --signal=TERM@{seconds}` sends SIGTERM the lead (in seconds) before "
        "the job's time limit, and before a preemption where PreemptParameters has "
        "send_user_signal; SLURM announces no failure",
    )
