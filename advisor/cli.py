"""The `advisor` command. Commands are imported when they run, so that each starts quickly."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path

import click

from advisor.errors import AdvisorError
from advisor.printable import printable

_COMMANDS = {
    "recommend": "Which mechanism, at which interval, finishes the job soonest.",
    "next": "Which cell to measure next, so that the answer gets surer.",
    "pareto": "The measured trade-off of an architecture: who is on the frontier.",
    "crossover": "The MTBF at which two mechanisms take equally long.",
    "flip": "At which MTBF, lead, storage rate or save time another one is recommended.",
    "interval": "The best checkpoint interval from a save time and an MTBF.",
    "simulate": "How late a job may end: percentiles of its completion time, by simulation.",
    "tune": "Mechanisms together, their intervals, peers, the timeout and spares, all at once.",
    "plan": "Against failures that are no crashes: mechanism, monitors and kept saves together.",
    "emit": "The settings that realise an answer in a training tool.",
    "scale": "The same job on more GPUs: time, goodput, GPU-hours and money.",
    "report": "Print saved recommendations again, in any format.",
    "app": "Serve the web app to this machine's browsers.",
    "measure": "Train under faults on this machine, and see which architectures survive.",
    "campaigns": "The campaigns of measurements, and how far each is.",
    "calibrate": "Measure what moving state takes on this machine, path by path.",
    "ingest": "Store run records, and pool them into operating points.",
    "exposure": "Which architectures survive a lost worker, and at what cost.",
    "coverage": "Which tuples of architecture, mechanism and trace were observed.",
    "validate": "Is the advice right? Runs what is recommended live, and compares.",
    "drill": "Try faults on this machine, and see whether each mechanism keeps its promise.",
    "scorecard": "What each mechanism survives, fault by fault, with the runs behind it.",
    "detectors": "What the monitors of runs cost, noticed and missed.",
    "leads": "How long ahead a fault has to be announced for an emergency save.",
    "mtbf": "How often a cluster fails, from its own logs.",
    "accuracy": "How far predictions were off on a cluster, rule by rule.",
    "clusters": "The clusters that the database knows, with what was measured.",
    "sql": "Ask the database in SQL, read-only.",
    "db": "Create, upgrade, check, fill and export the database.",
}

_EPILOG = """\b
A first answer:
  advisor recommend --architecture a2 --state-size 204.7MB --mtbf 4h

Sizes, times and rates carry units: 204.7MB, 112.3ms, 4h, 30d, 1.37GB/s, 5%.
Architectures are a1-sync, a1-async, a2 ... a7; mechanisms ft1 ... ft9.
"""


class LazyGroup(click.Group):
    """A group whose commands live in `advisor.commands.<name>` as an object `command`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuses what is no text, whichever command it is for.

        The names of files are bytes to the system, so one that is there is taken here; whether it
        stands where a file is meant, the command's parameters say.
        """
        from db.text import is_text  # after `refuse_shadowed_packages`

        for text in args:
            if not is_text(text) and not os.path.lexists(text):
                raise click.UsageError(f"{text[:60]!r} is no text in UTF-8", ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = import_module(f"advisor.commands.{cmd_name}").command
        _require_texts(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _require_texts(command: click.Command) -> None:
    """Lets every parameter that takes any text take text in UTF-8 only; subcommands included."""
    from advisor.commands.options import TEXT

    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType):
            parameter.type = TEXT
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _require_texts(each)


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="failbench-advisor", prog_name="advisor")
def cli() -> None:
    """Which fault-tolerance mechanism, at which checkpoint interval, finishes a training job
    soonest? Answers from measurements, each number with its evidence."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and exits: 0 done, 1 a difference or a bug, 2 the input is at fault, 3 a
    program is missing, 130 interrupted.

    An error that a person can mend is one line on stderr; a bug keeps its traceback.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """As `main`, but returns the exit code."""
    _print_whatever_there_is()
    try:
        refuse_shadowed_packages()
        cli.main(args=arguments, prog_name="advisor", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.Abort:
        return _fail("interrupted", 130)
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is wrong, and nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _no_output(error)
    except AdvisorError as error:
        return _fail(str(error), error.exit_code)
    except Exception as error:
        # Imported here: `refuse_shadowed_packages` has to come before the first import of `db`.
        from db.errors import DatabaseError

        if not isinstance(error, DatabaseError):
            raise
        return _fail(str(error), error.exit_code)
    return 0


def _print_whatever_there_is() -> None:
    """Escapes the characters that the encoding of the output (locale, PYTHONIOENCODING) lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def refuse_shadowed_packages() -> None:
    """Raises AdvisorError if another `app`, `db` or `measure` would be imported instead of ours.

    The names are generic: under `python -m advisor` a folder of the current directory wins.
    """
    home = Path(__file__).resolve().parent.parent
    for name in ("app", "db", "measure"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if found != home / name:
            raise AdvisorError(
                f"the folder {found or name} hides this program's own package {name!r}: run the "
                "command `advisor`, or start it from another directory"
            )


def _no_output(error: OSError) -> int:
    """A disk, a permission or a name that the system refuses; nothing of ours can mend it."""
    if sys.stdout is not None and error.filename is None:
        # Whatever is still in the buffer would be tried, and refused, once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    place = f" ({str(error.filename)[:200]})" if error.filename else ""
    return _fail(f"{error.strerror or error}{place}", 2)


def _fail(message: str, code: int) -> int:
    click.echo("advisor: " + printable(" ".join(message.split())), err=True)
    return code
