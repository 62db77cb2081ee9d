"""Reading the stream of Cohere's chat API.

Each part of the reply begins, goes on and ends: texts and reasoning, calls, citations. What is
planned only goes on. The last event tells why the reply ended, or that it failed.

Writing the stream of Cohere's chat API.

Whether calls follow is not known while a text is written, so what precedes calls is content here,
and the plan at rest; both mean the same. What is cited is written when its text has been written.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    compact,
    encode,
    maybe_dict,
    maybe_int,
    maybe_list,
    maybe_str,
)
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Citation, Json, Raw, Reasoning, Response, Text, ToolCall
from ...streams.base import StreamReader, StreamWriter
from ...streams.events import Begin, Cite, Close, Delta, End, Event, Odd, Open
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from ...streams.splicing import MARKED, Splice, around
from . import citations, messages, response
from .citations import CONTENT, PLAN, place_of
from .documents import CohereWriting

if TYPE_CHECKING:
    from . import Cohere


WORDS = {"text": "text", "thinking": "thinking"}
BESIDE = ("content", "tool_plan", "tool_calls", "citations")
IN_TURNS = "text, plan and tool calls came in another order in the stream than in the document"


def keys(*inside: str, **objects: Keys) -> Keys:
    """Those of an event, given what its delta says of the message."""
    return Keys("type", "index", delta=Keys(message=Keys(*inside, **objects)))


# The head, the contents, calls and citations that begin, and the end stand in the response.
KEYS = {
    "content-start": keys("content"),
    "content-delta": Keys(
        "type", "index", "logprobs", delta=Keys(message=Keys(content=Keys("text", "thinking")))
    ),
    "content-end": Keys("type", "index"),
    "tool-plan-delta": keys("tool_plan"),
    "tool-call-start": keys("tool_calls"),
    "tool-call-delta": keys(tool_calls=Keys(function=Keys("arguments"))),
    "tool-call-end": Keys("type", "index"),
    "citation-start": keys("citations"),
    "citation-end": Keys("type", "index"),
    "message-end": Keys("type", "id", "delta"),
}
START = Keys("message")
# Where in the response the events of a kind belong.
PLACES = {
    "content": "/message/content/{}",
    "tool-call": "/message/tool_calls/{}",
    "tool-plan": "/message/tool_plan",
    "citation": "/message/citations",
}


class CohereWords(Struct, forbid_unknown_fields=True):
    text: str | None = None
    thinking: str | None = None


class Message(Struct, forbid_unknown_fields=True):
    content: CohereWords


class Change(Struct, forbid_unknown_fields=True):
    message: Message


class CohereUsual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    type: Literal["content-delta"]
    delta: Change
    index: int = 0


decode_usual = msgspec.json.Decoder(CohereUsual).decode


class CoherePart:
    """A text, reasoning or a call while it arrives."""

    def __init__(self, doc: dict[str, Json], block: int, whole: bool) -> None:
        self.doc = doc
        self.block = block
        self.received = Received(whole)


class CohereReader(StreamReader):
    dialect: Cohere
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: Cohere, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.message: dict[str, Json] = {}
        self.tail: dict[str, Json] = {}
        self.content: list[CoherePart] = []
        self.calls: list[CoherePart] = []
        self.by_index: dict[tuple[str, int], CoherePart] = {}  # what came last under an index
        self.plan: CoherePart | None = None
        self.cited: list[Json] = []
        self.probable: list[Json] = []
        self.wordless: CoherePart | None = None  # a text without a word, which is none before calls
        self.open: list[int] = []  # blocks that may still be added to
        self.ended: set[int] = set()  # those that are added to no more, but may still be cited
        self.count = 0

    def read(self, frame: Frame) -> Sequence[Event]:
        try:
            usual = decode_usual(frame[1])
        except UNREADABLE:
            return self.read_with_care(frame)
        part, words = self.by_index.get(("content", usual.index)), usual.delta.message.content
        if part is None or (words.text is None) == (words.thinking is None):
            return self.read_with_care(frame)
        events: list[Event] = []
        if given := words.text or words.thinking:
            self.add(part, given, events)
            self.sink = part.received.add
        return events

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        if frame[1] == b"[DONE]" or frame[1] == b'"[DONE]"':  # which a reply ends before
            return self.close()
        doc = self.parse(frame)
        kind = maybe_str(doc, "type", "")
        if kind is None and doc.get("message").__class__ is str:
            return self.fail(response.read_error(self.dialect, doc))
        events: list[Event] = []
        if kind is not None:
            self.look(kind, doc)
        delta = maybe_dict(doc, "delta", "") or {}
        message = maybe_dict(delta, "message", "/delta") or {}
        if kind == "message-start" and self.head is None:
            return self.start(doc, delta, message)
        if self.head is None:
            self.head = {}
            events.append(self.begin(self.silent()))
        index = maybe_int(doc, "index", "") or 0
        match kind:
            case "content-start":
                self.start_content(index, message, events)
            case "content-delta":
                self.add_content(index, message, events)
                if doc.get("logprobs") is not None:
                    self.probable.append(doc["logprobs"])
            case "content-end":
                if (part := self.by_index.get(("content", index))) is not None:
                    self.ended.add(part.block)  # what is cited may come after the text
            case "tool-call-end":
                if (part := self.by_index.get(("call", index))) is not None:
                    self.shut(events, (part.block,))
            case "citation-end":
                pass
            case "tool-plan-delta":
                if plan := maybe_str(message, "tool_plan", "/delta/message"):
                    self.add_plan(plan, events)
            case "tool-call-start":
                self.start_call(index, message, events)
            case "tool-call-delta":
                self.add_call(index, message, events)
            case "citation-start":
                self.cite(as_dict(message.get("citations"), "/delta/message/citations"), events)
            case "message-end":
                self.end(doc, delta, events)
            case _:
                events.append(Odd(self.dialect.name, doc))
        return events

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        place = PLACES.get(kind.rpartition("-")[0], "")
        return place.format(doc.get("index") or 0)

    def start(
        self, doc: dict[str, Json], delta: dict[str, Json], message: dict[str, Json]
    ) -> Sequence[Event]:
        self.head = {k: v for k, v in doc.items() if k not in ("type", "delta")}
        self.look("message-start", delta, "/delta", START, "/message")
        # A server names all that may come, and all of it is empty; it means nothing.
        usual = all(key in message and not message[key] for key in BESIDE)
        self.message = {k: v for k, v in message.items() if not (usual and k in BESIDE)}
        if maybe_list(self.message, "citations", "/delta/message"):
            self.cited = list(self.message.pop("citations"))
        return (self.begin(self.silent()),)

    def end(self, doc: dict[str, Json], delta: dict[str, Json], events: list[Event]) -> None:
        self.tail = {k: v for k, v in delta.items() if k != "message"}
        self.supersede(delta.get("message"), self.message, "/message")
        if doc.get("id") is not None:
            self.tail["id"] = doc["id"]
        error = self.tail.pop("error", None)
        if error is not None:
            usual = ("finish_reason", "usage")
            rest = {k: v for k, v in self.tail.items() if k not in usual}
            self.tail = {k: v for k, v in self.tail.items() if k in usual}
            events += self.fail(response.read_error(self.dialect, {"message": error, **rest}))
            return
        self.open_silent(events)
        self.shut(events)
        self.done = True
        events.append(End(self.silent()))

    def silent(self) -> Response:
        tree = response.read_response(self.dialect, self.document())
        candidates = (replace(c, message=replace(c.message, content=())) for c in tree.candidates)
        return replace(tree, candidates=tuple(candidates))

    def enter(self, block: Block, events: list[Event]) -> int:
        """A block begins, so the texts before it have all that is theirs."""
        self.shut(events, self.ended)
        events.append(Open(self.count, block))
        self.open.append(self.count)
        self.count += 1
        return self.count - 1

    def open_silent(self, events: list[Event]) -> None:
        """A text without a word so far is one after all."""
        if (part := self.wordless) is not None:
            self.wordless = None
            part.block = self.enter(Text("", at="/message/content/0"), events)

    def shut(self, events: list[Event], ended: Container[int] | None = None) -> None:
        """Blocks that have ended are closed; all of them, if nobody says which."""
        events += (Close(index) for index in self.open if ended is None or index in ended)
        self.open = [index for index in self.open if ended is not None and index not in ended]

    def add(self, part: CoherePart, text: str, events: list[Event]) -> None:
        part.received.add(text)
        if part is self.wordless:
            self.open_silent(events)
        if part.block not in self.open:  # it goes on elsewhere as a block of its own
            self.notes.append(("stream.order", "/message", IN_TURNS))
            part.block = self.enter(self.stand_in(part), events)
            self.ended.add(part.block)
        events.append(Delta(part.block, text))

    def start_content(self, index: int, message: dict[str, Json], events: list[Event]) -> None:
        doc = as_dict(message.get("content") or {}, "/delta/message/content")
        kind = maybe_str(doc, "type", "/delta/message/content") or "text"
        at = f"/message/content/{len(self.content)}"
        if self.calls or self.plan is not None:
            self.notes.append(("stream.order", "/message", IN_TURNS))
        block: Block = Raw(self.dialect.name, doc, at=at)
        if kind in WORDS:
            extras = self.dialect.keep(doc, ("type", kind))
            block = Text("", at=at, extras=extras)
            if kind == "thinking":
                block = Reasoning(at=at, extras=extras)
        self.open_silent(events)
        silent = block == Text("", at=at) and not self.content and not self.calls
        part = CoherePart(dict(doc), -1 if silent else self.enter(block, events), self.whole)
        self.wordless = part if silent else None
        self.content.append(part)
        self.by_index["content", index] = part
        if kind in WORDS and (written := maybe_str(doc, kind, "/delta/message/content")):
            self.add(part, written, events)

    def add_content(self, index: int, message: dict[str, Json], events: list[Event]) -> None:
        doc = as_dict(message.get("content") or {}, "/delta/message/content")
        for key in WORDS:
            written = maybe_str(doc, key, "/delta/message/content")
            if written is None:
                continue
            if ("content", index) not in self.by_index:
                self.start_content(index, {"content": {"type": key}}, events)
            if written:
                self.add(self.by_index["content", index], written, events)

    def add_plan(self, text: str, events: list[Event]) -> None:
        if self.plan is None:
            if self.calls:
                self.notes.append(("stream.order", "/message", IN_TURNS))
            self.open_silent(events)
            block = Text("", at="/message/tool_plan")
            self.plan = CoherePart({}, self.enter(block, events), self.whole)
            self.ended.add(self.plan.block)  # it ends with whatever comes next
        self.add(self.plan, text, events)
        self.sink = self.plan.received.add

    def start_call(self, index: int, message: dict[str, Json], events: list[Event]) -> None:
        doc = as_dict(message.get("tool_calls"), "/delta/message/tool_calls")
        at = f"/message/tool_calls/{len(self.calls)}"
        call = messages.read_call(self.dialect, doc, at)
        self.wordless = None
        block = self.enter(replace(call, arguments=""), events)
        part = self.by_index["call", index] = CoherePart(doc, block, self.whole)
        self.calls.append(part)
        if call.arguments:
            self.add(part, call.arguments, events)

    def add_call(self, index: int, message: dict[str, Json], events: list[Event]) -> None:
        doc = as_dict(message.get("tool_calls") or {}, "/delta/message/tool_calls")
        function = maybe_dict(doc, "function", "/delta/message/tool_calls") or {}
        written = maybe_str(function, "arguments", "/delta/message/tool_calls/function")
        part = self.by_index.get(("call", index))
        if part is None or part.block not in self.open:
            raise Malformed(f"call {index} is not open", "/index")
        if written:
            self.add(part, written, events)
            self.sink = part.received.add

    def cite(self, doc: dict[str, Json], events: list[Event]) -> None:
        """What is cited in a text, which may be closed by then."""
        self.cited.append(doc)
        parts = self.content
        blocks = [self.stand_in(part) for part in parts]
        place = place_of(doc, blocks, self.plan is not None)
        if place is None:
            return
        part = self.plan if place < 0 else parts[place]
        assert part is not None
        if part is self.wordless:
            self.open_silent(events)
        if part.block not in self.open:
            self.notes.append(("stream.order", "/message", IN_TURNS))
        if part.block < 0:
            part.block = self.enter(Text("", at="/message/content/0"), events)
            self.ended.add(part.block)
        at = f"/message/citations/{len(self.cited) - 1}"
        found = citations.read_citation(self.dialect, doc, at)
        events += [Cite(part.block, citation) for citation in found]

    def stand_in(self, part: CoherePart) -> Block:
        return Text("") if part.doc.get("type", "text") == "text" else Reasoning()

    def document(self) -> Json | None:
        if self.head is None:
            return None
        message = {"role": "assistant", **self.message}
        if self.content:
            message["content"] = [whole_content(part) for part in self.content]
        if self.plan is not None:
            message["tool_plan"] = str(self.plan.received)
        if self.calls:
            message["tool_calls"] = [whole_call(part) for part in self.calls]
        if self.cited:
            message["citations"] = self.cited
        doc = {**self.head, "message": message, **self.tail}
        if self.probable:
            doc["logprobs"] = self.probable
        return doc


def whole_content(part: CoherePart) -> dict[str, Json]:
    kind = part.doc.get("type", "text")
    return part.doc | ({"type": kind, kind: str(part.received)} if kind in WORDS else {})


def whole_call(part: CoherePart) -> dict[str, Json]:
    if not part.received.parts:
        return part.doc
    return part.doc | {"function": part.doc["function"] | {"arguments": str(part.received)}}


EMPTY: dict[str, Json] = {"content": [], "tool_plan": "", "tool_calls": [], "citations": []}


def event(kind: str, doc: dict[str, Json]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **doc}))


def delta_of(kind: str, index: int, **message: Json) -> bytes:
    """An event that says something of the message."""
    return event(kind, {"index": index, "delta": {"message": message}})


class CohereVoice:
    """A block while it is written."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind = kind  # "text", "thinking" or "call"
        self.index = index
        self.turn, self.at = 0, ""  # which of the blocks it is, and where it comes from
        self.first = False  # of the texts
        self.received: list[str] = []
        self.cited: list[Citation] = []
        self.part: tuple[str, int] | None = None
        self.wrapped = False


