"""Media as the Gemini API takes them."""

from __future__ import annotations

from ...core.media import kind_of
from ...model import Source
from . import parts


def kind_again(source: Source) -> str:
    """What a reader takes a medium for."""
    if source.media_type is None and source.value.startswith(parts.VIDEO_SITES):
        return "video"
    return kind_of(source.media_type)
