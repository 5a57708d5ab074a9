"""The scenario in the sidebar: one field an input, each in the page's address."""

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from advisor.defaults import DEFAULT_CLUSTER
from advisor.errors import UserError
from advisor.inputs import (
    BY_OPTION,
    INPUTS,
    Group,
    Input,
    check,
    read_inputs,
    require_input,
)
from advisor.scenario import require_in_range
from advisor.scenario_file import LARGEST_FILE_BYTES, parse_scenario_text
from app import address
from app.markdown import message
from app.shown import Filled
from db.records import ClusterEvidence

MTBF, NODES, NODE_MTBF = "mtbf", "nodes", "node-mtbf"
_NODE_MTBF_LABEL = "MTBF of a node"
REPEATED = ("mechanism",)
"""Inputs with several values: one parameter of the address each."""
_STARTING = {"architecture": "a2", "mtbf": "4h"}
"""What the fields hold before anybody typed: a scenario that has an answer."""
_STARTING_STATE = "204.7MB"
"""Of the default cluster, which measured each architecture at several sizes."""
_OPENED = "_opened_file"


def first_cluster(names: Sequence[str]) -> str:
    """The cluster that is shown until somebody chooses another, of at least one."""
    return DEFAULT_CLUSTER if DEFAULT_CLUSTER in names else names[0]


def choose_cluster(names: Sequence[str]) -> str:
    """The cluster, for every page."""
    first = first_cluster(names)
    return address.choice(
        st.sidebar, "Cluster", "cluster", names, first, help=BY_OPTION["cluster"].help
    )


def scenario_form(cluster: str, evidence: ClusterEvidence) -> Filled:
    """Every input as typed, and what they mean; mistakes are said beside their field."""
    # As on the command line, the default cluster is one that nobody stated.
    texts = {"cluster": "" if cluster == DEFAULT_CLUSTER else cluster}
    wrong: list[str] = []
    with st.sidebar:
        _open_file()
        for group in Group:
            with st.expander(group.value, expanded=group in (Group.JOB, Group.FAILURES)):
                texts |= _group(group, evidence, wrong)
    if wrong:
        return Filled(None, tuple(wrong))
    try:
        return Filled(read_inputs(texts))
    except UserError as error:
        # Every field by itself is right, so this is about several of them.
        st.sidebar.error(message(error))
        return Filled(None)


def _group(group: Group, evidence: ClusterEvidence, wrong: list[str]) -> dict[str, str]:
    """The group's fields as typed; the labels of mistaken ones are added to `wrong`."""
    # Drawn below, but first: what it says decides whether the MTBF may be empty.
    above, below = st.container(), st.container()
    derived = _mtbf_from_nodes(below, wrong) if group is Group.FAILURES else None
    texts = {}
    with above:
        for each in INPUTS:
            if each.group is not group or each.option == "cluster":
                continue
            text = _field(each, evidence)
            if each.option == MTBF and derived is not None:
                text = derived
            elif not _is_right(each, text):
                wrong.append(each.label)
            texts[each.option] = text
    return texts


def _field(each: Input, evidence: ClusterEvidence) -> str:
    default = _STARTING.get(each.option, "")
    if each.option == "state-size" and evidence.cluster.cluster == DEFAULT_CLUSTER:
        default = _STARTING_STATE
    if each.option == "architecture":
        known = tuple(evidence.architectures)
        return _select(each, known, default if default in known else known[0])
    if each.choices:
        chosen = _select(each, each.choices, each.default if each.default in each.choices else "")
        return "" if chosen == each.default else chosen
    if each.option in REPEATED:
        known = tuple(evidence.mechanisms)
        several = address.choices(
            st, each.label, each.option, known, placeholder=each.default,
            help="Only these; none chosen means all.",
        )  # fmt: skip
        return ",".join(several)
    return address.text(
        st,
        each.label,
        each.option,
        default,
        max_chars=100,
        placeholder=each.default or each.example,
        help=f"{each.help} Written as {each.example}.",
    )


def _select(each: Input, options: Sequence[str], default: str) -> str:
    return address.choice(
        st, each.label, each.option, options, default, nothing=each.default, help=each.help
    )


def _mtbf_from_nodes(where: DeltaGenerator, wrong: list[str]) -> str | None:
    """Node MTBF / nodes, for people who know these instead; None if they are not filled in."""
    where.caption("Or from one node's MTBF, which then decides:")
    left, right = where.columns(2)
    nodes = address.text(left, "Nodes", NODES, max_chars=9, placeholder="such as 64")
    node_mtbf = address.text(
        right, _NODE_MTBF_LABEL, NODE_MTBF, max_chars=100, placeholder="such as 180d"
    )
    if not (nodes.strip() or node_mtbf.strip()):
        return None
    try:
        return job_mtbf(nodes, node_mtbf)
    except UserError as error:
        where.error(message(error))
        wrong.append("Nodes" if nodes.strip() == "" else _NODE_MTBF_LABEL)
        return ""


def job_mtbf(nodes: str, node_mtbf: str) -> str:
    """The job's MTBF as a text: a job fails when any of its nodes does. Raises UserError."""
    if not nodes.strip():
        raise UserError(
            "Nodes is needed too, such as 64: the MTBF is that of a node divided by them"
        )
    if not node_mtbf.strip():
        raise UserError(
            f"{_NODE_MTBF_LABEL} is needed too, such as 180d: the MTBF is that divided by Nodes"
        )
    digits = nodes.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits) > 0):
        raise UserError(f"Nodes: {nodes!r} is not a number of nodes: write a whole number from 1")
    try:
        mtbf_s = BY_OPTION[MTBF].parse(node_mtbf) / int(digits)
        require_in_range("mtbf_s", mtbf_s)
    except UserError as error:
        raise UserError(f"{_NODE_MTBF_LABEL}: {error}") from None
    return BY_OPTION[MTBF].write(mtbf_s)


def _is_right(each: Input, text: str) -> bool:
    """Says beside the field what is wrong with it."""
    if not text.strip():
        if each.required:
            st.error(message(f"{each.label} is needed, such as {each.example}"))
        return not each.required
    try:
        check(each, text)
    except UserError as error:
        st.error(message(f"{each.label}: {error}"))
        return False
    return True


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
        st.error(message(f"{file.name}: {error}"))
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
