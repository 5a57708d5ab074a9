"""Comments, the same in every syntax whose comments begin with `#`."""

from collections.abc import Iterator
from textwrap import wrap

from advisor.emit.emitting import Emitted
from advisor.emit.tool import Part, Setting, Support, Variable
from advisor.printable import printable
from advisor.version import advisor_version

WIDTH = 100
_HANGING = "   "
_HOW_FAR = {
    Support.CAN: "it realises the mechanism",
    Support.PARTLY: "it realises the mechanism in part",
}


def comment(text: str, indent: str = "") -> Iterator[str]:
    """The text as comment lines of at most `WIDTH` columns."""
    lines = wrap(
        printable(" ".join(text.split())),
        WIDTH - len(indent) - 2,
        subsequent_indent=_HANGING,
        break_on_hyphens=False,
    )
    return (f"{indent}# {line}" for line in lines)


def header(emitted: Emitted, part: Part, command: str) -> Iterator[str]:
    """What the file is, from what, and what to know before it is used."""
    acts = " and ".join(f"{act.mechanism.upper()} {act.name}" for act in emitted.plan.acts)
    tool, verified = emitted.tool, emitted.tool.verified
    yield from comment(f"{acts}, for {tool.title} ({part.name}); advisor {advisor_version()}")
    yield from comment(f"made by: {command}")
    yield from comment(
        f"names checked against {verified.package} {verified.version}: {verified.how}"
    )
    yield from comment(f"{tool.title}: {_HOW_FAR[emitted.support]}")
    for line in emitted.limits:
        yield from comment(f"limit: {line}")
    for line in emitted.remarks:
        yield from comment(f"note: {line}")


def about(setting: Setting, indent: str = "") -> Iterator[str]:
    """Which number of the answer a setting is, and its evidence."""
    yield from comment(words(setting), indent)


def words(setting: Setting) -> str:
    """What a setting is: `the interval of FT1, 39.4 s (candidate.interval_steps; M, measured)`."""
    said = setting.says
    if setting.number is not None:
        number = setting.number
        rounded = "" if setting.value == number.value else f", rounded from {number.value:g}"
        said = f"{said}{rounded} ({number.path}; {number.evidence})"
    if isinstance(setting.value, Variable):
        said = f"{said}: {setting.value.words}"
    return said
