"""Keeps the page's address and its fields in step: every state is in its address, and back again.

Streamlit's own binding of fields to the address loses them now and then when a reader changes the
page while it is drawn, so the address is written here, once, after a page has been drawn.

    begin(page)  takes over what the address says: at the start, and when a reader goes back
    text(...), choice(...), choices(...), area(...)  fields that are in the address
    end()        writes what differs from the defaults
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from advisor.reports.markdown import escape

_WRITTEN, _PAGE, _COMING, _SHOWN = "_written", "_page", "_coming", "_shown"
_Values = dict[str, list[str]]


def begin(page: str) -> None:
    """Call first in every run, with the page's path."""
    state, said = st.session_state, _said()
    changed_page = state.get(_PAGE, page) != page
    state[_PAGE] = page
    # Going to another page empties the address; the fields of the sidebar stay as they are.
    is_news = said != state.get(_WRITTEN) and not (changed_page and not said)
    if is_news:
        gone: _Values = {key: [] for key in state.get(_SHOWN, {}) if _WRITTEN in state}
        state[_COMING] = {**gone, **said}
    state.setdefault(_COMING, {})
    state[_SHOWN] = {}


def end() -> None:
    """Call last in every run."""
    shown: _Values = st.session_state[_SHOWN]
    wanted = {key: values for key, values in shown.items() if values is not None}
    if wanted != _said():
        st.query_params.from_dict(wanted)
    st.session_state[_WRITTEN] = wanted


def text(where: Any, label: str, key: str, default: str = "", **more: Any) -> str:
    """A line of text. `where` is Streamlit or one of its containers, as below."""
    _seed(key, default, lambda values: values[0])
    return str(_note(key, where.text_input(label, key=key, **more) or "", default))


def area(where: Any, label: str, key: str, default: str = "", **more: Any) -> str:
    """Several lines of text."""
    _seed(key, default, lambda values: values[0])
    return str(_note(key, where.text_area(label, key=key, **more) or "", default))


def choice(
    where: Any, label: str, key: str, options: Sequence[str], default: str | None, **more: Any
) -> str:
    """One of the options, or "" for none; an unknown one in the address is said."""
    _seed(key, default, lambda values: _known(where, key, values, options, default))
    if st.session_state.get(key) not in options:
        st.session_state[key] = default
    chosen = where.selectbox(label, options, key=key, **more)
    return str(_note(key, chosen or "", default or ""))


def choices(
    where: Any,
    label: str,
    key: str,
    options: Sequence[str],
    default: Sequence[str] = (),
    **more: Any,
) -> list[str]:
    """Any of the options; one parameter of the address each."""
    _seed(key, list(default), lambda values: _all_known(where, key, values, options))
    chosen = list(where.multiselect(label, options, key=key, **more))
    _note(key, chosen, list(default))
    return chosen


def put(key: str, value: str) -> None:
    """Fills a field before it is drawn in the next run, as if the address said so."""
    st.session_state[_COMING][key] = [value]


def put_all(key: str, values: Sequence[str]) -> None:
    """The same for a field with several values."""
    st.session_state[_COMING][key] = list(values)


def _said() -> _Values:
    return {key: st.query_params.get_all(key) for key in st.query_params}


def _seed(key: str, default: Any, read: Any) -> None:
    """Gives the field what the address says, or at first its default."""
    coming: _Values = st.session_state[_COMING]
    if key in coming:
        values = coming.pop(key)
        st.session_state[key] = read(values) if values else default
    elif key not in st.session_state:
        st.session_state[key] = default


def _note(key: str, value: Any, default: Any) -> Any:
    """Remembers what belongs into the address: nothing where the field has its default."""
    if value == default:
        written = None
    else:
        written = value if isinstance(value, list) else [value]
        # An emptied field differs from its default, and says so with an empty parameter.
        written = written or [""]
    st.session_state[_SHOWN][key] = written
    return value


def _all_known(where: Any, key: str, values: Sequence[str], options: Sequence[str]) -> list[str]:
    """The values that are options; the others are said. An empty parameter means none."""
    found = []
    for value in values:
        known = _known(where, key, [value], options, None)
        if known is not None and known not in found:
            found.append(known)
    return found


def _known(
    where: Any, key: str, values: Sequence[str], options: Sequence[str], default: str | None
) -> str | None:
    if not values[0]:
        return default
    for asked in (values[0], values[0].strip().lower()):
        if asked in options:
            return asked
    where.warning(
        escape(
            f"The address asks for {key} {values[0][:40]!r}, which is not there: "
            f"it is one of {', '.join(options)}."
        )
    )
    return default
