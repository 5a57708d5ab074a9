"""Saved: open an answer again, compare two, print them."""

import streamlit as st

from advisor.errors import UserError
from advisor.evidence import near_to
from advisor.recommendation import Candidate, Recommendation
from advisor.report import make_saved_report
from advisor.reports import words
from advisor.saved import listed, load
from advisor.units import format_duration
from app import address, data
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import bullets, section, table, take_along
from db.records import RecommendationSummary


def page(shown: Shown) -> None:
    """The saved answers of all clusters, newest first."""
    st.header("Saved recommendations", anchor=False)
    address.await_later("id", "with")
    summaries = data.or_explain(_summaries)
    if summaries is None:
        return
    if not summaries:
        st.info("Nothing is saved yet. Recommend has a button for it, and so has the command line:")
        st.code("advisor recommend ... --save", language="console")
        return
    ids = [s.recommendation_id for s in summaries]
    # The newest is another one tomorrow: the address names it.
    first = address.choice(st, "Open", "id", ids, ids[0], always=True)
    second = address.choice(st, "Compare with", "with", ids, "", nothing="nothing")
    opened = [_opened(name) for name in (first, second) if name]
    if any(o is None for o in opened):
        return
    answers = [o for o in opened if o is not None]
    if len(answers) == 2:
        _compare(answers[0], answers[1])
    else:
        _open(first, answers[0])


def _summaries() -> tuple[RecommendationSummary, ...]:
    with data.database() as engine:
        return listed(engine)


def _opened(recommendation_id: str) -> Recommendation | None:
    def read() -> Recommendation:
        with data.database() as engine:
            return load(engine, recommendation_id)

    try:
        return data.or_explain(read)
    except UserError as error:
        st.error(message(error))
        return None


def _open(recommendation_id: str, answer: Recommendation) -> None:
    st.subheader(escape(words.headline(answer)), anchor=False)
    runner_up = words.runner_up_line(answer)
    if runner_up:
        st.markdown(escape(runner_up))
    if answer.candidates:
        table(words.CANDIDATE_HEADER, map(words.candidate_cells, answer.candidates))
    section("Least largest regret", words.minimax_lines(answer))
    section("Warnings", answer.warnings)
    section("Not offered", map(words.excluded_line, answer.excluded))
    with st.expander("Scenario"):
        table(("input", "value", "from"), words.scenario_rows(answer.scenario))
    scenario = answer.scenario
    found = data.or_explain(lambda: data.near(scenario.cluster, near_to(scenario)))
    if found is None:
        return
    if answer.versions.data_version != found.version:
        st.info("The measurements have changed since: its reports leave the sensitivity out.")
    take_along(
        answer, lambda: make_saved_report(answer, found.evidence, found.version), recommendation_id
    )


def _compare(a: Recommendation, b: Recommendation) -> None:
    left, right = st.columns(2)
    for column, answer in ((left, a), (right, b)):
        column.markdown(f"**{escape(words.headline(answer))}**")
    st.subheader("Inputs that differ", anchor=False)
    first = {name: value for name, value, _ in words.scenario_rows(a.scenario)}
    second = {name: value for name, value, _ in words.scenario_rows(b.scenario)}
    names = [n for n in {**first, **second} if first.get(n) != second.get(n)]
    if names:
        table(
            ("input", "first", "second"),
            [(n, first.get(n, "–"), second.get(n, "–")) for n in names],
        )
    else:
        bullets(["None: the same question."])
    st.subheader("Expected time", anchor=False)
    ours, theirs = _by_name(a), _by_name(b)
    table(
        ("mechanism", "first", "second"),
        [(n.upper(), _time(ours.get(n)), _time(theirs.get(n))) for n in sorted({**ours, **theirs})],
    )


def _by_name(answer: Recommendation) -> dict[str, Candidate]:
    return {c.mechanism: c for c in answer.candidates}


def _time(candidate: Candidate | None) -> str:
    if candidate is None:
        return "not offered"
    expected = candidate.expected_completion_s
    return "outside Eq. (5)" if expected is None else format_duration(expected)
