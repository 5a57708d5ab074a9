"""Runs: what a lost worker does, the runs that say so, and one of them in full."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pandas as pd
import streamlit as st

from advisor.figures.run_times import (
    MOST_RECOVERIES,
    phased_recoveries,
    recovery_bars,
    where_the_time_went,
)
from advisor.figures.runs import MOST_FAULTS, timeline, timeline_of
from advisor.reports import run_words
from advisor.reports.run_words import NO_FAULT
from app import address, data
from app.data import StoredRun
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import figure, section, table
from db.errors import InvalidDataError, NotFoundError
from db.records import Exposure, RunOutcome, RunValidity
from db.run_queries import RunChoices, RunFilter
from db.run_record import Record

RUN = "run"
_FILTERS = {
    "architecture": "run-architecture",
    "mechanism": "run-mechanism",
    "trace": "run-trace",
    "outcome": "run-outcome",
    "validity": "run-validity",
    "profile": "run-profile",
    "campaign": "run-campaign",
}
"""Field of RunFilter -> its name in the address."""
_LIST = "run_list"
_SHOWN_RUNS, _LARGEST_CSV = 1_000, 100_000
_SHOWN_ROWS = 64
_LARGEST_JSON = 1_000_000
_MAKE_RUNS = "advisor measure --architecture a2 --mechanism ft9 --trace f1"
_COLUMNS = {
    "samples_per_s_per_rank": st.column_config.NumberColumn("samples/s/rank", format="%.1f"),
    "first_detection_s": st.column_config.NumberColumn("first knew (s)", format="%.3f"),
    "detection_s": st.column_config.NumberColumn("all knew (s)", format="%.3f"),
    "not_detected_within_s": st.column_config.NumberColumn("not within (s)", format="%.1f"),
    "post_failure_samples_per_s_per_rank": st.column_config.NumberColumn(
        "samples/s/rank after", format="%.1f"
    ),
    "aggregate_slowdown_fraction": st.column_config.NumberColumn("slowdown", format="percent"),
    "wall_s": st.column_config.NumberColumn("wall time (s)", format="%.1f"),
    "recovery_total_s": st.column_config.NumberColumn("recovery (s)", format="%.3f"),
    "lost_steps": st.column_config.NumberColumn("steps made again", format="%.1f"),
    "overhead_fraction": st.column_config.NumberColumn("overhead", format="percent"),
}


def page(shown: Shown) -> None:
    """One run if the address names one, or else all of the cluster's."""
    st.header("Runs", anchor=False)
    address.await_later(*_FILTERS.values())
    run_id = address.text(
        st,
        "Open a run",
        RUN,
        placeholder="its id, or tick it in the list",
        max_chars=200,
    )
    # An id has no blanks; one in an address was a + that somebody typed there (ft4+ft2+ft1).
    run_id = run_id.strip().replace(" ", "+")
    if run_id:
        _one(shown, run_id)
    else:
        _exposure(shown)
        _runs(shown)


def _exposure(shown: Shown) -> None:
    cluster = shown.evidence.cluster.cluster
    found = data.or_explain(lambda: data.exposure(cluster))
    if found is None:
        return
    st.subheader("What a lost worker does", anchor=False)
    if not found.exposures:
        st.info(message(f"Nothing is known of it on {cluster}: no run without a mechanism."))
        return
    everywhere = ", ".join(run_words.shared_conditions(found.exposures))
    st.caption(
        f"Without a mechanism (the paper's Table V){escape(everywhere and f': {everywhere}')}. "
        "Throughput in samples per second and rank, before the fault and after it; ± is half a "
        "95 % confidence interval of the mean over n runs. A negative slowdown is a gain."
    )
    table(
        run_words.EXPOSURE_HEADER,
        run_words.exposure_rows(found.exposures, found.first_detections),
    )
    for line in run_words.exposure_software_lines(found.exposures, found.set_aside):
        st.caption(escape(line))
    if any(map(run_words.is_measured, found.exposures)):
        _say_cores(cluster)
    with st.expander("Every number with its evidence"):
        _numbers(found.exposures)


def _numbers(exposures: Sequence[Exposure]) -> None:
    table(run_words.NUMBER_HEADER, [row for e in exposures for row in run_words.number_rows(e)])


