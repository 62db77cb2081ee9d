"""The stream of the Interactions API: steps that begin, grow and end, one after the other.

``interaction.created`` and ``interaction.completed`` have what an interaction says of itself. The
contents of a step are its deltas: a text goes on until another kind of content comes, a medium is a
delta of its own. So two texts that follow each other are two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.reading import UNREADABLE, as_dict, compact, encode, maybe_list, need_dict, need_str
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Citation, Json, Media, Reasoning, Response, Text, ToolCall
from ...streams.events import Begin, Cite, Close, Delta, End, Event, Odd, Open, Signed, hollow
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from ...streams.splicing import Splice, between
from .._claude_stream import ClaudeReader, ClaudeWriter
from . import contents, response, steps
from .contents import Places
from .steps import CALL, MODEL, THOUGHT

if TYPE_CHECKING:
    from . import GeminiInteractions

EVENT = "event_type"
# Ids of events are for resuming a stream; ``metadata`` has the counts so far.
KEYS = {
    "interaction.created": Keys(EVENT, "interaction", "event_id"),
    "interaction.completed": Keys(EVENT, "interaction", "event_id"),
    "interaction.status_update": Keys(EVENT, "interaction_id", "status", "usage", "event_id"),
    "step.start": Keys(EVENT, "index", "step", "event_id"),
    "step.delta": Keys(EVENT, "index", "delta", "event_id", "metadata"),
    "step.stop": Keys(EVENT, "index", "event_id"),
}
DELTA_KEYS = {
    "text": Keys("type", "text"),
    "arguments_delta": Keys("type", "arguments"),
    "thought_signature": Keys("type", "signature"),
    "thought_summary": Keys("type", "content"),
    "text_annotation_delta": Keys("type", "annotations"),
}
PICTURED = "a summary of reasoning has more than text; the response keeps it unchanged"
CITED_LATE = "a citation arrived after the end of its text"


class Piece(Struct, forbid_unknown_fields=True):
    type: Literal["text", "arguments_delta"]
    text: str = ""
    arguments: str = ""


class Usual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    event_type: Literal["step.delta"]
    index: int
    delta: Piece


decode_usual = msgspec.json.Decoder(Usual).decode


class Step:
    """A step that is open."""

    __slots__ = ("at", "block", "cited", "doc", "kind", "parts", "places", "received", "whole")

    def __init__(self, doc: dict[str, Json], at: str, whole: bool) -> None:
        self.doc = doc
        self.kind = str(doc.get("type"))
        self.at = at
        self.whole = whole or self.kind == CALL  # whether arguments are an object shows in the end
        self.block: int | None = None  # the block that grows
        self.received = Received(self.whole)
        self.places = Places()
        self.cited: list[Json] = []
        self.parts: list[Json] = []  # the contents that are complete

    def add(self, text: str) -> None:
        self.received.add(text)
        if self.kind == MODEL:
            self.places.add(text)


class InteractionsReader(ClaudeReader):
    dialect: GeminiInteractions
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: GeminiInteractions, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.steps: list[dict[str, Json]] = []
        self.opened: dict[int, Step] = {}
        self.blocks = 0
        self.texts: dict[str, int] = {}  # where a text stands -> its block
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "interaction.created": self.start,
            "interaction.status_update": self.update,
            "interaction.completed": self.finish,
            "step.start": self.open,
            "step.delta": self.add,
            "step.stop": self.stop,
            "error": self.broken,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        data = frame[1]
        try:
            usual = decode_usual(data)
        except UNREADABLE:
            if data == b"[DONE]":
                return ()
            doc = self.parse(frame)
            kind = doc.get(EVENT) or frame[0]
            way = self.ways.get(kind) if isinstance(kind, str) else None
            if way is None:
                return (Odd(self.dialect.name, doc),)
            self.look(kind, doc)
            return way(doc)
        step, piece = self.step(usual.index), usual.delta
        grows = MODEL if piece.type == "text" else CALL
        if step.kind != grows:
            return self.add(self.parse(frame))
        if step.block is None:
            return self.grow(step, piece.text or piece.arguments)
        text = piece.text or piece.arguments
        step.add(text)
        self.sink = step.add
        return (Delta(step.block, text),)

    def step(self, index: Json) -> Step:
        if index.__class__ is not int:
            raise Malformed("expected an integer", "/index")
        if (step := self.opened.get(index)) is None:
            raise Malformed(f"step {index} is not open")
        return step

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        opened = self.opened.get(doc["index"]) if doc.get("index").__class__ is int else None
        return "" if opened is None else opened.at

    # -- the interaction --------------------------------------------------------------------

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is not None:
            raise Malformed("the interaction has begun before")
        self.head = {k: v for k, v in need_dict(doc, "interaction", "").items() if k != "steps"}
        return (self.begin(self.silent()),)

    def silent(self) -> Response:
        return response.read_response(self.dialect, {**(self.head or {}), "steps": []})

    def update(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the status of an interaction that has not begun")
        self.head["status"] = need_str(doc, "status", "")
        if doc.get("usage") is not None:
            self.head["usage"] = doc["usage"]
        return ()

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of an interaction that has not begun")
        closed = [event for index in list(self.opened) for event in self.stop({"index": index})]
        final = dict(need_dict(doc, "interaction", ""))
        late = self.cite_late(maybe_list(final, "steps", "/interaction") or [])
        final.pop("steps", None)  # which have been told one by one
        self.supersede({k: v for k, v in self.head.items() if k in final}, final, "")
        self.head |= final
        self.done = True
        return (*closed, *late, End(self.silent()))

    def cite_late(self, final: list[Json]) -> list[Event]:
        """What the texts cite, where only the last event says so; it may repeat the steps."""
        events: list[Event] = []
        for index, (step, other) in enumerate(zip(self.steps, final, strict=False)):
            parts = other.get("content") if other.__class__ is dict else None
            if step.get("type") != MODEL or parts.__class__ is not list:
                continue
            for number, (part, given) in enumerate(zip(step["content"], parts, strict=False)):
                at = f"/steps/{index}/content/{number}"
                cited = given.get("annotations") if given.__class__ is dict else None
                if at not in self.texts or cited.__class__ is not list:
                    continue
                told = part.get("annotations") or []
                if not (new := without(cited, told)):
                    continue
                part["annotations"] = [*told, *new]
                found = contents.read_text(self.dialect, {**given, **part}, at).citations
                late = found[len(told) :]
                events += [Cite(self.texts[at], cite) for cite in late]
                self.notes += [("stream.order", cite.at, CITED_LATE) for cite in late]
        return events

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        error = doc.get("error")
        if self.head is not None and error.__class__ is dict:
            self.head |= {"status": response.FAILED, "errors": [error]}
        return self.fail(response.read_error(self.dialect, {"error": error}))

    # -- steps ------------------------------------------------------------------------------

    def open(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("a step before the interaction")
        index, given = doc.get("index"), dict(need_dict(doc, "step", ""))
        if index.__class__ is not int:
            raise Malformed("expected an integer", "/index")
        if index in self.opened:
            raise Malformed(f"step {index} is open already")
        need_str(given, "type", "/step")
        at = f"/steps/{len(self.steps)}"
        step = self.opened[index] = Step(given, at, self.whole)
        self.steps.append(given)
        if step.kind == MODEL:
            before = maybe_list(given, "content", "/step") or []
            given["content"] = step.parts
            return [event for content in before for event in self.put(step, content)]
        if step.kind == THOUGHT:
            known = {k: v for k, v in given.items() if k not in ("summary", "signature")}
            opened = self.begin_block(step, steps.read_thought(self.dialect, known, at))
            before = maybe_list(given, "summary", "/step") or []
            given["summary"] = step.parts
            more = [e for content in before for e in self.summarize(step, content)]
            signed = given.get("signature")
            return (*opened, *more, *(() if signed is None else self.sign(step, signed)))
        if step.kind == CALL:
            empty = {**given, "arguments": {}}
            return self.begin_block(step, steps.read_call(self.dialect, empty, at, {}))
        return ()  # what Google's own tools do is known in the end

    def begin_block(self, step: Step, block: Block) -> Sequence[Event]:
        step.block, self.blocks = self.blocks, self.blocks + 1
        return (Open(step.block, hollow(block)),)

    def add(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A delta that is not the usual one."""
        step, delta = self.step(doc.get("index")), need_dict(doc, "delta", "")
        kind = need_str(delta, "type", "/delta")
        if kind in DELTA_KEYS:
            self.look("step.delta", delta, "/delta", DELTA_KEYS[kind], step.at)
        if step.kind == MODEL:
            if kind == "text":
                return self.grow(step, need_str(delta, "text", "/delta"))
            if kind == "text_annotation_delta":
                return self.cite(step, maybe_list(delta, "annotations", "/delta") or [])
            return self.put(step, delta)
        if step.kind == CALL and kind == "arguments_delta":
            return self.grow(step, need_str(delta, "arguments", "/delta"))
        if step.kind == THOUGHT and kind == "thought_summary":
            return self.summarize(step, need_dict(delta, "content", "/delta"))
        if step.kind == THOUGHT and kind == "thought_signature":
            return self.sign(step, need_str(delta, "signature", "/delta"))
        step.doc |= {key: value for key, value in delta.items() if key != "type"}
        return ()

    def grow(self, step: Step, text: str) -> Sequence[Event]:
        """More of a text, or of arguments."""
        opened: Sequence[Event] = ()
        if step.block is None:
            at = f"{step.at}/content/{len(step.parts)}"
            opened = self.begin_block(step, self.first(step, Text("", at=at)))
        step.add(text)
        assert step.block is not None
        return (*opened, Delta(step.block, text))

    def first(self, step: Step, block: Block) -> Block:
        """A content; the first one of a step has what the step says beyond the tree."""
        extras = None if step.parts else self.dialect.keep(step.doc, steps.STEP_KEYS)
        found: Block = contents.mark(self.dialect, block, extras, step.at, False)
        return found

    def put(self, step: Step, content: Json) -> Sequence[Event]:
        """A content that comes whole; a text may go on."""
        doc = as_dict(content, "/delta")
        closed = self.close_text(step)
        if need_str(doc, "type", "/delta") == "text" and contents.PLAIN_TEXT(doc):
            return (*closed, *self.grow(step, need_str(doc, "text", "/delta")))
        at = f"{step.at}/content/{len(step.parts)}"
        block = self.first(step, contents.read_content(self.dialect, doc, at))
        step.parts.append(content)
        number, self.blocks = self.blocks, self.blocks + 1
        if isinstance(block, Text):  # with what it cites
            cites = [Cite(number, cite) for cite in block.citations]
            return (
                *closed,
                Open(number, hollow(block)),
                Delta(number, block.text),
                *cites,
                Close(number),
            )
        return (*closed, Open(number, block), Close(number))

    def cite(self, step: Step, cited: list[Json]) -> Sequence[Event]:
        """What the text cites; where that is, is told in bytes of the whole text."""
        opened = () if step.block is not None else self.grow(step, "")
        step.cited += cited
        return opened

    def close_text(self, step: Step) -> Sequence[Event]:
        if step.block is None:
            return ()
        number, at = step.block, f"{step.at}/content/{len(step.parts)}"
        cites = [
            Cite(
                number,
                contents.read_citation(self.dialect, as_dict(doc, where), step.places, where),
            )
            for index, doc in enumerate(step.cited)
            if (where := f"{at}/annotations/{index}")
        ]
        step.parts.append(self.text_of(step))
        self.texts[at] = number
        step.block, step.received, step.places = None, Received(step.whole), Places()
        step.cited = []
        return (*cites, Close(number))

    def text_of(self, step: Step) -> dict[str, Json]:
        """The text of a step so far."""
        doc: dict[str, Json] = {"type": "text", "text": str(step.received)}
        return doc | {"annotations": step.cited} if step.cited else doc

    def summarize(self, step: Step, content: Json) -> Sequence[Event]:
        text = steps.text_of(content)
        if text is None:
            self.notes.append(("stream.text", step.at, PICTURED))
            step.parts.append(content)
            return ()
        assert step.block is not None
        step.add(text)
        return (Delta(step.block, text),)

    def sign(self, step: Step, signature: Json) -> Sequence[Event]:
        signed = {"type": THOUGHT, "signature": signature}
        block = steps.read_thought(self.dialect, signed, step.at)
        step.doc["signature"] = signature  # it comes once, and replaces
        assert step.block is not None
        if not isinstance(block, Reasoning) or block.signature is None:
            return ()
        return (Signed(step.block, block.signature),)

    def stop(self, doc: dict[str, Json]) -> Sequence[Event]:
        step, number = self.step(doc.get("index")), self.blocks
        del self.opened[doc["index"]]
        if step.kind == MODEL:
            return self.close_text(step)
        if step.kind == THOUGHT:
            step.doc |= self.so_far(step)
            if not step.doc["summary"]:
                del step.doc["summary"]
            return (Close(step.block or 0),)
        if step.kind == CALL:
            return self.close_call(step)
        self.blocks += 1
        block = steps.read_reply(self.dialect, [step.doc], step.at.rpartition("/")[0])[0]
        return (Open(number, replace(block, at=step.at)), Close(number))

    def close_call(self, step: Step) -> Sequence[Event]:
        assert step.block is not None
        events: list[Event] = []
        if not str(step.received) and step.doc.get("arguments"):  # they came whole
            events.append(Delta(step.block, compact(step.doc["arguments"])))
        given = step.doc.get("arguments")
        step.doc |= self.so_far(step)
        self.supersede(given, step.doc["arguments"], f"{step.at}/arguments")
        if not self.whole and "arguments" not in step.doc["arguments"]:
            step.doc["arguments"] = {}
        return (*events, Close(step.block))

    # -- at rest ----------------------------------------------------------------------------

    def so_far(self, step: Step) -> dict[str, Json]:
        """What has grown of a step."""
        text = str(step.received)
        if step.kind == MODEL:
            parts = step.parts if step.block is None else [*step.parts, self.text_of(step)]
            return {"content": parts}
        if step.kind == THOUGHT:
            said = [{"type": "text", "text": text}] if text else []
            return {"summary": [*said, *step.parts]}
        if step.kind == CALL and text:
            return {"arguments": self.arguments(step.at, text)}
        return {"arguments": step.doc.get("arguments") or {}} if step.kind == CALL else {}

    def document(self) -> Json | None:
        if self.head is None:
            return None
        growing = {id(step.doc): step for step in self.opened.values()}
        found = [
            {**doc, **self.so_far(growing[id(doc)])} if id(doc) in growing else doc
            for doc in self.steps
        ]
        return {**self.head, "steps": found}


