"""Keeps the page's address and its fields in step: every state is in its address, and back again.

Streamlit's own binding of fields to the address loses them now and then when a reader changes the
page while it is drawn, so the address is written here, once, after a page has been drawn. In such a
moment a busy browser may also build fields anew and send what they start with. So each starts with
the value that it holds, whatever its default is.

    begin(page)  takes over what the address says: at the start, and when a reader goes back
    text(...), choice(...), choices(...), area(...)  fields that are in the address
    end(notices) writes what differs from the defaults; says in `notices` what no field took up
    give_up()    instead of `end`, where the fields could not be drawn
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import streamlit as st

from app.markdown import message

_WRITTEN, _PAGE, _COMING, _SHOWN, _AWAITED = "_written", "_page", "_coming", "_shown", "_awaited"
_DEFAULTS, _KEPT = "_defaults", "_kept"
_LISTED = 12
_Values = dict[str, list[str]]


class _Field(NamedTuple):
    """What a field holds now; an emptied one holds an empty text."""

    values: list[str]
    in_address: bool


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
    if is_news or changed_page:
        state[_KEPT] = {}
    state.setdefault(_COMING, {})
    state[_SHOWN], state[_AWAITED] = {}, set()


def end(notices: Any) -> None:
    """Call last in every run, with the container for what is to be said."""
    fields = _fields()
    coming: _Values = st.session_state[_COMING]
    untaken = {key: values for key, values in coming.items() if key not in fields}
    _say_unknown(notices, [key for key, values in untaken.items() if values and not _awaited(key)])
    waiting = {key: values for key, values in untaken.items() if _awaited(key)}
    st.session_state[_COMING] = {**_held_before(fields), **waiting}
    wanted = {key: field.values for key, field in fields.items() if field.in_address}
    if wanted != _said():
        st.query_params.from_dict(wanted)
    st.session_state[_WRITTEN] = wanted


def give_up() -> None:
    """Leaves the address as it is; the next run takes it over anew."""
    st.session_state[_WRITTEN] = None


def everything() -> _Values:
    """Every field of this run by name, defaults spelled out, for an address that keeps meaning
    the same when defaults change."""
    return {
        key: field.values
        for key, field in _fields().items()
        if field.in_address or field.values != [""]
    }


def await_later(*keys: str) -> None:
    """Names that this page knows though it may not draw their fields now; what the fields held
    when they were drawn last, they hold again."""
    st.session_state[_AWAITED].update(keys)


def text(where: Any, label: str, key: str, default: str = "", **more: Any) -> str:
    """A line of text. `where` is Streamlit or one of its containers, as below."""
    _seed(key, default, lambda values: _only(where, key, values))
    return str(_note(key, where.text_input(label, _held(key), key=key, **more) or "", default))


def area(where: Any, label: str, key: str, default: str = "", **more: Any) -> str:
    """Several lines of text."""
    _seed(key, default, lambda values: _only(where, key, values))
    return str(_note(key, where.text_area(label, _held(key), key=key, **more) or "", default))


def choice(
    where: Any,
    label: str,
    key: str,
    options: Sequence[str],
    default: str,
    *,
    nothing: str = "",
    format_func: Callable[[str], str] = str,
    always: bool = False,
    **more: Any,
) -> str:
    """One of the options; an unknown one in the address is said.

    `nothing`: where the default is "", what the choice of nothing is called.
    `always`: in the address even where it is the default, because the default moves.
    """
    _seed(
        key, default, lambda values: _known(where, key, _only(where, key, values), options, default)
    )
    listed = options if default else ("", *options)
    if st.session_state.get(key) not in listed:
        st.session_state[key] = default

    def words(option: str) -> str:
        return format_func(option) if option else nothing

    index = listed.index(_held(key))
    chosen = where.selectbox(label, listed, index, words, key=key, **more)
    return str(_note(key, chosen, default, always=always))


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
    chosen = list(where.multiselect(label, options, _held(key), key=key, **more))
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


def _fields() -> dict[str, _Field]:
    fields: dict[str, _Field] = st.session_state[_SHOWN]
    return fields


def _awaited(key: str) -> bool:
    return key in st.session_state[_AWAITED]


def _held_before(fields: dict[str, _Field]) -> _Values:
    """What awaited fields held that are not drawn now, as far as it was not their default:
    Streamlit forgets it."""
    kept: _Values = st.session_state.setdefault(_KEPT, {})
    for key, field in fields.items():
        if _awaited(key) and field.in_address:
            kept[key] = field.values
        else:
            kept.pop(key, None)
    return {key: values for key, values in kept.items() if _awaited(key) and key not in fields}


def _seed(key: str, default: Any, read: Any) -> None:
    """Gives the field what the address says, or its default: at first, and when that has moved
    under a field that still holds it, since the address says nothing of such a field."""
    state = st.session_state
    coming: _Values = state[_COMING]
    before = state.setdefault(_DEFAULTS, {}).get(key, default)
    state[_DEFAULTS][key] = default
    if key in coming:
        values = coming.pop(key)
        state[key] = read(values) if values else default
    elif key not in state or (before != default and state[key] == before):
        state[key] = default


def _held(key: str) -> Any:
    return st.session_state[key]


def _note(key: str, value: Any, default: Any, *, always: bool = False) -> Any:
    """Remembers what belongs into the address: nothing where the field has its default."""
    values = value if isinstance(value, list) else [value]
    # An emptied field differs from its default, and says so with an empty parameter.
    _fields()[key] = _Field(values or [""], always or value != default)
    return value


def _only(where: Any, key: str, values: Sequence[str]) -> str:
    if len(values) > 1:
        where.warning(
            message(
                f"The address gives {key} {len(values)} times, and it can have one value: "
                f"{values[0]!r}, the first, is taken."
            )
        )
    return values[0]


def _all_known(where: Any, key: str, values: Sequence[str], options: Sequence[str]) -> list[str]:
    """The values that are options; the others are said. An empty parameter means none."""
    found = []
    for value in values:
        known = _known(where, key, value, options, None)
        if known is not None and known not in found:
            found.append(known)
    return found


def _known(
    where: Any, key: str, value: str, options: Sequence[str], default: str | None
) -> str | None:
    if not value:
        return default
    for asked in (value, value.strip().lower()):
        if asked in options:
            return asked
    where.warning(
        message(
            f"The address asks for {key} {value!r}, which is not there: {_one_of(value, options)}."
        )
    )
    return default


def _one_of(asked: str, options: Sequence[str]) -> str:
    if not options:
        return "there is none yet"
    if len(options) <= _LISTED:
        return f"it is one of {', '.join(options)}"
    near = get_close_matches(asked[:100], options, n=3, cutoff=0.0)
    return f"there are {len(options):,}, such as {', '.join(near)}"


def _say_unknown(notices: Any, keys: Sequence[str]) -> None:
    """One line for all names of the address that are no field of this page."""
    if not keys:
        return
    known = list(_fields())
    named = ", ".join(f"{key!r}{_meant(key, known)}" for key in keys[:3])
    more = f" and {len(keys) - 3:,} more" if len(keys) > 3 else ""
    notices.warning(
        message(
            f"The address gives {named}{more}, for which this page has no field; that part is "
            f"ignored. The fields are {', '.join(known)}."
        )
    )


def _meant(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key[:100].lower(), known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
