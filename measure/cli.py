"""`python -m measure`: runs cells, or calibrates this machine's paths, and writes records; needs
nothing beside torch.

With --events, each event is one JSON object a line on stdout. Of `run`: plan, run-started, phase,
run-finished, end; of `calibrate`: plan, preparing, sample, calibrated. Errors are one line on
stderr.
Exit codes: 0 done, 1 the harness failed, 2 the request is at fault, 130 interrupted.
"""

import argparse
import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measure.errors import MeasureError, MissingLibraryError, UsageError
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector
from measure.units import duration_s, size_bytes

_INTERRUPTED_EXIT_CODE = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        _require_torch()
        done: int = options.action(options, f"python -m measure {shlex.join(given)}")
        return done
    except UsageError as error:
        return _said(error, 2)
    except MeasureError as error:
        return _said(error, 1)


def _require_torch() -> None:
    try:
        import torch  # noqa: F401 - asked for here, so that its absence is said in one line
    except ImportError as error:
        raise MissingLibraryError(
            "measuring needs PyTorch, which is not installed:"
            " pip install 'failbench-advisor[measure]'"
        ) from error


def _run(options: argparse.Namespace, command: str) -> int:
    from measure.campaign import Campaign, new_campaign_id
    from measure.plan import (
        Request,
        all_architectures,
        all_mechanisms,
        all_traces,
        plan_of,
    )

    request = Request(
        architectures=all_architectures(options.architecture),
        mechanisms=all_mechanisms(options.mechanism or ["ft9"]),
        traces=all_traces(options.trace or ["f1"]),
        profile=options.profile.lower(),
        seeds=options.seeds,
        first_seed=options.first_seed,
        world_size=options.world_size,
        group_timeout_s=duration_s(options.pg_timeout) if options.pg_timeout else None,
        detector=_detector(options.detector),
        workload=options.workload,
        device=options.device,
        steps=options.steps,
        lead_s=_lead_s(options.lead),
        interval_steps=options.interval,
        replicas=options.replicas,
        way=_way(options.way) if options.way else None,
    )
    campaign = options.campaign or new_campaign_id()
    plan = plan_of(request, campaign, options.cluster, options.folder, options.command or command)
    emit = _emit_json if options.events else _emit_text()
    done = Campaign(plan, emit, has_listener=options.events).run()
    return 0 if done else _INTERRUPTED_EXIT_CODE


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
    commands = parser.add_subparsers(required=True, metavar="run or calibrate")
    _add_run(commands.add_parser("run", help="run cells, write their records"))
    _add_calibrate(commands.add_parser("calibrate", help="measure this machine's paths"))
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


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(action=_run)
    run.add_argument("--architecture", action="append", required=True, help="a name, or all")
    run.add_argument("--mechanism", action="append", help="ft1 to ft9, ft4+ft2+ft1, or all")
    run.add_argument(
        "--trace", action="append", help="none, f1, f2, f2-adjacent, f3, FILE.json or all"
    )
    run.add_argument("--profile", default="cpu", help="smoke, cpu or paper")
    run.add_argument("--seeds", type=int, default=1, help="how many")
    run.add_argument("--first-seed", type=int, default=0)
    run.add_argument("--world-size", type=int, default=8, help="ranks")
    run.add_argument("--pg-timeout", help="the process group's timeout, e.g. 10s")
    run.add_argument("--detector", default="supervisor", help="group-timeout or supervisor")
    run.add_argument("--workload", help="default: the architecture's own")
    run.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    run.add_argument("--steps", type=int)
    run.add_argument("--lead", help="warn so long ahead of each fault, e.g. 2s; none: not at all")
    run.add_argument("--interval", type=int, help="steps between two saves")
    run.add_argument("--replicas", type=int, help="peers that hold each rank's state")
    run.add_argument("--way", help="how to recover: spare, smaller or restart")
    run.add_argument("--cluster", help="default: this host's name and the device")
    run.add_argument("--campaign", help=argparse.SUPPRESS)
    run.add_argument("--command", help=argparse.SUPPRESS)
    run.add_argument("--folder", type=Path, default=Path("runs"), help="where records go")
    run.add_argument("--events", action="store_true", help="one JSON object an event, on stdout")


def _detector(name: str) -> Detector:
    known = [detector.value for detector in Detector]
    if name not in known:
        raise UsageError(f"unknown detector {name!r}: known are {', '.join(known)}")
    return Detector(name)


def _lead_s(text: str | None) -> float | None:
    if text is None:
        return None
    return 0.0 if text.lower() == "none" else duration_s(text)


def _way(name: str) -> Way:
    known = [way.value for way in Way]
    if name not in known:
        raise UsageError(f"unknown way {name!r}: known are {', '.join(known)}")
    return Way(name)


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
