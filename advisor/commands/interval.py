"""`advisor interval`: the classic question, without a database."""

import click

from advisor.checkpoint_interval import (
    daly_interval_s,
    equation_5_interval_s,
    exact_interval_s,
    young_interval_s,
)
from advisor.commands.options import DURATION, format_option
from advisor.commands.output import echo_csv, echo_json, echo_table
from advisor.scenario import require_in_range
from advisor.units import format_duration


@click.command(name="interval")
@click.option(
    "--save-time",
    "save_s",
    type=DURATION,
    required=True,
    help="What one save adds to the run.",
)
@click.option("--mtbf", "mtbf_s", type=DURATION, required=True, help="Mean time between failures.")
@click.option(
    "--recovery",
    "recovery_s",
    type=DURATION,
    default=0.0,
    help="Detection, restore and regrouping together, for Eq. (5).  [default: 0]",
)
@format_option(("table", "json", "csv"), "table")
def command(save_s: float, mtbf_s: float, recovery_s: float, fmt: str) -> None:
    """The best time between two checkpoints, by Young, Daly and Eq. (5), and the exact one.

    Young's sqrt(2 C M) is the first-order optimum and the first figure to look at.
    """
    for name, value in (("save_s", save_s), ("mtbf_s", mtbf_s), ("recovery_s", recovery_s)):
        require_in_range(name, value)
    found = {
        "young": young_interval_s(save_s, mtbf_s),
        "daly": daly_interval_s(save_s, mtbf_s),
        "equation_5": float(equation_5_interval_s(save_s, mtbf_s, recovery_s)),
        "exact": float(exact_interval_s(save_s, mtbf_s)),
    }
    if fmt == "json":
        echo_json(
            {"save_s": save_s, "mtbf_s": mtbf_s, "recovery_s": recovery_s}
            | {f"{name}_interval_s": value for name, value in found.items()}
        )
    elif fmt == "csv":
        echo_csv(("rule", "interval_s"), found.items())
    else:
        echo_table(
            ("rule", "interval", "in minutes", "formula"),
            (
                (name, format_duration(value), f"{value / 60:.1f} min", _FORMULAS[name])
                for name, value in found.items()
            ),
            numeric=(1, 2),
        )


_FORMULAS = {
    "young": "sqrt(2 C M)",
    "daly": "sqrt(2 C M) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C",
    "equation_5": "sqrt(2 C (M + D)), D the recovery",
    "exact": "x where (1 - x/M) e^(x/M) = e^(-C/M)",
}
