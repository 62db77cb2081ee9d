"""Writing the stream of the Gemini API.

Each chunk is a response that holds what is new. Text and reasoning are sent as they come; all else
is said whole. Nothing tells one text from the next but the chunk that holds the end of the one and
the beginning of the other, so blocks are said one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from ...core.reading import encode
from ...core.writing import home_only
from ...ledger import Ledger
from ...model import Block, Json, Reasoning, Text, ToolResult
from ...streams.base import StreamWriter
from ...streams.events import Begin, Close, Delta, Open, Pieces, Signed
from .spelling import both

if TYPE_CHECKING:
    from . import Gemini


HEAD = both("modelVersion", "createTime", "responseId")

encode_text = msgspec.json.Encoder().encode


class Spoken:
    """A block while it is written."""

    def __init__(self, event: Open, flows: bool) -> None:
        self.number = event.candidate
        self.pieces = Pieces(event)
        self.flows = flows  # it is said as it comes
        self.reasoning = isinstance(event.block, Reasoning)
        self.waiting: list[Delta] = []  # what came while others spoke
        self.signature: str | None = None
        self.said: tuple[str, int] | None = None  # the place that was said last
        self.head = self.tail = b""  # what stands around more of the same
        self.place = -1  # which of the parts it is
        self.start, self.length = "", 0  # how its text begins, and how long it is
        self.closed = False


class GeminiWriter(StreamWriter):
    dialect: Gemini

    def __init__(self, dialect: Gemini, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.head: dict[str, Json] = {}
        self.shells: list[dict[str, Json]] = []
        self.blocks: dict[int, Spoken] = {}
        self.queues: dict[int, list[Spoken]] = {}
        self.counts: dict[int, int] = {}  # of parts, by candidate
        self.texts: dict[int, list[Spoken]] = {}  # those that are said as they come
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
        spoken = Spoken(event, self.flows(event.block))
        self.blocks[event.index] = spoken
        self.queues.setdefault(event.candidate, []).append(spoken)
        return b""

    def flows(self, block: Block) -> bool:
        """Whether a block is text and nothing more, so that it can be said bit by bit."""
        if not isinstance(block, Text | Reasoning):
            return False
        extras = block.extras
        if extras is None or self.dialect.is_mute(extras):
            return True
        return not self.home and extras.signature is None

    def delta(self, event: Delta) -> bytes:
        spoken, text = self.blocks[event.index], event.text
        said = spoken.said
        if said is not None and said[0] == event.place and said[1] == event.part and text:
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

    def say(self, spoken: Spoken, event: Delta) -> bytes:
        text = event.text
        key = (event.place, event.part)
        if spoken.reasoning and not text:
            return b""  # reasoning that is only signed
        if spoken.reasoning and spoken.said is not None and spoken.said != key:
            if spoken.said[0] != event.place:
                if event.place == "summary":
                    return b""  # reasoning is said once
                why = "the summary of the reasoning was streamed before its text"
                self.log.approximated("stream.text", spoken.pieces.block.at, why)
            text = f"\n\n{text}"
        part: dict[str, Json] = {"text": text}
        if spoken.reasoning:
            part["thought"] = True
        out = self.part(spoken, part)
        spoken.length += len(text)
        if spoken.said is None:
            spoken.start = text
            more = self.chunk(spoken.number, [part | {"text": "\0"}])
            spoken.head, _, spoken.tail = more.partition(b'"\\u0000"')
        spoken.said = key
        return out

    def part(self, spoken: Spoken, part: dict[str, Json]) -> bytes:
        """A part; the first of a text after another is not the first of its chunk."""
        kind = "else"
        if part.keys() <= {"text", "thought"}:
            kind = "thought" if part.get("thought") else "text"
        elif part.get("thought") is True and part.get("text") == "":
            kind = "signature"
        last, parts = self.last.get(spoken.number), [part]
        if spoken.said is None:
            spoken.place = self.counts.get(spoken.number, 0)
            self.counts[spoken.number] = spoken.place + 1
            if kind == "text" and spoken.flows:
                self.texts.setdefault(spoken.number, []).append(spoken)
        if spoken.said is None and last == ("thought" if kind == "signature" else kind):
            if last != "else":
                parts.insert(0, {"text": ""} if last == "text" else {"text": "", "thought": True})
        self.last[spoken.number] = kind
        return self.chunk(spoken.number, parts)

    def add_signature(self, event: Signed) -> bytes:
        spoken = self.blocks[event.index]
        spoken.pieces.signature = event.signature
        if home_only(self.dialect, event.signature.issuer):
            spoken.signature = event.signature.data
        return b""

    def close(self, event: Close) -> bytes:
        self.blocks.pop(event.index).closed = True
        return b"".join(self.flush())

    def flush(self) -> list[bytes]:
        """All that can be said now that a block is closed."""
        out: list[bytes] = []
        for queue in self.queues.values():
            while queue:
                out += [self.say(queue[0], event) for event in queue[0].waiting]
                queue[0].waiting.clear()
                if not queue[0].closed:
                    break
                out += self.finish(queue.pop(0))
        return out

    def finish(self, spoken: Spoken) -> list[bytes]:
        """The end of a block: what of it was not said yet."""
        block = spoken.pieces.block
        if not spoken.flows:
            whole = spoken.pieces.whole()
            if isinstance(whole, ToolResult):
                return []
            if isinstance(whole, Text):
                whole = replace(whole, citations=())
            return [self.part(spoken, p) for p in self.dialect.write_part(whole, self.w, {})]
        if spoken.reasoning:
            if spoken.signature is None:
                silent = spoken.said is None and self.home
                return [self.part(spoken, {"text": "", "thought": True})] if silent else []
            part: dict[str, Json] = {
                "text": "",
                "thought": True,
                "thoughtSignature": spoken.signature,
            }
            return [self.part(spoken, part)]
        if spoken.said is None and isinstance(block, Text):
            return [self.part(spoken, {"text": ""})]
        return []

    def end(self, doc: Json) -> bytes:
        """The last chunk: why it ended, and all that is known of the answer besides."""
        out = b"".join(self.rest())
        if doc.get("candidates"):
            items = enumerate(doc["candidates"])
            doc = {**doc, "candidates": [self.ending(item, number) for number, item in items]}
        return out + self.frame(doc)

    def ending(self, candidate: dict[str, Json], number: int) -> dict[str, Json]:
        content = candidate.get("content")
        if content.__class__ is dict and content.get("parts"):
            if not self.home and "groundingMetadata" in candidate:
                grounding = self.located(candidate["groundingMetadata"], content["parts"], number)
                candidate = {**candidate, "groundingMetadata": grounding}
            content = {key: value for key, value in content.items() if key != "parts"}
            return {**candidate, "content": content}
        return candidate

    def located(self, grounding: dict[str, Json], parts: list[Json], number: int) -> Json:
        """What is cited, at the parts as they were said, if they are others than at rest."""
        cuts = list(cut_texts(parts, self.texts.get(number, [])))
        if all(cut.part == cut.said.place and not cut.start for cut in cuts):
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


# -- citations, where parts came in another order ---------------------------------------------


class Cut(NamedTuple):
    """A part as it was said, inside of a part at rest."""

    part: int
    start: int
    said: Spoken


def cut_texts(parts: list[Json], said: list[Spoken]) -> Iterator[Cut]:
    """Where what was said stands at rest."""
    left = [spoken for spoken in said if spoken.length]
    for number, part in enumerate(parts):
        text, place = part.get("text") or "", 0
        while place < len(text) and not part.get("thought"):
            room = len(text) - place
            fits = (s for s in left if s.length <= room and text.startswith(s.start, place))
            found = next(fits, None)
            if found is None:
                break
            left.remove(found)
            yield Cut(number, place, found)
            place += found.length


def moved_segment(segment: dict[str, Json], parts: list[Json], cuts: list[Cut]) -> Json:
    """The characters that are cited, in the part that says most of them."""
    number = segment.get("partIndex", 0)
    text = parts[number].get("text") or ""
    data = text.encode()
    first = len(data[: segment.get("startIndex", 0)].decode())
    last = len(data[: segment["endIndex"]].decode())

    def covered(cut: Cut) -> int:
        return min(last, cut.start + cut.said.length) - max(first, cut.start)

    best = max((cut for cut in cuts if cut.part == number), key=covered, default=None)
    if best is None or covered(best) <= 0:
        return segment
    first, last = max(first, best.start), min(last, best.start + best.said.length)
    start, end = (len(text[best.start : place].encode()) for place in (first, last))
    moved: dict[str, Json] = {"partIndex": best.said.place} if best.said.place else {}
    if start:
        moved["startIndex"] = start
    return {**moved, "endIndex": end, "text": text[first:last]}
