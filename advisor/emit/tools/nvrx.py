"""nvidia-resiliency-ext: its launcher, copies on other nodes, and restarts within the processes."""

from collections.abc import Mapping
from typing import ClassVar

from advisor.emit.alike import IN_PEERS, LOCAL_FOLDER, in_peers
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

_FILES = (
    "copies are files on a node's own storage or RAM disk, written with torch.save: a save takes "
    "longer than a copy into pinned memory, as measured here"
)
_SAVES = (
    "it watches the ranks and starts them again; its asynchronous writers leave it to the training "
    "script which checkpoint is whole, so the saves are left to another tool (see dcp)"
)
_SHORTEST_S = 4.0
"""Soft timeouts below this are refused beside monitors that look once a second."""
_HARD, _BARRIER, _HEARTBEAT = 1.5, 2.0, 0.5
"""Of the soft timeout: the proportions of the tool's own defaults (60, 90, 120 and 30 s)."""
_LOCAL_IMPORTS = """\
import os

from nvidia_resiliency_ext.checkpointing.local.basic_state_dict import BasicTensorAwareStateDict
from nvidia_resiliency_ext.checkpointing.local.ckpt_managers.local_manager import (
    LocalCheckpointManager,
)
from nvidia_resiliency_ext.checkpointing.local.replication.strategies import (
    LazyCliqueReplicationStrategy,
)
"""
_LOCAL_CODE = '''
manager = LocalCheckpointManager(
    FOLDER, repl_strategy=LazyCliqueReplicationStrategy(**REPLICATION)
)


def after_step(step, state):
    """Call it on every rank after each step, with a function that gives the state dict (its
    tensors on the GPU, in dicts and lists only)."""
    if step % INTERVAL_STEPS == 0:
        manager.save(BasicTensorAwareStateDict(_fresh(state())), step)


def restore():
    """(step, state dict) of the newest copy that all ranks can have; (0, None) if there is none."""
    step = manager.find_latest()
    if step < 0:
        return 0, None
    return step, manager.load()[0].state_dict


def _fresh(tree):
    """The same tensors in new containers: a save takes them out of what it is given."""
    if isinstance(tree, dict):
        return {name: _fresh(value) for name, value in tree.items()}
    return [_fresh(value) for value in tree] if isinstance(tree, list) else tree
'''
_INPROCESS_IMPORTS = """\
from datetime import timedelta

from nvidia_resiliency_ext import inprocess
"""
_INPROCESS_CODE = """
wrap = inprocess.Wrapper(**{name: timedelta(seconds=value) for name, value in WRAPPER_S.items()})

# Wrap the function that trains: `train = wrap(train)`. It is called again in the processes that are
# left, with fewer ranks; keep the model and the optimizer outside of it to go on from their state.
"""


class Nvrx(Tool):
    """A command for `ft_launcher`, and modules for the training script."""

    name = "nvrx"
    title = "nvidia-resiliency-ext"
    verified = Verified("nvidia-resiliency-ext", "0.4.1", "its parser and its classes")
    abilities: ClassVar[Mapping[Need, Ability]] = {
        Need.STORAGE: partly(_SAVES),
        Need.BACKGROUND: partly(_SAVES),
        **in_peers(partly(_FILES)),
        Need.WARNING: cannot("nothing in it listens for a warning"),
        Need.SURVIVORS: partly(
            "its wrapper forms the group again within the processes that are left; handing over "
            "the state that they hold, and sharing out the data again, are the training script's"
        ),
        Need.NOTHING: can("without restarts a failure ends the job"),
    }
    composed = partly("which of several copies is the newest is for the training script to find")

    def parts(self, plan: Plan) -> tuple[Part, ...]:
        launch = Part(
            "launch",
            Syntax.COMMAND,
            (
                setting("--max-restarts", plan.restarts),
                setting("--ft-rank-heartbeat-timeout", plan.timeout),
            ),
            program='ft_launcher OPTIONS "$@"',
        )
        copies = [_copies(plan, act) for act in plan.acts if act.need in IN_PEERS]
        wrapper = [_wrapper(plan)] if plan.has(Need.SURVIVORS) else []
        return (launch, *copies, *wrapper)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        told = [
            "the heartbeat timeout is in force where the training script sends heartbeats "
            "(RankMonitorClient); without them ranks give up after the timeout of "
            "init_process_group",
            "append the options and the script that you start ft_launcher with, such as "
            "--nnodes and --nproc-per-node",
        ]
        if plan.has(*IN_PEERS):
            told.append("the number of ranks has to be a multiple of jump times factor")
        if plan.has(Need.SURVIVORS) and plan.timeout.value < _SHORTEST_S:
            told.append(
                f"the soft timeout is raised to {_SHORTEST_S:g} s: shorter ones are refused"
            )
        return tuple(told)


def _copies(plan: Plan, act: Act) -> Part:
    assert act.interval is not None
    settings: tuple[Setting, ...] = (
        setting("INTERVAL_STEPS", act.interval),
        fixed("FOLDER", LOCAL_FOLDER, "where the copies are: it has to outlive the processes"),
        setting("replication_jump", plan.ranks_per_node, group="REPLICATION"),
        fixed(
            "replication_factor",
            1 + act.replicas,
            f"a rank's own file, and {act.replicas} more",
            group="REPLICATION",
        ),
    )
    return Part("checkpoint", Syntax.PYTHON, settings, before=_LOCAL_IMPORTS, after=_LOCAL_CODE)


def _wrapper(plan: Plan) -> Part:
    soft_s = max(plan.timeout.value, _SHORTEST_S)
    group = "WRAPPER_S"
    return Part(
        "wrapper",
        Syntax.PYTHON,
        (
            setting("soft_timeout", plan.timeout, soft_s, group=group),
            fixed("hard_timeout", _HARD * soft_s, "then the process is ended", group=group),
            fixed("barrier_timeout", _BARRIER * soft_s, "longer than both", group=group),
            fixed("heartbeat_timeout", _HEARTBEAT * soft_s, "shorter than both", group=group),
        ),
        before=_INPROCESS_IMPORTS,
        after=_INPROCESS_CODE,
    )


TOOL = Nvrx()
