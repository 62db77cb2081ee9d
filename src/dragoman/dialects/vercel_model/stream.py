"""The stream of a provider of the AI SDK: the parts of ``doStream``, one frame each, both ways.

    stream-start response-metadata
    (text-* | reasoning-* | tool-input-* tool-call | file | source | ...)*
    finish

Texts, reasoning and tool inputs have ids and may come side by side, so nothing waits. What the end
of a part says of it (``providerMetadata``) belongs to all of it, and the last word counts. The
input of a tool comes bit by bit, and whole as a ``tool-call``. Frames are server-sent events, as
those of the SDK's own streams over HTTP are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core.reading import as_dict, need_list, need_str
from ...core.writing import is_blank
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Json, Media, Reasoning, Response, Signature, Text, ToolCall
from ...streams.base import StreamReader
from ...streams.events import (
    Begin,
    Close,
    Delta,
    End,
    Event,
    Odd,
    Open,
    Ping,
    Place,
    Signed,
    hollow,
)
from ...streams.framing import Frame
from ...streams.orders import FunctionsOnly
from ...streams.received import Keys, Received
from ...streams.splicing import MARKED, Sink, Splice, around
from .._ai_sdk_stream import frame, signature_of, signed_late
from . import response
from .options import METADATA

if TYPE_CHECKING:
    from . import VercelModel


# Other parts stand in the response as they are. What the beginning of a tool's input says is
# compared with the call.
KEYS = {
    "stream-start": Keys("type", "warnings"),
    "raw": Keys("type", "rawValue"),  # what the provider sent; the other parts tell all of it
    "ping": Keys("type"),
    "text-delta": Keys("type", "id", "delta", METADATA),
    "reasoning-delta": Keys("type", "id", "delta", METADATA),
    "tool-input-delta": Keys("type", "id", "delta"),
    "tool-input-end": Keys("type", "id"),
}


class ModelPart:
    """A part while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, at: str, whole: bool) -> None:
        self.doc = doc
        self.index = index  # of the block
        self.at = at
        self.number = 0  # of the text in the block
        self.place: Place = "text"
        self.received = Received(whole)
        self.open = True
        self.opened: Block | None = None  # as it was passed on
        self.start: dict[str, Json] = {}  # what the beginning of a tool's input says besides

    def so_far(self) -> dict[str, Json]:
        if "text" in self.doc and self.doc["type"] in ("text", "reasoning"):
            return {**self.doc, "text": str(self.received)}
        if self.open and self.doc["type"] == "tool-call":
            return {**self.doc, "input": str(self.received)}
        return self.doc


