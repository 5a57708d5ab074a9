"""Failure logs: a log of one's own, how often it says that jobs fail, and on to Recommend."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, parse_zone
from advisor.failure_logs.counting import CountMode, Question
from advisor.failure_logs.estimate import Estimate, estimate
from advisor.failure_logs.formats import NAMES
from advisor.failure_logs.quantities import MOST_ASKED_NODES
from advisor.failure_logs.reading import AUTO, own_columns, parse_log
from advisor.failure_logs.records import Log
from advisor.failure_logs.windows import parse_window
from advisor.inputs import BY_OPTION
from advisor.reports import failure_log_words as words
from advisor.saved_mtbf import parse_estimate_name, save
from advisor.scenario import require_in_range
from advisor.units import parse_duration_s, parse_whole
from app import address, data, log_columns
from app.form import INSTEAD_OF_MTBF, MTBF
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import bullets, section, table
from db.errors import NameTakenError
from db.records import FailureScope

_LARGEST_MB = 200
_MOST_DIGITS = len(str(MOST_ASKED_NODES))
_READ, _HEADER, _SAVED = "_failure_log", "_failure_log_columns", "_saved_estimate"
_COUNTS = {
    CountMode.INFRA.value: "the cluster's failures",
    CountMode.ABORT.value: "these, and jobs that end by an error of their own",
    CountMode.ALL.value: "all interruptions, planned ones too",
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the fields of the page mean."""

    question: Question
    zone: tzinfo


def page(shown: Shown) -> None:
    """A file and how to read it; what it says; where that goes."""
    st.header("Failure logs", anchor=False)
    address.await_later(*log_columns.FIELDS)
    st.caption(
        "How often your cluster fails, from its own log: failures over the time at risk. The file "
        "stays in this server's memory for this session, and is not stored."
    )
    file = st.file_uploader(
        "A log of jobs or failures",
        max_upload_size=_LARGEST_MB,
        key="failure_log",
        help="What `sacct` prints with bars or as JSON, the Acme, Helios or Philly traces, Los "
        "Alamos' failure records, or a table of your own, whose columns you can tell.",
    )
    kind, asked = _fields()
    if file is None:
        st.info("Choose a file: its failures, time at risk and MTBF are shown here.")
        return
    columns = log_columns.choose(_columns_of(file, kind))
    if asked is None or columns is None:
        return
    try:
        found = estimate(_log(file, kind, asked.zone, columns), asked.question)
    except UserError as error:
        st.error(message(error))
        return
    _show(found)
    _use(shown, found)
    _keep(found)


def _fields() -> tuple[str, _Asked | None]:
    """The kind of log, and what the other fields say; None, with the mistake beside them, if one
    cannot be read."""
    left, middle, right = st.columns(3)
    kind = address.choice(
        left, "Kind of log", "log-format", (AUTO, *NAMES), AUTO,
        help="auto: as the file looks.",
    )  # fmt: skip
    counted = address.choice(
        middle, "Failures are", "log-count", tuple(_COUNTS), CountMode.INFRA.value,
        format_func=_COUNTS.__getitem__,
    )  # fmt: skip
    nodes = address.text(
        right, "Nodes of the job", "log-nodes", max_chars=_MOST_DIGITS,
        placeholder="the mean size in the log",
        help="Size for which the MTBF is wanted; of a system whose log does not say its size, "
        "also that.",
    )  # fmt: skip
    window = address.text(
        left, "Window", "log-window", max_chars=60, placeholder="the whole log",
        help="From when to when, such as 2024-03-01..2024-04-24; of counts without times, how "
        "long, such as 54d.",
    )  # fmt: skip
    coalesce = address.text(
        middle, "Failures closer than this are one", "log-coalesce", "5m", max_chars=20,
        help="none keeps all apart.",
    )  # fmt: skip
    zone = address.text(
        right, "Time zone", "log-tz", "UTC", max_chars=50,
        help="Of times without an offset, such as Europe/Berlin.",
    )  # fmt: skip
    try:
        clock = Clock(parse_zone(zone))
        between, length_s = parse_window(window, clock) if window.strip() else (None, None)
        question = Question(
            CountMode(counted), _coalesce_s(coalesce), between, length_s, _nodes(nodes)
        )
    except UserError as error:
        st.error(message(error))
        return kind, None
    return kind, _Asked(question, clock.zone)


