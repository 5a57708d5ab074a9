"""The scenario in the sidebar: one field an input, each in the page's address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from advisor.saved_mtbf import NamedMtbf
from advisor.scenario import require_in_range
from advisor.scenario_file import LARGEST_FILE_BYTES, parse_scenario_text
from advisor.units import format_duration, parse_whole
from app import address, data
from app.markdown import escape, message
from app.shown import Filled
from db.records import ClusterEvidence

MTBF, MTBF_FROM, NODES, NODE_MTBF = "mtbf", "mtbf-from", "nodes", "node-mtbf"
_MOST_NODES = 10**9 - 1
INSTEAD_OF_MTBF = (MTBF_FROM, NODES, NODE_MTBF)
"""Fields that decide the MTBF where they are filled in."""
_MTBF_FROM_LABEL, _NODES_LABEL, _NODE_MTBF_LABEL = (
    "MTBF from a failure log",
    "Nodes",
    "MTBF of a node",
)
REPEATED = ("mechanism",)
"""Inputs with several values: one parameter of the address each."""
_STARTING = {"architecture": "a2", "mtbf": "4h"}
"""What the fields hold before anybody typed: a scenario that has an answer."""
_STARTING_STATE = "204.7MB"
"""Of the default cluster, which measured each architecture at several sizes."""
_OPENED = "_opened_file"


@dataclass(slots=True)
class _Drawn:
    """What is known of the form once its fields are drawn: the labels of the mistaken ones, and the
    saved MTBF that is used, if one is."""

    wrong: list[str] = field(default_factory=list)
    named: NamedMtbf | None = None


def first_cluster(names: Sequence[str]) -> str:
    """The cluster that is shown until somebody chooses another, of at least one."""
    return DEFAULT_CLUSTER if DEFAULT_CLUSTER in names else names[0]


def choose_cluster(names: Sequence[str]) -> str:
    """The cluster, for every page."""
    first = first_cluster(names)
    return address.choice(
        st.sidebar, "Cluster", "cluster", names, first, help=BY_OPTION["cluster"].help
    )


def scenario_form(cluster: str, evidence: ClusterEvidence, estimates: Sequence[str]) -> Filled:
    """Every input as typed, and what they mean; mistakes are said beside their field.

    `estimates`: the names of the saved failure estimates.
    """
    # As on the command line, the default cluster is one that nobody stated.
    texts = {"cluster": "" if cluster == DEFAULT_CLUSTER else cluster}
    drawn = _Drawn()
    with st.sidebar:
        _open_file()
        for group in Group:
            with st.expander(group.value, expanded=group in (Group.JOB, Group.FAILURES)):
                texts |= _group(group, evidence, estimates, drawn)
    if drawn.wrong:
        return Filled(None, tuple(drawn.wrong))
    try:
        return Filled(read_inputs(texts), named=drawn.named)
    except UserError as error:
        # Every field by itself is right, so this is about several of them.
        st.sidebar.error(message(error))
        return Filled(None)


def _group(
    group: Group, evidence: ClusterEvidence, estimates: Sequence[str], drawn: _Drawn
) -> dict[str, str]:
    """The group's fields as typed."""
    # Drawn below, but first: what it says decides whether the MTBF may be empty.
    above, below = st.container(), st.container()
    derived = _derived_mtbf(below, estimates, drawn) if group is Group.FAILURES else None
    texts = {}
    with above:
        for each in INPUTS:
            if each.group is not group or each.option == "cluster":
                continue
            is_derived = each.option == MTBF and derived is not None
            text = _field(each, evidence, locked=is_derived and drawn.named is not None)
            if is_derived:
                text = derived or ""
            elif not _is_right(each, text):
                drawn.wrong.append(each.label)
            texts[each.option] = text
    return texts


def _field(each: Input, evidence: ClusterEvidence, *, locked: bool = False) -> str:
    """The field as typed; a `locked` text shows its value, and nobody can change it."""
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
        disabled=locked,
        help=f"{each.help} Written as {each.example}.",
    )


def _select(each: Input, options: Sequence[str], default: str) -> str:
    return address.choice(
        st, each.label, each.option, options, default, nothing=each.default, help=each.help
    )


def _derived_mtbf(where: DeltaGenerator, estimates: Sequence[str], drawn: _Drawn) -> str | None:
    """The MTBF for people who know a log or a node's instead; None if neither is filled in, and
    nothing, with the mistake beside the fields, if they cannot be used."""
    where.caption("Or from a saved log, or from one node's MTBF, which then decides:")
    name = address.choice(
        where,
        _MTBF_FROM_LABEL,
        MTBF_FROM,
        estimates,
        "",
        nothing="none",
        # Always the same word: a browser goes on to hold the one that it was shown.
        help="What the page Failure logs, or `advisor mtbf`, saved under a name.",
    )
    of_log = where.container()
    nodes = address.text(
        where, _NODES_LABEL, NODES, max_chars=9, placeholder="such as 64",
        help="How many nodes the job has; it fails when any of them does.",
    )  # fmt: skip
    node_mtbf = address.text(
        where, _NODE_MTBF_LABEL, NODE_MTBF, max_chars=100, placeholder="such as 180d",
        help="Mean time between failures of one node.",
    )  # fmt: skip
    by_node = bool(nodes.strip() or node_mtbf.strip())
    if not (name or by_node):
        return None
    try:
        if not name:
            return job_mtbf(nodes, node_mtbf)
        if by_node:
            raise UserError(
                f"{_MTBF_FROM_LABEL}: {_NODES_LABEL} and {_NODE_MTBF_LABEL} say the MTBF too: "
                "empty them, or choose no log"
            )
        return _mtbf_of_log(of_log, name, drawn)
    except UserError as error:
        if name:
            of_log.error(message(error))
            drawn.wrong.append(_MTBF_FROM_LABEL)
        else:
            where.error(message(error))
            drawn.wrong.append(_NODE_MTBF_LABEL if nodes.strip() else _NODES_LABEL)
        return ""


def _mtbf_of_log(where: DeltaGenerator, name: str, drawn: _Drawn) -> str:
    """A saved MTBF as a text, which the field MTBF then shows: so the address has it too, and
    means the same where nothing is saved under this name. Raises UserError."""
    try:
        named = data.or_explain(lambda: data.named_mtbf(name))
        if named is None:  # said already
            drawn.wrong.append(_MTBF_FROM_LABEL)
            return ""
        require_in_range("mtbf_s", named.mtbf_s)
    except UserError as error:
        raise UserError(f"{_MTBF_FROM_LABEL}: {error}") from None
    drawn.named = named
    written = BY_OPTION[MTBF].write(named.mtbf_s)
    address.put(MTBF, written)
    where.caption(escape(f"MTBF {format_duration(named.mtbf_s)}, from {named.words}"))
    return written


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
    try:
        number = parse_whole(nodes, "a number of nodes", 1, _MOST_NODES)
    except UserError as error:
        raise UserError(f"{_NODES_LABEL}: {error}") from None
    try:
        mtbf_s = BY_OPTION[MTBF].parse(node_mtbf) / number
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
    for key in INSTEAD_OF_MTBF:
        address.put(key, "")
