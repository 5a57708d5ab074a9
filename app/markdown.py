"""Text from outside, made safe for Streamlit: it draws almost every text as its own Markdown."""

import re

from advisor.reports import markdown

_LONGEST_VALUE, _LONGEST_MESSAGE = 80, 1_000
_QUOTED = re.compile(rf"(?<!\w)(['\"])((?:(?!\1).){{{_LONGEST_VALUE + 1},}})\1(?!\w)")
# A path stays whole, however long: it is there to be copied.
_UNBROKEN = re.compile(rf"[^\s/'\"]{{{_LONGEST_VALUE + 1},}}")


def escape(text: str) -> str:
    """One line that comes out as it is: no mathematics, colour, icon, list, link or image."""
    plain = re.sub(r":(?=\S)", r"\:", markdown.escape(text))
    # Streamlit looks for these after Markdown, where a backslash no longer helps: an invisible
    # space comes between.
    return re.sub(r":(?=material/|streamlit)", ":\u200b", plain)


def message(said: object) -> str:
    """An error or a warning, escaped; long values that it repeats are shortened."""
    text = _QUOTED.sub(lambda found: f"{found[1]}{_short(found[2])}{found[1]}", str(said))
    text = _UNBROKEN.sub(lambda found: _short(found[0]), text)
    return escape(_short(text, _LONGEST_MESSAGE))


def _short(text: str, longest: int = _LONGEST_VALUE) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
