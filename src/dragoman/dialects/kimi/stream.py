"""The stream of Kimi: that of OpenAI Chat, with the counts inside of the last choice."""

from __future__ import annotations

from ...model import Json
from ..openai_chat.read_stream import ChatReader


class KimiReader(ChatReader):
    def document(self) -> Json | None:
        return counted(super().document())


def counted(doc: Json) -> Json:
    """``{"choices": [{..., "finish_reason": "stop", "usage": {...}}]}``: those of the response."""
    if doc.__class__ is not dict or doc.get("usage") is not None:
        return doc
    choices: list[Json] = doc["choices"]
    counts = [choice["usage"] for choice in choices if choice.get("usage").__class__ is dict]
    if len(counts) != 1:  # several replies are counted one by one
        return doc
    bare = [{k: v for k, v in choice.items() if k != "usage"} for choice in choices]
    return {**doc, "choices": bare, "usage": counts[0]}
