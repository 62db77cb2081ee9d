"""Reading the stream of the Gemini API.

Each chunk is a response of its own that holds what is new: more text, or whole parts. Nothing marks
where a text ends, and nothing but the end of the bytes the end of the stream; a reply is whole
when every candidate has written why it ended.

Writing the stream of the Gemini API.

Each chunk is a response that holds what is new. Text and reasoning are sent as they come; all else
is written whole. Nothing tells a text from the next but the chunk that holds the end of the one and
the beginning of the other, so blocks are written one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ...core.reading import UNREADABLE, as_dict, encode, maybe_dict, maybe_list
from ...core.writing import same_only
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Json, Reasoning, Response, Text, ToolCall, ToolResult
from ...streams.base import StreamReader, StreamWriter
from ...streams.events import Begin, Cite, Close, Delta, End, Event, Open, Pieces, Signed, hollow
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from ...streams.splicing import Splice, between, silent
from . import parts, response, turns
from .pieces import CallPieces, begins, goes_on
from .spelling import both

if TYPE_CHECKING:
    from . import Gemini


HEAD = both("modelVersion", "responseId", "createTime")
ENDS = both("finishReason")
NOTHING: Json = [{"text": ""}]
PLAIN = frozenset({"text", "thought"})
PARTIAL = "partialArgs"
PIECE = Keys("jsonPath", "stringValue", "numberValue", "boolValue", "nullValue", "willContinue")


Counts: TypeAlias = dict[str, int | str | list[dict[str, int | str]]]


class GeminiPiece(Struct, forbid_unknown_fields=True):
    text: str
    thought: bool = False


class Content(Struct, forbid_unknown_fields=True):
    parts: tuple[GeminiPiece]
    role: Literal["model"]


class Candidate(Struct, forbid_unknown_fields=True):
    content: Content
    index: int | UnsetType = UNSET


class GeminiUsual(Struct, forbid_unknown_fields=True, rename="camel"):
    """Nearly every chunk there is: more of a text. Anything else in it is read with care."""

    candidates: tuple[Candidate]
    usage_metadata: Counts | UnsetType = UNSET
    model_version: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    create_time: str | UnsetType = UNSET


decode_usual = msgspec.json.Decoder(GeminiUsual).decode


class GeminiPart:
    """A part while it arrives."""

    __slots__ = ("doc", "index", "open", "received")

    def __init__(self, doc: dict[str, Json], index: int, whole: bool) -> None:
        self.doc = doc
        self.index = index
        self.open = True
        self.received: Received | None = None
        if is_plain(doc):
            self.received = Received(whole)
            self.received.add(doc["text"])

    def takes(self, doc: dict[str, Json]) -> bool:
        """Whether a part goes on with this one."""
        if not self.open or self.received is None:
            return False
        if bool(doc.get("thought")) != bool(self.doc.get("thought")):
            return False
        return is_plain(doc) or signatures(doc)

    def document(self) -> dict[str, Json]:
        return self.doc if self.received is None else {**self.doc, "text": str(self.received)}


class GeminiVoice:
    """One candidate while it arrives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.doc: dict[str, Json] = {}
        self.content: dict[str, Json] | None = None
        self.parts: list[GeminiPart] = []
        self.call: CallPieces | None = None  # whose arguments still come

    def document(self) -> dict[str, Json]:
        if self.content is None:
            return self.doc
        content = dict(self.content)
        if self.parts:
            content["parts"] = [part.document() for part in self.parts]
        return {**self.doc, "content": content}