def _say_cores(cluster: str) -> None:
    newest = data.or_explain(lambda: data.runs(RunFilter(cluster=cluster), 1))
    if newest:
        opened = _opened(newest[0].run_id)
        if opened is not None:
            st.caption(escape(run_words.cores_line(opened.record)))


def _runs(shown: Shown) -> None:
    cluster = shown.evidence.cluster.cluster
    choices = data.or_explain(lambda: data.run_choices(cluster))
    if choices is None:
        return
    st.subheader("Runs on this cluster", anchor=False)
    if cluster not in choices.clusters:
        _say_none(cluster, choices.clusters)
        return
    wanted = _chosen(cluster, choices)
    count = data.or_explain(lambda: data.run_count(wanted))
    runs = data.or_explain(lambda: data.runs(wanted, _SHOWN_RUNS))
    if count is None or runs is None:
        return
    more = f", of which the newest {_SHOWN_RUNS:,} are listed" if count > len(runs) else ""
    st.caption(f"{count:,} {'run' if count == 1 else 'runs'}{more}. Tick one to open it.")
    listed = pd.DataFrame([run_words.run_row(run) for run in runs])
    if not listed.empty:
        ids = [run.run_id for run in runs]
        st.dataframe(
            listed,
            hide_index=True,
            column_config=_COLUMNS,
            key=_LIST,
            on_select=lambda: _open(ids),
            selection_mode="single-row",
            alt="Runs with their outcome and main figures",
        )
        st.download_button("CSV", lambda: csv(wanted), "runs.csv", "text/csv", on_click="ignore")


def _say_none(cluster: str, others: Sequence[str]) -> None:
    elsewhere = f" The runs of this database are on {', '.join(others)}." if others else ""
    st.info(
        message(
            f"No run on {cluster} is in this database.{elsewhere} This makes one, on your machine:"
        )
    )
    st.code(_MAKE_RUNS, language="console", wrap_lines=True)


def _chosen(cluster: str, choices: RunChoices) -> RunFilter:
    """The filters, side by side as far as they fit; none chosen admits all."""
    options = {
        "architecture": choices.architectures,
        "mechanism": choices.mechanisms,
        "trace": tuple(trace or NO_FAULT for trace in choices.traces),
        "outcome": choices.outcomes,
        "validity": choices.validities,
        "profile": choices.profiles,
        "campaign": choices.campaigns,
    }
    with st.container(horizontal=True):
        picked = {
            name: address.choice(
                st,
                name.capitalize(),
                _FILTERS[name],
                known,
                "",
                nothing="all",
                width=260 if name == "campaign" else 150,
            )
            for name, known in options.items()
        }
    stated = {name: value for name, value in picked.items() if value}
    trace = stated.pop("trace", None)
    outcome, validity = stated.pop("outcome", None), stated.pop("validity", None)
    return RunFilter(
        cluster=cluster,
        trace="" if trace == NO_FAULT else trace,
        outcome=None if outcome is None else RunOutcome(outcome),
        validity=None if validity is None else RunValidity(validity),
        **stated,
    )


def csv(wanted: RunFilter) -> str:
    """Every run that the filters admit, not only those that are listed."""
    rows = [run_words.run_row(run) for run in data.every_run(wanted, _LARGEST_CSV)]
    return str(pd.DataFrame(rows).to_csv(index=False))


def _open(ids: Sequence[str]) -> None:
    """Opens the run whose row was ticked."""
    rows = st.session_state[_LIST].selection.rows
    if rows:
        st.session_state[RUN] = ids[rows[0]]


def _close() -> None:
    st.session_state[RUN] = ""


def _opened(run_id: str) -> StoredRun | None:
    def read() -> StoredRun | None:
        try:
            return data.run(run_id)
        except (NotFoundError, InvalidDataError) as error:
            st.error(message(error))
            return None

    return data.or_explain(read)