class ProviderReader(StreamReader):
    """What the streams of all versions have in common: parts by their types, the head, the end."""

    dialect: VercelModel
    about_kinds: ClassVar[tuple[str, ...]] = ("response-metadata",)
    """What may come before the response begins."""
    empty: ClassVar[dict[str, Json]] = {}
    """A response without content."""

    def __init__(self, dialect: VercelModel, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.about: dict[str, Json] = {}
        self.ways: dict[str, Callable[[dict[str, Json]], list[Event]]] = {}
        self.otherwise: Callable[[dict[str, Json]], list[Event]] | None = None

    def read(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == b"[DONE]":
            return ()
        doc = self.parse(frame)
        kind = need_str(doc, "type", "")
        if kind == "error":
            return self.fail(self.dialect.read_error(doc))
        self.look(kind, doc)
        if self.head is None:
            self.head = {}
        if kind in self.about_kinds:
            return self.hear(kind, doc)
        if (way := self.ways.get(kind, self.otherwise)) is None:
            return (Odd(self.dialect.name, doc),)
        begun: list[Event] = [] if self.begun is not None else [self.begin(self.silent())]
        return begun + way(doc)

    def hear(self, kind: str, doc: dict[str, Json]) -> Sequence[Event]:
        """What is written of the response."""
        self.about |= {k: v for k, v in doc.items() if k != "type"}
        self.silent()  # which refuses nonsense
        return ()

    def silent(self) -> Response:
        return response.read_response(self.dialect, {**(self.document() or {}), **self.empty})

    def end(self, doc: dict[str, Json], events: list[Event]) -> list[Event]:
        """The last part: what it says is written of the whole response."""
        assert self.head is not None
        self.head |= {k: v for k, v in doc.items() if k != "type"}
        self.done = True
        return [*events, End(self.silent())]


class ModelReader(ProviderReader):
    keys: ClassVar[dict[str, Keys]] = KEYS
    about_kinds = ("stream-start", "response-metadata", "raw", "ping")
    empty: ClassVar[dict[str, Json]] = {"content": []}

    def __init__(self, dialect: VercelModel, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.parts: list[ModelPart] = []
        self.texts: dict[tuple[str, str], ModelPart] = {}
        self.tools: dict[str, ModelPart] = {}
        self.item: ModelPart | None = None  # the last part of reasoning that may have another one
        self.running: dict[int, int] = {}  # how many parts of a block are open, by its number
        self.count = 0  # of blocks
        self.ways = {
            "text-start": self.open_text,
            "reasoning-start": self.open_text,
            "text-delta": self.add,
            "reasoning-delta": self.add,
            "text-end": self.close_text,
            "reasoning-end": self.close_text,
            "tool-input-start": self.open_tool,
            "tool-input-delta": self.add_input,
            "tool-input-end": self.nothing,
            "tool-call": self.close_tool,
            "finish": self.finish,
        }
        self.otherwise = self.whole_part

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        name = str(doc.get("id"))
        part = self.tools.get(name) or self.texts.get((kind.partition("-")[0], name))
        return "" if part is None else part.at

    def hear(self, kind: str, doc: dict[str, Json]) -> Sequence[Event]:
        if kind == "response-metadata":
            return super().hear(kind, doc)
        if kind == "stream-start":
            assert self.head is not None
            self.head["warnings"] = need_list(doc, "warnings", "")
        return (Ping(),) if kind == "ping" else ()

    def nothing(self, doc: dict[str, Json]) -> list[Event]:
        return []

    def read_part(self, part: ModelPart) -> Block:
        return response.read_reply_part(self.dialect, part.so_far(), part.at)

    def add_part(self, doc: dict[str, Json], whole: bool | None = None) -> ModelPart:
        at = f"/content/{len(self.parts)}"
        part = ModelPart(doc, self.count, at, self.whole if whole is None else whole)
        self.parts.append(part)
        self.count += 1
        return part

    # -- texts and reasoning ----------------------------------------------------------------

    def open_text(self, doc: dict[str, Json]) -> list[Event]:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        key = (kind, need_str(doc, "id", ""))
        if key in self.texts and self.texts[key].open:
            raise Malformed(f"{kind} {key[1]!r} is open already")
        part = self.texts[key] = self.add_part({"type": kind, "text": ""})
        self.note(part, doc)
        block = part.opened = self.read_part(part)
        if not isinstance(block, Reasoning):
            return [*self.close_item(), Open(part.index, hollow(block))]
        return self.open_reasoning(part, block)

    def open_reasoning(self, part: ModelPart, block: Reasoning) -> list[Event]:
        """Reasoning, or another part of it: each has a text, be it empty."""
        part.place = "summary" if block.id is not None else "text"
        before = self.item
        if before is not None and block.id == getattr(before.opened, "id", None):
            self.count -= 1
            part.index, part.number = before.index, before.number + 1
            self.item = part
            self.running[part.index] += 1
            return [Delta(part.index, "", part.place, part.number)]
        events = self.close_item()
        self.item = part if block.id is not None else None
        self.running[part.index] = 1
        return [*events, Open(part.index, hollow(block)), Delta(part.index, "", part.place)]

    def close_item(self) -> list[Event]:
        """Reasoning that has an id may have several parts, so it ends where something begins."""
        part, self.item = self.item, None
        if part is None or self.running[part.index]:
            return []  # where something begins beside it, it ends with its last part
        block = self.read_part(part)
        assert isinstance(block, Reasoning)
        return self.signed(part, block)

    def signed(self, part: ModelPart, block: Reasoning) -> list[Event]:
        signed: list[Event] = (
            [] if block.signature is None else [Signed(part.index, block.signature)]
        )
        return [*signed, Close(part.index)]

    def note(self, part: ModelPart, doc: dict[str, Json]) -> None:
        more = {k: v for k, v in doc.items() if k not in ("type", "id", "delta")}
        self.supersede(part.doc, part.doc | more, part.at)
        part.doc |= more

    def text_of(self, doc: dict[str, Json]) -> ModelPart:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        name = need_str(doc, "id", "")
        part = self.texts.get((kind, name))
        if part is None or not part.open:
            raise Malformed(f"{kind} {name!r} is not open")
        if METADATA in doc:
            self.supersede(part.doc.get(METADATA), doc[METADATA], f"{part.at}/{METADATA}")
            part.doc[METADATA] = doc[METADATA]
        return part

    def add(self, doc: dict[str, Json]) -> list[Event]:
        part, text = self.text_of(doc), need_str(doc, "delta", "")
        part.received.add(text)
        self.sink = part.received.add
        return [Delta(part.index, text, part.place, part.number)]

    def close_text(self, doc: dict[str, Json]) -> list[Event]:
        part = self.text_of(doc)
        self.note(part, doc)
        part.open = False
        block = self.read_part(part)
        self.arrive(fields_of(part.opened), fields_of(block), part.at)
        if isinstance(block, Reasoning):
            return self.close_reasoning(part, block)
        events: list[Event] = [Close(part.index)]
        assert part.opened is not None
        events += signed_late(self, block, signature_of(part.opened), part.index)
        return events

    def close_reasoning(self, part: ModelPart, block: Reasoning) -> list[Event]:
        if (block.id is not None) != (part.place == "summary") or block.id != getattr(
            part.opened, "id", None
        ):
            why = "the signature of the reasoning arrived after its text"
            self.notes.append(("stream.text", block.at, why))
        self.running[part.index] -= 1
        goes_on = self.item is not None and part.index == self.item.index
        return [] if goes_on or self.running[part.index] else self.signed(part, block)

    # -- tools ------------------------------------------------------------------------------

    def open_tool(self, doc: dict[str, Json]) -> list[Event]:
        name = need_str(doc, "id", "")
        if name in self.tools and self.tools[name].open:
            raise Malformed(f"tool {name!r} has begun before")
        tool: dict[str, Json] = {"type": "tool-call", "toolCallId": name}
        tool |= {"toolName": need_str(doc, "toolName", ""), "input": "{}"}
        hosted = doc.get("providerExecuted") is True
        tool |= {k: doc[k] for k in (METADATA,) if k in doc}
        events = self.close_item()
        part = self.tools[name] = self.add_part(tool, whole=True)
        part.start = {k: v for k, v in doc.items() if k not in ("type", "id", "toolName")}
        if hosted:
            self.count -= 1
            part.index = -1  # it is written elsewhere when it is whole
            return events
        part.opened = self.read_part(part)
        return [*events, Open(part.index, hollow(part.opened))]

    def add_input(self, doc: dict[str, Json]) -> list[Event]:
        name, text = need_str(doc, "id", ""), need_str(doc, "delta", "")
        part = self.tools.get(name)
        if part is None or not part.open:
            raise Malformed(f"tool {name!r} is not open")
        part.received.add(text)
        self.sink = part.received.add
        return [] if part.index < 0 else [Delta(part.index, text)]

    def close_tool(self, doc: dict[str, Json]) -> list[Event]:
        part = self.tools.get(need_str(doc, "toolCallId", ""))
        if part is None or not part.open:
            return self.whole_part(doc)
        part.doc, part.open = doc, False
        self.supersede(part.start, doc, part.at)
        block = self.read_part(part)
        if part.index < 0 or not isinstance(block, ToolCall):
            if part.index >= 0:
                why = "the stream marked the tool call as run by the provider after it had begun"
                self.notes.append(("hosted", block.at, why))
                return [Close(part.index)]
            part.index, self.count = self.count, self.count + 1
            return [Open(part.index, block), Close(part.index)]
        opened, written = part.opened, str(part.received)
        assert isinstance(opened, ToolCall)
        self.arrive(fields_of(opened), fields_of(block), part.at)
        if (opened.name, opened.item_id) != (block.name, block.item_id):
            self.notes.append(
                ("stream.text", block.at, "the final tool call differs from the streamed one")
            )
        if signature_of(opened) != signature_of(block):
            why = "the signature of a tool call arrived after its beginning"
            self.notes.append(("reasoning.signature", block.at, why))
        if not written:
            return [Delta(part.index, block.arguments), Close(part.index)]
        if written != block.arguments:
            why = "the final text differs from the streamed text"
            self.notes.append(("stream.text", block.at, why))
        return [Close(part.index)]

    # -- what comes whole, and the end ------------------------------------------------------

    def whole_part(self, doc: dict[str, Json]) -> list[Event]:
        events = self.close_item()
        part = self.add_part(doc)
        part.open = False
        if doc["type"] in ("text", "reasoning"):
            raise Malformed(
                f"a {doc['type']} part cannot be sent whole in a stream; "
                "send its start, delta and end"
            )
        block = self.read_part(part)
        if isinstance(block, ToolCall):
            written = Delta(part.index, block.arguments)
            return [*events, Open(part.index, hollow(block)), written, Close(part.index)]
        return [*events, Open(part.index, block), Close(part.index)]

    def finish(self, doc: dict[str, Json]) -> list[Event]:
        if any(part.open for part in self.texts.values()):
            raise Malformed("the response ended, and a text had not")
        events = self.close_item()
        for part in self.tools.values():
            if part.open:
                part.doc, part.open = part.so_far(), False
                self.supersede(part.start, part.doc, part.at)
                events += [] if part.index < 0 else [Close(part.index)]
        return self.end(doc, events)

    def document(self) -> Json | None:
        if self.head is None:
            return None
        doc: dict[str, Json] = {"content": [part.so_far() for part in self.parts], **self.head}
        if self.about:
            doc["response"] = {**as_dict(doc.get("response") or {}, "/response"), **self.about}
        return doc


def fields_of(block: Block | None) -> dict[str, Json]:
    """What only this dialect knows of a block."""
    return {} if block is None or block.extras is None else block.extras.fields


# -- writing --------------------------------------------------------------------------------


class ModelVoice:
    """A block while it is written."""

    def __init__(self, block: Block, name: str, turn: int) -> None:
        self.block = block
        self.name = name
        self.turn = turn  # which of the blocks it is
        self.doc: dict[str, Json] = {}  # of a call: what it is in the end
        self.received: dict[tuple[Place, int], list[str]] = {}
        self.last: tuple[Place, int] | None = None
        self.names: list[str] = []  # of the parts of reasoning
        self.signature: Signature | None = None


class ProviderWriter(FunctionsOnly):
    """What the writers of all versions have in common: the head and the end."""

    dialect: VercelModel
    before: ClassVar[tuple[str, ...]] = ()
    """What has been written of a response when it ends."""

    def __init__(self, dialect: VercelModel, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        if not same:
            self.wrap_freeform()
        self.w = dialect.writing(self.aside, dialect.name if same else None, reply=True)
        self.about: Json = {}

    def begin(self, event: Begin) -> bytes:
        return self.tell(self.at_rest(replace(event.response, failure=None)))

    def tell(self, doc: dict[str, Json]) -> bytes:
        """What a response says of itself, if it is news."""
        about = doc.get("response") or {}
        if about == self.about:
            return b""
        self.about = about
        return frame({**about, "type": "response-metadata"})

    def end(self, doc: Json) -> bytes:
        rest = {k: v for k, v in doc.items() if k not in self.before and k != "response"}
        return self.tell(doc) + frame({**rest, "type": "finish"})

    def fail(self, doc: Json) -> bytes:
        return frame({"type": "error", "error": doc["error"]} if isinstance(doc, dict) else doc)


class ModelWriter(ProviderWriter):
    before = ("content", "warnings")

    def __init__(self, dialect: VercelModel, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.voices: dict[int, ModelVoice] = {}

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None))
        return frame({"type": "stream-start", "warnings": doc["warnings"]}) + self.tell(doc)

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one candidate here
        block = event.block
        voice = self.voices[event.index] = ModelVoice(block, f"{event.index}", self.turn())
        if isinstance(block, Reasoning) or (isinstance(block, Media) and not block.source.value):
            return b""  # it begins with its first word
        self.begins(voice.turn, block.at)
        if isinstance(block, Text):
            more = rest_of(response.write_reply_part(self.dialect, block, self.w)[0])
            return frame({"type": "text-start", "id": voice.name, **more})
        if isinstance(block, ToolCall):
            return self.open_call(voice, block)
        return b"".join(map(frame, response.write_reply_part(self.dialect, block, self.w)))

    def open_call(self, voice: ModelVoice, call: ToolCall) -> bytes:
        voice.doc = as_dict(self.dialect.write_reply_call(call, self.w), "")
        voice.name = voice.doc["toolCallId"]
        start = {"type": "tool-input-start", "id": voice.name, "toolName": voice.doc["toolName"]}
        return frame(start | {k: voice.doc[k] for k in (METADATA,) if k in voice.doc})

    def delta(self, event: Delta) -> bytes:
        voice = self.voices.get(event.index)
        if voice is None:
            return b""
        if isinstance(voice.block, Reasoning):
            return self.think(event, voice)
        if event.place != "text":
            return b""
        if isinstance(voice.block, Text):
            return frame({"type": "text-delta", "id": voice.name, "delta": event.text})
        voice.received.setdefault(("text", 0), []).append(event.text)
        if isinstance(voice.block, ToolCall) and event.text:
            return frame({"type": "tool-input-delta", "id": voice.name, "delta": event.text})
        return b""

    def splicing(self, event: Delta) -> Splice | None:
        voice, part = self.voices.get(event.index), (event.place, event.part)
        if voice is None or event.index in self.wrapped:
            return None
        block, keep = (
            voice.block,
            None if part not in voice.received else voice.received[part].append,
        )
        if isinstance(block, Reasoning):
            goes_on = voice.last == part and voice.names
            return self.more("reasoning-delta", voice.names[-1], keep) if goes_on else None
        if part != ("text", 0) or not isinstance(block, Text | ToolCall):
            return None
        kind = "text-delta" if isinstance(block, Text) else "tool-input-delta"
        return self.more(kind, voice.name, keep)

    def more(self, kind: str, name: str, keep: Sink | None) -> Splice:
        return around(frame({"type": kind, "id": name, "delta": MARKED}), keep)

    def think(self, event: Delta, voice: ModelVoice) -> bytes:
        """OpenAI's summaries are parts of their own; of others, one text is made."""
        block, part = voice.block, (event.place, event.part)
        assert isinstance(block, Reasoning)
        if voice.last is not None and voice.last[0] != event.place:
            return b""  # reasoning is written once here
        voice.received.setdefault(part, []).append(event.text)
        if not event.text:
            return b""
        apart = block.id is not None and (voice.last != part or not voice.names)
        opened = self.open_reasoning(voice, block) if apart or not voice.names else b""
        text = event.text
        if voice.last not in (None, part) and block.id is None:
            text = f"\n\n{text}"
        voice.last = part
        written = {"type": "reasoning-delta", "id": voice.names[-1], "delta": text}
        return opened + frame(written)

    def open_reasoning(self, voice: ModelVoice, block: Reasoning) -> bytes:
        name = f"{voice.name}:{len(voice.names)}" if voice.names else voice.name
        voice.names.append(name)
        self.begins(voice.turn, block.at)
        parts = response.write_reply_part(
            self.dialect, replace(block, content=("x",), signature=None), self.w
        )
        more = rest_of(parts[0]) if block.id is not None else {}
        return frame({"type": "reasoning-start", "id": name, **more})

    def add_signature(self, event: Signed) -> bytes:
        if (voice := self.voices.get(event.index)) is not None:
            voice.signature = event.signature
        return b""

    def close(self, event: Close) -> bytes:
        voice = self.voices.pop(event.index, None)
        if voice is None:
            return b""
        block = voice.block
        written = "".join(voice.received.get(("text", 0), ()))
        if isinstance(block, Text):
            return frame({"type": "text-end", "id": voice.name})
        if isinstance(block, ToolCall):
            given = voice.doc["input"] if is_blank(written) or not voice.doc["input"] else written
            end = frame({"type": "tool-input-end", "id": voice.name})
            return end + frame({**voice.doc, "input": given})
        if isinstance(block, Reasoning):
            return self.close_reasoning(voice, block)
        if isinstance(block, Media) and written:
            whole = replace(block, source=replace(block.source, value=written))
            self.begins(voice.turn, block.at)
            return b"".join(map(frame, response.write_reply_part(self.dialect, whole, self.w)))
        return b""

    def close_reasoning(self, voice: ModelVoice, block: Reasoning) -> bytes:
        texts = {part: "".join(written) for part, written in voice.received.items()}
        whole = replace(
            block,
            content=tuple(text for (place, _), text in texts.items() if place == "text"),
            summary=tuple(text for (place, _), text in texts.items() if place == "summary"),
            signature=voice.signature or block.signature,
        )
        known = self.lowered(whole)
        parts = response.write_reply_part(self.dialect, known, self.w) if known is not None else []
        if not voice.names and parts and parts[0]["type"] != "reasoning":
            self.begins(voice.turn, block.at)
            return b"".join(map(frame, parts))
        out = b""
        if 0 < len(voice.names) < len(parts):
            why = "the signature arrived after the parts of the reasoning had been joined"
            self.log.approximated("stream.text", block.at, why)
        if parts and not voice.names:
            out = self.open_reasoning(voice, block)
        for number, name in enumerate(voice.names):
            more = rest_of(parts[min(number, len(parts) - 1)]) if parts else {}
            out += frame({"type": "reasoning-end", "id": name, **more})
        return out


def rest_of(part: dict[str, Json]) -> dict[str, Json]:
    """What a part says beside its text."""
    return {k: v for k, v in part.items() if k not in ("type", "text")}