class CohereWriter(StreamWriter):
    dialect: Cohere

    def __init__(self, dialect: Cohere, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = CohereWriting(self.aside, same, reply=True)
        self.voices: dict[int, CohereVoice] = {}
        self.texts: dict[int, CohereVoice] = {}  # that are complete; they may still be cited
        self.contents = self.calls = 0
        self.cited: list[Json] = []
        self.worded = False

    def begin(self, event_: Begin) -> bytes:
        self.begun = True
        doc = self.at_rest(replace(event_.response, failure=None))
        message = doc["message"]
        message = message | EMPTY | message
        head = {"id": doc["id"]} if "id" in doc else {}
        self.cited += message.get("citations") or ()
        return event("message-start", head | {"delta": {"message": message}})

    def open(self, event_: Open) -> bytes:
        block = event_.block
        if event_.candidate:
            return b""  # there is one reply here
        if isinstance(block, ToolCall):
            return self.open_call(block, event_.index)
        if isinstance(block, Text):
            return self.open_content(block, "text", event_.index)
        if isinstance(block, Reasoning):
            return self.open_content(block, "thinking", event_.index)
        if isinstance(block, Raw) and self.dialect.is_same(block.dialect):
            index, self.contents = self.contents, self.contents + 1
            start = delta_of("content-start", index, content=block.payload)
            return start + event("content-end", {"index": index})
        return b""

    def open_content(self, block: Block, kind: str, number: int) -> bytes:
        voice = self.voices[number] = CohereVoice(kind, -1)
        voice.turn, voice.at = self.turn(), block.at
        if not self.same:
            return b""  # it begins with its first word; what has none is not said
        content: Json = {"type": kind, kind: ""}
        return self.start_content(voice, self.dialect.emit(content, block, self.aside))

    def start_content(self, voice: CohereVoice, content: Json) -> bytes:
        if voice.kind == "text":
            voice.first, self.worded = not self.worded, True
        voice.index, self.contents = self.contents, self.contents + 1
        self.begins(voice.turn, voice.at)
        return delta_of("content-start", voice.index, content=content)

    def open_call(self, call: ToolCall, number: int) -> bytes:
        voice = self.voices[number] = CohereVoice("call", self.calls)
        self.calls += 1
        voice.wrapped = call.kind != "function" and not self.same
        call = replace(call, kind="function", arguments="")
        doc = messages.write_call(self.dialect, call, self.w)
        doc["function"]["arguments"] = '{"input":"' if voice.wrapped else ""
        return delta_of("tool-call-start", voice.index, tool_calls=doc)

    def delta(self, event_: Delta) -> bytes:
        voice = self.voices.get(event_.index)
        if voice is None or not event_.text:
            return b""
        text = event_.text
        if voice.kind == "call":
            voice.received.append("")
            return self.say_call(voice, compact(text)[1:-1] if voice.wrapped else text)
        begun = b""
        if voice.kind == "thinking":
            text = apart(voice, event_)
            if not text:
                return b""
        else:
            voice.received.append(text)
        if voice.index < 0:
            begun = self.start_content(voice, {"type": voice.kind, voice.kind: ""})
        return begun + delta_of("content-delta", voice.index, content={voice.kind: text})

    def splicing(self, event_: Delta) -> Splice | None:
        voice = self.voices.get(event_.index)
        if voice is None or voice.wrapped or voice.index < 0 or voice.kind == "plan":
            return None
        if voice.kind == "call":
            return around(self.say_call(voice, MARKED))
        if voice.kind == "thinking" and voice.part != (event_.place, event_.part):
            return None
        keep = voice.received.append if voice.kind == "text" else None
        written = delta_of("content-delta", voice.index, content={voice.kind: MARKED})
        return around(written, keep)

    def say_call(self, voice: CohereVoice, text: str) -> bytes:
        written = {"function": {"arguments": text}}
        return delta_of("tool-call-delta", voice.index, tool_calls=written)

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
            elif not voice.received and not self.same:
                out = self.say_call(voice, "{}")  # a call without arguments
            return out + event("tool-call-end", {"index": voice.index})
        self.texts[event_.index] = voice
        out = b""
        if voice.cited and voice.index < 0 and voice.kind == "text":
            out = self.start_content(voice, {"type": "text", "text": ""})
        out += self.say_citations(voice, voice.cited)
        return out if voice.index < 0 else out + event("content-end", {"index": voice.index})

    def say_citations(self, voice: CohereVoice, cited: list[Citation]) -> bytes:
        if not cited:
            return b""
        text = Text("".join(voice.received), tuple(cited))
        index = None if voice.first else voice.index
        found = citations.write_citations(self.dialect, text, index, self.w)
        return b"".join(map(self.say_citation, found))

    def say_citation(self, doc: Json) -> bytes:
        index = len(self.cited)
        self.cited.append(doc)
        start = delta_of("citation-start", index, citations=doc)
        return start + event("citation-end", {"index": index})

    def end(self, doc: Json) -> bytes:
        """What was cited so late that only the reply at rest knows it, and why it ended."""
        written = [source_of(cited) for cited in self.cited]
        out = b""
        for cited in doc["message"].get("citations") or ():
            if source_of(cited) not in written:
                planned = cited.get("type") == PLAN
                out += self.say_citation(cited | {"type": CONTENT} if planned else cited)
        delta = {k: v for k, v in doc.items() if k not in ("id", "message")}
        return out + event("message-end", {"delta": delta}) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        """The reply failed: the last event says so."""
        rest = {k: v for k, v in doc.items() if k != "message"}
        delta = {"finish_reason": "ERROR", "error": doc.get("message", ""), **rest}
        return event("message-end", {"delta": delta}) + b"data: [DONE]\n\n"


def source_of(cited: Json) -> Json:
    """What is cited and whence; not where it stands, which is otherwise at rest."""
    return {key: cited.get(key) for key in ("start", "end", "sources")}


def apart(voice: CohereVoice, event_: Delta) -> str:
    """The parts of reasoning become one text, apart from each other by a blank line."""
    before, part = voice.part, (event_.place, event_.part)
    if before is not None and before[0] != event_.place:
        return ""  # reasoning is written once here
    voice.part = part
    return event_.text if before is None or before == part else "\n\n" + event_.text
