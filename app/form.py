"""The scenario in the sidebar: one field an input, each in the page's address."""

from collections.abc import Mapping, Sequence

import streamlit as st

from advisor.defaults import DEFAULT_CLUSTER
from advisor.errors import UserError
from advisor.inputs import (
    BY_OPTION,
    INPUTS,
    Group,
    Input,
    read_inputs,
    read_one,
    require_input,
)
from advisor.reports.markdown import escape
from advisor.scenario import ScenarioInput
from advisor.scenario_file import LARGEST_FILE_BYTES, parse_scenario_text
from app import address
from db.records import ClusterEvidence

NODES, NODE_MTBF = "nodes", "node-mtbf"
REPEATED = ("mechanism",)
"""Inputs with several values: one parameter of the address each."""
_STARTING = {"architecture": "a2", "state-size": "204.7MB", "mtbf": "4h"}
"""What the fields hold before anybody typed: a scenario that has an answer."""
_OPENED = "_opened_file"


def choose_cluster(names: Sequence[str]) -> str:
    """The cluster, for every page."""
    first = DEFAULT_CLUSTER if DEFAULT_CLUSTER in names else names[0]
    return address.choice(
        st.sidebar, "Cluster", "cluster", names, first, help=BY_OPTION["cluster"].help
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


def _field(each: Input, evidence: ClusterEvidence) -> str:
    default = _STARTING.get(each.option, "")
    if each.option == "architecture":
        known = tuple(evidence.architectures)
        return _select(each, known, default if default in known else known[0])
    if each.choices:
        return _select(each, each.choices, None)
    if each.option in REPEATED:
        known = tuple(evidence.mechanisms)
        chosen = address.choices(
            st, each.label, each.option, known, placeholder=each.default,
            help="Only these; none chosen means all.",
        )  # fmt: skip
        return ",".join(chosen)
    text = address.text(
        st,
        each.label,
        each.option,
        default,
        max_chars=100,
        placeholder=each.default or each.example,
        help=f"{each.help} Written as {each.example}.",
    )
    _say_if_mistaken(each, text)
    return text


def _select(each: Input, options: Sequence[str], default: str | None) -> str:
    return address.choice(
        st, each.label, each.option, options, default, placeholder=each.default, help=each.help
    )


def _mtbf_from_nodes(texts: dict[str, str]) -> None:
    """Nodes x node MTBF, for people who know that instead."""
    st.caption("Or from one node's MTBF, which then decides:")
    left, right = st.columns(2)
    nodes = address.text(left, "Nodes", NODES, max_chars=9, placeholder="such as 64")
    node_mtbf = address.text(
        right, "MTBF of a node", NODE_MTBF, max_chars=100, placeholder="such as 180d"
    )
    if not (nodes or node_mtbf):
        return
    try:
        texts["mtbf"] = job_mtbf(nodes, node_mtbf)
    except UserError as error:
        st.error(escape(str(error)))
        texts["mtbf"] = ""


def job_mtbf(nodes: str, node_mtbf: str) -> str:
    """The job's MTBF as a text: a job fails when any of its nodes does. Raises UserError."""
    if not (nodes.isascii() and nodes.isdigit() and len(nodes) < 10 and int(nodes) > 0):
        raise UserError(
            f"nodes: {nodes[:20]!r} is not a number of nodes: write a whole number from 1"
        )
    if not node_mtbf.strip():
        raise UserError("the MTBF of a node is needed too, such as 180d")
    return BY_OPTION["mtbf"].write(read_one("mtbf", node_mtbf) / int(nodes))


def _read(texts: Mapping[str, str]) -> ScenarioInput | None:
    try:
        return read_inputs(texts)
    except UserError as error:
        st.sidebar.error(escape(str(error)))
        return None


def _say_if_mistaken(each: Input, text: str) -> None:
    if not text.strip():
        if each.required:
            st.error(f"{each.label} is needed, such as {each.example}")
        return
    try:
        read_one(each.option, text)
    except UserError as error:
        st.error(escape(str(error)))


def _open_file() -> None:
    """Fills the form from a scenario file."""
    file = st.file_uploader(
        "Open a scenario file",
        type=["toml", "json"],
        max_upload_size=1,
        key="scenario_file",
        help="TOML or JSON with the same names as the options of `advisor recommend`.",
    )
    if file is None or st.session_state.get(_OPENED) == file.file_id:
        return
    try:
        stated = parse_scenario_text(file.read(LARGEST_FILE_BYTES + 1), file.name)
        read_inputs(stated)
    except UserError as error:
        st.error(escape(f"{file.name[:60]}: {error}"))
        return
    st.session_state[_OPENED] = file.file_id
    _fill(stated)
    st.rerun()


def _fill(stated: Mapping[str, str]) -> None:
    """The form as if nothing else had been typed; names as the options have them."""
    texts = {require_input(option).option: text for option, text in stated.items()}
    for each in INPUTS:
        text = texts.get(each.option, "")
        written = each.write(each.parse(text)) if text.strip() else ""
        if each.option in REPEATED:
            address.put_all(each.option, written.split(",") if written else [])
        elif written or each.option != "cluster":
            address.put(each.option, written)
    for key in (NODES, NODE_MTBF):
        address.put(key, "")
