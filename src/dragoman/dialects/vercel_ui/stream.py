"""The UI message stream of the AI SDK (protocol v1), both ways.

Texts, thoughts and tool inputs have ids and may come side by side, so nothing waits. The input of
a tool comes bit by bit, and whole in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import Malformed
from ...events import Begin, Cite, Close, Delta, End, Event, Odd, Open, Sealed, hollow
from ...framing import Frame
from ...ledger import Ledger
from ...model import (
    Block,
    Failure,
    Json,
    Media,
    Reasoning,
    Refusal,
    Response,
    Seal,
    Text,
    ToolCall,
)
from ...reading import encode, maybe_str, need_str
from ...streaming import Said, StreamReader, StreamWriter
from ...writing import object_of

if TYPE_CHECKING:
    from . import VercelUI

DONE = b"[DONE]"
TOOL_FIELDS = ("type", "toolName", "inputTextDelta", "input", "dynamic", "errorText", "output")


class Usual(Struct, forbid_unknown_fields=True):
    """Nearly every chunk there is. Anything more in it, and it is read with care."""

    type: str
    delta: str = ""
    id: Any = None
    toolCallId: Any = None
    inputTextDelta: str = ""


decode_usual = msgspec.json.Decoder(Usual).decode


class Part:
    """A part while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, whole: bool) -> None:
        self.doc = doc
        self.index = index
        self.said = Said(whole)
        self.open = True


