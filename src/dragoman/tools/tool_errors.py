"""Text marks for what a dialect has no field for. They are documented, and readers know them.

``[tool error] no such file`` is the result of a tool that failed, where there is no flag to say
so. A result that failed without a word is ``[tool error]`` alone. A result that did not fail and
begins with such a mark by itself is written after ``[tool output]``, so that nobody is misled.
"""

from __future__ import annotations

ERROR = "[tool error]"
OUTPUT = "[tool output]"
MARK = "[tool "
"""How every mark begins: what does not, needs no closer look."""


def mark_error(text: str | None) -> str:
    """A failed result as text; None where it has no text at all."""
    return ERROR if text is None else f"{ERROR} {text}"


def mark_plain(text: str) -> str:
    """A result that did not fail, as text that cannot be taken for one that did."""
    return f"{OUTPUT} {text}" if is_marked(text) else text


def is_marked(text: str) -> bool:
    """Whether a reader would take the beginning of a text for a mark."""
    return text.startswith(MARK) and unmark_error(text) != (None, text)


def unmark_error(text: str) -> tuple[bool | None, str | None]:
    """Whether a tool failed (None: nothing said), and what it said without the mark."""
    if text == ERROR:
        return True, None
    if text.startswith(ERROR + " "):
        return True, text[len(ERROR) + 1 :]
    if text.startswith(OUTPUT + " ") and is_marked(rest := text[len(OUTPUT) + 1 :]):
        return None, rest
    return None, text
