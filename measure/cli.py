"""`python -m measure`: runs cells, or calibrates this machine's paths, and writes records; needs
nothing beside torch.

With --events, each event is one JSON object a line on stdout. Of `run`: plan, run-started, phase,
run-finished, run-failed, end; of `calibrate`: plan, preparing, sample, calibrated. Errors are one
line on stderr. With --on-demand the cells of `run` are handed in on stdin one by one
(`Campaign.serve`), and `ready` stands for the plan where there is none.

A scheduler's jobs are made with two more: `plan` says the plan that `run` would follow, or that it
is `refused` and why, and `task FILE NUMBER` runs one task of a file of tasks; its events, and
`task-started` and `stopped`, go into a file beside it. `torchrun` is what torchrun runs once on
each host: `run` on the first one, an agent of a node on the others.
Exit codes: 0 done, 1 the harness failed, 2 the request is at fault, 130 interrupted.
"""

import argparse
import json
import os
import secrets
import shlex
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure.errors import MeasureError, MissingLibraryError, TakenOverError, UsageError
from measure.faults.traces import PAPER_TRACES
from measure.nodes.command import add_options as add_node
from measure.units import size_bytes

if TYPE_CHECKING:
    from measure.campaign import Plan
    from measure.plan import Request

_INTERRUPTED_EXIT_CODE = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _require_text(given)
        options = _parser().parse_args(given)
        _require_torch()
        done: int = options.action(options, f"python -m measure {shlex.join(given)}")
        return done
    except UsageError as error:
        return _said(error, 2)
    except MeasureError as error:
        return _said(error, 1)


def _require_text(arguments: Sequence[str]) -> None:
    """The command is kept in every record, which is UTF-8."""
    for text in arguments:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(f"{text[:60]!r} is no text in UTF-8") from None


def _require_torch() -> None:
    try:
        import torch  # noqa: F401 - asked for here, so that its absence is said in one line
    except ImportError as error:
        raise MissingLibraryError(
            "measuring needs PyTorch, which is not installed:"
            " pip install 'failbench-advisor[measure]'"
        ) from error


def _run(options: argparse.Namespace, command: str) -> int:
    return _run_plan(options, _plan(options, command))


def _run_plan(options: argparse.Namespace, plan: "Plan") -> int:
    from measure.campaign import Campaign

    emit = _emit_json if options.events else _emit_text()
    campaign = Campaign(plan, emit, has_listener=options.events)
    done = campaign.serve(sys.stdin) if options.on_demand else campaign.run()
    return 0 if done else _INTERRUPTED_EXIT_CODE


def _run_under_torchrun(options: argparse.Namespace, command: str) -> int:
    """On the first host cells, on as many nodes as there are hosts; on the others their agents."""
    from measure.nodes.torchrun import joined

    hosts = joined()
    if hosts.host:
        return hosts.serve()
    options.nodes = options.nodes or hosts.count
    plan = _plan(options, command)
    most = max((cell.job.nodes for cell in plan.cells), default=1)
    if most > hosts.count:
        raise UsageError(
            f"these runs are on {most} nodes, and torchrun has {hosts.count}: give it"
            f" --nnodes {most}, on every host"
        )
    with hosts.supervising(plan.folder):
        return _run_plan(options, plan)


def _say_plan(options: argparse.Namespace, command: str) -> int:
    """Says the plan on stdout, or writes it, whole at once, to a file; so where it is refused."""
    from measure.campaign import Campaign, check_folder

    try:
        plan = _plan(options, command)
        if options.out is not None:
            check_folder(plan.folder / plan.campaign, is_new=False)
        said: dict[str, Any] = {"event": "plan", **Campaign(plan, _emit_text()).planned()}
    except UsageError as error:
        said = {"event": "refused", "reason": " ".join(str(error).split())}
    text = json.dumps(said)
    if options.out is None:
        _print(text)
    else:
        unfinished = options.out.with_name(f".{options.out.name}.{os.getpid()}")
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(options.out)
    return 0 if said["event"] == "plan" else 2


