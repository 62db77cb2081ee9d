"""The stream of Groq: that of OpenAI Chat, with counts and errors in ``x_groq``."""

from __future__ import annotations

from ...model import Json
from ...streams.framing import Frame
from ..openai_chat.read_stream import ChatReader


class GroqReader(ChatReader):
    def parse(self, frame: Frame) -> dict[str, Json]:
        return broken_off(super().parse(frame))

    def document(self) -> Json | None:
        return counted(super().document())


def counted(doc: Json) -> Json:
    """The counts of a stream stand in ``x_groq``, and beside it only for those who ask."""
    inner: Json = doc.get("x_groq") if doc.__class__ is dict else None
    counts: Json = inner.get("usage") if inner.__class__ is dict else None
    if counts.__class__ is not dict or "prompt_tokens" not in counts:
        return doc
    rest = {k: v for k, v in inner.items() if k != "usage"}
    return {"usage": counts, **doc, "x_groq": rest}


def broken_off(doc: dict[str, Json]) -> dict[str, Json]:
    """groq 1.7, chat_completion_chunk.py: why a stream ended too early is a text in ``x_groq``."""
    inner = doc.get("x_groq")
    error = inner.get("error") if inner.__class__ is dict else None
    return {**doc, "error": {"message": error}} if error.__class__ is str else doc
