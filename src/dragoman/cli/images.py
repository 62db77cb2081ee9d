"""Images in the terminal, where it can: the protocols of kitty and of iTerm2.

The data are base64 and of a type that their first bytes bear out (see ``portrait.picture``), so
nothing in them can end the sequence that holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..model import Source
from ..views.portrait import dimensions
from .lines import Line, Picture

ROWS, ROW = 12, 20
"""How many rows an image takes at most, and how many pixels a row has, about."""
CHUNK = 4096
"""What kitty takes at once."""
# https://sw.kovidgoyal.net/kitty/graphics-protocol/, https://iterm2.com/documentation-images.html
KITTY, ITERM = "kitty", "iterm"
PROGRAMS = {"kitty": KITTY, "ghostty": KITTY, "iTerm.app": ITERM, "WezTerm": ITERM}


def protocol(environment: Mapping[str, str]) -> str:
    """How this terminal takes images; nothing, if it is not known to take any.

    >>> protocol({"TERM": "xterm-kitty"}), protocol({"TERM": "xterm-256color"})
    ('kitty', '')
    """
    term = environment.get("TERM", "")
    if term.startswith(("screen", "tmux")) or environment.get("TMUX"):
        return ""  # they would have to pass it on, and mostly do not
    if term in ("xterm-kitty", "xterm-ghostty"):
        return KITTY
    return PROGRAMS.get(environment.get("TERM_PROGRAM", ""), "")


def image_lines(image: Source, how: str) -> Iterator[Line]:
    known = dimensions(image)
    rows = ROWS if known is None else min(-(-known[1] // ROW) or 1, ROWS)
    if how == ITERM:
        head = f"\x1b]1337;File=inline=1;height={rows};preserveAspectRatio=1:"
        yield (Picture(f"{head}{image.value}\x07"),)
    elif how == KITTY and image.media_type == "image/png":
        yield (Picture("".join(_kitty(image.value, rows))),)


def _kitty(data: str, rows: int) -> Iterator[str]:
    """The data in chunks; all but the last say that there is more."""
    for start in range(0, len(data), CHUNK):
        more = int(start + CHUNK < len(data))
        control = f"a=T,f=100,r={rows},q=2,m={more}" if start == 0 else f"m={more}"
        yield f"\x1b_G{control};{data[start : start + CHUNK]}\x1b\\"
