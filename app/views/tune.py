"""Tune: mechanisms in tiers, intervals, peers, the detection timeout and spares, all at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from advisor.errors import UserError
from advisor.figures.tuning import timeout_figure
from advisor.reports.tune_words import (
    TUNE_HEADER,
    caution_lines,
    choice_cells,
    circumstance_lines,
    headline,
    left_out_lines,
    setting_lines,
    worth_lines,
)
from advisor.simulation.kinds import ALL_EXAMPLE, parse_kinds
from advisor.tuning.circumstances import Objective
from advisor.tuning.hiccups import parse_hiccups
from advisor.tuning.limits import MOST_NODES, MOST_REPLICAS, MOST_SPARES, MOST_TIERS
from advisor.tuning.search import Tuned, tune
from advisor.tuning.simulated import simulated
from advisor.tuning.stated import Stated, circumstances_of
from advisor.units import DURATION_EXAMPLE, parse_duration_s, parse_fraction, parse_whole
from app import address
from app.asked import one_of, typed
from app.markdown import message
from app.shown import Shown
from app.widgets import answered, bullets, figure, section, wide_table

_SHOWN = 8
_PRECISION, _MOST_JOBS, _SEED = 5e-3, 4_096, 0


def page(shown: Shown) -> None:
    """The best settings of the sidebar's job, for what is known of its failures."""
    st.header("Tune", anchor=False)
    st.markdown(
        "All settings together: mechanisms in tiers with their intervals, peers, the detection "
        "timeout and spares. What is not stated here is not searched."
    )
    stated = _fields()
    answer = answered(shown)
    if answer is None:
        return
    shown, recommendation = answer
    try:
        told = circumstances_of(stated(), shown.evidence.cluster.nodes)
        tuned = tune(shown.evidence, recommendation.scenario, told)
    except UserError as error:
        st.error(message(error))
        return
    if isinstance(recommendation.scenario.interval, int):
        st.caption("The sidebar's interval does not bind here: intervals are searched.")
    _draw(tuned)


def _draw(tuned: Tuned) -> None:
    st.markdown(f"**{headline(tuned)}**")
    bullets(worth_lines(tuned))
    best = tuned.best
    if best is not None:
        section("Settings", setting_lines(best))
        if best.timeouts:
            figure(
                timeout_figure(best),
                "timeouts",
                "Expected time and false alarms against the detection timeout",
            )
        wide_table(TUNE_HEADER, _rows(tuned), "choices", "The best settings of each combination")
        st.caption(
            f"Simulated with seed {_SEED} until the mean is known to {_PRECISION:.1%}, at most "
            f"{_MOST_JOBS:,} jobs each; * where the formula is more than 1 % off."
        )
    section("Cautions", caution_lines(tuned))
    section("Stated", circumstance_lines(tuned.circumstances))
    section("Left out", left_out_lines(tuned))


def _rows(tuned: Tuned) -> list[tuple[str, ...]]:
    scenario, told = tuned.scenario, tuned.circumstances
    rows = []
    for choice in tuned.choices[:_SHOWN]:
        found = simulated(scenario, told, choice, _SEED, narrow=_PRECISION, most=_MOST_JOBS)
        rows.append(choice_cells(tuned, choice, found))
    return rows


def _fields() -> Callable[[], Stated]:
    """Fields of what is known beside the scenario; read later, where a mistake can be said."""
    left, middle, right = st.columns(3)
    duration = parse_duration_s
    kinds = typed(
        left, "Nodes lost at once", "kinds", ALL_EXAMPLE, partial(parse_kinds, all_too=True),
        "Shares of the failures by how many nodes each takes. A state on storage survives all, one "
        "with k peers the loss of k nodes.",
    )  # fmt: skip
    tiers = _whole(
        left, "Tiers at most", "tiers-up-to", "2", MOST_TIERS,
        "Mechanisms with intervals in one answer, beside an emergency save.",
    )  # fmt: skip
    replicas = _whole(
        left, "Peers at most", "replicas-up-to", "as failures call for", MOST_REPLICAS,
        "Peers that hold a copy of a rank's state.",
    )  # fmt: skip
    every = typed(
        middle, "A hiccup every", "hiccup-every", "6h", duration,
        "Mean time between spells in which a healthy rank is silent. One that outlasts the timeout "
        "is a false alarm, and costs a recovery.",
    )  # fmt: skip
    length = typed(
        middle, "Length of a hiccup", "hiccup-length", "20s", duration, "Its mean, exponential."
    )
    silent = typed(
        middle, "Silent failures", "silent", "100%", parse_fraction,
        "Share of the failures that only the timeout finds; the others take the detection that the "
        "sidebar says.",
    )  # fmt: skip
    repair = typed(
        right, "Repair of a node", "repair", DURATION_EXAMPLE, duration,
        "Mean time until a node that failed is a spare.",
    )  # fmt: skip
    spares = _whole(
        right, "Spares at most", "spares-up-to", "8", MOST_SPARES,
        "Nodes that wait to replace others.", least=0,
    )  # fmt: skip
    nodes = _whole(
        right, "Nodes", "job-nodes", "the cluster's", MOST_NODES, "Nodes that the job needs."
    )
    objective = one_of(right, "Least of", "objective", Objective)
    observed, over = _observed()

    def read() -> Stated:
        return Stated(
            kinds=kinds(),
            hiccup_every_s=every(),
            hiccup_length_s=length(),
            hiccups_s=observed(),
            hiccups_over_s=over(),
            silent=silent(),
            repair_s=repair(),
            most_spares=spares(),
            nodes=nodes(),
            most_tiers=tiers() or 2,
            most_replicas=replicas(),
            objective=objective or Objective.TIME,
        )

    return read


def _observed() -> tuple[Callable[[], tuple[float, ...] | None], Callable[[], float | None]]:
    with st.expander("Hiccups that were observed"):
        text = address.area(st, "One a line", "hiccups", placeholder="1.3s")
        over = typed(st, "Seen in a training of", "hiccups-over", "7d", parse_duration_s)

    def read() -> tuple[float, ...] | None:
        if not text.strip():
            return None
        try:
            return parse_hiccups(text)
        except UserError as error:
            raise UserError(f"One a line: {error}") from None

    return read, over


def _whole(
    where: Any, label: str, key: str, example: str, most: int, hint: str, *, least: int = 1
) -> Callable[[], int | None]:
    parse = partial(parse_whole, what="a number", least=least, most=most)
    return typed(where, label, key, example, parse, hint)