def _one(shown: Shown, run_id: str) -> None:
    st.button("All runs", icon=":material/arrow_back:", on_click=_close)
    opened = _opened(run_id)
    if opened is None:
        return
    record = opened.record
    mechanism = shown.evidence.mechanisms.get(record.cell.mechanism)
    st.subheader(escape(run_words.headline(record, mechanism)), anchor=False)
    st.caption(escape(run_words.subtitle(record)))
    section("Why it is invalid", record.validity_reasons)
    section("Why it cannot run", [record.infeasible_reason] if record.infeasible_reason else [])
    different = run_words.equivalence(record)
    if different:
        st.warning(message(different), icon=":material/difference:")
    with st.container(horizontal=True):
        for name, value in run_words.facts(record):
            st.metric(name, value, width="content")
    _timeline(record)
    section("Notes", [note for note in record.notes if note != record.infeasible_reason])
    _times(record)
    _recoveries(record)
    _saves(record)
    _lineage(record)
    _detections(record)
    _ranks(record)
    with st.expander("Conditions and environment"):
        table(("name", "value"), run_words.condition_rows(record))
    _record(run_id, opened.document)


def _timeline(record: Record) -> None:
    shown = timeline_of(record)
    if shown is None:
        st.info("No step was finished, so there is no timeline.")
        return
    faults = sum(fault.fired for fault in record.faults)
    some = (
        f" The first {MOST_FAULTS} of {faults} faults are marked." if faults > MOST_FAULTS else ""
    )
    if shown.marks:
        st.caption(f"Around the fault; double-click shows the whole run.{some}")
    figure(timeline(shown), "timeline", "Throughput, step time and loss against time")


def _times(record: Record) -> None:
    if record.times is None:
        return
    st.subheader("Where the time went", anchor=False)
    st.caption(
        "Of the training's wall time. What was made again after a recovery counts there, not as "
        "productive; detection and recovery are those of the slowest rank."
    )
    figure(where_the_time_went(record.times), "times", "The training's wall time in its parts")


def _recoveries(record: Record) -> None:
    if not record.recoveries:
        return
    st.subheader("Recoveries", anchor=False)
    st.caption("From the fault to the next step that was complete everywhere, phase after phase.")
    phased = phased_recoveries(record)
    if phased:
        figure(recovery_bars(record), "recoveries", "Each recovery by its phases")
    if len(phased) > MOST_RECOVERIES:
        st.caption(f"The first {MOST_RECOVERIES} of {len(phased):,} are drawn.")
    _long_table(run_words.RECOVERY_HEADER, [run_words.recovery_row(r) for r in record.recoveries])


def _saves(record: Record) -> None:
    if record.saves:
        st.subheader("Saves", anchor=False)
        _long_table(run_words.SAVE_HEADER, [run_words.save_row(each) for each in record.saves])
    if record.overhead is not None:
        st.caption(escape(run_words.overhead_words(record.overhead)))
    if record.emergency:
        st.subheader("Emergency saves", anchor=False)
        rows = [run_words.emergency_row(each) for each in record.emergency]
        _long_table(run_words.EMERGENCY_HEADER, rows)


def _lineage(record: Record) -> None:
    if len(record.lineage) > 1:
        st.subheader("Lineage", anchor=False)
        st.caption("How the group came to be what it is, generation by generation.")
        rows = [run_words.lineage_row(line) for line in record.lineage]
        _long_table(run_words.LINEAGE_HEADER, rows)


def _detections(record: Record) -> None:
    if not record.faults:
        return
    st.subheader("Who knew when", anchor=False)
    st.caption("Faults count from the beginning of the run, detections from their fault.")
    _long_table(run_words.FAULT_HEADER, [run_words.fault_row(f) for f in record.faults])
    rows = list(run_words.detection_rows(record))
    if rows:
        _long_table(run_words.DETECTION_HEADER, rows)
    phases = list(run_words.phase_rows(record))
    if phases:
        st.subheader("Phases", anchor=False)
        _long_table(("fault", "phase", "duration"), phases)


def _ranks(record: Record) -> None:
    st.subheader("Ranks", anchor=False)
    _long_table(run_words.RANK_HEADER, [run_words.rank_row(rank) for rank in record.ranks])


def _long_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table(header, islice(rows, _SHOWN_ROWS))
    if len(rows) > _SHOWN_ROWS:
        st.caption(f"The first {_SHOWN_ROWS} of {len(rows):,}; the record has them all.")


def _record(run_id: str, document: Mapping[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False)
    with st.expander("The record"):
        if len(text) <= _LARGEST_JSON:
            st.json(document, expanded=1)
        else:
            st.caption(f"It has {len(text):,} characters, too many for this page.")
    st.download_button(
        "Record (JSON)",
        text,
        f"{run_id.replace('/', '-')}.json",
        "application/json",
        on_click="ignore",
    )
