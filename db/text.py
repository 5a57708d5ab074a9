"""What is text: the system hands over arguments, environment variables and names of files as bytes,
and those that are not UTF-8 can neither be stored nor printed."""


def is_text(text: str) -> bool:
    """Whether it can be written in UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
