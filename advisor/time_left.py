"""How long the cells that are left will take, from those that are done. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

Kind = str
"""What cells of about one duration share: architecture, mechanism and trace."""


def kind_of(architecture: str, mechanism: str, trace: str | None) -> Kind:
    """The kind of a cell, as it is shown too."""
    return f"{architecture} {mechanism} {trace or 'none'}"


def time_left_s(done: Mapping[Kind, Sequence[float]], left: Iterable[Kind]) -> float | None:
    """Seconds for the cells `left`: each the mean of its kind, or of all where none is done yet.

    `done` has wall times in seconds. None before the first is done; 0 when nothing is left.
    """
    means = {kind: fmean(walls) for kind, walls in done.items() if walls}
    kinds = list(left)
    if not kinds:
        return 0.0
    if not means:
        return None
    usual = fmean([wall for walls in done.values() for wall in walls])
    return sum(means.get(kind, usual) for kind in kinds)