def _run_task(options: argparse.Namespace, _command: str) -> int:
    from measure.campaign import Campaign
    from measure.nodes.slurm_step import agents_of_job, most_nodes
    from measure.task_file import agents_log, emit_to, events_path, read_task

    task = read_task(options.file, options.number)
    emit = emit_to(events_path(options.file, options.number))
    emit("task-started", _scheduled_as())
    try:
        log = agents_log(options.file, options.number)
        with agents_of_job(most_nodes(task.handed), log):
            done = Campaign(task.plan, emit).run_task(task.handed)
    except MeasureError as error:
        if not isinstance(error, TakenOverError):  # the file is that other process's too
            emit("stopped", {"reason": " ".join(str(error).split())})
        raise
    return 0 if done else _INTERRUPTED_EXIT_CODE


def _scheduled_as() -> dict[str, Any]:
    """What a scheduler says of this task; empty words where none does."""
    names = {"job": "SLURM_ARRAY_JOB_ID", "node": "SLURMD_NODENAME"}
    told = {name: os.environ.get(variable, "") for name, variable in names.items()}
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    return {"host": socket.gethostname(), "pid": os.getpid(), "restarts": restarts, **told}


def _plan(options: argparse.Namespace, command: str) -> "Plan":
    """What is to run; without cells where a campaign goes on, whose cells are handed in."""
    from measure.campaign import Plan, new_campaign_id
    from measure.plan import plan_of

    said = options.command or command
    if options.created_at:
        return Plan(
            options.campaign,
            said,
            options.cluster,
            options.folder,
            cells=(),
            seed=options.first_seed or 0,
            created_at=options.created_at,
        )
    campaign = options.campaign or new_campaign_id()
    order_seed = _order_seed(options)
    requests = _requests(options)
    if options.elsewhere:
        requests = [replace(r, device="auto") if r.device == "cuda" else r for r in requests]
    return plan_of(requests, campaign, options.cluster, options.folder, said, order_seed)


def _requests(options: argparse.Namespace) -> "list[Request]":
    from measure.campaign_file import KEYS, read_campaign_file, requests_of

    told = {key: getattr(options, key.replace("-", "_")) for key in KEYS}
    if options.matrix:
        whole = {"architecture": ["seven"], "mechanism": ["all"], "trace": ["none", *PAPER_TRACES]}
        told |= {key: told[key] or names for key, names in whole.items()}
    if options.campaign_file:
        return read_campaign_file(options.campaign_file, told)
    if not told["architecture"]:
        raise UsageError("give --architecture, --matrix or --campaign-file")
    return requests_of(told)


def _order_seed(options: argparse.Namespace) -> int | None:
    if options.order == "fixed":
        return None
    return secrets.randbelow(10**6) if options.order_seed is None else int(options.order_seed)


def _calibrate(options: argparse.Namespace, command: str) -> int:
    from measure.calibration.plan import Request
    from measure.calibration.session import Session

    request = Request(
        sizes_bytes=[size_bytes(text) for text in options.sizes.split(",")]
        if options.sizes
        else None,
        repeats=options.repeats,
        seed=secrets.randbelow(2**31) if options.seed is None else options.seed,
        is_quick=options.quick,
        with_check=options.check,
    )
    emit = _emit_json if options.events else _emit_text()
    session = Session(request, options.cluster, options.folder, options.command or command, emit)
    return 0 if session.run() else _INTERRUPTED_EXIT_CODE


def _parser() -> argparse.ArgumentParser:
    description = __doc__.partition("\n\n")[0]
    parser = argparse.ArgumentParser("python -m measure", description=description)
    commands = parser.add_subparsers(
        required=True, metavar="run, calibrate, plan, task, node or torchrun"
    )
    _add_run(commands.add_parser("run", help="run cells, write their records"))
    _add_calibrate(commands.add_parser("calibrate", help="measure this machine's paths"))
    _add_plan(commands.add_parser("plan", help="say what `run` would run"))
    _add_task(commands.add_parser("task", help="run one task of a file of tasks"))
    add_node(commands.add_parser("node", help="serve as one node of several"))
    _add_torchrun(commands.add_parser("torchrun", help="run cells on hosts of a torchrun"))
    return parser


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action=_calibrate)
    parser.add_argument("--cluster", required=True, help="the name of this machine")
    parser.add_argument("--sizes", help="to move, e.g. 1MB,16MB,256MB; default: 1MB to 512MB")
    parser.add_argument("--repeats", type=int, help="samples of each size")
    parser.add_argument("--seed", type=int, help="of the order of the samples; default: drawn")
    parser.add_argument("--quick", action="store_true", help="up to 16 MB, three times each")
    parser.add_argument("--check", action="store_true", help="real restores at other sizes too")
    parser.add_argument("--command", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path("runs"), help="on the storage")
    parser.add_argument("--events", action="store_true", help="one JSON object an event, on stdout")


