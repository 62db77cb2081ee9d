"""Writing the stream of Cohere's chat API.

Whether calls follow is not known while a text is said, so what stands before calls is content here,
and the plan at rest; both mean the same. What is cited is said when its text has been said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import compact, encode
from ...ledger import Ledger
from ...model import Block, Citation, Json, Raw, Reasoning, Text, ToolCall
from ...streams.base import StreamWriter
from ...streams.events import Begin, Cite, Close, Delta, Open
from .documents import CohereWriting

if TYPE_CHECKING:
    from . import Cohere

EMPTY: dict[str, Json] = {"content": [], "tool_plan": "", "tool_calls": [], "citations": []}


def event(kind: str, doc: dict[str, Json]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **doc}))


class Voice:
    """A block while it is said."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind = kind  # "text", "thinking", "plan" or "call"
        self.index = index
        self.turn, self.at = 0, ""  # which of the blocks it is, and where it comes from
        self.first = False  # of the texts
        self.said: list[str] = []
        self.cited: list[Citation] = []
        self.part: tuple[str, int] | None = None
        self.wrapped = False


class CohereWriter(StreamWriter):
    dialect: Cohere

    def __init__(self, dialect: Cohere, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = CohereWriting(self.aside, home, answer=True)
        self.voices: dict[int, Voice] = {}
        self.texts: dict[int, Voice] = {}  # those that have been said; they may still be cited
        self.contents = self.calls = 0
        self.cited: list[Json] = []
        self.worded = False

    def begin(self, event_: Begin) -> bytes:
        self.begun = True
        doc = self.at_rest(replace(event_.response, failure=None))
        message = doc["message"]
        if self.home:
            # What is only said to be empty at rest is said so here; else all is, as usual.
            said = {key: message[key] for key in EMPTY if key in message}
            message = {k: v for k, v in message.items() if k not in EMPTY} | (said or EMPTY)
        else:
            message = message | EMPTY
        head = {"id": doc["id"]} if "id" in doc else {}
        self.cited += message.get("citations") or ()
        return event("message-start", head | {"delta": {"message": message}})

    def open(self, event_: Open) -> bytes:
        block = event_.block
        if event_.candidate:
            return b""  # there is one answer here
        if isinstance(block, ToolCall):
            return self.open_call(block, event_.index)
        if self.home and isinstance(block, Text) and block.at.endswith("/tool_plan"):
            self.voices[event_.index] = Voice("plan", 0)
            return b""
        if isinstance(block, Text):
            return self.open_content(block, "text", event_.index)
        if isinstance(block, Reasoning):
            return self.open_content(block, "thinking", event_.index)
        if isinstance(block, Raw) and self.dialect.is_home(block.dialect):
            index, self.contents = self.contents, self.contents + 1
            message = {"content": block.payload}
            return event("content-start", {"index": index, "delta": {"message": message}}) + event(
                "content-end", {"index": index}
            )
        return b""

    def open_content(self, block: Block, kind: str, number: int) -> bytes:
        voice = self.voices[number] = Voice(kind, -1)
        voice.turn, voice.at = self.turn(), block.at
        if not self.home:
            return b""  # it begins with its first word; what has none is not said
        content: Json = {"type": kind, kind: ""}
        return self.start_content(voice, self.dialect.emit(content, block, self.aside))

    def start_content(self, voice: Voice, content: Json) -> bytes:
        if voice.kind == "text":
            voice.first, self.worded = not self.worded, True
        voice.index, self.contents = self.contents, self.contents + 1
        self.begins(voice.turn, voice.at)
        delta = {"message": {"content": content}}
        return event("content-start", {"index": voice.index, "delta": delta})

    def open_call(self, call: ToolCall, number: int) -> bytes:
        voice = self.voices[number] = Voice("call", self.calls)
        self.calls += 1
        voice.wrapped = call.kind != "function" and not self.home
        doc = self.dialect.write_call(replace(call, kind="function", arguments=""), self.w)
        if "arguments" in doc["function"]:
            doc["function"]["arguments"] = '{"input":"' if voice.wrapped else ""
        delta = {"message": {"tool_calls": doc}}
        return event("tool-call-start", {"index": voice.index, "delta": delta})

    def delta(self, event_: Delta) -> bytes:
        voice = self.voices.get(event_.index)
        if voice is None or not event_.text:
            return b""
        text = event_.text
        if voice.kind == "call":
            voice.said.append("")
            text = compact(text)[1:-1] if voice.wrapped else text
            return self.say_call(voice, text)
        if voice.kind == "plan":
            voice.said.append(text)
            return event("tool-plan-delta", {"delta": {"message": {"tool_plan": text}}})
        begun = b""
        if voice.kind == "thinking":
            text = apart(voice, event_)
            if not text:
                return b""
        else:
            voice.said.append(text)
        if voice.index < 0:
            begun = self.start_content(voice, {"type": voice.kind, voice.kind: ""})
        message = {"content": {voice.kind: text}}
        return begun + event("content-delta", {"index": voice.index, "delta": {"message": message}})

    def say_call(self, voice: Voice, text: str) -> bytes:
        delta = {"message": {"tool_calls": {"function": {"arguments": text}}}}
        return event("tool-call-delta", {"index": voice.index, "delta": delta})

    def cite(self, event_: Cite) -> bytes:
        if (voice := self.voices.get(event_.index)) is not None:
            voice.cited.append(event_.citation)
            return b""
        voice, begun = self.texts.get(event_.index), b""
        if voice is None:
            return b""
        if voice.index < 0 and voice.kind == "text":
            begun = self.start_content(voice, {"type": "text", "text": ""})
            begun += event("content-end", {"index": voice.index})
        return begun + self.say_citations(voice, [event_.citation])

    def close(self, event_: Close) -> bytes:
        voice = self.voices.pop(event_.index, None)
        if voice is None:
            return b""
        if voice.kind == "call":
            out = b""
            if voice.wrapped:
                out = self.say_call(voice, '"}')
            elif not voice.said and not self.home:
                out = self.say_call(voice, "{}")  # a call without arguments
            return out + event("tool-call-end", {"index": voice.index})
        self.texts[event_.index] = voice
        out = b""
        if voice.cited and voice.index < 0 and voice.kind == "text":
            out = self.start_content(voice, {"type": "text", "text": ""})
        out += self.say_citations(voice, voice.cited)
        if voice.kind == "plan" or voice.index < 0:
            return out
        return out + event("content-end", {"index": voice.index})

    def say_citations(self, voice: Voice, cited: list[Citation]) -> bytes:
        if not cited:
            return b""
        index = -1 if voice.kind == "plan" else None if voice.first else voice.index
        text = Text("".join(voice.said), tuple(cited))
        found = self.dialect.write_citations(text, index, self.w)
        return b"".join(map(self.say_citation, found))

    def say_citation(self, doc: Json) -> bytes:
        index = len(self.cited)
        self.cited.append(doc)
        start = event("citation-start", {"index": index, "delta": {"message": {"citations": doc}}})
        return start + event("citation-end", {"index": index})

    def end(self, doc: Json) -> bytes:
        """What was cited so late that only the answer at rest knows it, and why it ended."""
        said = [source_of(cited) for cited in self.cited]
        out = b""
        for cited in doc["message"].get("citations") or ():
            if source_of(cited) not in said:
                planned = cited.get("type") == "PLAN" and not self.home
                out += self.say_citation(cited | {"type": "TEXT_CONTENT"} if planned else cited)
        delta = {k: v for k, v in doc.items() if k not in ("id", "message")}
        return out + event("message-end", {"delta": delta}) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        """The answer failed: the last event says so."""
        rest = {k: v for k, v in doc.items() if k != "message"}
        delta = {"finish_reason": "ERROR", "error": doc.get("message", ""), **rest}
        return event("message-end", {"delta": delta}) + b"data: [DONE]\n\n"


def source_of(cited: Json) -> Json:
    """What is cited and whence; not where it stands, which is otherwise at rest."""
    return {key: cited.get(key) for key in ("start", "end", "sources")}


def apart(voice: Voice, event_: Delta) -> str:
    """The parts of reasoning become one text, apart from each other by a blank line."""
    before, part = voice.part, (event_.place, event_.part)
    if not event_.text:
        return ""
    if before is not None and before[0] != event_.place:
        return ""  # reasoning is said once here
    voice.part = part
    return event_.text if before is None or before == part else "\n\n" + event_.text
