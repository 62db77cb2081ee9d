"""Text marks for what a dialect has no field for. They are documented, and readers know them.

``[tool error] no such file`` is the result of a tool that failed, where there is no flag to say
so. A result that failed without a word is ``[tool error]`` alone.
"""

from __future__ import annotations

ERROR = "[tool error]"


def mark_error(text: str | None) -> str:
    """A failed result as text; None where it has no text at all."""
    return ERROR if text is None else f"{ERROR} {text}"


def unmark_error(text: str) -> tuple[bool, str | None]:
    """Whether a text says that a tool failed, and the text without the mark."""
    if not text.startswith(ERROR):
        return False, text
    rest = text[len(ERROR) :]
    if not rest:
        return True, None
    if rest[0] != " ":
        return False, text
    return True, rest[1:]
