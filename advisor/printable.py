"""Text from outside (names, notes, cells of a query), made safe for a terminal and one line."""


def printable(text: str) -> str:
    """The text with every control character shown as an escape, so that none can act."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
