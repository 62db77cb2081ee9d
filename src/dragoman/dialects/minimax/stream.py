"""The stream of MiniMax: that of OpenAI Chat, with reasoning part by part.

``reasoning_details`` repeats bit by bit what ``reasoning_content`` has; each bit is what is new
(https://github.com/MiniMax-AI/MiniMax-M2/issues/95). At rest, the entries of one index are one.
"""

from __future__ import annotations

from ...model import Json
from ...streams.events import Event
from ..openai_chat.choices import Speaker
from ..openai_chat.read_stream import ChatReader
from . import DETAILS, texts_of


class MiniMaxReader(ChatReader):
    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.details: dict[int, dict[Json, dict[str, Json]]] = {}

    def read_delta(
        self, speaker: Speaker, delta: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        docs = delta.get(DETAILS)
        texts = texts_of(docs, numbered=True)
        if texts is not None:
            self.add_details(speaker.number, docs)
            given = delta.get("reasoning_content")
            words = {} if given else {"reasoning_content": "".join(texts)}
            delta = {k: v for k, v in delta.items() if k != DETAILS} | words
        super().read_delta(speaker, delta, at, events)

    def add_details(self, number: int, docs: Json) -> None:
        known = self.details.setdefault(number, {})
        for doc in docs:
            entry = known.setdefault(doc.get("index"), {**doc, "text": []})
            entry["text"].append(doc["text"])

    def choice(self, speaker: Speaker) -> Json:
        choice = super().choice(speaker)
        if entries := self.details.get(speaker.number):
            whole = [{**entry, "text": "".join(entry["text"])} for entry in entries.values()]
            choice["message"][DETAILS] = whole
        return choice
