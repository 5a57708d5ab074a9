"""The sentences about which cell to measure next: on the command line and in the app."""

from advisor.reports.words import BY_SCATTER, input_words, probability
from advisor.uncertainty.cells import CellValue, NextCells
from advisor.uncertainty.measuring import NO_FAULT, Cell
from advisor.units import format_duration

TITLE = "Measure this cell next"
BASIS = (
    f"{BY_SCATTER}: what rules are off by is not weighed. The run has to be made on the cluster "
    "itself; one that came in a bundle is measured under another name."
)
HEADER = ("cell", "what it shows", "runs", "one more run", "known exactly")


def head(found: NextCells) -> str:
    """How sure the pick is, or why there is nothing to weigh."""
    if found.mechanism is None:
        return f"Nothing to weigh: {found.reason}."
    return (
        f"{BY_SCATTER}, {found.mechanism.upper()} is the best with a probability of "
        f"{probability(found.best_probability or 0.0)}; expected regret "
        f"{format_duration(found.expected_regret_s or 0.0)}; knowing every measured number exactly "
        f"would save {format_duration(found.perfect_s or 0.0)} in expectation."
    )


def helpful(found: NextCells) -> list[CellValue]:
    """The cells that can change the pick, the one most worth measuring first."""
    return [each for each in found.cells if each.perfect_s > 0.0]


def rest_line(found: NextCells) -> str | None:
    """What measuring the cells that are not `helpful` could do; None where all are, and where
    nothing is weighed at all."""
    useful = helpful(found)
    rest = len(found.cells) - len(useful)
    if found.mechanism is None or (useful and not rest):
        return None
    if not found.cells:
        return (
            "No cell can be weighed: none of them has a number of which one knows how it scatters."
        )
    if not useful:
        return f"{BY_SCATTER}, measuring any one cell again cannot change the pick."
    others = "The other cell" if rest == 1 else f"Each of the {rest} other cells"
    return f"{others}, measured again by itself, cannot change the pick."


def cells_row(value: CellValue) -> tuple[str, ...]:
    """One row under `HEADER`."""
    return (
        cell_words(value.cell),
        ", ".join(map(input_words, value.quantities)),
        str(value.runs),
        format_duration(value.one_more_s),
        format_duration(value.perfect_s),
    )


def cell_words(cell: Cell) -> str:
    """`A2 FT2 resnet50 without a fault, every 20 steps`."""
    words = f"{cell.architecture.upper()} {cell.mechanism.upper()} {cell.workload}"
    words += " without a fault" if cell.trace == NO_FAULT else f" under {cell.trace.upper()}"
    if cell.interval_steps is not None:
        words += f", every {cell.interval_steps} steps"
    return words
