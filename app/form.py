"""The scenario in the sidebar: one field an input, each bound to the page's address."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from advisor.errors import UserError
from advisor.inputs import BY_OPTION, INPUTS, Group, Input, read_inputs, read_one
from advisor.scenario import ScenarioInput
from advisor.scenario_file import LARGEST_FILE_BYTES, parse_scenario_text
from db.records import ClusterEvidence

NODES, NODE_MTBF = "nodes", "node-mtbf"
_STARTING = {"architecture": "a2", "state-size": "204.7MB", "mtbf": "4h"}
REPEATED = ("mechanism",)
"""Inputs with several values: one parameter of the address each."""


def choose_cluster(names: Sequence[str]) -> str:
    """The cluster, for every page."""
    _say_if_unknown("cluster", names)
    return str(
        st.sidebar.selectbox(
            "Cluster", names, key="cluster", bind="query-params", help=BY_OPTION["cluster"].help
        )
    )


def scenario_form(
    cluster: str, evidence: ClusterEvidence
) -> tuple[dict[str, str], ScenarioInput | None]:
    """Every input as typed, and what they mean; mistakes are said beside their field."""
    texts: dict[str, str] = {"cluster": cluster}
    with st.sidebar:
        _open_file()
        for group in Group:
            members = [i for i in INPUTS if i.group is group and i.option != "cluster"]
            with st.expander(group.value, expanded=group in (Group.JOB, Group.FAILURES)):
                for each in members:
                    texts[each.option] = _field(each, evidence)
                if group is Group.FAILURES:
                    _mtbf_from_nodes(texts)
    return texts, _read(texts)


def starting_text(option: str) -> str:
    """What a field holds before anybody typed: a scenario that has an answer."""
    return _STARTING.get(option, "")


def _field(each: Input, evidence: ClusterEvidence) -> str:
    if each.option == "architecture":
        return _select(each, tuple(evidence.architectures), starting_text(each.option))
    if each.choices:
        return _select(each, each.choices, "")
    if each.option in REPEATED:
        return _mechanisms(each, tuple(evidence.mechanisms))
    text = st.text_input(
        each.label,
        starting_text(each.option),
        key=each.option,
        bind="query-params",
        max_chars=100,
        placeholder=each.default or each.example,
        help=f"{each.help} Written as {each.example}.",
    )
    _say_if_mistaken(each.option, text or "")
    return text or ""


def _select(each: Input, options: tuple[str, ...], first: str) -> str:
    _say_if_unknown(each.option, options)
    chosen = st.selectbox(
        each.label,
        options,
        index=options.index(first) if first in options else None,
        placeholder=each.default,
        key=each.option,
        bind="query-params",
        help=each.help,
    )
    return str(chosen or "")


def _mechanisms(each: Input, options: tuple[str, ...]) -> str:
    chosen = st.multiselect(
        each.label,
        options,
        key=each.option,
        bind="query-params",
        placeholder=each.default,
        help="Only these; none chosen means all.",
    )
    return ",".join(chosen)


def _mtbf_from_nodes(texts: dict[str, str]) -> None:
    """Nodes x node MTBF, for people who know that instead."""
    st.caption("Or from one node's MTBF, which then decides:")
    left, right = st.columns(2)
    nodes = left.text_input(
        "Nodes", "", key=NODES, bind="query-params", max_chars=9, placeholder="such as 64"
    )
    node_mtbf = right.text_input(
        "MTBF of a node", "", key=NODE_MTBF, bind="query-params", max_chars=100,
        placeholder="such as 180d",
    )  # fmt: skip
    if not (nodes or node_mtbf):
        return
    try:
        texts["mtbf"] = job_mtbf(nodes or "", node_mtbf or "")
    except UserError as error:
        st.error(str(error))
        texts["mtbf"] = ""


def job_mtbf(nodes: str, node_mtbf: str) -> str:
    """The job's MTBF as a text: a job fails when any of its nodes does. Raises UserError."""
    if not (nodes.isascii() and nodes.isdigit() and int(nodes) > 0):
        raise UserError(f"nodes: {nodes!r} is not a number of nodes: write a whole number from 1")
    each = BY_OPTION["mtbf"]
    return each.write(read_one("mtbf", node_mtbf or "?") / int(nodes))


def _read(texts: Mapping[str, str]) -> ScenarioInput | None:
    try:
        return read_inputs(texts)
    except UserError as error:
        st.sidebar.error(str(error))
        return None


def _say_if_mistaken(option: str, text: str) -> None:
    if not text.strip():
        if BY_OPTION[option].required:
            st.error(f"{BY_OPTION[option].label} is needed, such as {BY_OPTION[option].example}")
        return
    try:
        read_one(option, text)
    except UserError as error:
        st.error(str(error))


def _say_if_unknown(option: str, options: Sequence[str]) -> None:
    """An unknown name in the address would otherwise be replaced in silence."""
    asked = st.session_state.get("_address", {}).get(option)
    if asked and asked not in options:
        st.sidebar.warning(
            f"The address asks for {option} {asked[:40]!r}, which is not there: "
            f"it is one of {', '.join(o for o in options if o)}."
        )


def remember_address() -> None:
    """Keeps what the address said when the page was opened, before any field takes it over."""
    if "_address" not in st.session_state:
        st.session_state["_address"] = {k: str(v) for k, v in st.query_params.items()}


def _open_file() -> None:
    """Fills the form from a scenario file."""
    file = st.file_uploader(
        "Open a scenario file",
        type=["toml", "json"],
        max_upload_size=1,
        key="scenario_file",
        help="TOML or JSON with the same names as the options of `advisor recommend`.",
    )
    if file is None or st.session_state.get("_opened_file") == file.file_id:
        return
    st.session_state["_opened_file"] = file.file_id
    try:
        texts = parse_scenario_text(file.read(LARGEST_FILE_BYTES + 1), file.name)
        read_inputs({**_STARTING, **texts})
    except UserError as error:
        st.error(f"{file.name[:60]}: {error}")
        return
    st.session_state["_pending"] = dict(texts)
    st.rerun()


def apply_pending() -> None:
    """Puts an opened file's values into the fields, before they are drawn."""
    texts: dict[str, Any] = st.session_state.pop("_pending", {})
    for option, text in texts.items():
        name = option.replace("_", "-")
        if name in REPEATED:
            st.session_state[name] = [part.strip().lower() for part in text.split(",")]
        elif name in ("architecture", "failure-regime", "restore-basis"):
            st.session_state[name] = text.strip().lower()
        else:
            st.session_state[name] = text
