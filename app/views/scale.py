"""Scale: the same job on more GPUs, with goodput, GPU-hours and money."""

from collections.abc import Callable

import streamlit as st

from advisor.cost import PRICE_EXAMPLE, Price, parse_price
from advisor.errors import UserError
from advisor.figures.scale import scale_figure
from advisor.reports.scale_words import (
    SCALE_HEADER,
    assumed_lines,
    exclusion_lines,
    point_cells,
    rule_lines,
    verdict_lines,
)
from advisor.scale.answer import default_world_sizes, scale
from advisor.scale.growth import Scaling, StatedGrowth, StateLayout, growth_of
from advisor.scale.world_sizes import parse_world_size, parse_world_sizes
from advisor.units import DURATION_EXAMPLE, parse_duration_s, parse_fraction
from app.asked import one_of, typed
from app.markdown import message
from app.shown import Shown
from app.widgets import answered, bullets, figure, section, wide_table
from db.records import FailureScope


def page(shown: Shown) -> None:
    """The scenario's job on other numbers of ranks."""
    st.header("Scale", anchor=False)
    st.markdown(
        "The sidebar describes the job on some number of ranks, its MTBF included; this answers "
        "for others, by stated rules. One rank has one GPU."
    )
    sizes, price = _asked()
    stated = _growth()
    answer = answered(shown)
    if answer is None:
        return
    shown, recommendation = answer
    try:
        growth = growth_of(shown.evidence, recommendation.scenario, stated())
        found = scale(
            shown.evidence,
            recommendation.scenario,
            growth,
            sizes() or default_world_sizes(growth),
        )
        asked = price()
    except UserError as error:
        st.error(message(error))
        return
    bullets(verdict_lines(found))
    if found.soonest is not None:
        figure(
            scale_figure(found, tuple(shown.evidence.mechanisms)),
            "scale",
            "Expected time and goodput against the number of ranks",
        )
    wide_table(
        SCALE_HEADER,
        [point_cells(point, asked) for point in found.points],
        "points",
        "The answer for each number of ranks",
    )
    last = found.points[-1]
    section(f"Rules, at {last.world_size:,} ranks", rule_lines(last))
    section("Not stated", assumed_lines(found))
    section("Where nobody is recommended", exclusion_lines(found))


def _asked() -> tuple[Callable[[], tuple[int, ...] | None], Callable[[], Price | None]]:
    """Fields of what is asked for; what they mean is read later, where a mistake can be said."""
    left, right = st.columns(2)
    sizes = typed(left, "World sizes", "to", "8..1024 or 8,16,64", parse_world_sizes)
    price = typed(right, "Price of a GPU-hour", "price", PRICE_EXAMPLE, parse_price)
    return sizes, price


def _growth() -> Callable[[], StatedGrowth]:
    """Fields of how the job grows."""
    with st.expander("How the job grows"):
        left, middle, right = st.columns(3)
        whole = parse_world_size
        world_size = typed(left, "Ranks of the scenario", "world-size", "as measured", whole)
        per_node = typed(left, "Ranks on a node", "ranks-per-node", "the cluster's", whole)
        per_rank = typed(
            left, "Regrouping, each rank more", "regroup-per-rank", DURATION_EXAMPLE,
            parse_duration_s,
        )  # fmt: skip
        scope = one_of(middle, "The MTBF counts", "mtbf-scope", FailureScope)
        share = typed(middle, "Failures of nodes", "node-share", "100%", parse_fraction)
        layout = one_of(middle, "State", "state-layout", StateLayout)
        scaling = one_of(right, "Scaling", "scaling", Scaling)
        communication = typed(right, "All-reduce in a step", "communication", "0%", parse_fraction)
        fixed = typed(right, "Fixed part of a step", "fixed", "0%", parse_fraction)

    def read() -> StatedGrowth:
        return StatedGrowth(
            world_size=world_size(),
            ranks_per_node=per_node(),
            scope=scope,
            node_share=share(),
            scaling=scaling,
            communication_share=communication(),
            fixed_share=fixed(),
            layout=layout,
            regroup_per_rank_s=per_rank(),
        )

    return read