def without(items: list[Json], gone: list[Json]) -> list[Json]:
    """A list without some of its items, each as often as it is among them."""
    left = list(items)
    for item in gone:
        if item in left:
            left.remove(item)
    return left


encode_text = msgspec.json.Encoder().encode


def frame(kind: str, **fields: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({EVENT: kind, **fields}))


def unplaced(cite: dict[str, Json]) -> Json:
    """A citation without its place in a text."""
    return {key: value for key, value in cite.items() if key not in ("start_index", "end_index")}


def outline(step: dict[str, Json]) -> list[Json]:
    """What a step is, and how long its texts are; as ``InteractionsWriter.told``."""
    if step["type"] != MODEL:
        return [step["type"], step.get("id")]
    parts = step["content"]
    return [MODEL, None, *(len(p["text"]) if p["type"] == "text" else None for p in parts)]


DONE = b"event: done\ndata: [DONE]\n\n"


class InteractionsWriter(ClaudeWriter):
    dialect: GeminiInteractions

    def __init__(self, dialect: GeminiInteractions, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.w = dialect.writing(self.aside, dialect.name if same else None, reply=True)
        self.head = self.tail = b""  # what stands around a text of the current block
        self.said: Block | None = None  # the last content of an output that is still open
        self.data: list[str] = []  # of a medium, as they come
        self.places = Places()
        self.cited: list[Citation] = []
        self.announced = False
        self.quoted: list[Json] = []  # citations that have been written
        self.late: list[Citation] = []  # those of texts that were closed
        self.told: list[list[Json]] = []  # of each step, what it is, and how long its texts are

    def begin(self, event: Begin) -> bytes:
        self.announced = True
        return self.announce(self.at_rest(replace(event.response, failure=None)))

    def announce(self, doc: dict[str, Json]) -> bytes:
        doc = {k: v for k, v in doc.items() if k not in ("steps", "usage", "errors")}
        name = doc.get("id")
        doc["status"] = "in_progress"
        out = frame("interaction.created", interaction=doc)
        if name is None:
            return out
        return out + frame("interaction.status_update", interaction_id=name, status="in_progress")

    # -- steps ------------------------------------------------------------------------------

    def start(self, step: Json) -> bytes:
        self.number += 1
        self.told.append([step["type"], step.get("id")])
        return self.end_output() + frame("step.start", index=self.number, step=step)

    def stop(self) -> bytes:
        return frame("step.stop", index=self.number)

    def end_output(self) -> bytes:
        """The end of the output that the next block does not join."""
        if self.said is None:
            return b""
        self.said = None
        return frame("step.stop", index=self.number - 1)

    def grow(self, **delta: Json) -> bytes:
        return frame("step.delta", index=self.number, delta=delta)

    def around(self, **delta: Json) -> None:
        """What a delta of the current block has around its text, the last value in it."""
        written = self.grow(**delta)
        self.head, _, self.tail = written.rpartition(b'""')

    def more(self, text: str) -> bytes:
        """An event that adds to the text of the current block."""
        return self.head + encode_text(text) + self.tail

    def whole(self, step: Json) -> bytes:
        """A step that comes whole."""
        return self.start(step) + self.stop()

    def put(self, block: Block) -> bytes:
        """Begin or continue an output."""
        before, out = self.said, b""
        if (
            before is None
            or steps.begins_step(self.dialect, before, block)
            or self.are_texts(block)
        ):
            self.number += 1
            step = steps.write_output(self.dialect, block, None, self.w)
            del step["content"]
            ended = b"" if before is None else frame("step.stop", index=self.number - 1)
            out = ended + frame("step.start", index=self.number, step=step)
            self.told.append([MODEL, None])
        if not isinstance(block, Text):
            self.told[-1].append(None)
        self.said = block
        return out

    def are_texts(self, block: Block) -> bool:
        return steps.are_texts(self.said, block)

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.enter_next()
        self.data, self.cited, self.places = [], [], Places()
        if isinstance(block, ToolCall):
            return self.enter_call(block)
        if isinstance(block, Text):
            return self.enter_text() if self.same else b""
        if isinstance(block, Reasoning):
            return self.enter_thought(block) if self.same else b""
        if isinstance(block, Media):
            return b""
        if steps.is_part(self.dialect, block):
            doc = contents.write_content(self.dialect, block, self.w)
            return self.put(block) + self.grow(**doc) if doc is not None else b""
        step = steps.write_step(self.dialect, block, self.w, {})
        return b"" if step is None else self.whole(step)

    def enter_text(self) -> bytes:
        assert self.block is not None
        self.entered = self.plain = True
        out = self.put(self.block)
        self.around(type="text", text="")
        return out

    def enter_thought(self, block: Reasoning) -> bytes:
        self.entered = True
        known = replace(block, content=(), summary=(), signature=None)
        out = self.start(steps.write_thought(self.dialect, known, self.w))
        self.around(type="thought_summary", content={"type": "text", "text": ""})
        return out

    def enter_call(self, call: ToolCall) -> bytes:
        self.entered = True
        doc = steps.write_call(self.dialect, replace(call, arguments="{}"), self.w, {})
        out = self.start({**doc, "arguments": {}})
        self.around(type="arguments_delta", arguments="")
        return out + self.wrap("input") if call.kind == "custom" else out

    def delta(self, event: Delta) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        if isinstance(self.block, Media):
            self.data.append(event.text if event.place == "text" else "")
            return b""
        if isinstance(self.block, Text):
            return self.add_text(event.text) if event.text or self.same else b""
        return self.say(event)

    def splicing(self, event: Delta) -> Splice | None:
        if event.index != self.current or not self.entered or self.wrapped:
            return None
        if isinstance(self.block, Text):
            return between(self.head, self.tail, self.places.add)
        plain = self.plain and event.place == "text"
        goes_on = self.part == (event.part, event.place)
        return between(self.head, self.tail) if plain or goes_on else None

    def add_arguments(self, text: str) -> bytes:
        return self.more(text)

    def add_text(self, text: str) -> bytes:
        opened = b"" if self.entered else self.enter_text()
        self.places.add(text)
        return opened + self.more(text)

    def add_reasoning(self, text: str) -> bytes:
        assert isinstance(self.block, Reasoning)
        opened = b"" if self.entered else self.enter_thought(self.block)
        return opened + self.more(text)

    def quote(self, citation: Citation) -> bytes:
        self.cited.append(citation)  # where it is, is known when the text is complete
        return b""

    def quote_late(self, event: Cite) -> bytes:
        self.late.append(event.citation)
        return b""

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Text):
            return self.leave_text()
        if isinstance(block, Media):
            source = replace(block.source, value=block.source.value + "".join(self.data))
            doc = contents.write_media(self.dialect, replace(block, source=source), self.w)
            return self.put(block) + self.grow(**doc)
        if isinstance(block, Reasoning):
            return self.leave_thought(block)
        if not self.entered:
            return b""
        return self.unwrap() + self.stop()

    def leave_text(self) -> bytes:
        if not self.entered:
            self.late += self.cited  # of no text; at rest it may be part of another
            return b""
        self.told[-1].append(self.places.chars)
        if not self.cited:
            return b""
        cited = [
            contents.write_citation(self.dialect, cite, self.places, self.w) for cite in self.cited
        ]
        self.quoted += cited
        return self.grow(type="text_annotation_delta", annotations=cited)

    def leave_thought(self, block: Reasoning) -> bytes:
        signature, out = self.own_signature(block), b""
        if not self.entered:
            if signature is None and not self.same:
                return b""
            out = self.enter_thought(block)
        if signature is not None:
            out += self.grow(type="thought_signature", signature=signature.data)
        return out + self.stop()

    def end(self, doc: Json) -> bytes:
        ended = b"" if self.said is None else self.stop()
        self.said = None
        late = self.unsaid(doc["steps"]) if self.late else []
        repeats = bool(late) and [outline(step) for step in doc["steps"]] == self.told
        if late and not repeats:
            ended += self.cite_apart(late)
        interaction = {key: value for key, value in doc.items() if repeats or key != "steps"}
        return ended + frame("interaction.completed", interaction=interaction) + DONE

    def unsaid(self, written: list[Json]) -> list[Json]:
        """Of the citations that came late, those that stand at rest; without their places."""
        parts = [part for step in written for part in step.get("content") or ()]
        cited = [unplaced(cite) for part in parts for cite in part.get("annotations") or ()]
        left = without(cited, list(map(unplaced, self.quoted)))
        places = Places()
        late = [contents.write_citation(self.dialect, cite, places, self.w) for cite in self.late]
        found = list(map(unplaced, late))
        return without(found, without(found, left))

    def cite_apart(self, cited: list[Json]) -> bytes:
        """Citations in a step of their own, as the steps were not written as they are at rest."""
        why = "its text was complete; it is cited in a step of its own, without its place"
        self.log.moved("stream.order", self.late[0].at, why)
        begun = self.start({"type": MODEL})
        return begun + self.grow(type="text_annotation_delta", annotations=cited) + self.stop()

    def fail(self, doc: Json) -> bytes:
        told: dict[str, Json] = {"interaction_id": doc.get("id"), "status": response.FAILED}
        if "usage" in doc:
            told["usage"] = doc["usage"]
        begun = b"" if self.announced or self.begun else self.announce(doc)
        ended = begun if self.said is None else self.stop()
        ended += frame("interaction.status_update", **told)
        return ended + frame("error", error=doc["errors"][0]) + DONE