class UIReader(StreamReader):
    dialect: VercelUI

    def __init__(self, dialect: VercelUI, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.parts: list[Part] = []
        self.texts: dict[tuple[str, str], Part] = {}
        self.tools: dict[str, Part] = {}
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "start": self.start,
            "start-step": self.step,
            "text-start": self.open_text,
            "reasoning-start": self.open_text,
            "text-delta": self.add,
            "reasoning-delta": self.add,
            "text-end": self.close_text,
            "reasoning-end": self.close_text,
            "tool-input-start": self.open_tool,
            "tool-input-delta": self.add_input,
            "tool-input-available": self.close_tool,
            "tool-input-error": self.close_tool,
            "tool-output-available": self.answered,
            "tool-output-error": self.answered,
            "tool-output-denied": self.answered,
            "source-url": self.whole_part,
            "source-document": self.whole_part,
            "file": self.whole_part,
            "message-metadata": self.amend,
            "finish-step": self.nothing,
            "finish": self.finish,
            "abort": self.aborted,
            "error": self.broken,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        try:
            usual = decode_usual(frame[1])
        except msgspec.MsgspecError:
            return self.read_with_care(frame)
        kind = usual.type
        part = None
        text = usual.delta
        if kind == "text-delta" or kind == "reasoning-delta":
            part = self.texts.get((kind.partition("-")[0], usual.id))
        elif kind == "tool-input-delta":
            part, text = self.tools.get(usual.toolCallId), usual.inputTextDelta
        if part is None or not part.open:
            return self.read_with_care(frame)
        part.said.add(text)
        return (Delta(part.index, text),)

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == DONE:
            return ()
        doc = self.parse(frame)
        kind = need_str(doc, "type", "")
        if kind.startswith("data-"):
            return () if doc.get("transient") else self.whole_part(doc)
        way = self.ways.get(kind)
        if way is None:
            return (Odd(self.dialect.name, doc),)
        begun: Sequence[Event] = ()
        if self.head is None and kind not in ("start", "error", "abort"):
            begun = self.start({})  # some servers leave it out
        return [*begun, *way(doc)]

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is not None:
            raise Malformed("the message has begun before")
        self.head = {"role": "assistant"}
        if (name := maybe_str(doc, "messageId", "")) is not None:
            self.head["id"] = name
        self.amend(doc)
        return (self.begin(self.silent()),)

    def silent(self) -> Response:
        tree = self.dialect.read_response({**(self.head or {}), "parts": []})
        assert isinstance(tree, Response)
        return tree

    def amend(self, doc: dict[str, Json]) -> Sequence[Event]:
        more = doc.get("messageMetadata")
        if more is not None and self.head is not None:
            before = self.head.get("metadata")
            both = isinstance(before, dict) and isinstance(more, dict)
            self.head["metadata"] = before | more if both else more
        return ()

    def nothing(self, doc: dict[str, Json]) -> Sequence[Event]:
        return ()

    def step(self, doc: dict[str, Json]) -> Sequence[Event]:
        part = Part({"type": "step-start"}, -1, self.whole)
        part.open = False
        self.parts.append(part)
        return ()

    # -- texts and thoughts -----------------------------------------------------------------

    def add_part(self, doc: dict[str, Json], whole: bool | None = None) -> Part:
        part = Part(doc, len(self.parts), self.whole if whole is None else whole)
        self.parts.append(part)
        return part

    def open_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        key = (kind, need_str(doc, "id", ""))
        if key in self.texts and self.texts[key].open:
            raise Malformed(f"{kind} {key[1]!r} is open already")
        part = self.texts[key] = self.add_part({"type": kind, "text": "", "state": "done"})
        self.note_metadata(part, doc)
        block = self.dialect.read_part(part.doc, kind, f"/parts/{part.index}")
        return (Open(part.index, hollow(block)),)

    def note_metadata(self, part: Part, doc: dict[str, Json]) -> None:
        if doc.get("providerMetadata") is not None:
            part.doc["providerMetadata"] = doc["providerMetadata"]

    def text_of(self, doc: dict[str, Json]) -> Part:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        name = need_str(doc, "id", "")
        part = self.texts.get((kind, name))
        if part is None or not part.open:
            raise Malformed(f"{kind} {name!r} is not open")
        self.note_metadata(part, doc)
        return part

    def add(self, doc: dict[str, Json]) -> Sequence[Event]:
        part, text = self.text_of(doc), need_str(doc, "delta", "")
        part.said.add(text)
        return (Delta(part.index, text),)

    def close_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        part = self.text_of(doc)
        part.open = False
        part.doc["text"] = str(part.said)
        events: list[Event] = []
        block = self.dialect.read_part(part.doc, part.doc["type"], "")
        if isinstance(block, Reasoning) and block.seal is not None:
            events.append(Sealed(part.index, block.seal))
        return [*events, Close(part.index)]

    # -- tools ------------------------------------------------------------------------------

    def open_tool(self, doc: dict[str, Json]) -> Sequence[Event]:
        call_id, name = need_str(doc, "toolCallId", ""), need_str(doc, "toolName", "")
        if call_id in self.tools:
            raise Malformed(f"tool {call_id!r} has begun before")
        tool: dict[str, Json] = {"type": f"tool-{name}"}
        if doc.get("dynamic"):
            tool = {"type": "dynamic-tool", "toolName": name}
        tool |= {"toolCallId": call_id, "state": "input-streaming"}
        tool |= {k: v for k, v in doc.items() if k not in (*TOOL_FIELDS, "toolCallId")}
        part = self.tools[call_id] = self.add_part(tool, whole=True)
        block = self.dialect.read_part(tool, tool["type"], f"/parts/{part.index}")
        return (Open(part.index, hollow(block)),)

    def tool_of(self, doc: dict[str, Json]) -> Part:
        name = need_str(doc, "toolCallId", "")
        if name not in self.tools:
            raise Malformed(f"tool {name!r} has not begun")
        return self.tools[name]

    def add_input(self, doc: dict[str, Json]) -> Sequence[Event]:
        part, text = self.tool_of(doc), need_str(doc, "inputTextDelta", "")
        if not part.open:
            raise Malformed(f"the input of tool {doc['toolCallId']!r} is complete")
        part.said.add(text)
        return (Delta(part.index, text),)

    def close_tool(self, doc: dict[str, Json]) -> Sequence[Event]:
        events: list[Event] = []
        if need_str(doc, "toolCallId", "") not in self.tools:
            events += self.open_tool(doc)
        part = self.tool_of(doc)
        if not part.open:
            return events
        part.open = False
        given = doc.get("input")
        part.doc |= {"state": "input-available", "input": given}
        if doc["type"] == "tool-input-error":
            part.doc |= {"state": "output-error", "errorText": doc.get("errorText")}
        self.note_metadata(part, {"providerMetadata": doc.get("providerMetadata")})
        if not part.said.parts and given not in (None, {}):
            text = given if isinstance(given, str) else encode(given).decode()
            events.append(Delta(part.index, text))
        return [*events, Close(part.index)]

    def answered(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A tool that the application ran: its answer stays with the part."""
        part = self.tool_of(doc)
        state = need_str(doc, "type", "").removeprefix("tool-")
        part.doc["state"] = state
        for key, value in doc.items():
            if key not in ("type", "toolCallId", "dynamic", "providerMetadata"):
                part.doc[key] = value
        return ()

    # -- what comes whole, and the end ------------------------------------------------------

    def whole_part(self, doc: dict[str, Json]) -> Sequence[Event]:
        kind = need_str(doc, "type", "")
        if kind == "source-url" and self.parts and self.parts[-1].doc["type"] in ("text", kind):
            part = self.add_part(doc)
            part.open = False
            return self.cite(part)
        part = self.add_part(doc)
        part.open = False
        block = self.dialect.read_part(doc, kind, f"/parts/{part.index}")
        return (Open(part.index, block), Close(part.index))

    def cite(self, part: Part) -> Sequence[Event]:
        """A source belongs to the text that it follows, if that is still open somewhere."""
        cite = self.dialect.read_source(part.doc, f"/parts/{part.index}")
        text = next((p for p in reversed(self.parts) if p.doc["type"] == "text"), None)
        if cite is None or text is None or not text.open:
            return ()
        return (Cite(text.index, cite),)

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        self.amend(doc)
        assert self.head is not None
        if any(part.open for part in self.texts.values()):
            raise Malformed("the message ended, and a text had not")
        events: list[Event] = []
        for part in self.tools.values():
            if part.open:
                part.open = False
                events.append(Close(part.index))
        meta = self.head.get("metadata")
        if meta is None or (isinstance(meta, dict) and "finishReason" not in meta):
            waits = any(p.doc["state"] == "input-available" for p in self.tools.values())
            word = doc.get("finishReason") or ("tool-calls" if waits else "stop")
            self.head["metadata"] = {**(meta or {}), "finishReason": word}
        self.done = True
        return [*events, End(self.silent())]

    def aborted(self, doc: dict[str, Json]) -> Sequence[Event]:
        reason = maybe_str(doc, "reason", "")
        return self.fail(Failure("other", f"aborted: {reason}" if reason else "aborted"))

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.fail(self.dialect.read_error(doc))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        return {**self.head, "parts": [self.part_so_far(part) for part in self.parts]}

    def part_so_far(self, part: Part) -> Json:
        if part.open and "text" in part.doc:
            return {**part.doc, "text": str(part.said)}
        return part.doc


# -- writing --------------------------------------------------------------------------------

encode_text = msgspec.json.Encoder().encode


class Voice:
    """A block while it is written."""

    def __init__(self, block: Block, name: str) -> None:
        self.block = block
        self.name = name
        self.head = b""
        self.begun = False
        self.part: tuple[str, int] | None = None
        self.said: list[str] = []
        self.seal: Seal | None = None
        self.cites: list[Cite] = []


def frame(doc: Json) -> bytes:
    return b"data: " + encode(doc) + b"\n\n"


class UIWriter(StreamWriter):
    dialect: VercelUI

    def __init__(self, dialect: VercelUI, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = dialect.writing(self.aside, dialect.name if home else None)
        self.voices: dict[int, Voice] = {}
        self.stepped = False

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None, usage=None))
        start: dict[str, Json] = {"type": "start"}
        if "id" in doc:
            start["messageId"] = doc["id"]
        meta = doc.get("metadata")
        if isinstance(meta, dict):
            meta.pop("finishReason", None)
        if meta:
            start["messageMetadata"] = meta
        return frame(start)

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one answer here
        block, index = event.block, event.index
        steps = self.dialect.spelling(block).get("steps", 0) if self.home else 0
        out = frame({"type": "start-step"}) * steps
        voice = self.voices[index] = Voice(block, f"{index}")
        if isinstance(block, Media) and not block.source.value:
            return out  # its data come bit by bit, and are said whole
        if isinstance(block, Text | Refusal):
            return out + self.begin_text(voice, "text")
        if isinstance(block, ToolCall):
            return out + self.begin_tool(voice, block)
        if isinstance(block, Reasoning):
            return out + (self.begin_text(voice, "reasoning") if self.home else b"")
        docs = self.dialect.write_part(block, self.w)
        return out + b"".join(self.say(doc) for doc in docs)

    def say(self, doc: Json) -> bytes:
        """A chunk of an answer; from elsewhere, the first begins its step."""
        if self.stepped or self.home:
            return frame(doc)
        self.stepped = True
        return frame({"type": "start-step"}) + frame(doc)

    def begin_text(self, voice: Voice, kind: str) -> bytes:
        voice.begun = True
        head = encode({"type": f"{kind}-delta", "id": voice.name, "delta": ""})
        voice.head = b"data: " + head[:-3]
        start: dict[str, Json] = {"type": f"{kind}-start", "id": voice.name}
        if self.home and isinstance(voice.block, Text | Reasoning):
            fields = {} if voice.block.extras is None else voice.block.extras.fields
            if "providerMetadata" in fields:
                start["providerMetadata"] = fields["providerMetadata"]
        return self.say(start)

    def begin_tool(self, voice: Voice, call: ToolCall) -> bytes:
        voice.begun = True
        voice.name = self.w.call_id(call)
        head = {"type": "tool-input-delta", "toolCallId": voice.name, "inputTextDelta": ""}
        voice.head = b"data: " + encode(head)[:-3]
        start: dict[str, Json] = {"type": "tool-input-start", "toolCallId": voice.name}
        start["toolName"] = call.name
        if self.dialect.spelling(call).get("dynamic"):
            start["dynamic"] = True
        return self.say(start)

    def delta(self, event: Delta) -> bytes:
        voice = self.voices.get(event.index)
        if voice is None:
            return b""
        text = event.text
        if isinstance(voice.block, Reasoning):
            return self.think(event, voice)
        if isinstance(voice.block, Media) and event.place == "text":
            voice.said.append(text)
        if not voice.begun or event.place != "text":
            return b""
        if isinstance(voice.block, ToolCall):
            voice.said.append(text)
        return voice.head + encode_text(text) + b"}\n\n"

    def think(self, event: Delta, voice: Voice) -> bytes:
        part = (event.place, event.part)
        if voice.part is not None and voice.part[0] != event.place:
            return b""  # a thought is said once here
        text = event.text if voice.part in (None, part) else "\n\n" + event.text
        opened = b"" if voice.begun else self.begin_text(voice, "reasoning")
        voice.part = part
        return opened + voice.head + encode_text(text) + b"}\n\n"

    def cite(self, event: Cite) -> bytes:
        if (voice := self.voices.get(event.index)) is not None:
            voice.cites.append(event)
        return b""

    def seal(self, event: Sealed) -> bytes:
        if (voice := self.voices.get(event.index)) is not None:
            voice.seal = event.seal
        return b""

    def close(self, event: Close) -> bytes:
        voice = self.voices.pop(event.index, None)
        if voice is None:
            return b""
        if isinstance(voice.block, Media):
            return self.end_file(voice, voice.block)
        if isinstance(voice.block, ToolCall):
            return self.end_tool(voice, voice.block)
        if isinstance(voice.block, Reasoning):
            return self.end_thought(voice, voice.block)
        if not voice.begun:
            return b""
        out = frame({"type": "text-end", "id": voice.name})
        for number, cited in enumerate(voice.cites, 1):
            doc = self.dialect.write_source(cited.citation, f"{number}", self.w)
            out += b"" if doc is None else frame(doc)
        return out

    def end_file(self, voice: Voice, block: Media) -> bytes:
        if not voice.said:
            return b""  # it was said at once
        whole = replace(block, source=replace(block.source, value="".join(voice.said)))
        return b"".join(self.say(doc) for doc in self.dialect.write_file(whole, self.w))

    def end_tool(self, voice: Voice, call: ToolCall) -> bytes:
        text = "".join(voice.said)
        given: Json = text
        if call.kind != "custom":
            given = object_of(replace(call, arguments=text), self.aside)
        doc: dict[str, Json] = {"type": "tool-input-available", "toolCallId": voice.name}
        doc |= {"toolName": call.name, "input": given}
        if self.dialect.spelling(call).get("dynamic"):
            doc["dynamic"] = True
        return frame(doc) + self.answer(voice, call)

    def answer(self, voice: Voice, call: ToolCall) -> bytes:
        """What the application's tool answered, at home."""
        state = self.dialect.spelling(call).get("state")
        if call.extras is None or state not in ("output-available", "output-error"):
            return b""
        kept = ("output", "errorText", "preliminary")
        said = {k: v for k, v in call.extras.fields.items() if k in kept}
        return frame({"type": f"tool-{state}", "toolCallId": voice.name, **said})

    def end_thought(self, voice: Voice, block: Reasoning) -> bytes:
        sealed = replace(block, content=("",), seal=voice.seal or block.seal)
        meta = self.dialect.write_seal(sealed, self.w)
        out = b""
        if not voice.begun:
            if meta is None:
                return b""  # a thought without words
            out = self.begin_text(voice, "reasoning")
        end: dict[str, Json] = {"type": "reasoning-end", "id": voice.name}
        if meta is not None:
            end["providerMetadata"] = meta
        return out + frame(end)

    def end(self, doc: Json) -> bytes:
        end: dict[str, Json] = {"type": "finish"}
        meta = doc.get("metadata")
        if isinstance(meta, dict) and "finishReason" in meta:
            end["finishReason"] = meta["finishReason"]
        if meta is not None:
            end["messageMetadata"] = meta
        step = frame({"type": "finish-step"}) if self.stepped else b""
        return step + frame(end) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        return frame({"type": "error", "errorText": doc["errorText"]}) + b"data: [DONE]\n\n"
