"""Operating points: every number with its evidence, filtered, as a table and as CSV."""

import pandas as pd
import streamlit as st

from app import address
from app.shown import Shown
from db.records import ClusterEvidence

_COLUMNS = (
    "architecture",
    "mechanism",
    "quantity",
    "value",
    "n",
    "dispersion",
    "dispersion_kind",
    "evidence",
    "workload",
    "state_bytes",
    "interval_steps",
    "lead_s",
    "trace",
    "software_stack",
    "superseded_by",
    "is_set_aside",
    "missing_reason",
    "conditions",
    "table_ref",
    "source_id",
    "point_id",
)
_FILTERS = ("architecture", "mechanism", "quantity", "evidence")


def page(shown: Shown) -> None:
    """The long table of values."""
    everything = _values(shown.loaded.version, shown.evidence)
    st.header("Operating points", anchor=False)
    chosen = everything
    for column, name in zip(st.columns(len(_FILTERS)), _FILTERS, strict=True):
        known = sorted(everything[name].dropna().unique())
        picked = address.choices(column, name.capitalize(), f"filter-{name}", known)
        if picked:
            chosen = chosen[chosen[name].isin(picked)]
    st.caption(f"{len(chosen):,} of {len(everything):,} values; seconds, bytes and fractions.")
    st.dataframe(chosen, hide_index=True, height=480, alt="Operating points with their evidence")
    st.download_button(
        "CSV",
        lambda: chosen.to_csv(index=False),
        "operating-points.csv",
        "text/csv",
        on_click="ignore",
    )


@st.cache_data(max_entries=4, show_spinner=False)
def _values(version: str, _evidence: ClusterEvidence) -> pd.DataFrame:
    """One row a value; cached by the evidence's version."""
    rows = [
        {
            "architecture": p.architecture,
            "mechanism": p.mechanism,
            "quantity": quantity.value,
            "value": v.value,
            "n": v.n,
            "dispersion": v.dispersion,
            "dispersion_kind": v.dispersion_kind and v.dispersion_kind.value,
            "evidence": v.evidence.value,
            "workload": p.workload,
            "state_bytes": p.state_bytes,
            "interval_steps": p.interval_steps,
            "lead_s": p.lead_s,
            "trace": p.trace,
            "software_stack": p.software_stack,
            "superseded_by": p.superseded_by,
            "is_set_aside": is_set_aside,
            "missing_reason": v.missing_reason and v.missing_reason.value,
            "conditions": v.conditions,
            "table_ref": v.table_ref,
            "source_id": v.source_id,
            "point_id": p.point_id,
        }
        for points, is_set_aside in ((_evidence.points, False), (_evidence.set_aside, True))
        for p in points
        for quantity, v in p.values.items()
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))