def _coalesce_s(text: str) -> float:
    return 0.0 if text.strip().lower() in ("", "none") else parse_duration_s(text)


def _nodes(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        return parse_whole(text, "a number of nodes", 1, MOST_ASKED_NODES)
    except UserError as error:
        raise UserError(f"Nodes: {error}") from None


def _columns_of(file: UploadedFile, kind: str) -> tuple[str, ...]:
    """The columns that somebody may tell, found once however often the page is drawn."""
    key = (file.file_id, kind)
    known: tuple[tuple[str, str], tuple[str, ...]] | None = st.session_state.get(_HEADER)
    if known is not None and known[0] == key:
        return known[1]
    names = own_columns(file.getvalue(), kind)
    st.session_state[_HEADER] = (key, names)
    return names


def _log(file: UploadedFile, kind: str, zone: tzinfo, columns: Mapping[str, str]) -> Log:
    """The file, read once however often the page is drawn. Raises UserError."""
    key = (file.file_id, kind, str(zone), tuple(columns.items()))
    known: tuple[object, Log] | None = st.session_state.get(_READ)
    if known is not None and known[0] == key:
        return known[1]
    log = parse_log(file.getvalue(), file.name, kind, Clock(zone), columns)
    st.session_state[_READ] = (key, log)
    return log


def _show(found: Estimate) -> None:
    first, *rest = words.lines(found)
    st.subheader(escape(first), anchor=False)
    for warning in found.warnings:
        st.warning(message(warning), icon=":material/warning:")
    bullets(rest)
    st.subheader("What became of every row", anchor=False)
    table(words.ROWS_HEADER, words.row_cells(found))
    if found.by_node is None:
        return
    section("Nodes", [words.node_words(found.by_node)])
    table(words.NODES_HEADER, words.node_cells(found.by_node))
    if found.by_node.without:
        table(words.WITHOUT_HEADER, words.without_cells(found.by_node))


def _use(shown: Shown, found: Estimate) -> None:
    """On to Recommend: an MTBF of jobs fills the sidebar's field."""
    st.subheader("Use it", anchor=False)
    mtbf_s = found.mtbf.mtbf_s
    if found.scope is not FailureScope.JOB:
        st.caption(
            "This is no rate of jobs' unexpected interruptions, so it is no MTBF for Recommend: "
            "type the MTBF that it means for your job."
        )
        return
    if mtbf_s is None:
        st.caption("Without a failure there is only a bound: type the MTBF that you expect.")
        return
    try:
        require_in_range("mtbf_s", mtbf_s)
    except UserError as error:
        st.caption(message(error))
        return
    written = BY_OPTION[MTBF].write(mtbf_s)
    stated = shown.filled.inputs
    if stated is not None and BY_OPTION[MTBF].write(stated.mtbf_s) == written:
        st.caption("The scenario in the sidebar has this MTBF: Recommend answers for it.")
    elif st.button("Take it into the scenario", key="use_mtbf"):
        address.put(MTBF, written)
        for field in INSTEAD_OF_MTBF:
            address.put(field, "")
        st.rerun()


def _keep(found: Estimate) -> None:
    name = st.text_input(
        "Name",
        key="estimate_name",
        max_chars=60,
        placeholder="such as cluster-2024",
        help="Letters, digits, dots, dashes and underscores; what a name stands for never changes.",
    )
    clicked = st.button("Save in the database", key="save_estimate")
    just_saved: str | None = st.session_state.pop(_SAVED, None)
    if just_saved is not None:
        bullets([_saved_words(just_saved, found)])
    if not clicked:
        return

    def write() -> bool:
        try:
            with data.database() as engine:
                save(engine, parse_estimate_name(name), found)
        except NameTakenError as error:
            raise UserError(str(error)) from None  # the name is at fault, not the database
        return True

    try:
        saved = data.or_explain(write)
    except UserError as error:
        st.error(message(error))
        return
    if saved:
        # The sidebar was drawn before, without the new name.
        st.session_state[_SAVED] = name
        st.rerun()


def _saved_words(name: str, found: Estimate) -> str:
    if found.scope is not FailureScope.JOB or found.mtbf.mtbf_s is None:
        return f"Saved as {name}; Recommend takes only MTBFs of jobs, with a failure at least."
    return (
        f"Saved: the sidebar has {name} under MTBF from a failure log, and "
        f"`advisor recommend --mtbf-from {name}` uses it too."
    )
