"""The stream of Ollama: one reply per line, each with more of the message; the last one is done.

Text and reasoning come in pieces, tool calls come whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from ...core.reading import as_dict, encode, maybe_list, maybe_str
from ...ledger import Ledger
from ...model import Json, Reasoning, Response, Text, ToolCall
from ...streams.events import Begin, Close, Delta, End, Event, Open
from ...streams.framing import Frame
from ...streams.keyed import KeyedReader
from ...streams.orders import InTurns
from ...streams.splicing import MARKED, Splice, around, silent
from . import messages, response
from .messages import OllamaWriting

if TYPE_CHECKING:
    from . import Ollama


TEXTS = {"thinking": "/message/thinking", "content": "/message/content"}
FIRST = ("model", "created_at")  # of these the first holds, of others the last
PLACES = {Text: "content", Reasoning: "thinking", ToolCall: "calls"}
SILENT = ("", None, "1970-01-01T00:00:00Z")  # nobody knew it yet


class OllamaReader(KeyedReader):
    dialect: Ollama
    texts = TEXTS
    varying: ClassVar[Mapping[str, Any]] = {"created_at": str}

    def __init__(self, dialect: Ollama, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.images: list[Json] = []
        self.probable: list[Json] = []

    def read(self, frame: Frame) -> Sequence[Event]:
        doc = self.parse(frame)
        if doc.get("error") is not None:
            return self.fail(response.read_error(self.dialect, doc))
        events: list[Event] = []
        message = as_dict(doc.get("message") or {}, "/message")
        fields = {k: v for k, v in doc.items() if k != "message"}
        if fields.get("logprobs").__class__ is list:  # those of this line
            self.probable += fields.pop("logprobs")
        if self.head is None:
            self.head = fields
            self.message = {k: v for k, v in message.items() if k == "role"}
            events.append(self.begin(self.silent()))
        else:
            self.head |= fields | {k: self.head[k] for k in FIRST if self.head.get(k) not in SILENT}
        for key in TEXTS:
            text = maybe_str(message, key, "/message")
            if text:
                self.add(key, text, events)
            elif key in message:
                self.message.setdefault(key, text)
        for call in maybe_list(message, "tool_calls", "/message") or ():
            self.call(as_dict(call, "/message/tool_calls"), events)
        for image in maybe_list(message, "images", "/message") or ():
            self.show(image, events)
        for key, value in message.items():
            if key not in ("role", "tool_calls", "images", *TEXTS):
                self.message[key] = value
        if self.is_told(doc):
            self.sink = self.received[self.open[0]].add if self.open is not None else None
        if doc.get("done") is True:
            self.shut(events)
            self.done = True
            events.append(End(self.silent()))
        return events

    def is_told(self, doc: dict[str, Json]) -> bool:
        """Whether more lines like this one would say nothing new but text."""
        assert self.head is not None
        known = all(self.head.get(key) not in SILENT for key in FIRST)
        return known and doc.get("done") is not True and "logprobs" not in doc

    def call(self, doc: dict[str, Json], events: list[Event]) -> None:
        number = len(self.calls)
        call = messages.read_call(self.dialect, doc, number, f"/message/tool_calls/{number}")
        self.calls.append(doc)
        self.shut(events)
        index = self.enter(replace(call, arguments=""), events)
        events += (Delta(index, call.arguments), Close(index))

    def show(self, data: Json, events: list[Event]) -> None:
        block = messages.read_image(data, f"/message/images/{len(self.images)}")
        self.images.append(data)
        self.shut(events)
        events.append(Close(self.enter(block, events)))

    def silent(self) -> Response:
        tree = response.read_response(self.dialect, self.document())
        candidates = (replace(c, message=replace(c.message, content=())) for c in tree.candidates)
        return replace(tree, candidates=tuple(candidates))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        message = {"role": "assistant", "content": "", **self.message}
        message |= {key: str(written) for key, written in self.received.items()}
        if self.images:
            message["images"] = self.images
        if self.calls:
            message["tool_calls"] = self.calls
        beside = {"logprobs": self.probable} if self.probable else {}
        return {**self.head, **beside, "message": message}


class OllamaWriter(InTurns):
    dialect: Ollama

    def __init__(self, dialect: Ollama, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = OllamaWriting(self.aside, same, reply=True)
        self.head: dict[str, Json] = {}
        self.keys: dict[int, str] = {}  # open texts, and where they stand
        self.parts: dict[int, tuple[str, int]] = {}
        self.called: dict[int, tuple[ToolCall, list[str]]] = {}  # open calls, and their arguments
        self.written: set[str] = set()

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None))
        self.head = {k: doc[k] for k in ("model", "created_at") if k in doc}
        return b""

    def line(self, message: dict[str, Json]) -> bytes:
        return encode({**self.head, "message": message, "done": False}) + b"\n"

    def open(self, event: Open) -> bytes:
        block = event.block
        if event.candidate:
            return b""  # there is one reply here
        place = PLACES.get(block.__class__)
        if place is not None and self.must_wait(event, place, quiet=place == "calls"):
            return b""
        if isinstance(block, ToolCall):
            self.called[event.index] = (block, [])
        elif isinstance(block, Reasoning):
            self.keys[event.index] = "thinking"
            if "thinking" in self.written:
                self.parts[event.index] = (
                    "",
                    -1,
                )  # another reasoning block: apart from the one before
        elif isinstance(block, Text):
            self.keys[event.index] = "content"
        return b""

    def delta(self, event: Delta) -> bytes:
        if event.index in self.called:
            self.called[event.index][1].append(event.text)
            return b""
        key = self.keys.get(event.index)
        if key is None or not event.text:
            return self.wait(event)
        self.written.add(key)
        text = event.text if key == "content" else self.apart(event)
        return self.say(key, text) if text else b""

    def say(self, key: str, text: str) -> bytes:
        written = {"content": text} if key == "content" else {"content": "", "thinking": text}
        return self.line({"role": "assistant", **written})

    def splicing(self, event: Delta) -> Splice | None:
        index = event.index
        if index in self.called:
            return silent(self.called[index][1].append)
        key = self.keys.get(index)
        if key is None or (
            key == "thinking" and self.parts.get(index) != (event.place, event.part)
        ):
            return None
        return around(self.say(key, MARKED))

    def apart(self, event: Delta) -> str:
        """The parts of reasoning become one text, apart from each other by a blank line."""
        before, part = self.parts.get(event.index), (event.place, event.part)
        if before is not None and before[0] not in ("", event.place):
            return ""  # reasoning is written once here
        self.parts[event.index] = part
        return event.text if before is None or before == part else "\n\n" + event.text

    def close(self, event: Close) -> bytes:
        if event.index in self.waiting:
            return self.wait(event)
        self.keys.pop(event.index, None)
        self.parts.pop(event.index, None)
        return self.close_call(event.index) + self.next_turn(event.index)

    def close_call(self, index: int) -> bytes:
        if (found := self.called.pop(index, None)) is None:
            return b""
        call = replace(found[0], arguments="".join(found[1]))
        doc = messages.write_call(self.dialect, call, self.w)
        self.written.add("tool_calls")
        return self.line({"role": "assistant", "content": "", "tool_calls": [doc]})

    def end(self, doc: Json) -> bytes:
        rest = {k: v for k, v in doc["message"].items() if k not in self.written or k == "content"}
        if "content" in self.written:
            rest["content"] = ""
        return encode({**doc, "message": rest, "done": True}) + b"\n"

    def fail(self, doc: Json) -> bytes:
        return encode(doc) + b"\n"