def _add_plan(plan: argparse.ArgumentParser) -> None:
    _add_run(plan)
    plan.set_defaults(action=_say_plan)
    plan.add_argument("--out", type=Path, help="write it there; default: stdout")
    plan.add_argument(
        "--elsewhere", action="store_true", help="for another machine: a GPU need not be here"
    )


def _add_torchrun(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.set_defaults(action=_run_under_torchrun)


def _add_task(task: argparse.ArgumentParser) -> None:
    task.set_defaults(action=_run_task)
    task.add_argument("file", type=Path, help="the file of tasks")
    task.add_argument("number", type=int, help="which of them, from 0")


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(action=_run, elsewhere=False)
    run.add_argument("--architecture", action="append", help="a name, or all")
    run.add_argument("--mechanism", action="append", help="ft1 to ft9, ft4+ft2+ft1, or all")
    run.add_argument(
        "--trace", action="append", help="none, f1, f2, f2-adjacent, f3, FILE.json or all"
    )
    run.add_argument("--profile", help="smoke, cpu or paper; default: cpu")
    run.add_argument("--seeds", type=int, help="how many; default: 1")
    run.add_argument("--first-seed", type=int, help="default: 0")
    run.add_argument("--world-size", type=int, help="ranks; default: 8")
    run.add_argument("--nodes", type=int, help="of these ranks, each with an agent; default: 1")
    run.add_argument("--pg-timeout", help="the process group's timeout, e.g. 10s")
    run.add_argument("--detector", help="group-timeout or supervisor; default: supervisor")
    run.add_argument("--workload", help="default: the architecture's own")
    run.add_argument("--device", help="auto, cpu or cuda; default: auto")
    run.add_argument("--steps", type=int)
    run.add_argument("--lead", help="warn so long ahead of each fault, e.g. 2s; none: not at all")
    run.add_argument("--interval", type=int, help="steps between two saves")
    run.add_argument("--replicas", type=int, help="peers that hold each rank's state")
    run.add_argument(
        "--monitors", help="digest, values, stragglers, digest:20 or all; default: none"
    )
    run.add_argument("--keep", type=int, help="states that each tier keeps at least")
    run.add_argument("--way", help="how to recover: spare, smaller or restart")
    run.add_argument(
        "--matrix", action="store_true", help="seven architectures, all mechanisms, none and F1-F3"
    )
    run.add_argument("--campaign-file", type=Path, help="blocks of all this, in TOML or JSON")
    run.add_argument(
        "--order", default="shuffled", choices=("shuffled", "fixed"), help="default: shuffled"
    )
    run.add_argument("--order-seed", type=int, help="what shuffles; default: any, and recorded")
    run.add_argument("--cluster", help="default: this host's name and the device")
    run.add_argument("--campaign", help=argparse.SUPPRESS)
    run.add_argument("--command", help=argparse.SUPPRESS)
    run.add_argument("--created-at", help=argparse.SUPPRESS)
    run.add_argument(
        "--on-demand", action="store_true", help="run what is handed in on stdin, cell by cell"
    )
    run.add_argument("--folder", type=Path, default=Path("runs"), help="where records go")
    run.add_argument("--events", action="store_true", help="one JSON object an event, on stdout")


def _emit_json(event: str, fields: dict[str, Any]) -> None:
    _print(json.dumps({"event": event, **fields}))


def _print(line: str) -> None:
    try:
        print(line, flush=True)
    except OSError:
        # Python would try again to write what is left when it exits, and complain.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
        raise


def _emit_text() -> Callable[[str, dict[str, Any]], None]:
    def emit(event: str, fields: dict[str, Any]) -> None:
        if event == "run-finished":
            why = f" ({'; '.join(fields['reasons'])})" if fields["reasons"] else ""
            _print(f"run {fields['run']}: {fields['outcome']}{why}  {fields['record']}")
        elif event == "calibrated":
            _print(f"calibrated in {fields['wall_s']:.0f} s: {fields['record']}")

    return emit


def _said(error: MeasureError, exit_code: int) -> int:
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    return exit_code