class GeminiReader(StreamReader):
    dialect: Gemini
    varying: ClassVar[Mapping[str, Any]] = {"usageMetadata": Counts}

    def __init__(self, dialect: Gemini, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.numbers = self.voices = dict[int, GeminiVoice]()
        self.count = 0  # blocks so far

    def read(self, frame: Frame) -> Sequence[Event]:
        if self.count:
            try:
                usual = decode_usual(frame[1])
            except UNREADABLE:
                return self.chunk(frame)
            part = self.going_on(usual)
            if part is not None and part.received is not None:
                text = usual.candidates[0].content.parts[0].text
                part.received.add(text)
                self.sink = part.received.add
                return (Delta(part.index, text),) if text else ()
        return self.chunk(frame)

    def renew(self, values: Mapping[str, Json]) -> None:
        assert self.head is not None
        self.head |= values

    def going_on(self, usual: GeminiUsual) -> GeminiPart | None:
        """The part that a usual chunk goes on with, if it says nothing new but text and counts."""
        candidate, head = usual.candidates[0], self.head
        voice = self.voices.get(0 if candidate.index is UNSET else candidate.index)
        if head is None or voice is None or voice.content is None or not voice.parts:
            return None
        if (
            head.get("modelVersion", UNSET) != usual.model_version
            or head.get("responseId", UNSET) != usual.response_id
            or head.get("createTime", UNSET) != usual.create_time
            or voice.doc.get("index", UNSET) != candidate.index
            or voice.content.get("role") != "model"
        ):
            return None
        part = voice.parts[-1]
        reasoning = candidate.content.parts[0].thought
        if not part.open or part.received is None or bool(part.doc.get("thought")) is not reasoning:
            return None
        if usual.usage_metadata is not UNSET:
            if "usageMetadata" not in head:
                return None
            head["usageMetadata"] = usual.usage_metadata  # the last counts hold
        return part

    def chunk(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == b"[DONE]":
            return ()  # not this API's, but that of some who speak it
        doc = self.parse(frame)
        if doc.get("error") is not None:
            return self.fail(response.read_error(self.dialect, doc))
        events: list[Event] = []
        if self.head is None:
            self.head = {}
        listed = maybe_list(doc, "candidates", "")
        self.head |= {key: value for key, value in doc.items() if key != "candidates"}
        if self.begun is None and listed:
            events.append(self.introduce())
        if listed is not None:
            self.head.setdefault("candidates", [])
        for place, item in enumerate(listed or ()):
            self.candidate(as_dict(item, f"/candidates/{place}"), place, events)
        return events

    def introduce(self) -> Event:
        """What is known of a reply when it begins to speak: chunks before that may not know."""
        assert self.head is not None
        known = {key: self.head[key] for key in HEAD if key in self.head}
        tree = response.read_response(self.dialect, known)
        return self.begin(Response(tree.id, tree.model, (), created=tree.created))

    def candidate(self, doc: dict[str, Json], place: int, events: list[Event]) -> None:
        number = doc.get("index")
        if number.__class__ is not int:
            number = place
        voice = self.voices.get(number)
        if voice is None:
            voice = self.voices[number] = GeminiVoice(number)
        voice.doc |= {key: value for key, value in doc.items() if key != "content"}
        content = maybe_dict(doc, "content", f"/candidates/{place}")
        if content is None:
            if "content" in doc and voice.content is None:
                voice.doc["content"] = None
            return
        parts = content.get("parts")
        if voice.content is None:
            voice.content = {}
            voice.doc.pop("content", None)
        voice.content |= {key: value for key, value in content.items() if key != "parts"}
        if parts.__class__ is dict:
            parts = [parts]
        if parts == NOTHING and voice.parts and any(doc.get(key) is not None for key in ENDS):
            parts = []  # a chunk has parts, and this one has nothing to say but why it ends
        if parts is not None:
            voice.content.setdefault("parts", [])
        for index, part in enumerate(maybe_list({"parts": parts}, "parts", "/content") or ()):
            self.part(as_dict(part, "/content/parts"), voice, index == 0, events)

    def part(
        self, doc: dict[str, Json], voice: GeminiVoice, first: bool, events: list[Event]
    ) -> None:
        """A part goes on with the last one of the chunk before, or is one of its own."""
        if voice.call is not None or "functionCall" in doc:
            whole = self.gather(doc, voice)
            if whole is None:
                return
            doc = whole
        last = voice.parts[-1] if voice.parts else None
        if last is not None and first and last.takes(doc):
            assert last.received is not None
            text = doc["text"]
            last.received.add(text)
            if text:
                events.append(Delta(last.index, text))
            if not is_plain(doc):
                self.signature(last, doc, events)
            return
        if last is not None:
            self.shut(last, events)
        where = f"/candidates/{voice.number}/content/parts/{len(voice.parts)}"
        block = parts.read_part(self.dialect, doc, where, {}, frozenset())
        part = GeminiPart(doc, self.count, self.whole)
        self.count += 1
        voice.parts.append(part)
        events.append(Open(part.index, hollow(block), voice.number))
        events += deltas(part.index, block)
        if part.received is None:
            self.shut(part, events)

    def gather(self, doc: dict[str, Json], voice: GeminiVoice) -> dict[str, Json] | None:
        """The part, where it is one; None for a piece of a call that goes on."""
        call = voice.call
        if call is None:
            if not begins(doc):
                return doc
            call = voice.call = CallPieces(doc)
        elif goes_on(doc):
            call.add(doc)
        elif "functionCall" in doc:
            raise Malformed("a call begins before the one before it has come whole")
        else:
            return doc
        at = f"/candidates/{voice.number}/content/parts/{len(voice.parts)}/functionCall/args"
        for piece in doc["functionCall"].get(PARTIAL) or ():
            self.look(PARTIAL, piece, f"/functionCall/{PARTIAL}", PIECE, at)
        if not call.done:
            return None
        voice.call = None
        return call.document()

    def signature(self, part: GeminiPart, doc: dict[str, Json], events: list[Event]) -> None:
        """A signature that comes after its reasoning."""
        part.doc = {**part.doc, **doc}
        block = parts.read_part(self.dialect, {**part.doc, "text": "?"}, "", {}, frozenset())
        if isinstance(block, Reasoning) and block.signature is not None:
            events.append(Signed(part.index, block.signature))
        self.shut(part, events)

    def shut(self, part: GeminiPart, events: list[Event]) -> None:
        if part.open:
            part.open = False
            events.append(Close(part.index))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        out = dict(self.head)
        if self.voices:
            out["candidates"] = [self.voices[n].document() for n in sorted(self.voices)]
        return out

    def close(self) -> Sequence[Event]:
        if self.done:
            return ()
        if not self.is_whole():
            return super().close()
        events: list[Event] = [self.introduce()] if self.begun is None else []
        tree = self.at_rest()
        for voice, candidate in zip(
            (self.voices[number] for number in sorted(self.voices)), tree.candidates, strict=False
        ):
            for part, block in zip(voice.parts, candidate.message.content, strict=False):
                self.cite(part, block, events)
                self.shut(part, events)
        self.done = True
        return (*events, End(tree))

    def cite(self, part: GeminiPart, block: Block, events: list[Event]) -> None:
        """What a text cites is known when all has been written."""
        if not isinstance(block, Text) or not block.citations:
            return
        events += [Cite(part.index, cite) for cite in block.citations]
        if not part.open:
            why = "a citation arrived after the end of its text"
            self.notes.append(("stream.order", block.citations[0].at, why))

    def is_whole(self) -> bool:
        """Whether all candidates ended, or the prompt was blocked."""
        if self.head is None:
            return False
        if not self.voices:
            return bool(response.read_block(self.dialect, self.head))
        return all(
            voice.call is None and any(voice.doc.get(key) is not None for key in ENDS)
            for voice in self.voices.values()
        )


def is_plain(doc: dict[str, Json]) -> bool:
    """A part that is text, or reasoning, and nothing more."""
    return doc.get("text").__class__ is str and doc.keys() <= PLAIN


def signatures(doc: dict[str, Json]) -> bool:
    """The signature of the reasoning before it."""
    return (
        doc.get("text") == ""
        and doc.get("thought") is True
        and doc.keys() == {"text", "thought", "thoughtSignature"}
    )


def deltas(index: int, block: Block) -> list[Event]:
    """What is written in a part that has just come."""
    if isinstance(block, Text):
        return [Delta(index, block.text)] if block.text else []
    if isinstance(block, ToolCall):
        return [Delta(index, block.arguments)] if block.arguments else []
    if isinstance(block, Reasoning):
        out: list[Event] = [Delta(index, text) for text in block.content if text]
        return out if block.signature is None else [*out, Signed(index, block.signature)]
    return []


encode_text = msgspec.json.Encoder().encode


class GeminiSpoken:
    """A block while it is written."""

    def __init__(self, event: Open, flows: bool) -> None:
        self.number = event.candidate
        self.pieces = Pieces(event)
        self.flows = flows  # it is written as it comes
        self.reasoning = isinstance(event.block, Reasoning)
        self.waiting: list[Delta] = []  # what came while others spoke
        self.signature: str | None = None
        self.received: tuple[str, int] | None = None  # the place that was written last
        self.head = self.tail = b""  # what stands around more of the same
        self.place = -1  # which of the parts it is
        self.start, self.length = "", 0  # how its text begins, and how long it is
        self.closed = False

    def add(self, text: str) -> None:
        self.length += len(text)


class GeminiWriter(StreamWriter):
    dialect: Gemini

    def __init__(self, dialect: Gemini, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = turns.writing(dialect, self.aside, dialect.name if same else None, reply=True)
        self.head: dict[str, Json] = {}
        self.shells: list[dict[str, Json]] = []
        self.blocks: dict[int, GeminiSpoken] = {}
        self.queues: dict[int, list[GeminiSpoken]] = {}
        self.counts: dict[int, int] = {}  # of parts, by candidate
        self.texts: dict[int, list[GeminiSpoken]] = {}  # those that are written as they come
        self.last: dict[int, str] = {}  # what a candidate's last part is: text, reasoning or else

    def begin(self, event: Begin) -> bytes:
        self.begun = True
        doc = self.at_rest(replace(event.response, failure=None))
        self.head = {key: value for key, value in doc.items() if key in HEAD}
        for candidate in doc.get("candidates", ()) if event.response.candidates else ():
            shell = {"index": candidate["index"]} if "index" in candidate else {}
            self.shells.append(shell)
        return b""  # a chunk holds something

    def frame(self, doc: Json) -> bytes:
        return b"data: " + encode(doc) + b"\n\n"

    def chunk(self, number: int, parts: list[Json]) -> bytes:
        shell = self.shells[number] if number < len(self.shells) else {"index": number}
        candidate = {"content": {"parts": parts, "role": "model"}, **shell}
        return self.frame({"candidates": [candidate], **self.head})

    def open(self, event: Open) -> bytes:
        spoken = GeminiSpoken(event, self.flows(event.block))
        self.blocks[event.index] = spoken
        self.queues.setdefault(event.candidate, []).append(spoken)
        return b""

    def flows(self, block: Block) -> bool:
        """Whether a block is text and nothing more, so that it can be expressed bit by bit."""
        if not isinstance(block, Text | Reasoning):
            return False
        extras = block.extras
        if extras is None or self.dialect.is_mute(extras):
            return True
        return not self.same and extras.signature is None

    def delta(self, event: Delta) -> bytes:
        spoken, text = self.blocks[event.index], event.text
        written = spoken.received
        if written is not None and written[0] == event.place and written[1] == event.part and text:
            spoken.length += len(text)
            return spoken.head + encode_text(text) + spoken.tail  # more of the same, as usual
        if not spoken.flows:
            key = (event.place, event.part)
            spoken.pieces.texts.setdefault(key, []).append(text)
            return b""
        if self.queues[spoken.number][0] is not spoken:
            spoken.waiting.append(event)
            return b""
        return self.say(spoken, event)

    def splicing(self, event: Delta) -> Splice | None:
        spoken, key = self.blocks[event.index], (event.place, event.part)
        if spoken.received == key:
            return between(spoken.head, spoken.tail, spoken.add)
        return None if spoken.flows else silent(spoken.pieces.texts.setdefault(key, []).append)

    def say(self, spoken: GeminiSpoken, event: Delta) -> bytes:
        text = event.text
        key = (event.place, event.part)
        if spoken.reasoning and not text:
            return b""  # reasoning that is only signed
        if spoken.reasoning and spoken.received is not None and spoken.received != key:
            if spoken.received[0] != event.place:
                if event.place == "summary":
                    return b""  # reasoning is written once
                why = "the summary of the reasoning was streamed before its text"
                self.log.approximated("stream.text", spoken.pieces.block.at, why)
            text = f"\n\n{text}"
        part: dict[str, Json] = {"text": text}
        if spoken.reasoning:
            part["thought"] = True
        out = self.part(spoken, part)
        spoken.length += len(text)
        if spoken.received is None:
            spoken.start = text
            more = self.chunk(spoken.number, [part | {"text": "\0"}])
            spoken.head, _, spoken.tail = more.partition(b'"\\u0000"')
        spoken.received = key
        return out

    def part(self, spoken: GeminiSpoken, part: dict[str, Json]) -> bytes:
        """A part; the first of a text after another is not the first of its chunk."""
        kind = "else"
        if part.keys() <= {"text", "thought"}:
            kind = "thought" if part.get("thought") else "text"
        elif part.get("thought") is True and part.get("text") == "":
            kind = "signature"
        last, parts = self.last.get(spoken.number), [part]
        if spoken.received is None:
            spoken.place = self.counts.get(spoken.number, 0)
            self.counts[spoken.number] = spoken.place + 1
            if kind == "text" and spoken.flows:
                self.texts.setdefault(spoken.number, []).append(spoken)
        if spoken.received is None and last == ("thought" if kind == "signature" else kind):
            if last != "else":
                parts.insert(0, {"text": ""} if last == "text" else {"text": "", "thought": True})
        self.last[spoken.number] = kind
        return self.chunk(spoken.number, parts)

    def add_signature(self, event: Signed) -> bytes:
        spoken = self.blocks[event.index]
        spoken.pieces.signature = event.signature
        if same_only(self.dialect, event.signature.issuer):
            spoken.signature = event.signature.data
        return b""

    def close(self, event: Close) -> bytes:
        self.blocks.pop(event.index).closed = True
        return b"".join(self.flush())

    def flush(self) -> list[bytes]:
        """All that can be expressed now that a block is closed."""
        out: list[bytes] = []
        for queue in self.queues.values():
            while queue:
                out += [self.say(queue[0], event) for event in queue[0].waiting]
                queue[0].waiting.clear()
                if not queue[0].closed:
                    break
                out += self.finish(queue.pop(0))
        return out

    def finish(self, spoken: GeminiSpoken) -> list[bytes]:
        """The end of a block: what of it was not said yet."""
        block = spoken.pieces.block
        if not spoken.flows:
            whole = spoken.pieces.whole()
            if isinstance(whole, ToolResult):
                return []
            if isinstance(whole, Text):
                whole = replace(whole, citations=())
            return [self.part(spoken, p) for p in parts.write_part(self.dialect, whole, self.w, {})]
        if spoken.reasoning:
            if spoken.signature is None:
                silent = spoken.received is None and self.same
                return [self.part(spoken, {"text": "", "thought": True})] if silent else []
            part: dict[str, Json] = {
                "text": "",
                "thought": True,
                "thoughtSignature": spoken.signature,
            }
            return [self.part(spoken, part)]
        if spoken.received is None and isinstance(block, Text):
            return [self.part(spoken, {"text": ""})]
        return []

    def end(self, doc: Json) -> bytes:
        """The last chunk: why it ended, and all that is known of the reply besides."""
        out = b"".join(self.rest())
        if doc.get("candidates"):
            items = enumerate(doc["candidates"])
            doc = {**doc, "candidates": [self.ending(item, number) for number, item in items]}
        return out + self.frame(doc)

    def ending(self, candidate: dict[str, Json], number: int) -> dict[str, Json]:
        content = candidate.get("content")
        if content.__class__ is dict and content.get("parts"):
            if not self.same and "groundingMetadata" in candidate:
                grounding = self.located(candidate["groundingMetadata"], content["parts"], number)
                candidate = {**candidate, "groundingMetadata": grounding}
            content = {key: value for key, value in content.items() if key != "parts"}
            return {**candidate, "content": content}
        return candidate

    def located(self, grounding: dict[str, Json], parts: list[Json], number: int) -> Json:
        """What is cited, at the parts as they were written, if they are others than at rest."""
        cuts = cut_texts(parts, self.texts.get(number, []))
        if all(cut.part == cut.received.place and not cut.start for cut in cuts):
            return grounding
        supports = [
            {**support, "segment": moved_segment(support["segment"], parts, cuts)}
            for support in grounding.get("groundingSupports", ())
        ]
        supports.sort(key=lambda support: support["segment"].get("partIndex", 0))
        chunks, numbers = list[Json](), dict[int, int]()
        for support in supports:  # in the order in which they are cited
            for index in support["groundingChunkIndices"]:
                if index not in numbers:
                    numbers[index] = len(chunks)
                    chunks.append(grounding["groundingChunks"][index])
            indices = [numbers[index] for index in support["groundingChunkIndices"]]
            support["groundingChunkIndices"] = indices
        return {**grounding, "groundingChunks": chunks, "groundingSupports": supports}

    def rest(self) -> list[bytes]:
        """Blocks that nobody closed."""
        for spoken in self.blocks.values():
            spoken.closed = True
        self.blocks.clear()
        return self.flush()

    def fail(self, doc: Json) -> bytes:
        return self.frame(doc)


class Cut(NamedTuple):
    """A part as it was written, inside of a part at rest."""

    part: int
    start: int
    received: GeminiSpoken


def cut_texts(parts: list[Json], written: list[GeminiSpoken]) -> list[Cut]:
    """Where what was written stands at rest.

    Of a text only the beginning is known. Where the texts do not fit in the order in which they
    were written, the longest come first.
    """
    left = [spoken for spoken in written if spoken.length]
    cuts = fit_texts(parts, left)
    if len(cuts) == len(left):
        return cuts
    other = fit_texts(parts, sorted(left, key=lambda spoken: -spoken.length))
    return other if len(other) > len(cuts) else cuts


def fit_texts(parts: list[Json], written: list[GeminiSpoken]) -> list[Cut]:
    """As many of the texts as fit, each at the first place that is left for it."""
    left, cuts = list(written), list[Cut]()
    for number, part in enumerate(parts):
        text, place = part.get("text") or "", 0
        while place < len(text) and not part.get("thought"):
            room = len(text) - place
            fits = (s for s in left if s.length <= room and text.startswith(s.start, place))
            found = next(fits, None)
            if found is None:
                break
            left.remove(found)
            cuts.append(Cut(number, place, found))
            place += found.length
    return cuts


def moved_segment(segment: dict[str, Json], parts: list[Json], cuts: list[Cut]) -> Json:
    """The characters that are cited, in the part that says most of them."""
    number = segment.get("partIndex", 0)
    text = parts[number].get("text") or ""
    data = text.encode()
    first = len(data[: segment.get("startIndex", 0)].decode())
    last = len(data[: segment["endIndex"]].decode())

    def covered(cut: Cut) -> int:
        return min(last, cut.start + cut.received.length) - max(first, cut.start)

    best = max((cut for cut in cuts if cut.part == number), key=covered, default=None)
    if best is None or covered(best) <= 0:
        return segment
    first, last = max(first, best.start), min(last, best.start + best.received.length)
    start, end = (len(text[best.start : place].encode()) for place in (first, last))
    moved: dict[str, Json] = {"partIndex": best.received.place} if best.received.place else {}
    if start:
        moved["startIndex"] = start
    return {**moved, "endIndex": end, "text": text[first:last]}
